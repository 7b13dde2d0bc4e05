package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

func comparisonDocument(a, b Side, t compare.Table, o PageOptions) doc.Document {
	d := doc.Document{
		Kind: "comparison", Title: b.name() + " against " + a.name(),
		Subtitle: "Baseline: " + a.name() + ". " + WhatRan(a.Result, a.Judgement),
		Cards:    []doc.Card{answerCard(t.Comparisons), sideCard("Baseline", a), sideCard("Candidate", b)},
		Notes:    notes(a.Result, b.Result),
	}
	findings := doc.Section{ID: "findings", Title: "Findings, and what to do"}
	findings.Add(findingBlock(comparedFindings(t.Findings)))
	var repeats []doc.Section
	for i, s := range []Side{a, b} {
		for _, stamp := range stamps(s.Result, s.Judgement) {
			stamp.Text = s.name() + ": " + stamp.Text
			if !slices.Contains(d.Stamps, stamp) {
				d.Stamps = append(d.Stamps, stamp)
			}
		}
		if all := s.Judgement.Findings; len(all) > 0 {
			findings.Add(doc.Block{Text: "Of " + s.name() + ":"}, findingBlock(all))
		}
		r := repeatSection(s.Result, PageOptions{})
		r.ID, r.Title = fmt.Sprintf("repeat-%d", i), "Run "+s.name()+" again"
		repeats = append(repeats, r)
	}
	if o.Reproduce != "" {
		repeats[1].Add(doc.Block{Code: &doc.Code{Label: "YAML", Text: o.Reproduce}})
	}
	cells := doc.Section{ID: "cells", Title: "Repetitions in numbers", Blocks: []doc.Block{{Table: cellsTable(t.Cells)}}}
	d.Sections = append([]doc.Section{
		comparisonSection("comparison", "The difference", t.Comparisons, o.MinimumEffect),
		besideSection(a, b), overlaySection(a, b), cells, findings,
	}, repeats...)
	return d
}

func (s Side) name() string { return cmp.Or(s.Name, nameOf(s.Result), "unnamed") }

// sideCard is verdict and validity of one side.
func sideCard(label string, s Side) doc.Card {
	v, ok := verdictCard(s.Judgement), validityCard(s.Judgement)
	c := doc.Card{
		Label: label, Word: ok.Word, Text: s.name(), Tone: ok.Tone,
		List: []doc.Chip{{Text: "verdict: " + v.Word, Tone: v.Tone}},
	}
	if sum := s.Judgement.Summary; sum != nil {
		c.List = append(c.List, doc.Chip{Text: Rate(sum.Total.BytesPerSecond) + " MB/s", Tone: doc.None})
	}
	return c
}

// besideSection holds what ran on what of both sides side by side, and marks what
// differs: a comparison of two things that differ in several ways proves nothing about one of them.
func besideSection(a, b Side) doc.Section {
	s := doc.Section{ID: "sides", Title: "What differs between the two"}
	t := &doc.Table{Columns: doc.Columns(4, 0, "", a.name(), b.name(), "")}
	same := 0
	left, right := sideFacts(a), sideFacts(b)
	text := func(all []doc.Fact, label string) string {
		if i := slices.IndexFunc(all, func(f doc.Fact) bool { return f.Label == label }); i >= 0 {
			return all[i].Text
		}
		return doc.Unknown
	}
	var labels []string
	for _, f := range slices.Concat(left, right) {
		if !slices.Contains(labels, f.Label) {
			labels = append(labels, f.Label)
		}
	}
	for _, l := range labels {
		if x, y := text(left, l), text(right, l); x == y {
			same++
		} else {
			t.Row(l, x, y, "differs")
		}
	}
	if len(t.Rows) == 0 {
		s.Add(doc.Block{Text: "Nothing that was recorded."})
		return s
	}
	t.Note = fmt.Sprintf("%d other facts are the same on both sides.", same)
	s.Add(doc.Block{Table: t})
	return s
}

// sideFacts are those by which two runs can differ, without names and times.
func sideFacts(s Side) []doc.Fact {
	out := slices.DeleteFunc(whatFacts(s.Result, s.Judgement), func(f doc.Fact) bool {
		return f.In == doc.TextOnly || slices.Contains([]string{"When", "Cost", "Clients"}, f.Label)
	})
	p := s.Result.Plan
	out = append(out, doc.Fact{Label: "Load", Text: strings.ReplaceAll(WhatRan(s.Result, s.Judgement), "\u00a0", " ")},
		doc.Fact{Label: "Number of clients", Text: fmt.Sprint(p.Clients)},
		doc.Fact{Label: "Plan, SHA-256", Text: planHash(p)[:16]}, doc.Fact{Label: "Seed", Text: fmt.Sprint(p.Seed)})
	for _, f := range repeatFacts(s.Result) {
		if f.Label == "Kernel" || f.Label == "nfsbench" || strings.HasPrefix(f.Label, "Mount") {
			out = append(out, f)
		}
	}
	return out
}

// overlaySection draws both sides over each other: latencies by percentile, and
// throughput over time on one axis.
func overlaySection(a, b Side) doc.Section {
	s := doc.Section{ID: "both", Title: "Both in one picture"}
	curves := make([]chart.Line, 0, 2)
	for _, side := range []Side{a, b} {
		if side.Judgement.Summary == nil {
			continue
		}
		if all := spreads(side.Result, *side.Judgement.Summary); len(all) > 0 && !all[0].latency.Bucketed {
			curves = append(curves, all[0].curve(side.name()+", "+all[0].name))
		}
	}
	if len(curves) == 2 {
		s.Add(percentileFigure("Latency by percentile of both sides", curves, "The lower line is the faster one."))
	}
	var t chart.Timeline
	for _, side := range []Side{a, b} {
		if c := courseOf(side.Result); len(c.slots) > 1 {
			t.To = max(t.To, c.end())
			t.Panels = append(t.Panels, chart.Panel{
				Title: side.name() + ": throughput, MB/s", Unit: "MB/s", Height: 110,
				Lines: []chart.Line{c.line("both directions",
					func(s slot) float64 { return (s.read.bytes + s.write.bytes) / c.interval / 1e6 })},
			})
		}
	}
	if len(t.Panels) == 2 {
		oneScale(t.Panels)
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: "time", Title: "Throughput over time of both sides", Description: "One panel for each side, of one scale.",
			Draw: t.SVG, Caption: "One panel for each, of one scale. Shaded: warm-up.",
		}})
	}
	return s
}
