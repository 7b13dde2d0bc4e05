package compare

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// The codes of findings; docs/findings.md explains them.
const (
	InvalidLeftOut     judge.Code = "InvalidLeftOut"
	SuspectIncluded    judge.Code = "SuspectIncluded"
	MixedSteps         judge.Code = "MixedSteps"
	NoBaseline         judge.Code = "NoBaseline"
	UnequalRepetitions judge.Code = "UnequalRepetitions"
	MetricNotMeasured  judge.Code = "MetricNotMeasured"
	TooFewRepetitions  judge.Code = "TooFewRepetitions"
	NoiseFloorUnknown  judge.Code = "NoiseFloorUnknown"
	Saturated          judge.Code = "Saturated"
	SimulatedResults   judge.Code = "SimulatedResults"
	SingleRuns         judge.Code = "SingleRuns"
)

// finder collects the findings about a table.
type finder struct{ findings []bench.Finding }

func (f *finder) add(code judge.Code, severity bench.Severity, format string, args ...any) {
	f.findings = append(f.findings, bench.Finding{Code: code, Severity: severity, Message: fmt.Sprintf(format, args...)})
}

// about adds a finding if list is not empty. The names in list are the last argument of the format.
func (f *finder) about(list []string, code judge.Code, severity bench.Severity, format string, args ...any) {
	if len(list) > 0 {
		f.add(code, severity, format, append(args, names(list))...)
	}
}

// names joins the first names of list.
func names(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:most], ", "), len(list)-most)
}

// results adds findings about results that do not count, or that may not be believed.
func (f *finder) results(run runfile.SuiteRun) {
	var invalid, suspect []string
	for _, r := range run.Results {
		switch {
		case r.Phase != phaseSucceeded:
		case r.Validity == string(bench.ValidityInvalid):
			invalid = append(invalid, r.Benchmark)
		case r.Validity == string(bench.ValiditySuspect):
			suspect = append(suspect, r.Benchmark)
		}
	}
	f.about(invalid, InvalidLeftOut, bench.SeverityWarning, "%d of the results are invalid and left out: %s", len(invalid))
	f.about(suspect, SuspectIncluded, bench.SeverityWarning, "%d of the results are suspect, and count: %s", len(suspect))
	if run.Simulated {
		f.add(SimulatedResults, bench.SeverityInfo,
			"stand-ins took part: the numbers say nothing of real storage or of Oracle")
	}
}

func (f *finder) cells(all []*series) {
	var mixed []string
	for _, s := range all {
		if s.mixed {
			mixed = append(mixed, s.name)
		}
	}
	f.about(mixed, MixedSteps, bench.SeverityWarning,
		"not every repetition has the same steps in %s: each step counts the repetitions that have it")
}

// compare returns the lines of pairs with their outcomes, and adds findings about values that cannot be compared.
func (f *finder) compare(pairs []pairing, all []*series, s runfile.SuiteSignificance,
	history []runfile.SuiteRun,
) ([]Line, noise) {
	var lines []Line
	for _, p := range pairs {
		lines = append(lines, p.lines()...)
	}
	floors := newNoise(history, lines, s)
	decide(lines, s, floors)
	f.pairs(pairs)
	f.metrics(all, Metrics(s.Metrics))
	f.tooFew(lines, s)
	f.single(lines)
	return lines, floors
}

// pairs adds findings about repetitions and steps without a partner.
func (f *finder) pairs(pairs []pairing) {
	var repetitions, steps []string
	for _, p := range pairs {
		a, b := slices.Sorted(slices.Values(p.base.steps)), slices.Sorted(slices.Values(p.candidate.steps))
		if !slices.Equal(a, b) {
			steps = append(steps, p.candidate.name)
		}
		if slices.ContainsFunc(p.candidate.steps, p.unequal) {
			repetitions = append(repetitions, p.candidate.name)
		}
	}
	f.about(repetitions, UnequalRepetitions, bench.SeverityWarning,
		"some repetitions succeeded on one side only, and are not compared: of %s")
	f.about(steps, MixedSteps, bench.SeverityWarning,
		"the steps of %s are not those of the baseline: only what both have is compared")
}

// unequal reports whether values of a step have no partner. A metric that one side lacks altogether is another finding.
func (p pairing) unequal(step string) bool {
	for _, metric := range Metrics(p.Metrics) {
		b, c := p.base.numbers[key{step, metric}], p.candidate.numbers[key{step, metric}]
		if len(b.values) == 0 || len(c.values) == 0 {
			continue
		}
		if both, _ := paired(b, c); len(both) < len(b.values) || len(both) < len(c.values) {
			return true
		}
	}
	return false
}

// metrics names the requested metrics that were not measured.
func (f *finder) metrics(all []*series, metrics []string) {
	for _, metric := range metrics {
		anything, known := false, false
		for _, s := range all {
			anything = anything || len(s.steps) > 0
			for _, step := range s.steps {
				known = known || len(s.numbers[key{step, metric}].values) > 0
			}
		}
		if anything && !known {
			f.add(MetricNotMeasured, bench.SeverityInfo, "no result has a %s: nothing is compared by it", metric)
		}
	}
}

// tooFew adds a finding with the repetitions that an answer needs, if a line has no answer.
func (f *finder) tooFew(lines []Line, s runfile.SuiteSignificance) {
	least, unknown := 0, 0
	for _, l := range lines {
		if l.Outcome == bench.OutcomeUnknown && l.Shift != nil {
			unknown++
			if n := len(l.Base); least == 0 || n < least {
				least = n
			}
		}
	}
	if unknown == 0 {
		return
	}
	why := "too few repetitions succeeded"
	if err := CheckRepetitions(least, len(lines), s); err != nil {
		why = err.Error()
	}
	f.add(TooFewRepetitions, bench.SeverityWarning, "%d of %d comparisons have no answer: %s", unknown, len(lines), why)
}

// single reports what single runs show on their own.
func (f *finder) single(lines []Line) {
	var beyond, inside []string
	for _, l := range lines {
		if l.WithinLow == nil {
			continue
		}
		text := fmt.Sprintf("%s %+.1f %% (%+.1f to %+.1f)", strings.TrimSpace(Label(l.Cell, l.Step)+" "+l.Metric),
			l.Impact*100, *l.WithinLow*100, *l.WithinHigh*100)
		if *l.WithinLow > 0 || *l.WithinHigh < 0 {
			beyond = append(beyond, text)
		} else {
			inside = append(inside, text)
		}
	}
	const between = "Two runs of the same benchmark usually differ by more than that: repeat them for an answer"
	f.about(beyond, SingleRuns, bench.SeverityInfo, "with one run on each side, these differ by more than the runs "+
		"vary within themselves, with 95 %% confidence: %s. "+between)
	f.about(inside, SingleRuns, bench.SeverityInfo, "with one run on each side, these differ by no more than the runs "+
		"vary within themselves: %s. "+between)
}

func (f *finder) saturated(t Table) {
	var full []string
	for _, c := range t.Cells {
		if name := Label(c.Cell, c.Step); c.Saturated && !slices.Contains(full, name) {
			full = append(full, name)
		}
	}
	f.about(full, Saturated, bench.SeverityInfo, "the line was full (%d %% of the wire limit or more) in %s: such "+
		"numbers describe the line, not what is compared", judge.LineFullPercent)
}

// Label names the cell and step of a line.
func Label(cell, step string) string { return strings.TrimSpace(cell + " " + step) }
