package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func benchmarkDocument(j judge.Judgement, o PageOptions) doc.Document {
	answers := []doc.Card{verdictCard(j), validityCard(j)}
	d := doc.Document{
		Kind: "benchmark report", Title: nameOf(j), Answer: j.Answer.Sentences(), Subtitle: whatRan(j),
		Stamps: stamps(j), Notes: notes(j),
		Cards: append(slices.Clone(answers), findingsCard(j.Findings)), Facts: whatFacts(j),
	}
	if j.Summary == nil {
		d.Sections = []doc.Section{{ID: "numbers", Title: "Numbers", Blocks: []doc.Block{
			{Apart: true, Text: "No number was measured. The findings say why."},
		}}}
		d.AddTerminal(d.Sections...)
	} else {
		d.Tiles = tiles(*j.Summary)
		if t, ok := capacityTile(j.Capacity); ok {
			d.Tiles[1] = t
		}
		c := axis{j.Facts.History()}
		overTime, latency, steps := timeSection(c, j), latencySection(j), stepsSection(j)
		capacity := capacitySection(j)
		repetitions, paths := repetitionSection(j), pathSection(c, j)
		storage, database := storageSection(c, j), databaseSection(j)
		calibrations := doc.Section{Blocks: []doc.Block{{Table: calibrationTable(j)}, {Table: phaseTable(j)}}}
		d.AddTerminal(latency, overTime, repetitions, calibrations, steps, capacity, paths, database, storage)
		database.Blocks = slices.Concat(calibrations.Blocks, database.Blocks)
		d.Sections = []doc.Section{capacity, overTime, latency, steps, repetitions, paths, storage, database}
	}
	findings := doc.Section{
		ID: "findings", Title: "Findings, and what to do", Blocks: []doc.Block{Findings(j.Findings)},
		Lead: "Errors first. docs/findings.md of nfsbench lists every code with its cause.",
	}
	d.Sections = append(d.Sections, findings, repeatSection(j.Facts, o))
	d.Terminal = append(d.Terminal, doc.Block{Facts: d.Facts}, doc.Block{Cards: answers})
	d.AddTerminal(findings)
	return d
}

func nameOf(j judge.Judgement) string {
	if run := j.Facts.Plan.Run; run.Namespace != "" {
		return run.Namespace + "/" + run.Name
	}
	return j.Facts.Plan.Run.Name
}

// stamps returns the notes about stand-ins that took part. A terminal omits the note about the storage, because a
// finding names it.
func stamps(j judge.Judgement) []doc.Stamp {
	has := func(code judge.Code) bool {
		return slices.ContainsFunc(j.Findings, func(f bench.Finding) bool { return f.Code == code })
	}
	var out []doc.Stamp
	if has(judge.SimulatedDatabase) {
		out = append(out, doc.Stamp{Text: SimulatedDatabaseNote})
	}
	if has(judge.SimulatedStorage) || j.Facts.Simulated && len(out) == 0 {
		out = append(out, doc.Stamp{Text: SimulatedStorageNote, In: doc.HTMLOnly})
	}
	return out
}

// notes state what the licence of a database allows to publish about its numbers.
func notes(all ...judge.Judgement) []string {
	if slices.ContainsFunc(all, oracleRan) {
		return []string{DisclosureNote}
	}
	return nil
}

// oracleRan reports whether the numbers come from a real database.
func oracleRan(j judge.Judgement) bool {
	standIn := func(o runfile.Oracle) bool { return o.StandIn }
	return j.Facts.Plan.Database != nil && !slices.ContainsFunc(j.Facts.Oracles, standIn)
}

func verdictCard(j judge.Judgement) doc.Card {
	c := map[bench.Verdict]doc.Card{
		bench.VerdictPass:         {Tone: doc.Good},
		bench.VerdictFail:         {Tone: doc.Bad},
		bench.VerdictInconclusive: {Tone: doc.Warn},
		bench.VerdictNotEvaluated: {Word: "Not evaluated", Tone: doc.None},
	}[j.Verdict]
	c.Text = capital(j.Answer.Enough)
	c.Label, c.Word = "Verdict", cmp.Or(c.Word, string(j.Verdict))
	return c
}

func validityCard(j judge.Judgement) doc.Card {
	c := map[bench.Validity]doc.Card{
		bench.ValidityValid:   {Tone: doc.Good},
		bench.ValiditySuspect: {Tone: doc.Warn},
		bench.ValidityInvalid: {Tone: doc.Bad},
	}[j.Validity]
	c.Text = capital(j.Answer.Trust)
	c.Label, c.Word = "Validity", string(j.Validity)
	return c
}

