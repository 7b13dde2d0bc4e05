package suite

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// What holds where a spec says nothing; the defaults of the CRD.
const (
	defaultHistory      = 10
	defaultHistoryLimit = 10
)

// newFile begins the record of a run with what was asked for.
func newFile(s *scope, one *run) runfile.SuiteRun {
	return runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: s.suite.Name, Namespace: s.suite.Namespace, Run: one.name,
		Started: one.started().UTC(), Settings: settingsOf(s.suite, s.matrix.Seed), Cells: cellsOf(*s.matrix),
	}
}

func settingsOf(suite *v1alpha1.NFSBenchmarkSuite, seed int64) runfile.SuiteSettings {
	sp := suite.Spec
	out := runfile.SuiteSettings{Repetitions: sp.Repetitions, Order: string(sp.Order), Seed: seed, Compare: compareOf(sp.Compare)}
	if sp.Order == v1alpha1.OrderInterleaved {
		out.Blocks = string(sp.Blocks)
	}
	if sp.Schedule != nil {
		var by v1alpha1.Significance
		if sp.Regression != nil {
			by = sp.Regression.Significance
		}
		out.Regression = new(matrix.Significance(by))
	}
	return out
}

func compareOf(c *v1alpha1.Compare) *runfile.SuiteCompare {
	if c == nil {
		return nil
	}
	out := &runfile.SuiteCompare{SuiteSignificance: matrix.Significance(c.Significance), Baseline: map[string]string{}, ImpactOf: string(c.ImpactOf)}
	for axis, value := range c.Baseline {
		out.Baseline[axis] = string(value)
	}
	if out.ImpactOf == "" {
		out.ImpactOf = string(v1alpha1.DenominatorBaseline)
	}
	return out
}

func cellsOf(m matrix.Matrix) []runfile.SuiteCell {
	out := make([]runfile.SuiteCell, 0, len(m.Cells))
	for _, c := range m.Cells {
		cell := runfile.SuiteCell{Name: c.Name}
		for _, v := range c.Values {
			cell.Values = append(cell.Values, runfile.SuiteAxis{Axis: v.Axis, Value: v.Value})
		}
		out = append(out, cell)
	}
	return out
}
