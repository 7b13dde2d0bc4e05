package matrix

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
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
			raw := rawOf(p)
			if raw == nil {
				continue
			}
			if cell.Written, err = jsonpatch.MergePatch(cell.Written, raw); err != nil {
				return nil, fmt.Errorf("cell %s: apply the patches of %s: %w", c.name, describeValues(c.values), err)
			}
		}
		_ = json.Unmarshal(cell.Written, &cell.Spec) // Check names a wrong type, and the patch that has it
		out = append(out, cell)
	}
	return out, nil
}

// pair sets the baseline of each cell, by the rule of package compare: the first
// one that has the values of spec.compare.baseline, and the same on all other
// axes. A cell that has the baseline's values itself is compared with nothing.
func pair(s *v1alpha1.NFSBenchmarkSuite, cells []Cell) error {
	if s.Spec.Compare == nil {
		return nil
	}
	baseline, first := s.Spec.Compare.Baseline, map[string]string{}
	for _, c := range cells {
		if key := others(c.Values, baseline); isBaseline(c.Values, baseline) && first[key] == "" {
			first[key] = c.Name
		}
	}
	pairs := 0
	for i, c := range cells {
		if isBaseline(c.Values, baseline) {
			continue
		}
		if cells[i].Baseline = first[others(c.Values, baseline)]; cells[i].Baseline != "" {
			pairs++
		}
	}
	if pairs == 0 {
		return fmt.Errorf("spec.compare.baseline (%s): no cell differs from another in these axes only, so there is "+
			"nothing to compare: name a value that other cells vary, or leave out spec.compare", selector(baseline))
	}
	return nil
}

func isBaseline(values []Value, baseline map[string]v1alpha1.ShortName) bool {
	found := 0
	for _, v := range values {
		want, ok := baseline[v.Axis]
		if ok && v.Value != string(want) {
			return false
		}
		if ok {
			found++
		}
	}
	return found == len(baseline)
}

// others are the values on the axes that the baseline does not name.
func others(values []Value, baseline map[string]v1alpha1.ShortName) string {
	var b strings.Builder
	for _, v := range values {
		if _, ok := baseline[v.Axis]; !ok {
			b.WriteString(v.Axis + "=" + v.Value + "\n")
		}
	}
	return b.String()
}
