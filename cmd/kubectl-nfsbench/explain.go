package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"regexp"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
)

// explain replaces an error of the API server or the network by a sentence that also says what to do. It returns
// other errors unchanged.
func explain(err error) error {
	var status apierrors.APIStatus
	switch {
	case cli.IsCoded(err):
		return err
	case meta.IsNoMatchError(err):
		return errors.New("this cluster does not know nfsbench.io/v1alpha1: install the operator with " +
			"'helm install nfsbench charts/nfsbench --namespace nfsbench-system --create-namespace', or choose another " +
			"cluster with --context")
	case apierrors.IsUnauthorized(err):
		return errors.New("the cluster does not know who you are: log in again, or choose another user with --context or " +
			"--kubeconfig")
	case apierrors.IsForbidden(err) && errors.As(err, &status):
		return forbidden(status.Status())
	case errors.As(err, &status) && isNamespace(status.Status()):
		return cli.BadInputf("there is no namespace %q: create it, or choose another one with -n",
			status.Status().Details.Name)
	case apierrors.IsAlreadyExists(err) && errors.As(err, &status):
		return alreadyExists(status.Status())
	case apierrors.IsInvalid(err) && errors.As(err, &status):
		return invalid(status.Status())
	case apierrors.IsBadRequest(err) && strings.Contains(err.Error(), strictly):
		_, fields, _ := strings.Cut(err.Error(), strictly)
		return cli.BadInputf("the cluster does not know these fields: %s; 'kubectl explain nfsbenchmark.spec' lists the "+
			"fields", withSuggestions(fields))
	case clientcmd.IsContextNotFound(err):
		return cli.BadInputf("the kubeconfig has no such context (%w): 'kubectl config get-contexts' lists them", err)
	case clientcmd.IsEmptyConfig(err):
		return errors.New("no cluster is configured: set KUBECONFIG, or give --kubeconfig")
	case isUnreachable(err):
		if op, ok := errors.AsType[*net.OpError](err); ok {
			err = op // without the URLs that outer errors add
		}
		return fmt.Errorf("the cluster does not answer: %w; check --context and --kubeconfig", err)
	default:
		return err
	}
}

// strictly precedes the unknown fields in an error of the API server.
const strictly = "strict decoding error: "

// unknownField finds a path in an error of the API server.
var unknownField = regexp.MustCompile(`unknown field "([^"]+)"`)

// withSuggestions adds to each unknown field the one that was probably meant.
func withSuggestions(fields string) string {
	return unknownField.ReplaceAllStringFunc(fields, func(found string) string {
		path := strings.Split(unknownField.FindStringSubmatch(found)[1], ".")
		for _, kind := range []reflect.Type{
			reflect.TypeFor[v1alpha1.NFSBenchmark](), reflect.TypeFor[v1alpha1.NFSBenchmarkSuite](),
		} {
			if near := nearField(kind, path); near != "" {
				return found + " (did you mean " + near + "?)"
			}
		}
		return found
	})
}

// nearField returns the field of the same struct that has nearly the name of the last member of a path; "" if there is
// none.
func nearField(of reflect.Type, path []string) string {
	for i, member := range path {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if of.Kind() != reflect.Struct {
			return ""
		}
		name, _, _ := strings.Cut(member, "[")
		fields := reflect.VisibleFields(of)
		names := make([]string, len(fields))
		for k, f := range fields {
			names[k], _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		at := slices.Index(names, name)
		switch {
		case i == len(path)-1:
			low := strings.ToLower(name)
			begins := func(n string) bool { return strings.HasPrefix(strings.ToLower(n), low) }
			if k := slices.IndexFunc(names, begins); k >= 0 {
				return names[k] // also with other capitals, or without its unit
			}
			return human.Nearest(name, names)
		case at < 0:
			return ""
		}
		of = fields[at].Type
	}
	return ""
}

func isUnreachable(err error) bool {
	return errors.As(err, new(*net.OpError)) || errors.As(err, new(*net.DNSError)) ||
		errors.Is(err, context.DeadlineExceeded)
}

// forbiddenVerb finds the verb and the resource that the authorizer refused: status details have no verb.
var forbiddenVerb = regexp.MustCompile(`cannot (\w+) resource "([^"]+)"(?: in API group "([^"]*)")?(?: in the namespace "([^"]*)")?`)

// byPolicy finds what the API server writes before the message of a rule of our policy.
var byPolicy = regexp.MustCompile(`^.* ValidatingAdmissionPolicy '[^']*nfsbench[^']*' with binding '[^']*' denied request: `)

func isNamespace(s metav1.Status) bool {
	return s.Reason == metav1.StatusReasonNotFound && s.Details != nil && s.Details.Kind == "namespaces"
}

// byAuthorizer follows the name of the user in what the authorizer says, and in nothing that an admission rule says.
const byAuthorizer = `" cannot `

func lacksRight(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), byAuthorizer)
}

