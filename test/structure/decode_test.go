package structure

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
)

// TestTheGoTypesDecodeWhatTheSchemaTakes: an object that they do not decode fails each list and watch of its kind, in
// all namespaces.
func TestTheGoTypesDecodeWhatTheSchemaTakes(t *testing.T) {
	for name, kind := range map[string]struct {
		manifest []byte
		spec     func() any
	}{
		"nfsbenchmarks":      {crd.NFSBenchmark, func() any { return &v1alpha1.NFSBenchmarkSpec{} }},
		"nfsbenchmarksuites": {crd.NFSBenchmarkSuite, func() any { return &v1alpha1.NFSBenchmarkSuiteSpec{} }},
	} {
		checker, err := crdcheck.Compile(kind.manifest)
		if err != nil {
			t.Fatal(err)
		}
		var manifest map[string]any
		if err := yaml.Unmarshal(kind.manifest, &manifest); err != nil {
			t.Fatal(err)
		}
		taken := 0
		visitNodes(schemaOfSpec(manifest), func(v any) any { return v }, func(node map[string]any, in func(any) any) {
			for _, v := range valuesFor(node) {
				text, err := utiljson.Marshal(in(v))
				if err != nil {
					t.Fatal(err)
				}
				if checker.CheckPart(text) != nil || !matches(node, v) {
					continue
				}
				taken++
				if err := utiljson.Unmarshal(text, kind.spec()); err != nil {
					t.Errorf("%s: the schema takes %s: %v", name, text, err)
					return
				}
				if node["x-kubernetes-int-or-string"] == true && (v == "1e100" || v == "1e-100") {
					t.Errorf("%s: the schema takes %s: the time to parse a quantity grows with its exponent", name, text)
				}
			}
		})
		if taken < 1000 {
			t.Errorf("%s: the schema takes only %d values", name, taken)
		}
	}
}

// visitNodes calls visit for each node of a schema, with a function that puts a value of the node into a spec.
func visitNodes(node map[string]any, in func(any) any, visit func(node map[string]any, in func(any) any)) {
	visit(node, in)
	for name, p := range at[map[string]any](node, "properties") {
		visitNodes(p.(map[string]any), func(v any) any { return in(map[string]any{name: v}) }, visit) //nolint:forcetypeassert // a CRD
	}
	if items := at[map[string]any](node, "items"); items != nil {
		visitNodes(items, func(v any) any { return in([]any{v}) }, visit)
	}
	if values := at[map[string]any](node, "additionalProperties"); values != nil {
		visitNodes(values, func(v any) any { return in(map[string]any{"x": v}) }, visit)
	}
}

// patternOf returns the pattern in the rule of a node; empty if it has none.
func patternOf(node map[string]any) string {
	for _, r := range at[[]any](node, "x-kubernetes-validations") {
		if found := onlyMatches.FindStringSubmatch(at[string](r.(map[string]any), "rule")); found != nil { //nolint:forcetypeassert // a CRD
			return found[1]
		}
	}
	return ""
}

var onlyMatches = regexp.MustCompile(`^(?:self|string\(self\))\.matches\(r'(.*)'\)$`)

// matches reports whether a value has the pattern of a node.
func matches(node map[string]any, v any) bool {
	return regexp.MustCompile(patternOf(node)).MatchString(fmt.Sprint(v))
}

// valuesFor are values of all types, and those at the edges of the pattern of a node.
func valuesFor(node map[string]any) []any {
	values := []any{
		true, nil, -1, 0, 1, 1000, math.MaxInt32 + 1, math.MinInt64, math.MaxInt64, 1.5, 1e30,
		[]any{},
		map[string]any{},
		"", "x", "1", "-1", "1.5", "1e100", "1e-100", "1s", "NaN",
	}
	if re, err := syntax.Parse(patternOf(node), syntax.Perl); err == nil {
		for _, s := range edges(re) {
			values = append(values, s)
		}
	}
	return values
}

// edges are strings that a pattern takes: with each alternative, with both ends of each class, and without each part
// that it can do without.
func edges(re *syntax.Regexp) []string {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{string(re.Rune)}
	case syntax.OpCharClass:
		return []string{string(re.Rune[0]), string(re.Rune[len(re.Rune)-1])}
	case syntax.OpCapture, syntax.OpPlus:
		return edges(re.Sub[0])
	case syntax.OpQuest, syntax.OpStar:
		return append(edges(re.Sub[0]), "")
	case syntax.OpRepeat:
		return edges(&syntax.Regexp{Op: syntax.OpConcat, Sub: slices.Repeat(re.Sub, re.Max)})
	case syntax.OpAlternate:
		var all []string
		for _, sub := range re.Sub {
			all = append(all, edges(sub)...)
		}
		return all
	case syntax.OpConcat:
		all := []string{""}
		for _, sub := range re.Sub {
			begins, ends := all, edges(sub)
			all = nil
			for _, b := range begins {
				for _, e := range ends {
					all = append(all, b+e)
				}
			}
		}
		return all
	default: // the begin and the end of the text
		return []string{""}
	}
}
