package matrix

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// cells patches the template for each combination.
func cells(s *v1alpha1.NFSBenchmarkSuite, combos []combo) ([]Cell, error) {
	template, err := json.Marshal(s.Spec.Template.Spec)
	if err != nil {
		return nil, fmt.Errorf("write spec.template.spec: %w", err)
	}
	patches := map[Value]*runtime.RawExtension{}
	for _, a := range s.Spec.Axes {
		for _, v := range a.Values {
			patches[Value{Axis: a.Name, Value: v.Name}] = v.Patch
		}
	}
	out := make([]Cell, 0, len(combos))
	for _, c := range combos {
		cell := Cell{Name: c.name, Values: c.values, Written: template}
		list := make([]*runtime.RawExtension, 0, len(c.values)+1)
		for _, v := range c.values {
			list = append(list, patches[v])
		}
		for _, p := range append(list, c.patch) {
			if cell.Written, err = apply(cell.Written, p); err != nil {
				return nil, fmt.Errorf("cell %s: apply the patches of %s: %w", c.name, describeValues(c.values), err)
			}
		}
		if err := json.Unmarshal(cell.Written, &cell.Spec); err != nil {
			return nil, fmt.Errorf("cell %s: read what the patches of %s made: %w", c.name, describeValues(c.values), err)
		}
		out = append(out, cell)
	}
	return out, nil
}

// pair sets the baseline of each cell: the first one that has the same values but
// for those that spec.compare.baseline names. A cell that has those itself is a
// baseline; one that lacks an axis of them is compared with nothing.
func pair(s *v1alpha1.NFSBenchmarkSuite, cells []Cell) error {
	if s.Spec.Compare == nil {
		return nil
	}
	first := map[string]string{}
	for _, c := range cells {
		if _, ok := first[key(c.Values)]; !ok {
			first[key(c.Values)] = c.Name
		}
	}
	pairs := 0
	for i, c := range cells {
		base, ok := withBaseline(c.Values, s.Spec.Compare.Baseline)
		if !ok || key(base) == key(c.Values) {
			continue
		}
		if cells[i].Baseline = first[key(base)]; cells[i].Baseline != "" {
			pairs++
		}
	}
	if pairs == 0 {
		return fmt.Errorf("spec.compare.baseline (%s): no cell differs from another in these axes only, so there is nothing to compare: name a value that other cells vary, or leave out spec.compare", selector(s.Spec.Compare.Baseline))
	}
	return nil
}

// withBaseline replaces the values of the baseline's axes; false when one of them
// is not there.
func withBaseline(values []Value, baseline map[string]v1alpha1.ShortName) ([]Value, bool) {
	out, found := make([]Value, len(values)), 0
	for i, v := range values {
		if b, ok := baseline[v.Axis]; ok {
			v.Value = string(b)
			found++
		}
		out[i] = v
	}
	return out, found == len(baseline)
}

func key(values []Value) string {
	var b strings.Builder
	for _, v := range values {
		b.WriteString(v.Axis + "=" + v.Value + "\n")
	}
	return b.String()
}
