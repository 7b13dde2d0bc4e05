package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/human"
)

// maxName is the maximum length of a label value.
const maxName = 63

// combo is a cell without its spec: its name and values, and a patch of its own.
type combo struct {
	name   string
	values []Value
	patch  *runtime.RawExtension
}

// combinations returns the cells without their specs: at least one, and no two with the same name.
func combinations(s *v1alpha1.NFSBenchmarkSuite) ([]combo, error) {
	product := 1
	for _, a := range s.Spec.Axes {
		product *= len(a.Values) // at most 6 axes of 32 values
	}
	if product > MaxCells*64 { // exclude could hardly remove so many
		return nil, fmt.Errorf("spec.axes: the combinations are more than %d, and a suite has at most %d cells: take "+
			"values out, or make several suites", MaxCells*64, MaxCells)
	}
	var combos []combo
	used := make([]int, len(s.Spec.Exclude))
	for _, values := range products(s.Spec.Axes) {
		if !excluded(s, values, used) {
			combos = append(combos, combo{name: cellName(values), values: values})
		}
	}
	for _, x := range s.Spec.Include {
		var values []Value // in the order of the axes
		for _, a := range s.Spec.Axes {
			if v, ok := x.Values[a.Name]; ok {
				values = append(values, Value{Axis: a.Name, Value: string(v)})
			}
		}
		combos = append(combos, combo{name: x.Name, values: values, patch: x.Patch})
	}
	var errs []error
	for i, n := range used {
		if n == 0 {
			errs = append(errs, fmt.Errorf("spec.exclude[%d] (%s) selects no cell: correct its values, or remove it", i,
				selector(s.Spec.Exclude[i].Values)))
		}
	}
	return combos, errors.Join(append(errs, checkCount(s, len(combos)), checkNames(combos))...)
}

// products returns all combinations, the last axis fastest. Without axes it returns one combination without values.
func products(axes []v1alpha1.Axis) [][]Value {
	all := [][]Value{{}}
	for _, a := range axes {
		var longer [][]Value
		for _, values := range all {
			for _, v := range a.Values {
				longer = append(longer, append(slices.Clone(values), Value{Axis: a.Name, Value: v.Name}))
			}
		}
		all = longer
	}
	return all
}

// excluded reports whether an entry of exclude selects the values, and counts
// for each entry how many it selects.
func excluded(s *v1alpha1.NFSBenchmarkSuite, values []Value, used []int) bool {
	is := false
	for i, e := range s.Spec.Exclude {
		matches := len(e.Values) > 0
		for axis, value := range e.Values {
			matches = matches && slices.Contains(values, Value{Axis: axis, Value: string(value)})
		}
		if matches {
			used[i]++
			is = true
		}
	}
	return is
}

// cellName joins the values. A name that is too long for a label ends with its hash.
func cellName(values []Value) string {
	if len(values) == 0 {
		return templateCell
	}
	var words []string
	for _, v := range values {
		words = append(words, v.Value)
	}
	name := strings.Join(words, "-")
	if len(name) <= maxName {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	sum := fmt.Sprintf("-%08x", h.Sum32())
	return strings.TrimRight(name[:maxName-len(sum)], "-") + sum
}

func checkCount(s *v1alpha1.NFSBenchmarkSuite, cells int) error {
	benchmarks := cells * int(max(s.Spec.Repetitions, 1))
	switch {
	case cells == 0:
		return errors.New("spec.exclude leaves no cell: remove an entry")
	case cells > MaxCells:
		return fmt.Errorf("spec.axes and spec.include come to %d cells, and a suite has at most %d: take values out, or "+
			"make several suites", cells, MaxCells)
	case benchmarks > MaxBenchmarks:
		return fmt.Errorf("%d cells x %d repetitions are %d benchmarks, and a suite has at most %d: lower "+
			"spec.repetitions, or make several suites", cells, s.Spec.Repetitions, benchmarks, MaxBenchmarks)
	}
	return nil
}

func checkNames(combos []combo) error {
	seen := map[string]combo{}
	var errs []error
	for _, c := range combos {
		if other, ok := seen[c.name]; ok {
			errs = append(errs, fmt.Errorf("two cells are both named %s: that of %s and that of %s: rename a value, or the "+
				"entry of spec.include", c.name, describeValues(other.values), describeValues(c.values)))
			continue
		}
		seen[c.name] = c
	}
	return errors.Join(errs...)
}

// checkSelectors rejects axes and values that do not exist.
func checkSelectors(s *v1alpha1.NFSBenchmarkSuite) error {
	var errs []error
	for i, e := range s.Spec.Exclude {
		errs = append(errs, checkValues(fmt.Sprintf("spec.exclude[%d].values", i), s, e.Values)...)
	}
	for i, x := range s.Spec.Include {
		errs = append(errs, checkValues(fmt.Sprintf("spec.include[%d].values (%s)", i, x.Name), s, x.Values)...)
	}
	if c := s.Spec.Compare; c != nil {
		errs = append(errs, checkValues("spec.compare.baseline", s, c.Baseline)...)
	}
	return errors.Join(errs...)
}

func checkValues(at string, s *v1alpha1.NFSBenchmarkSuite, values map[string]v1alpha1.ShortName) []error {
	byAxis, axes := map[string][]string{}, []string{}
	for _, a := range s.Spec.Axes {
		axes = append(axes, a.Name)
		for _, v := range a.Values {
			byAxis[a.Name] = append(byAxis[a.Name], v.Name)
		}
	}
	var errs []error
	for _, axis := range sortedKeys(values) {
		names, ok := byAxis[axis]
		switch value := string(values[axis]); {
		case !ok:
			errs = append(errs, fmt.Errorf("%s: there is no axis %q%s", at, axis, meant(axis, axes)))
		case !slices.Contains(names, value):
			errs = append(errs, fmt.Errorf("%s: axis %s has no value %q%s", at, axis, value, meant(value, names)))
		}
	}
	return errs
}

func meant(word string, known []string) string {
	if near := human.Nearest(word, known); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	if len(known) == 0 {
		return ""
	}
	return "; there are " + strings.Join(known, ", ")
}

// checkMetadata checks the metadata of the benchmarks against the rules of Kubernetes, and rejects variables of Argo
// in the template.
func checkMetadata(s *v1alpha1.NFSBenchmarkSuite) error {
	m, at := s.Spec.Template.Metadata, field.NewPath("spec", "template", "metadata")
	var errs []error
	list := metav1validation.ValidateLabels(m.Labels, at.Child("labels"))
	list = append(list, apivalidation.ValidateAnnotations(m.Annotations, at.Child("annotations"))...)
	for _, e := range list {
		errs = append(errs, e)
	}
	errs = append(errs, checkTree("spec.template", tree(s.Spec.Template), 0)...)
	return errors.Join(errs...)
}

func tree(template v1alpha1.BenchmarkTemplate) any {
	var out any
	data, _ := json.Marshal(template) // cannot fail: it was read from JSON
	_ = json.Unmarshal(data, &out)
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func selector(values map[string]v1alpha1.ShortName) string {
	var out []string
	for _, axis := range sortedKeys(values) {
		out = append(out, axis+"="+string(values[axis]))
	}
	return strings.Join(out, ", ")
}

// describeValues writes values as axis=value.
func describeValues(values []Value) string {
	if len(values) == 0 {
		return "no values"
	}
	var out []string
	for _, v := range values {
		out = append(out, v.Axis+"="+v.Value)
	}
	return strings.Join(out, ", ")
}