// findingsCard counts the findings and names the most severe codes.
func findingsCard(all []bench.Finding) doc.Card {
	c := doc.Card{Label: "Findings", Word: "None", Text: "Nothing was noticed.", Tone: doc.Good}
	if len(all) == 0 {
		return c
	}
	counts := map[bench.Severity]int{}
	for _, f := range all {
		counts[f.Severity]++
		if !slices.ContainsFunc(c.List, func(c doc.Chip) bool { return c.Text == f.Code }) {
			c.List = append(c.List, doc.Chip{Text: f.Code, Tone: severityTone(f.Severity)})
		}
	}
	const shown = 4
	if more := len(c.List) - shown; more > 0 {
		c.List = append(c.List[:shown], doc.Chip{Text: fmt.Sprintf("%d more", more), Tone: doc.None})
	}
	var parts []string
	for _, k := range []struct {
		severity bench.Severity
		noun     string
	}{{bench.SeverityError, "error"}, {bench.SeverityWarning, "warning"}, {bench.SeverityInfo, "note"}} {
		if n := counts[k.severity]; n > 0 {
			parts = append(parts, human.Count(n, k.noun))
		}
	}
	c.Word, c.Text, c.Tone, c.Link = parts[0], "", severityTone(all[0].Severity), "findings"
	if len(parts) > 1 {
		c.Text = "and " + strings.Join(parts[1:], ", ")
	}
	return c
}

func severityTone(s bench.Severity) doc.Tone {
	switch s {
	case bench.SeverityError:
		return doc.Bad
	case bench.SeverityWarning:
		return doc.Warn
	default:
		return doc.Note
	}
}

// tiles returns the headline numbers.
func tiles(s measure.Summary) []doc.Tile {
	in := s.Total.Intervals
	out := []doc.Tile{
		{
			Value: human.Megabytes(s.Total.BytesPerSecond), Unit: "MB/s", Short: "MB/s", Label: "Throughput",
			Interval: in.BytesPerSecond.Text(human.Megabytes),
		},
		{
			Value: fmt.Sprint(s.Total.OperationsPerSecond), Unit: "/s", Short: "IOPS", Label: "Operations (IOPS)",
			Interval: in.OperationsPerSecond.Text(func(v int64) string { return fmt.Sprint(v) }),
		},
	}
	if l := s.Total.Latency; l != nil {
		t := latencyTile(l)
		if s.Step != nil && s.Step.Kind == runfile.StepCalibrate { // the number of outstanding reads grows
			t.Label += " over all levels of load"
		}
		if t.Interval = in.P99Microseconds.Text(human.Latency); l.MeanOnly {
			t.Interval = in.MeanMicroseconds.Text(human.Latency)
		}
		out = append(out, t)
	}
	if s.WirePermille != nil {
		out = append(out,
			doc.Tile{Value: human.Percent(*s.WirePermille), Unit: "%", Short: "% of the wire", Label: "Of the wire limit"})
	}
	return out
}

// intervalFacts returns the intervals of both directions together, the longest pause and the open-loop p99.
func intervalFacts(s measure.Summary) []doc.Fact {
	in := s.Total.Intervals
	var parts []string
	add := func(name string, in *measure.Interval, text func(int64) string, unit string) {
		if in != nil {
			parts = append(parts, doc.Together(name+in.Text(text)+unit))
		}
	}
	add("", in.BytesPerSecond, human.Megabytes, " MB/s")
	add("", in.OperationsPerSecond, func(v int64) string { return fmt.Sprint(v) }, " IOPS")
	add("mean ", in.MeanMicroseconds, human.Latency, "")
	add("p99 ", in.P99Microseconds, human.Latency, "")
	var out []doc.Fact
	if len(parts) > 0 {
		out = append(out, doc.Fact{Label: "95 %", Text: joined(parts)})
	}
	switch v := s.LongestPauseMicroseconds; {
	case v == nil:
	case *v == 0:
		out = append(out, doc.Fact{Label: "Pauses", Text: "none of 100 ms or more, in any repetition"})
	default:
		text := "the longest of a client in all repetitions is " + human.Latency(*v)
		out = append(out, doc.Fact{Label: "Pauses", Text: text})
	}
	if v := s.OpenLoopP99Microseconds; v != nil {
		out = append(out, doc.Fact{Label: "Open loop", Text: "p99 about " + human.Latency(*v) +
			" for a load of the same mean rate that does not wait"})
	}
	return out
}

func latencyTile(l *stats.Latency) doc.Tile {
	if l.MeanOnly {
		value, unit := human.LatencyParts(l.MeanMicroseconds)
		return doc.Tile{Value: value, Unit: unit, Short: unit + " mean", Label: "Mean latency"}
	}
	value, unit := human.LatencyParts(l.P99Microseconds)
	t := doc.Tile{Value: value, Unit: unit, Short: unit + " p99", Label: "Latency, 99th percentile"}
	if l.Bucketed {
		t.AtMost, t.Short = true, t.Short+" at most"
	}
	return t
}

// Findings returns the block of a document that shows findings.
func Findings(all []bench.Finding) doc.Block {
	var b doc.Block
	for _, f := range all {
		b.Findings = append(b.Findings, doc.Finding{
			Code: f.Code, Severity: string(f.Severity), Message: f.Message, Tone: severityTone(f.Severity),
		})
	}
	return b
}
