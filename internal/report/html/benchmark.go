package html

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// unknown stands for a number that nobody told.
const unknown = "-"

func benchmarkPage(r runfile.Result, j judge.Judgement, o Options) *page {
	p := &page{Kind: "benchmark report", Title: nameOf(r), Subtitle: sentence(report.WhatRan(r, j))}
	p.Stamps = stamps(r, j)
	p.Cards = []card{verdictCard(j), validityCard(j), findingsCard(j.Findings)}
	p.Facts = whatFacts(r, j)
	if j.Summary == nil {
		p.section(section{ID: "numbers", Title: "Numbers", Blocks: []block{{Text: "No number was measured. The findings say why."}}})
	} else {
		p.Tiles = tiles(*j.Summary)
		p.section(timeSection(r, j))
		p.section(latencySection(r, j))
		p.section(stepsSection(r, j))
		p.section(repetitionSection(j))
		p.section(pathSection(r, j))
		p.section(storageSection(r, j))
		p.section(databaseSection(r, j))
	}
	p.section(findingSection(j.Findings))
	p.section(repeatSection(r, o))
	p.Notes = notes(r)
	return p
}

func nameOf(r runfile.Result) string {
	if r.Plan.Run.Namespace != "" {
		return r.Plan.Run.Namespace + "/" + r.Plan.Run.Name
	}
	return r.Plan.Run.Name
}

func sentence(s string) string {
	if s == "" {
		return ""
	}
	return s + "."
}

// stamps say that a stand-in took part, and which.
func stamps(r runfile.Result, j judge.Judgement) []string {
	var out []string
	if hasFinding(j, judge.SimulatedDatabase) {
		out = append(out, report.SimulatedDatabaseNote)
	}
	if hasFinding(j, judge.SimulatedStorage) || r.Simulated && len(out) == 0 {
		out = append(out, report.SimulatedStorageNote)
	}
	return out
}

func hasFinding(j judge.Judgement, code judge.Code) bool {
	return slices.ContainsFunc(j.Findings, func(f judge.Finding) bool { return f.Code == code })
}

// notes remind of what the licence of a database may say of its numbers.
func notes(results ...runfile.Result) []string {
	if slices.ContainsFunc(results, oracleRan) {
		return []string{report.DisclosureNote}
	}
	return nil
}

// oracleRan says that numbers are of a real database.
func oracleRan(r runfile.Result) bool {
	if r.Plan.Database == nil {
		return false
	}
	return !slices.ContainsFunc(r.Clients, func(c runfile.ClientResult) bool { return c.Load.Oracle != nil && c.Load.Oracle.StandIn })
}

func verdictCard(j judge.Judgement) card {
	tones := map[judge.Verdict]string{judge.Pass: toneGood, judge.Fail: toneBad, judge.Inconclusive: toneWarn, judge.NotEvaluated: toneNone}
	words := map[judge.Verdict]string{judge.NotEvaluated: "Not evaluated"}
	word := string(j.Verdict)
	if w := words[j.Verdict]; w != "" {
		word = w
	}
	return card{Label: "Verdict", Word: word, Text: capital(report.VerdictMeaning(j.Verdict)), Tone: tones[j.Verdict]}
}

func validityCard(j judge.Judgement) card {
	tones := map[judge.Validity]string{judge.Valid: toneGood, judge.Suspect: toneWarn, judge.Invalid: toneBad}
	return card{Label: "Validity", Word: string(j.Validity), Text: capital(report.ValidityMeaning(j.Validity)), Tone: tones[j.Validity]}
}

// capital makes words a sentence.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + strings.TrimSuffix(s[1:], ".") + "."
}

// findingsCard counts the findings and names the gravest codes.
func findingsCard(all []judge.Finding) card {
	c := card{Label: "Findings", Word: "None", Text: "Nothing was noticed.", Tone: toneGood}
	if len(all) == 0 {
		return c
	}
	counts := map[judge.Severity]int{}
	for _, f := range all {
		counts[f.Severity]++
	}
	var parts []string
	for _, k := range []struct {
		severity judge.Severity
		noun     string
	}{{judge.Error, "error"}, {judge.Warning, "warning"}, {judge.Info, "note"}} {
		if n := counts[k.severity]; n > 0 {
			parts = append(parts, report.Count(n, k.noun))
		}
	}
	c.Word, c.Text, c.Tone, c.Link = strings.Join(parts[:1], ""), "", severityTone(all[0].Severity), "findings"
	if len(parts) > 1 {
		c.Text = "and " + strings.Join(parts[1:], ", ")
	}
	c.List = codeChips(all)
	return c
}

// codeChips name the gravest codes, each once.
func codeChips(all []judge.Finding) []chip {
	var chips []chip
	for _, f := range all {
		known := slices.ContainsFunc(chips, func(c chip) bool { return c.Text == string(f.Code) })
		if !known {
			chips = append(chips, chip{Text: string(f.Code), Tone: severityTone(f.Severity)})
		}
	}
	const shown = 4
	if more := len(chips) - shown; more > 0 {
		chips = append(chips[:shown], chip{Text: fmt.Sprintf("%d more", more), Tone: toneNone})
	}
	return chips
}

func severityTone(s judge.Severity) string {
	switch s {
	case judge.Error:
		return toneBad
	case judge.Warning:
		return toneWarn
	case judge.Info:
		return toneNote
	default:
		return toneNote
	}
}

// tiles are the numbers that everybody asks for.
func tiles(s judge.Summary) []tile {
	out := []tile{
		{report.Rate(s.Total.BytesPerSecond), "MB/s", "Throughput"},
		{fmt.Sprint(s.Total.OperationsPerSecond), "/s", "Operations (IOPS)"},
	}
	if l := s.Total.Latency; l != nil {
		out = append(out, latencyTile(l))
	}
	if s.WirePermille != nil {
		out = append(out, tile{report.Tenths(*s.WirePermille), "%", "Of the wire limit"})
	}
	return out
}

func latencyTile(l *stats.Latency) tile {
	value, unit := report.LatencyParts(l.P99Microseconds)
	switch {
	case l.MeanOnly:
		value, unit = report.LatencyParts(l.MeanMicroseconds)
		return tile{value, unit, "Mean latency"}
	case l.Bucketed:
		return tile{"≤ " + value, unit, "Latency, 99th percentile"}
	default:
		return tile{value, unit, "Latency, 99th percentile"}
	}
}

func findingSection(all []judge.Finding) section {
	s := section{ID: "findings", Title: "Findings, and what to do", Lead: "Errors first. docs/findings.md of nfsbench lists every code with its cause."}
	b := block{}
	for _, f := range all {
		b.Findings = append(b.Findings, finding{Code: string(f.Code), Severity: severityWord(f.Severity), Message: f.Message, Tone: severityTone(f.Severity)})
	}
	s.add(b)
	return s
}

func severityWord(s judge.Severity) string {
	if s == judge.Info {
		return "Note"
	}
	return string(s)
}