func forbidden(s metav1.Status) error {
	m := forbiddenVerb.FindStringSubmatch(s.Message)
	switch {
	case m == nil && strings.Contains(s.Message, byAuthorizer):
		return errors.New(s.Message)
	case m == nil: // an admission rule: nothing was done
		return cli.BadInput(errors.New(byPolicy.ReplaceAllString(s.Message, "the policy of the cluster refuses it: ")))
	}
	resource, where := m[2], "in the whole cluster"
	if m[3] != "" {
		resource += "." + m[3]
	}
	if m[4] != "" {
		where = fmt.Sprintf("in namespace %q", m[4])
	}
	return fmt.Errorf("you may not %s %s %s: ask for a role with the verb %s on %s, or choose another namespace with -n",
		m[1], resource, where, m[1], resource)
}

func alreadyExists(s metav1.Status) error {
	name := ""
	if s.Details != nil {
		name = s.Details.Name
	}
	return cli.BadInputf("%q exists already, and a benchmark never runs twice: choose another name, or use "+
		"--generate-name", name)
}

// celValue matches the value, or its type, that the API server writes before the message of a CEL rule.
var celValue = regexp.MustCompile(`^Invalid value: "[^"]*": `)

// wrongType finds the type that the API server wants.
var wrongType = regexp.MustCompile(`must be of type (integer|boolean|object|array|string): `)

// howToWrite says how to write a value of a type.
var howToWrite = map[string]string{ //nolint:gochecknoglobals // a constant in all but name
	"integer": "write a whole number, without a unit or quotes",
	"boolean": "write true or false",
	"object":  "write its fields, one to a line below it; 'kubectl explain nfsbenchmark.spec' lists them",
	"array":   "write a list, such as [a, b]",
	"string":  "write the value in quotes",
}

// The parts of an error of the API server about an enum. A value that is no text has no quotes.
var (
	wrongValue = regexp.MustCompile(`^Unsupported value: "?([^":]*)"?: supported values: (.*)$`)
	quoted     = regexp.MustCompile(`"([^"]*)"`)
)

// nearValue returns a hint at the value that was meant; empty if none is like it.
func nearValue(message string) string {
	parts := wrongValue.FindStringSubmatch(message)
	if parts == nil {
		return ""
	}
	var right []string
	for _, m := range quoted.FindAllStringSubmatch(parts[2], -1) {
		right = append(right, m[1])
	}
	wrong := parts[1]
	near := human.Nearest(wrong, right)
	if short := slices.DeleteFunc(right, func(v string) bool { return !isShort(wrong, v) }); len(short) == 1 {
		near = short[0]
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", near)
}

// isShort reports whether word has the letters of short in their order, as v3 for NFSv3 and dNFS for DirectNFS.
func isShort(short, word string) bool {
	rest := strings.ToLower(short)
	for _, letter := range strings.ToLower(word) {
		rest = strings.TrimPrefix(rest, string(letter))
	}
	return rest == "" && short != ""
}

// invalid lists the invalid fields, one per line.
func invalid(s metav1.Status) error {
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return cli.BadInput(errors.New(s.Message))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "the cluster refuses %q:", s.Details.Name)
	isEnum := map[string]bool{}
	for _, c := range s.Details.Causes {
		isEnum[c.Field] = isEnum[c.Field] || c.Type == metav1.CauseTypeFieldValueNotSupported
	}
	for _, c := range s.Details.Causes {
		if strings.Contains(c.Message, "some validation rules were not checked") {
			continue // a consequence of the others
		}
		what := celValue.ReplaceAllString(c.Message, "")
		if m := wrongType.FindStringSubmatch(c.Message); m != nil {
			if isEnum[c.Field] {
				continue // the list of the values says more
			}
			what = howToWrite[m[1]]
		}
		if c.Type == metav1.CauseTypeFieldValueNotSupported {
			what += nearValue(c.Message)
		}
		fmt.Fprintf(&b, "\n  %s: %s", c.Field, what)
	}
	return cli.BadInput(errors.New(b.String()))
}
