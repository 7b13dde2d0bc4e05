package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// series holds the results of the repetitions of one cell.
type series struct {
	name    string
	steps   []string // in the order in which they were first seen
	mixed   bool     // not all repetitions had all steps
	numbers map[key]column
	wire    map[string][]float64 // percent of the wire limit, by step; one for each repetition that knows it
}

type key struct{ step, metric string }

// column holds one metric of a step, in the order in which it was measured.
type column struct {
	repetitions []int32
	values      []float64
	intervals   []*runfile.SuiteInterval // one per value; nil if the value has none
}

// interval returns the interval of the only value; nil with several values, or if it has none.
func (c column) interval() *runfile.SuiteInterval {
	if len(c.values) != 1 {
		return nil
	}
	return c.intervals[0]
}

func newSeries(name string) *series {
	return &series{name: name, numbers: map[key]column{}, wire: map[string][]float64{}}
}

// add adds the points of one repetition. Repetitions must come in the order of time.
func (s *series) add(repetition int32, points []runfile.SuitePoint) {
	had := len(s.steps) > 0
	seen := map[string]bool{}
	for _, p := range points {
		if seen[p.Step] {
			continue // a second point of the same step is ambiguous
		}
		seen[p.Step] = true
		if !slices.Contains(s.steps, p.Step) {
			s.steps = append(s.steps, p.Step)
			s.mixed = s.mixed || had
		}
		for metric, v := range p.Metrics {
			if !usable(v) {
				continue
			}
			c := s.numbers[key{p.Step, metric}]
			c.repetitions, c.values = append(c.repetitions, repetition), append(c.values, v)
			c.intervals = append(c.intervals, intervalOf(p, metric, v))
			s.numbers[key{p.Step, metric}] = c
		}
		if p.WirePercent != nil {
			s.wire[p.Step] = append(s.wire[p.Step], *p.WirePercent)
		}
	}
	s.mixed = s.mixed || len(seen) < len(s.steps)
}

// usable reports whether v can be a rate or a time: not negative, and without 30 digits. It limits the effect of a
// broken file on the arithmetic.
func usable(v float64) bool { return v >= 0 && v <= 1e30 }

// intervalOf returns the interval of a metric; nil if it is unknown, or does not contain the value. Only the interval
// of a capacity decides an outcome: intervals of other metrics do not cover a second run of the same load.
func intervalOf(p runfile.SuitePoint, metric string, v float64) *runfile.SuiteInterval {
	i, ok := p.Intervals[metric]
	if !ok || !usable(i.Low) || !usable(i.High) || i.Low > v || i.High < v {
		return nil
	}
	return &i
}

func finite(v float64) bool { return math.Abs(v) <= 1e30 }

// saturated reports whether the line was full in the median repetition.
func (s *series) saturated(step string) bool {
	wire := slices.Sorted(slices.Values(s.wire[step]))
	return len(wire) > 0 && judge.LineFull(wire[len(wire)/2])
}

// allSeries returns the cells of a run with their counted results, in order and by name.
func allSeries(run runfile.SuiteRun) (list []*series, byName map[string]*series) {
	byName = map[string]*series{}
	for _, c := range run.Cells {
		if byName[c.Name] == nil {
			byName[c.Name] = newSeries(c.Name)
			list = append(list, byName[c.Name])
		}
	}
	for _, r := range counted(run) {
		if s := byName[r.Cell]; s != nil {
			s.add(r.Repetition, r.Points)
		}
	}
	return list, byName
}

// counted returns the results that succeeded and are not invalid, by position. Of several attempts of a repetition it
// returns the last.
func counted(run runfile.SuiteRun) []runfile.SuiteResult {
	type id struct {
		cell       string
		repetition int32
	}
	last := map[id]runfile.SuiteResult{}
	for _, r := range run.Results {
		if r.Phase != phaseSucceeded || r.Validity == string(bench.ValidityInvalid) {
			continue
		}
		at := id{r.Cell, r.Repetition}
		if had, ok := last[at]; !ok || had.Attempt <= r.Attempt {
			last[at] = r
		}
	}
	return slices.SortedFunc(maps.Values(last), func(a, b runfile.SuiteResult) int {
		return cmp.Or(cmp.Compare(a.Position, b.Position), cmp.Compare(a.Repetition, b.Repetition),
			cmp.Compare(a.Cell, b.Cell))
	})
}

// phaseSucceeded is the phase of a result that counts, by its name in the API.
const phaseSucceeded = "Succeeded"

// cells returns the numbers of each step and metric of a cell.
func (s *series) cells(metrics []string) []Cell {
	var cells []Cell
	for _, step := range s.steps {
		for _, metric := range metrics {
			values, own := s.numbers[key{step, metric}].values, s.numbers[key{step, metric}].interval()
			if len(values) == 0 {
				continue
			}
			c := Cell{
				Cell: s.name, Step: step, Metric: metric, Unit: measure.MetricOf(metric).Unit, Values: values,
				Mean: stats.Mean(values), Median: stats.Median(values),
				Minimum: slices.Min(values), Maximum: slices.Max(values), Saturated: s.saturated(step),
			}
			if i, ok := stats.MedianInterval(values, medianConfidence); ok {
				c.MedianLow, c.MedianHigh = &i.Low, &i.High
			} else if own != nil {
				c.MedianLow, c.MedianHigh = &own.Low, &own.High
			}
			if v, ok := stats.CoefficientOfVariation(values); ok {
				c.Variation = &v
			}
			cells = append(cells, c)
		}
	}
	return cells
}

// medianConfidence is the confidence of Cell's interval.
const medianConfidence = 0.95

// Metrics returns the requested metrics, or the API's default.
func Metrics[S ~string](asked []S) []S {
	if len(asked) == 0 {
		return []S{bench.MetricMeanLatency, bench.MetricThroughput}
	}
	return asked
}
