package html

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func suitePage(run runfile.SuiteRun, t compare.Table, g *compare.Regression, o Options) *page {
	p := &page{Kind: "suite report", Title: strings.TrimPrefix(run.Namespace+"/"+run.Suite, "/"), Subtitle: "Run " + run.Run + "."}
	if run.Simulated {
		p.Stamps = []string{"Stand-ins took part: no number here is one of real storage or of Oracle."}
	}
	if g != nil {
		p.Cards = append(p.Cards, regressionCard(*g))
	}
	if run.Settings.Compare != nil || len(t.Comparisons) > 0 {
		p.Cards = append(p.Cards, answerCard(t.Comparisons))
	}
	p.Cards = append(p.Cards, runCard(run))
	if len(p.Cards) < 3 {
		p.Cards = append(p.Cards, comparedFindingsCard(t.Findings))
	}
	p.Facts = suiteFacts(run)
	if g != nil {
		p.section(regressionSection(run, *g))
	}
	minimum := 0.0
	if c := run.Settings.Compare; c != nil {
		minimum = c.MinimumEffect
	}
	p.section(comparisonSection("comparison", "Against the baseline", t.Comparisons, minimum))
	p.section(curveSection(run, t))
	p.section(section{ID: "cells", Title: "All cells", Blocks: notEmpty(block{Table: cellsTable(t.Cells)})})
	p.section(orderSection(run))
	p.section(comparedFindings(t.Findings))
	p.section(resultSection(run))
	p.section(suiteRepeat(run, o))
	return p
}

func notEmpty(b block) []block {
	var s section
	s.add(b)
	return s.Blocks
}

// regressionCard is the answer to the question that a schedule asks.
func regressionCard(g compare.Regression) card {
	c := card{Label: "Regression", Word: "Not regressed", Text: "Against the accepted run " + g.Baseline + ".", Tone: toneGood, List: tallyOf(g.Changes).chips()}
	if g.Regressed {
		c.Word, c.Tone, c.Link = "Regressed", toneBad, "regression"
	}
	return c
}

// runCard says how the run itself went.
func runCard(run runfile.SuiteRun) card {
	done, wanted := 0, len(run.Cells)*int(run.Settings.Repetitions)
	var failed []string
	for _, r := range run.Results {
		if r.Phase == "Succeeded" {
			done++
		} else {
			failed = append(failed, r.Benchmark)
		}
	}
	tones := map[string]string{"Succeeded": toneGood, "Failed": toneBad, "Cancelled": toneWarn}
	c := card{Label: "Run", Word: cmp.Or(run.Phase, "Under way"), Tone: cmp.Or(tones[run.Phase], toneNone), Text: run.Message}
	c.List = append(c.List, chip{Text: fmt.Sprintf("%d of %d benchmarks", done, wanted), Tone: map[bool]string{true: toneGood, false: toneWarn}[done >= wanted]})
	if len(failed) > 0 {
		c.List = append(c.List, chip{Text: fmt.Sprintf("%d did not succeed", len(failed)), Tone: toneBad})
	}
	if run.Retried > 0 {
		c.List = append(c.List, chip{Text: fmt.Sprintf("%d retried", run.Retried), Tone: toneNone})
	}
	for _, v := range []judge.Validity{judge.Suspect, judge.Invalid} {
		if n := countValidity(run, v); n > 0 {
			c.List = append(c.List, chip{Text: fmt.Sprintf("%d %s", n, strings.ToLower(string(v))), Tone: toneWarn})
		}
	}
	return c
}

func countValidity(run runfile.SuiteRun, v judge.Validity) int {
	n := 0
	for _, r := range run.Results {
		if r.Validity == string(v) {
			n++
		}
	}
	return n
}

func comparedFindingsCard(all []compare.Finding) card {
	var as []judge.Finding
	for _, f := range all {
		as = append(as, judge.Finding{Code: judge.Code(f.Code), Severity: judge.Severity(f.Severity)})
	}
	return findingsCard(as)
}

