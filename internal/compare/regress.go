package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// runs compares a run with the accepted one, cell by cell.
func (f *finder) runs(q Request, t *Table) {
	f.results(*q.Run)
	t.Baseline, t.Run = q.Accepted.Run, q.Run.Run
	var pairs []pairing
	var alone []string
	_, before := allSeries(*q.Accepted)
	now, _ := allSeries(*q.Run)
	for _, c := range now {
		if base, ok := before[c.name]; ok {
			pairs = append(pairs, pairing{base: base, candidate: c, SuiteSignificance: q.SuiteSignificance})
		} else {
			alone = append(alone, c.name)
		}
	}
	f.about(alone, NoBaseline, bench.SeverityWarning, "the accepted run %s has no cell %s: not compared", t.Baseline)
	f.cells(now)
	t.add(now, Metrics(q.Metrics))
	lines, floors := f.compare(pairs, now, q.SuiteSignificance, q.History)
	for i := range lines {
		l := &lines[i]
		l.Baseline = t.Baseline
		if floors.known && l.NoiseFloor != nil && (t.NoiseFloor == nil || *l.NoiseFloor > *t.NoiseFloor) {
			t.NoiseFloor = l.NoiseFloor
		}
		t.Regressed = t.Regressed || l.Outcome == bench.OutcomeWorse
	}
	t.Comparisons = lines
	if !floors.known && len(lines) > 0 {
		f.add(NoiseFloorUnknown, bench.SeverityInfo, "the noise floor needs at least two earlier runs, and there are %d: it "+
			"is the spread within these runs instead", len(q.History))
	}
	t.Message = t.sentence(floors.known)
}

func (l *Line) changed() bool {
	return l.Outcome == bench.OutcomeWorse || l.Outcome == bench.OutcomeBetter
}

// sentence describes the comparison with the accepted run.
func (t Table) sentence(known bool) string {
	lines, changes := t.Comparisons, t.Changes()
	texts := map[bench.Outcome][]string{} // by outcome, worst first
	for _, l := range changes {
		floor := 0.0
		if l.NoiseFloor != nil {
			floor = *l.NoiseFloor
		}
		texts[l.Outcome] = append(texts[l.Outcome], fmt.Sprintf("%s %s by %s (noise floor %s)", Label(l.Cell, l.Step),
			l.Metric, percent(math.Abs(*l.Shift)), percent(floor)))
	}
	worse, better := texts[bench.OutcomeWorse], texts[bench.OutcomeBetter]
	named := worse
	if len(worse) == 0 {
		named = better
		slices.Reverse(named) // best first
	}
	var b strings.Builder
	switch {
	case len(lines) == 0:
		fmt.Fprintf(&b, "nothing can be compared with the accepted run %s: no cell has results in both", t.Baseline)
	case len(changes) == 0:
		fmt.Fprintf(&b, "none of %d numbers differs from the accepted run %s", len(lines), t.Baseline)
	default:
		fmt.Fprintf(&b, "of %d numbers %d are worse and %d better than in the accepted run %s: %s", len(lines), len(worse),
			len(better), t.Baseline, names(named))
	}
	if !known && len(lines) > 0 {
		b.WriteString("; the noise floor is the spread within these runs, because there are fewer than two earlier runs")
	}
	const most = 480 // characters: the status has room for 512
	if runes := []rune(b.String()); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return b.String()
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

// noise holds the distances between unchanged runs, as shares of a median.
//
// The distance of two consecutive runs is the distance of their medians. The typical distance is the median of all
// distances (of two, the larger), not the largest: each accepted slower run leaves one large distance in the history,
// which must not hide the next change. A few distances can be small by chance; therefore a cell has at least the
// typical distance of all cells for the metric. The floor is the amount by which, for normal noise, a run is worse
// with the probability alpha; with the correction, alpha divided by the number of lines, because all lines must stay
// below it.
type noise struct {
	known   bool // from history
	typical map[lineKey]float64
	metric  map[string]float64
	factor  float64 // from the typical distance to the floor
}

type lineKey struct{ cell, step, metric string }

// typicalOfNormal is the median distance of two normal numbers, in units of the
// standard deviation of their difference.
const typicalOfNormal = 0.6745

// medianOfNormal is the standard deviation of the median of n normal values, divided by the standard deviation of
// their mean: the root of pi/2.
const medianOfNormal = 1.2533

// newNoise computes the floor from the history. With fewer than two runs in the history, it uses the spread within
// the two compared runs.
func newNoise(history []runfile.SuiteRun, lines []Line, s runfile.SuiteSignificance) noise {
	z := -stats.NormalQuantile(alpha(s) / float64(tests(len(lines), s)))
	n := noise{typical: map[lineKey]float64{}, metric: map[string]float64{}}
	distances := distancesOf(history, Metrics(s.Metrics))
	if len(distances) == 0 {
		n.factor = z
		for i := range lines {
			if v, ok := lines[i].spread(); ok {
				n.typical[lines[i].key()] = v * medianOfNormal * math.Sqrt(2/float64(len(lines[i].Base)))
			}
		}
		return n
	}
	n.known, n.factor = true, z/typicalOfNormal
	byMetric := map[string][]float64{}
	for k, list := range distances {
		slices.Sort(list)
		n.typical[k] = list[len(list)/2]
		byMetric[k.metric] = append(byMetric[k.metric], n.typical[k])
	}
	for metric, list := range byMetric {
		n.metric[metric] = stats.Median(list)
	}
	return n
}

// of returns the floor of a line; false if the floor is unknown.
func (n noise) of(l *Line) (float64, bool) {
	v, ok := n.typical[l.key()]
	m, okay := n.metric[l.Metric]
	return n.factor * max(v, m), ok || okay
}

func (l *Line) key() lineKey { return lineKey{l.Cell, l.Step, l.Metric} }

// Medians returns the part of a run that Request.History needs: for each cell and step the medians of the metrics.
func Medians(run runfile.SuiteRun, metrics []string) runfile.SuiteRun {
	out := runfile.SuiteRun{Run: run.Run, Started: run.Started}
	all, _ := allSeries(run)
	for i, s := range all {
		result := runfile.SuiteResult{Cell: s.name, Position: int32(i), Phase: phaseSucceeded} //nolint:gosec // an order
		for _, c := range s.cells(Metrics(metrics)) {
			if n := len(result.Points); n == 0 || result.Points[n-1].Step != c.Step {
				result.Points = append(result.Points, runfile.SuitePoint{Step: c.Step, Metrics: map[string]float64{}})
			}
			result.Points[len(result.Points)-1].Metrics[c.Metric] = c.Median
		}
		out.Cells = append(out.Cells, runfile.SuiteCell{Name: s.name})
		out.Results = append(out.Results, result)
	}
	return out
}

// distancesOf returns the distances between the medians of consecutive runs, as shares of the earlier median, for
// each number that two runs have.
func distancesOf(history []runfile.SuiteRun, metrics []string) map[lineKey][]float64 {
	ordered := slices.Clone(history)
	slices.SortStableFunc(ordered, func(a, b runfile.SuiteRun) int { return a.Started.Compare(b.Started) })
	before, distances := map[lineKey]float64{}, map[lineKey][]float64{}
	for _, run := range ordered {
		all, _ := allSeries(run)
		for _, s := range all {
			for _, c := range s.cells(metrics) {
				k := lineKey{c.Cell, c.Step, c.Metric}
				if m, ok := before[k]; ok && finite(1/m) {
					distances[k] = append(distances[k], math.Abs(c.Median-m)/m)
				}
				before[k] = c.Median
			}
		}
	}
	return distances
}
