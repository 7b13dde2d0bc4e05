package matrix

import (
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxBytes bounds the specs of all cells. Argo Workflows stores at most half of that for a run, see workflow.CheckSize.
const maxBytes = 2 << 20

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
	out, size := make([]Cell, 0, len(combos)), 0
	for _, c := range combos {
		cell := Cell{SuiteCell: runfile.SuiteCell{Name: c.name, Values: c.values}}
		list := make([]*runtime.RawExtension, 0, len(c.values)+1)
		for _, v := range c.values {
			list = append(list, patches[v])
		}
		if cell.Written, err = patched(template, append(list, c.patch)); err != nil {
			return nil, fmt.Errorf("cell %s: apply the patches of %s: %w", c.name, describeValues(c.values), err)
		}
		if size += len(cell.Written); size > maxBytes {
			return nil, fmt.Errorf("the specs of the %d cells come to more than %d kB: take values out, make the template "+
				"and the patches smaller, or make several suites", len(combos), maxBytes/1000)
		}
		out = append(out, cell)
	}
	return out, nil
}

// patched applies patches to a spec, in their order.
func patched(spec []byte, patches []*runtime.RawExtension) ([]byte, error) {
	for _, p := range patches {
		raw := rawOf(p)
		if raw == nil {
			continue
		}
		var err error
		if spec, err = jsonpatch.MergePatch(spec, raw); err != nil {
			return nil, err
		}
	}
	return spec, nil
}

// pair sets the baseline of each cell, by the rule of package compare.
func pair(s *v1alpha1.NFSBenchmarkSuite, cells []Cell) error {
	if s.Spec.Compare == nil {
		return nil
	}
	list := make([]runfile.SuiteCell, 0, len(cells))
	for _, c := range cells {
		list = append(list, c.SuiteCell)
	}
	baselines, _ := compare.Baselines(list, s.Spec.Compare.Baseline)
	for i := range cells {
		cells[i].Baseline = baselines[cells[i].Name]
	}
	if len(baselines) == 0 {
		return fmt.Errorf("spec.compare.baseline (%s): no cell differs from another in these axes only, so there is "+
			"nothing to compare: name a value that other cells vary, or leave out spec.compare",
			selector(s.Spec.Compare.Baseline))
	}
	return nil
}
