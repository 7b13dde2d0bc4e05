package matrix

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxErrors bounds the cells that errors name; the others are counted. It also bounds the errors of patches.
const maxErrors = 10

// Checker checks JSON against the schema of the spec of an NFSBenchmark, as crdcheck.Checker does.
type Checker interface {
	// CheckPart checks the fields, types, bounds and enums of a part of a spec.
	CheckPart(part []byte) error
	// Complete checks a whole spec, CEL rules included, and returns it with its defaults.
	Complete(spec []byte) ([]byte, error)
}

// Check checks every patch and every cell against the schema, every cell for errors that its plan has on any storage,
// whether the repetitions suffice for the comparisons, and whether Argo Workflows can read the schedule. Errors name
// the patch, the cell and its values, or the field. Check sets Spec and Written of m's cells, with the defaults, in
// place.
func Check(m Matrix, s *v1alpha1.NFSBenchmarkSuite, c Checker) error {
	if err := checkFields(s, c); err != nil {
		return err // the cells would repeat it
	}
	var errs []error
	bad := 0
	for i := range m.Cells {
		err := checkCell(&m.Cells[i], c)
		if err == nil {
			continue
		}
		if bad++; bad <= maxErrors {
			errs = append(errs, fmt.Errorf("cell %s (%s): %s", m.Cells[i].Name, describeValues(m.Cells[i].Values), oneLine(err)))
		}
	}
	if bad > maxErrors {
		errs = append(errs, fmt.Errorf("and %d more cells", bad-maxErrors))
	}
	errs = append(errs, checkRepetitions(m, s), checkSchedule(s.Spec.Schedule))
	return errors.Join(errs...)
}

// oneLine keeps the errors of one cell together.
func oneLine(err error) string { return strings.ReplaceAll(err.Error(), "\n", "; ") }

func checkCell(cell *Cell, c Checker) error {
	data, err := c.Complete(cell.Written)
	if err != nil {
		return err
	}
	cell.Spec = v1alpha1.NFSBenchmarkSpec{}
	cell.Written = data
	if err := json.Unmarshal(data, &cell.Spec); err != nil {
		return err
	}
	_, err = plan.Build(cell.benchmark(), plan.Anywhere()) // what the spec alone shows
	return err
}

// checkRepetitions checks whether the number of repetitions can show a difference. Each step of a ramp is a line of
// its own.
func checkRepetitions(m Matrix, s *v1alpha1.NFSBenchmarkSuite) error {
	var errs []error
	ask := func(field string, asked v1alpha1.Significance, counts func(Cell) bool) {
		n, lines := int(max(s.Spec.Repetitions, 1)), 0
		metrics := tested(n, asked)
		for _, cell := range m.Cells {
			if counts(cell) {
				lines += steps(cell) * metrics
			}
		}
		if err := compare.CheckRepetitions(n, lines, Significance(asked)); err != nil && metrics > 0 {
			errs = append(errs, fmt.Errorf("%s: %w", field, err))
		}
	}
	if c := s.Spec.Compare; c != nil {
		ask("spec.repetitions", c.Significance, func(c Cell) bool { return c.Baseline != "" })
	}
	if r := s.Spec.Regression; r != nil {
		ask("spec.regression", r.Significance, func(Cell) bool { return true })
	}
	return errors.Join(errs...)
}

// tested returns how many metrics of each cell need a rank test with n repetitions. A single
// capacity is compared by its interval.
func tested(n int, s v1alpha1.Significance) int {
	metrics := compare.Metrics(s.Metrics)
	if n == 1 {
		metrics = slices.DeleteFunc(slices.Clone(metrics),
			func(m bench.Metric) bool { return m == bench.MetricCapacity })
	}
	return len(metrics)
}

// steps returns the number of levels of load of a cell.
func steps(c Cell) int {
	if w := c.Spec.Workload.SLOB; w != nil {
		return max(len(w.Users), 1)
	}
	return 1
}

// Significance converts the rules of a spec to the form in the record of a run, with the defaults.
func Significance(s v1alpha1.Significance) runfile.SuiteSignificance {
	out := runfile.SuiteSignificance{
		Alpha: runfile.DefaultAlpha, MinimumEffect: runfile.DefaultMinimumEffect, Correction: runfile.DefaultCorrection,
	}
	for _, m := range compare.Metrics(s.Metrics) {
		out.Metrics = append(out.Metrics, string(m))
	}
	if a, err := strconv.ParseFloat(s.Alpha, 64); err == nil {
		out.Alpha = a
	}
	if s.MinimumEffectPercent != nil {
		out.MinimumEffect = float64(*s.MinimumEffectPercent) / 100
	}
	if s.Correction != "" {
		out.Correction = string(s.Correction)
	}
	return out
}
