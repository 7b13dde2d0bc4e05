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
// and exponents that take minutes to parse.
const quantity = `^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`

// shortExponent finds nothing in a quantity with a long exponent.
const shortExponent = `.find('^[^eE]+([eE][-+0-9i]{0,3})?$')`

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
		r["rule"] = withShortExponents(at[string](r, "rule"))
	}
	switch {
	case node["x-kubernetes-int-or-string"] == true: // a quantity
		v.bind(node, path, "maxLength", 32)
		node["pattern"] = quantity
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
	properties := at[map[string]any](node, "properties")
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		v.visit(at[map[string]any](properties, name), path+"."+name)
	}
}

// withShortExponents keeps a rule from parsing a quantity with a long exponent: the API server asks the rules also
// where a pattern does not match.
func withShortExponents(rule string) string {
	before, operand, found := strings.Cut(rule, "quantity(string(")
	if !found {
		return rule
	}
	open, end := 1, 0
	for ; open > 0; end++ {
		open += strings.Count(operand[end:end+1], "(") - strings.Count(operand[end:end+1], ")")
	}
	return before + "quantity(string(" + operand[:end] + shortExponent +
		withShortExponents(strings.TrimPrefix(operand[end:], shortExponent))
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
func (*bounder) bindKeys(node map[string]any) {
	rule := map[string]any{
		"rule": fmt.Sprintf("self.all(k, size(k) <= %d)", longestKey), "message": fmt.Sprintf("keys have at most %d characters", longestKey),
	}
	rules := at[[]any](node, "x-kubernetes-validations")
	if !slices.ContainsFunc(rules, func(r any) bool { return at[string](r.(map[string]any), "rule") == rule["rule"] }) { //nolint:forcetypeassert // a CRD
		node["x-kubernetes-validations"] = append(rules, rule)
	}
}
