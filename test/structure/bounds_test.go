package structure

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/test/kit/golden"
)

// bound is what markers of Go types cannot say: they reach neither the keys and values of maps nor the
// fields of Kubernetes' own types. The first whose pattern is in the path of a field counts.
type bound struct {
	path *regexp.Regexp
	key  string
	most int64
}

// quantity is the pattern of quantities. That of controller-gen takes what Kubernetes does not decode, such as 1e1.5,
// exponents that take minutes to parse, and signs.
const quantity = `matches(r'^([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$')`

// howToWrite says how to write the quantity of a field.
func howToWrite(path string) string {
	switch {
	case strings.Contains(path, "resources"):
		return "write a number as Kubernetes does, such as 500m, 2 or 4Gi, without B or a blank"
	case strings.HasSuffix(path, "bitsPerSecond"):
		return "write the bits a second, such as 10G or 2500M, without bit, b or a blank"
	default:
		return "write a size, such as 8Ki, 1Mi or 8Gi (powers of 1024), or 8k, 1M or 8G (of 1000), without B or a blank"
	}
}

const (
	longestKey   = 317 // of a label: a prefix of 253, a slash, and a name of 63
	longestValue = 63  // of a label, of a name, of an operator
)

func boundsOfMapsAndForeignTypes() []bound {
	is := func(pattern, key string, most int64) bound { return bound{regexp.MustCompile(pattern), key, most} }
	return []bound{
		is(`matchFields\[\]\.values\[\]$|imagePullSecrets\[\]\.name$`, "maxLength", 253),
		is(`\.(labels|nodeSelector|matchLabels)\{\}$|values\[\]$|namespaces\[\]$`, "maxLength", longestValue),
		is(`\.(annotations|environment)\{\}$`, "maxLength", 1024),
		is(`(affinity|topologySpreadConstraints|tolerations)\b.*[kK]eys?(\[\])?$|tolerations\[\]\.value$`, "maxLength", longestKey),
		is(`(affinity|topologySpreadConstraints|tolerations)\b|resources\.claims\[\]`, "maxLength", longestValue),
		is(`(affinity|topologySpreadConstraints)\..*values$`, "maxItems", 32),
		is(`(required|preferred)DuringScheduling\w+$|nodeSelectorTerms$|matchFields$`, "maxItems", 4),
		is(`affinity\.|topologySpreadConstraints\[\]|resources\.claims$`, "maxItems", 8),
		is(`matchLabels$|resources\.(limits|requests)$`, "maxProperties", 16),
	}
}

// TestEveryPartOfASpecHasABound: what has none can fill the memory of the manager. Run with -update, it
// writes the bounds of maps and of Kubernetes' types into the CRDs.
func TestEveryPartOfASpecHasABound(t *testing.T) {
	for _, kind := range []string{"nfsbenchmarks", "nfsbenchmarksuites"} {
		file := filepath.Join(root, "config/crd/bases/nfsbench.io_"+kind+".yaml")
		manifest, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.YAMLToJSON(manifest)
		if err != nil {
			t.Fatal(err)
		}
		var crd map[string]any
		if err := utiljson.Unmarshal(text, &crd); err != nil { // keeps integers
			t.Fatal(err)
		}
		v := bounder{t: t, bounds: boundsOfMapsAndForeignTypes()}
		v.visit(schemaOfSpec(crd), "spec")
		if v.seen < 300 {
			t.Fatalf("only %d fields found", v.seen)
		}
		out, err := yaml.Marshal(crd)
		if err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, file, slices.Concat([]byte("---\n"), bytes.TrimPrefix(out, []byte("---\n"))))
	}
}

func schemaOfSpec(crd map[string]any) map[string]any {
	version := at[[]any](at[map[string]any](crd, "spec"), "versions")[0].(map[string]any) //nolint:forcetypeassert // a CRD
	schema := at[map[string]any](at[map[string]any](version, "schema"), "openAPIV3Schema")
	return at[map[string]any](at[map[string]any](schema, "properties"), "spec")
}

func at[T any](m map[string]any, key string) T {
	v, _ := m[key].(T)
	return v
}

type bounder struct {
	t      *testing.T
	bounds []bound
	seen   int
}

