package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/human"
)

// cluster is the API server that the flags name, as this user sees it.
type cluster struct {
	client.Client
	namespace string
	explicit  bool // namespace was given with --namespace
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return scheme, v1alpha1.AddToScheme(scheme)
}

// connect makes the client that the flags ask for. Nothing is sent yet.
func connect(a *app) (*cluster, error) {
	namespace, explicit, err := a.flags.ToRawKubeConfigLoader().Namespace()
	if errors.As(err, new(*os.PathError)) {
		return nil, cli.BadInputf("the kubeconfig cannot be read: %w; correct --kubeconfig or KUBECONFIG", err)
	}
	if err != nil {
		return nil, err
	}
	config, err := a.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.UserAgent = "kubectl-nfsbench/" + cli.Version(version)
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, err
	}
	return &cluster{Client: c, namespace: namespace, explicit: explicit}, nil
}

// turnTo changes to the namespace of an object. Hints name it if it is not the one of the kubeconfig.
func (c *cluster) turnTo(namespace string) {
	if namespace != c.namespace {
		c.namespace, c.explicit = namespace, true
	}
}

// The kinds that a reference may name.
const (
	anyKind       = ""
	benchmarkKind = "NFSBenchmark"
	suiteKind     = "NFSBenchmarkSuite"
)

// reference is a parsed NAME argument.
type reference struct {
	kind string // anyKind if the argument names no kind
	name string
	run  string // run of a suite; empty means the newest
}

// parseReference reads NAME, nfsb/NAME, suite/NAME and suite/NAME@RUN, and what
// 'kubectl get -o name' prints.
func parseReference(arg string) (reference, error) {
	var r reference
	prefix, name, ok := strings.Cut(arg, "/")
	if !ok {
		prefix, name = "", arg
	}
	switch kind, _, _ := strings.Cut(strings.ToLower(prefix), "."); kind {
	case "":
		if ok {
			return r, cli.BadInputf("%q lacks a kind before the slash: write nfsb/NAME or suite/NAME", arg)
		}
	case "nfsb", "nfsbenchmark", "nfsbenchmarks", "benchmark":
		r.kind = benchmarkKind
	case "nfsbs", "nfsbenchmarksuite", "nfsbenchmarksuites", "suite", "suites":
		r.kind = suiteKind
	default:
		return r, cli.BadInputf("%q has kind %q: only benchmarks and suites are supported, write nfsb/NAME or suite/NAME",
			arg, prefix)
	}
	r.name, r.run, ok = strings.Cut(name, "@")
	switch {
	case r.name == "" || ok && r.run == "":
		return r, cli.BadInputf("%q is not a valid name: write NAME, nfsb/NAME, suite/NAME or suite/NAME@RUN", arg)
	case ok && r.kind == benchmarkKind:
		return r, cli.BadInputf("%q: a benchmark has only one run; leave out @%s", arg, r.run)
	case ok:
		r.kind = suiteKind
	}
	return r, nil
}

// found holds the object that a reference names: a benchmark or a suite.
type found struct {
	benchmark *v1alpha1.NFSBenchmark
	suite     *v1alpha1.NFSBenchmarkSuite
	run       string // run of the suite; empty if the argument names none
}

func (f found) object() client.Object {
	if f.suite != nil {
		return f.suite
	}
	return f.benchmark
}

func (f found) kind() string {
	if f.suite != nil {
		return suiteKind
	}
	return benchmarkKind
}

// find looks up the object that an argument names. For a bare name it tries benchmarks first.
func (c *cluster) find(ctx context.Context, arg string) (found, error) {
	return c.findKind(ctx, arg, anyKind)
}

// findKind looks up an object of one kind, or of both with anyKind.
func (c *cluster) findKind(ctx context.Context, arg, kind string) (found, error) {
	ref, err := parseReference(arg)
	if err != nil {
		return found{}, err
	}
	if kind == suiteKind && ref.kind == benchmarkKind {
		return found{}, cli.BadInputf("%q is a benchmark, and this command needs a suite", arg)
	}
	ref.kind = cmp.Or(kind, ref.kind)
	key := client.ObjectKey{Namespace: c.namespace, Name: ref.name}
	benchmark, suite := &v1alpha1.NFSBenchmark{}, &v1alpha1.NFSBenchmarkSuite{}
	for _, f := range []found{{benchmark: benchmark}, {suite: suite, run: ref.run}} {
		if ref.kind != anyKind && ref.kind != f.kind() {
			continue
		}
		if err := c.Get(ctx, key, f.object()); !apierrors.IsNotFound(err) {
			return f, err
		}
	}
	return found{}, c.notFound(ctx, ref)
}

// notFound returns an error that suggests existing names.
func (c *cluster) notFound(ctx context.Context, ref reference) error {
	what := "benchmark or suite"
	switch ref.kind {
	case benchmarkKind:
		what = "benchmark"
	case suiteKind:
		what = "suite"
	}
	names := c.names(ctx, ref.kind)
	if len(names) == 0 {
		return cli.BadInputf("there is no %s %q in namespace %q, and there is no other benchmark or suite: "+
			"-n chooses another namespace, 'kubectl get nfsb,nfsbs -A' lists all", what, ref.name, c.namespace)
	}
	return cli.BadInputf("there is no %s %q in namespace %q; %s", what, ref.name, c.namespace,
		human.Others(ref.name, names))
}

// names returns the names that an argument of this kind may have. It ignores errors, because names are only a help.
func (c *cluster) names(ctx context.Context, kind string) []string {
	var names []string
	if kind != suiteKind {
		var l v1alpha1.NFSBenchmarkList
		_ = c.List(ctx, &l, client.InNamespace(c.namespace))
		for _, b := range l.Items {
			names = append(names, b.Name)
		}
	}
	if kind != benchmarkKind {
		var l v1alpha1.NFSBenchmarkSuiteList
		_ = c.List(ctx, &l, client.InNamespace(c.namespace))
		for _, s := range l.Items {
			names = append(names, "suite/"+s.Name)
		}
	}
	return names
}

// completeWithin bounds how long a shell waits for names.
const completeWithin = 3 * time.Second

// completeNames completes up to most arguments with names of this kind. It completes nothing if the cluster does not
// answer, because a shell cannot show errors.
func completeNames(a *app, kind string, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []string
		if c, err := a.connect(a); err == nil && len(args) < most {
			ctx, cancel := context.WithTimeout(cmd.Context(), completeWithin)
			defer cancel()
			names = c.names(ctx, kind)
		}
		others := func(name string) bool { return !strings.HasPrefix(name, toComplete) }
		return slices.DeleteFunc(names, others), cobra.ShellCompDirectiveNoFileComp
	}
}
