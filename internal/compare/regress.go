package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Regress compares a run with the accepted one, cell by cell. A line is Worse
// only if three things agree: the shift is at least the minimum effect, it is
// significant after the correction, and it is larger than the noise floor of that
// cell, which is how far the medians of the runs in history lie apart by
// themselves. History does not hold the run itself and no run that was called
// Regressed, but the accepted one. It is in any order.
func Regress(run, accepted runfile.SuiteRun, history []runfile.SuiteRun, s runfile.SuiteSignificance) Regression {
	f := &finder{}
	f.results(run)
	r := Regression{Baseline: accepted.Run, Run: run.Run}
	lines := f.againstAccepted(run, accepted, s)
	floors := newNoise(history, lines, s)
	for i := range lines {
		floor, ok := floors.of(&lines[i])
		if floors.known && ok && (r.NoiseFloor == nil || floor > *r.NoiseFloor) {
			r.NoiseFloor = &floor
		}
		if lines[i].changed() && math.Abs(*lines[i].Shift) <= floor {
			lines[i].Outcome = Negligible
		}
		if lines[i].changed() {
			r.Changes = append(r.Changes, lines[i])
		}
		r.Regressed = r.Regressed || lines[i].Outcome == Worse
	}
	slices.SortStableFunc(r.Changes, func(a, b Line) int { return cmp.Compare(*a.Shift, *b.Shift) })
	if !floors.known && len(lines) > 0 {
		f.add(NoiseFloorUnknown, severityInfo, "the noise floor needs at least two earlier runs, and there are %d: it is "+
			"the spread within these runs instead", len(history))
	}
	r.Message = r.sentence(lines, floors)
	r.Findings = f.findings
	return r
}

// againstAccepted are the lines of each cell that both runs have.
func (f *finder) againstAccepted(run, accepted runfile.SuiteRun, s runfile.SuiteSignificance) []Line {
	var pairs []pairing
	var alone []string
	_, before := allSeries(accepted)
	now, _ := allSeries(run)
	for _, c := range now {
		if base, ok := before[c.name]; ok {
			pairs = append(pairs, pairing{base: base, candidate: c, SuiteSignificance: s})
		} else {
			alone = append(alone, c.name)
		}
	}
	f.about(alone, NoBaseline, severityWarning, "the accepted run %s has no cell %s: not compared", accepted.Run)
	f.cells(now)
	return f.compare(pairs, now, s)
}

func (l *Line) changed() bool { return l.Outcome == Worse || l.Outcome == Better }

func (r Regression) sentence(lines []Line, floors noise) string {
	texts := map[string][]string{} // by outcome, worst first
	for i := range r.Changes {
		l := &r.Changes[i]
		floor, _ := floors.of(l)
		texts[l.Outcome] = append(texts[l.Outcome], fmt.Sprintf("%s %s by %s (noise floor %s)", Label(l.Cell, l.Step),
			l.Metric, percent(math.Abs(*l.Shift)), percent(floor)))
	}
	worse, better := texts[Worse], texts[Better]
	named := worse
	if len(worse) == 0 {
		named = better
		slices.Reverse(named) // best first
	}
	var b strings.Builder
	switch {
	case len(lines) == 0:
		fmt.Fprintf(&b, "nothing can be compared with the accepted run %s: no cell has results in both", r.Baseline)
	case len(r.Changes) == 0:
		fmt.Fprintf(&b, "none of %d numbers differs from the accepted run %s", len(lines), r.Baseline)
	default:
		fmt.Fprintf(&b, "of %d numbers %d are worse and %d better than in the accepted run %s: %s", len(lines), len(worse),
			len(better), r.Baseline, names(named))
	}
	if !floors.known && len(lines) > 0 {
		b.WriteString("; the noise floor is the spread within these runs, because there are fewer than two earlier runs")
	}
	const most = 480 // characters: the status has room for 512
	if runes := []rune(b.String()); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return b.String()
}

func percent(share float64) string { return strconv.FormatFloat(100*share, 'f', 1, 64) + " %" }

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
	z := -stats.NormalQuantile(alpha(s) / float64(tests(len(lines), s)))
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
