package compare

import (
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// noise is how far unchanged runs lie apart, as shares of a median.
//
// The distance of two consecutive runs is that of their medians. Typical is the
// median of the distances (of two, the larger), and not the largest: one change in
// the history, of which there is one whenever a slower run was accepted, must not
// hide the next. A few distances can be small by luck; therefore a cell has at
// least what is typical of all cells for this metric. The floor is what, for normal
// noise, a run is worse by with the probability alpha; with the correction, alpha
// divided by the number of lines, as all of them must keep below.
type noise struct {
	known   bool // from history
	typical map[lineKey]float64
	metric  map[string]float64
	factor  float64 // of a typical distance
}

type lineKey struct{ cell, step, metric string }

// typicalOfNormal is the median distance of two normal numbers, in units of the
// standard deviation of their difference.
const typicalOfNormal = 0.6745

// medianOfNormal is the standard deviation of a median of n normal values, in
// units of theirs over the root of n: the root of pi/2.
const medianOfNormal = 1.2533

// newNoise takes the floor from the history, or with fewer than two runs in it
// from the spread within the two runs that are compared.
func newNoise(history []runfile.SuiteRun, lines []Line, s runfile.SuiteSignificance) noise {
	tests := 1.0
	if s.Correction != correctionNone {
		tests = max(1, float64(len(lines)))
	}
	z := -stats.NormalQuantile(alpha(s) / tests)
	n := noise{typical: map[lineKey]float64{}, metric: map[string]float64{}}
	distances := distancesOf(history, orDefault(s.Metrics))
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

// of is the floor of a line; false where nothing is known of it.
func (n noise) of(l *Line) (float64, bool) {
	v, ok := n.typical[l.key()]
	m, okay := n.metric[l.Metric]
	return n.factor * max(v, m), ok || okay
}

func (l *Line) key() lineKey { return lineKey{l.Cell, l.Step, l.Metric} }

// distancesOf are those of the medians of consecutive runs, as shares of the
// earlier one, for each number that two of them have.
func distancesOf(history []runfile.SuiteRun, metrics []string) map[lineKey][]float64 {
	ordered := slices.Clone(history)
	slices.SortStableFunc(ordered, func(a, b runfile.SuiteRun) int { return a.Started.Compare(b.Started) })
	before, distances := map[lineKey]float64{}, map[lineKey][]float64{}
	for _, run := range ordered {
		for _, s := range allSeries(run) {
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