func suiteFacts(run runfile.SuiteRun) []fact {
	var out []fact
	axes := map[string][]string{}
	var order []string
	for _, c := range run.Cells {
		for _, v := range c.Values {
			if _, seen := axes[v.Axis]; !seen {
				order = append(order, v.Axis)
			}
			if !slices.Contains(axes[v.Axis], v.Value) {
				axes[v.Axis] = append(axes[v.Axis], v.Value)
			}
		}
	}
	for _, a := range order {
		out = append(out, fact{Label: a, Text: joined(axes[a])})
	}
	s := run.Settings
	text := fmt.Sprintf("%s, %s of each, seed %d", report.Count(len(run.Cells), "cell"), report.Count(int(s.Repetitions), "repetition"), s.Seed)
	out = append(out, fact{Label: "Matrix", Text: text}, fact{Label: "Order", Text: strings.TrimSpace(s.Order + " " + s.Blocks)})
	if c := s.Compare; c != nil {
		out = append(out, fact{Label: "Compared", Text: fmt.Sprintf("%s; alpha %g, correction %s, at least %g %% matters", joined(metricNames(c.Metrics)), c.Alpha, cmp.Or(c.Correction, "None"), c.MinimumEffect*100)},
			fact{Label: "Baseline", Text: baselineText(c.Baseline)})
	}
	when := moment(run.Started)
	if !run.Ended.IsZero() {
		when += " to " + moment(run.Ended) + " (" + run.Ended.Sub(run.Started).Round(time.Second).String() + ")"
	}
	return append(out, fact{Label: "When", Text: when})
}

func metricNames(metrics []string) []string {
	out := make([]string, 0, len(metrics))
	for _, m := range metrics {
		out = append(out, report.MetricName(m))
	}
	return out
}

func baselineText(values map[string]string) string {
	parts := make([]string, 0, len(values))
	for _, k := range sortedKeys(values) {
		parts = append(parts, k+" = "+values[k])
	}
	return joined(parts)
}

// regressionSection compares with the accepted run.
func regressionSection(run runfile.SuiteRun, g compare.Regression) section {
	minimum := 0.0
	if r := run.Settings.Regression; r != nil {
		minimum = r.MinimumEffect
	}
	s := comparisonSection("regression", "Against the accepted run", g.Changes, minimum)
	s.Lead = capital(g.Message)
	floor := "The noise floor is not known: there are too few runs before this one."
	if g.NoiseFloor != nil {
		floor = fmt.Sprintf("Runs before it lay apart by up to %.1f %% by themselves; only what is larger counts.", *g.NoiseFloor*100)
	}
	s.Blocks = append([]block{{Facts: []fact{{Label: "Accepted run", Text: g.Baseline}, {Label: "This run", Text: g.Run}, {Label: "Noise floor", Text: floor}}}}, s.Blocks...)
	for _, f := range comparedFindings(g.Findings).Blocks {
		s.add(f)
	}
	return s
}

// resultSection is one line for each benchmark, in the order in which they ran.
func resultSection(run runfile.SuiteRun) section {
	s := section{ID: "benchmarks", Title: "Benchmarks"}
	t := &table{Heads: []head{{"#", true}, {"Cell", false}, {"Rep.", true}, {"Phase", false}, {"Verdict", false}, {"Validity", false}, {"Findings", false}, {"Started", false}}}
	for _, r := range run.Results {
		phase := r.Phase
		if r.Reason != "" {
			phase += ": " + r.Reason
		}
		started := unknown
		if !r.Started.IsZero() {
			started = r.Started.UTC().Format("01-02 15:04:05")
		}
		t.row(fmt.Sprint(r.Position), r.Cell, fmt.Sprint(r.Repetition), phase, cmp.Or(r.Verdict, unknown), cmp.Or(r.Validity, unknown), cmp.Or(joined(r.Findings), unknown), started)
		if r.Phase != "Succeeded" {
			t.last()[3].Tone = toneBad
		}
	}
	s.add(block{Table: t})
	return s
}

// suiteRepeat is what is needed to run the suite again.
func suiteRepeat(run runfile.SuiteRun, o Options) section {
	s := section{ID: "repeat", Title: "Run it again", Lead: "Each benchmark has a report of its own with its plan, oranfstab and mount options; the record of this run holds all numbers on this page."}
	s.add(block{Facts: []fact{{Label: "Run", Text: run.Run, Code: true}, {Label: "Workflow", Text: cmp.Or(run.Workflow, unknown), Code: true}, {Label: "Seed of the order", Text: fmt.Sprint(run.Settings.Seed), Code: true}}})
	if o.Reproduce != "" {
		s.add(block{Code: &code{"YAML of the suite", o.Reproduce}})
	}
	if data, err := json.MarshalIndent(run.Settings, "", "  "); err == nil {
		s.add(block{Code: &code{"Settings", string(data)}})
	}
	return s
}