func (v *bounder) visit(node map[string]any, path string) {
	v.seen++
	for _, r := range at[[]any](node, "x-kubernetes-validations") {
		r := r.(map[string]any) //nolint:forcetypeassert // a CRD
		r["rule"] = afterQuantities(at[string](r, "rule"))
	}
	switch {
	case node["x-kubernetes-int-or-string"] == true: // a quantity
		v.bind(node, path, "maxLength", 32)
		delete(node, "pattern")
		v.require(node, "string(self)."+quantity, howToWrite(path))
	case node["x-kubernetes-preserve-unknown-fields"] == true: // a patch: the cache bounds the whole spec
	case node["type"] == "string" && node["enum"] == nil:
		v.bind(node, path, "maxLength", 0)
	case node["type"] == "array":
		v.bind(node, path, "maxItems", 0)
		v.visit(at[map[string]any](node, "items"), path+"[]")
	case node["additionalProperties"] != nil:
		v.bind(node, path, "maxProperties", 0)
		v.bindKeys(node)
		v.visit(at[map[string]any](node, "additionalProperties"), path+"{}")
	}
	if pattern, is := node["pattern"]; is {
		v.t.Errorf("%s has the pattern %v, which a refusal would print: give the field a rule with a message", path, pattern)
	}
	properties := at[map[string]any](node, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		v.visit(at[map[string]any](properties, name), path+"."+name)
	}
}

var (
	present   = regexp.MustCompile(`has\([^)]*\)`)
	fieldPath = regexp.MustCompile(`self(\.\w+|\['\w+'\])*`)
)

// afterQuantities makes a rule that computes with quantities pass if one of them is not valid. The API server evaluates
// all rules, and the rule of the field itself already has a message. It also keeps a rule from parsing a long exponent.
func afterQuantities(rule string) string {
	var guards []string
	for rest := rule; ; {
		_, operand, found := strings.Cut(rest, "quantity(string(")
		if !found {
			break
		}
		open, end := 1, 0
		for ; open > 0; end++ {
			open += strings.Count(operand[end:end+1], "(") - strings.Count(operand[end:end+1], ")")
		}
		rest = operand[end:]
		for _, field := range fieldPath.FindAllString(present.ReplaceAllString(operand[:end-1], ""), -1) {
			if strings.HasPrefix(rest, ").isInteger") && field != "self" {
				continue // part of a guard that an earlier run added
			}
			none := "!string(" + field + ")." + quantity
			if strings.HasPrefix(rest, ").asInteger") && field != "self" { // the rule of the field itself refuses a part of a byte
				none = "(" + none + " || !quantity(string(" + field + ")).isInteger())"
			}
			guard := "(" + isPresent(field) + none + ") || "
			if !slices.Contains(guards, guard) {
				guards = append(guards, guard)
			}
		}
	}
	if len(guards) == 0 || strings.HasPrefix(rule, guards[0]) {
		return rule
	}
	return strings.Join(guards, "") + "(" + rule + ")"
}

// isPresent asks whether a field is there, from the object above down to it.
func isPresent(field string) (conditions string) {
	for at := range len(field) + 1 {
		switch key, isKey := strings.CutPrefix(field[:at], "self"); {
		case at < len(field) && field[at] != '.' && field[at] != '[', key == "":
		case strings.HasSuffix(key, "']"):
			above, name, _ := strings.Cut(field[:at], "[")
			conditions += strings.TrimSuffix(name, "]") + " in " + above + " && "
		case isKey:
			conditions += "has(" + field[:at] + ") && "
		}
	}
	return conditions
}

// bind gives a node a bound that it lacks.
func (v *bounder) bind(node map[string]any, path, key string, most int64) {
	if node[key] != nil {
		return
	}
	i := slices.IndexFunc(v.bounds, func(b bound) bool { return b.key == key && b.path.MatchString(path) })
	switch {
	case most != 0:
	case i >= 0:
		most = v.bounds[i].most
	default:
		v.t.Errorf("%s has no %s: give the field a marker", path, key)
		return
	}
	node[key] = most
}

// bindKeys bounds the keys of a map, which a schema cannot.
func (v *bounder) bindKeys(node map[string]any) {
	v.require(node, fmt.Sprintf("self.all(k, size(k) <= %d)", longestKey),
		fmt.Sprintf("keys have at most %d characters", longestKey))
}

// require gives a node a rule that it lacks.
func (*bounder) require(node map[string]any, rule, message string) {
	rules := at[[]any](node, "x-kubernetes-validations")
	if !slices.ContainsFunc(rules, func(r any) bool { return at[string](r.(map[string]any), "rule") == rule }) { //nolint:forcetypeassert // a CRD
		node["x-kubernetes-validations"] = append(rules, map[string]any{"rule": rule, "message": message})
	}
}
