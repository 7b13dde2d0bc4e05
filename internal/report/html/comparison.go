package html

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/report/chart"
)

func comparisonPage(a, b Side, t compare.Table, o Options) *page {
	p := &page{Kind: "comparison", Title: b.name() + " against " + a.name(), Subtitle: "Baseline: " + a.name() + ". " + sentence(report.WhatRan(a.Result, a.Judgement))}
	for _, s := range []Side{a, b} {
		for _, text := range stamps(s.Result, s.Judgement) {
			if text = s.name() + ": " + text; !slices.Contains(p.Stamps, text) {
				p.Stamps = append(p.Stamps, text)
			}
		}
	}
	p.Cards = []card{answerCard(t.Comparisons), sideCard("Baseline", a), sideCard("Candidate", b)}
	p.section(comparisonSection("comparison", "The difference", t.Comparisons, o.MinimumEffect))
	p.section(besideSection(a, b))
	p.section(overlaySection(a, b))
	p.section(section{ID: "cells", Title: "Repetitions in numbers", Blocks: notEmpty(block{Table: cellsTable(t.Cells)})})
	s := comparedFindings(t.Findings)
	for _, side := range []Side{a, b} {
		if own := findingSection(side.Judgement.Findings); len(own.Blocks) > 0 {
			s.add(block{Text: "Of " + side.name() + ":"}, own.Blocks[0])
		}
	}
	p.section(s)
	for i, side := range []Side{a, b} {
		r := repeatSection(side.Result, Options{})
		r.ID, r.Title = fmt.Sprintf("repeat-%d", i), "Run "+side.name()+" again"
		p.section(r)
	}
	if o.Reproduce != "" {
		p.Sections[len(p.Sections)-1].add(block{Code: &code{"YAML", o.Reproduce}})
	}
	p.Notes = notes(a.Result, b.Result)
	return p
}

func (s Side) name() string { return cmp.Or(s.Name, nameOf(s.Result), "unnamed") }

// sideCard is verdict and validity of one side.
func sideCard(label string, s Side) card {
	v, ok := verdictCard(s.Judgement), validityCard(s.Judgement)
	c := card{Label: label, Word: ok.Word, Text: s.name(), Tone: ok.Tone, List: []chip{{Text: "verdict: " + v.Word, Tone: v.Tone}}}
	if sum := s.Judgement.Summary; sum != nil {
		c.List = append(c.List, chip{Text: report.Rate(sum.Total.BytesPerSecond) + " MB/s", Tone: toneNone})
	}
	return c
}

// besideSection holds what ran on what of both sides side by side, and marks what
// differs: a comparison of two things that differ in several ways proves nothing about one of them.
func besideSection(a, b Side) section {
	s := section{ID: "sides", Title: "What differs between the two"}
	t := &table{Heads: heads(4, "", a.name(), b.name(), "")}
	same := 0
	left, right := sideFacts(a), sideFacts(b)
	for _, f := range left {
		i := slices.IndexFunc(right, func(o fact) bool { return o.Label == f.Label })
		other := unknown
		if i >= 0 {
			other = right[i].Text
		}
		if other == f.Text {
			same++
			continue
		}
		t.row(f.Label, f.Text, other, "differs")
	}
	for _, f := range right {
		if !slices.ContainsFunc(left, func(o fact) bool { return o.Label == f.Label }) {
			t.row(f.Label, unknown, f.Text, "differs")
		}
	}
	if len(t.Rows) == 0 {
		s.add(block{Text: "Nothing that was recorded."})
		return s
	}
	t.Note = fmt.Sprintf("%d other facts are the same on both sides.", same)
	s.add(block{Table: t})
	return s
}

// sideFacts are those by which two runs can differ, without names and times.
func sideFacts(s Side) []fact {
	out := slices.DeleteFunc(whatFacts(s.Result, s.Judgement), func(f fact) bool { return slices.Contains([]string{"When", "Cost", "Clients"}, f.Label) })
	p := s.Result.Plan
	out = append(out, fact{Label: "Load", Text: strings.ReplaceAll(report.WhatRan(s.Result, s.Judgement), "\u00a0", " ")},
		fact{Label: "Number of clients", Text: fmt.Sprint(p.Clients)},
		fact{Label: "Plan, SHA-256", Text: planHash(p)[:16]}, fact{Label: "Seed", Text: fmt.Sprint(p.Seed)})
	for _, f := range repeatFacts(s.Result) {
		if f.Label == "Kernel" || f.Label == "nfsbench" || strings.HasPrefix(f.Label, "Mount") {
			out = append(out, f)
		}
	}
	return out
}

// overlaySection draws both sides over each other: latencies by percentile, and
// throughput over time on one axis.
func overlaySection(a, b Side) section {
	s := section{ID: "both", Title: "Both in one picture"}
	curves := make([]chart.Curve, 0, 2)
	for _, side := range []Side{a, b} {
		if side.Judgement.Summary == nil {
			continue
		}
		if all := spreads(side.Result, *side.Judgement.Summary); len(all) > 0 && !all[0].bucketed {
			curves = append(curves, all[0].curve(side.name()+", "+all[0].name))
		}
	}
	if len(curves) == 2 {
		f := figureOf("percentiles", "Latency by percentile of both sides", "The latency that a share of all operations does not exceed.", func(f chart.Frame) string { return chart.Percentiles(f, curves) })
		s.add(f.with("The lower line is the faster one.", curveTable(curves)))
	}
	if t := throughputOf(a, b); len(t.Panels) == 2 {
		f := figureOf("time", "Throughput over time of both sides", "One panel for each side, of one scale.", t.SVG)
		s.add(f.with("One panel for each, of one scale. Shaded: warm-up.", nil))
	}
	return s
}

func throughputOf(a, b Side) chart.Timeline {
	var t chart.Timeline
	most := 0.0
	for _, side := range []Side{a, b} {
		c := courseOf(side.Result)
		if len(c.slots) < 2 {
			continue
		}
		lines := []chart.Line{c.line("both directions", func(s slot) float64 { return (s.read.bytes + s.write.bytes) / c.interval / 1e6 })}
		for _, p := range lines[0].Points {
			if p.Y > most {
				most = p.Y
			}
		}
		t.To = max(t.To, c.end())
		t.Panels = append(t.Panels, chart.Panel{Title: side.name() + ": throughput, MB/s", Unit: "MB/s", Height: 110, Lines: lines})
	}
	for i := range t.Panels {
		t.Panels[i].Max = max(most*1.05, 1e-6)
	}
	return t
}
