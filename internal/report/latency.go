package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// spread holds the latencies of one direction in the representative repetition, merged over the clients.
type spread struct {
	name    string
	ranges  []stats.Range
	latency *stats.Latency
}

func spreads(s measure.Summary) []spread {
	var out []spread
	add := func(name string, d *measure.Direction) {
		if d == nil || d.Latency == nil || d.Latency.MeanOnly {
			return
		}
		if ranges := d.Ranges(); len(ranges) > 0 {
			out = append(out, spread{name, ranges, d.Latency})
		}
	}
	add("read", s.Read)
	add("write", s.Write)
	return out
}

// latencySection shows the distribution of the latencies in the median repetition.
func latencySection(j judge.Judgement) doc.Section {
	s := doc.Section{ID: "latency", Title: "Latency"}
	all := spreads(*j.Summary)
	s.Add(doc.Block{In: doc.TextOnly, Facts: latencyFacts(*j.Summary)},
		doc.Block{In: doc.HTMLOnly, Table: latencyTable(*j.Summary)},
		doc.Block{In: doc.TextOnly, Facts: wakeUpFacts(*j.Summary)},
		doc.Block{Facts: intervalFacts(*j.Summary)})
	if len(all) == 0 {
		return s
	}
	distributions, curves := make([]chart.Distribution, 0, len(all)), make([]chart.Line, 0, len(all))
	for _, d := range all {
		distributions = append(distributions, d.distribution())
		if !d.latency.Bucketed {
			curves = append(curves, d.curve(d.name))
		}
	}
	caption := "All operations of repetition %d, of all clients. The axis of time is logarithmic."
	s.Add(doc.Block{Figure: &doc.Figure{
		ID: "spread", Title: "Distribution of latencies",
		Description: "How many of all operations took how long, on a logarithmic axis, with percentiles.",
		Draw:        func(f chart.Frame) string { return chart.Distributions(f, distributions) },
		Caption:     fmt.Sprintf(caption, j.Summary.Repetition),
	}})
	if len(curves) > 0 {
		s.Add(percentileFigure("Latency by percentile", curves,
			"The share of operations that took at most so long; each step to the right is one more nine."))
	}
	return s
}

func percentileFigure(title string, curves []chart.Line, caption string) doc.Block {
	return doc.Block{Figure: &doc.Figure{
		ID: "percentiles", Title: title, Description: "The latency that a share of all operations does not exceed.",
		Draw:    func(f chart.Frame) string { return chart.Percentiles(f, curves) },
		Caption: caption,
	}}
}

// latencyFacts returns a line of latency for each direction, with its throughput if there are two.
func latencyFacts(s measure.Summary) []doc.Fact {
	if s.Read == nil || s.Write == nil {
		return []doc.Fact{{Label: "latency", Text: percentiles(s.Total.Latency)}}
	}
	fact := func(name string, d *measure.Direction) doc.Fact {
		parts := []string{human.Throughput(d.BytesPerSecond), fmt.Sprintf("%d IOPS", d.OperationsPerSecond)}
		if d.WirePermille != nil {
			parts = append(parts, human.Share(*d.WirePermille)+" of the wire")
		}
		return doc.Fact{Label: name, Text: strings.Join(append(doc.Whole(parts), percentiles(d.Latency)), "  ")}
	}
	return []doc.Fact{fact("read", s.Read), fact("write", s.Write)}
}

// percentiles describes the known distribution in one line.
func percentiles(l *stats.Latency) string {
	if l == nil {
		return "latency is unknown"
	}
	texts := latencyCells(l)
	for i, name := range []string{"mean", "p50", "p95", "p99", "p99.9", "max"} {
		texts[i] = doc.Together(name + " " + texts[i])
	}
	if l.MeanOnly {
		return texts[0] + "; percentiles are not known"
	}
	return strings.Join(texts, "  ")
}

// wakeUpFacts returns how late the client woke, if known. The delay is part of the percentiles beside it.
func wakeUpFacts(s measure.Summary) []doc.Fact {
	if s.WakeUps == nil {
		return nil
	}
	return []doc.Fact{{Label: "wake-ups", Text: "of the client are late by " +
		doc.Together("p99 "+human.Latency(s.WakeUps.P99Microseconds)) + "  " +
		doc.Together("p99.9 "+human.Latency(s.WakeUps.P999Microseconds))}}
}

func latencyTable(s measure.Summary) *doc.Table {
	t := &doc.Table{Columns: doc.Columns(1, 0, "", "MB/s", "IOPS", "Mean", "p50", "p95", "p99", "p99.9", "Max")}
	add := func(name string, d *measure.Direction) {
		if d != nil {
			t.Row(directionCells(name, *d)...)
		}
	}
	add("read", s.Read)
	add("write", s.Write)
	if s.Read != nil && s.Write != nil || len(t.Rows) == 0 {
		add("both", &s.Total)
	}
	if w := s.WakeUps; w != nil {
		t.Row("client wake-ups, late by", "", "", "", human.Latency(w.P50Microseconds), human.Latency(w.P95Microseconds),
			human.Latency(w.P99Microseconds), human.Latency(w.P999Microseconds), human.Latency(w.MaxMicroseconds))
	}
	if l := s.Total.Latency; l != nil && l.Bucketed {
		t.Note = "The database counts latencies in powers of two: percentiles are upper bounds; the mean is exact."
	}
	return t
}

func directionCells(name string, d measure.Direction) []string {
	cells := []string{name, human.Megabytes(d.BytesPerSecond), fmt.Sprint(d.OperationsPerSecond)}
	return append(cells, latencyCells(d.Latency)...)
}

// latencyCells returns mean, percentiles and maximum. Percentiles of buckets are upper bounds.
func latencyCells(l *stats.Latency) []string {
	if l == nil {
		return slices.Repeat([]string{doc.Unknown}, 6)
	}
	out := []string{human.Latency(l.MeanMicroseconds)}
	prefix := ""
	if l.Bucketed {
		prefix = "≤ "
	}
	for _, v := range []int64{
		l.P50Microseconds, l.P95Microseconds, l.P99Microseconds, l.P999Microseconds, l.MaxMicroseconds,
	} {
		text := doc.Unknown
		if !l.MeanOnly {
			text = prefix + human.Latency(v)
		}
		out = append(out, text)
	}
	return out
}

func (s spread) distribution() chart.Distribution {
	const barsPerDecade = 20
	d := chart.Distribution{Name: upperFirst(s.name) + ": share of operations by latency", Marks: s.marks()}
	total := 0.0
	for _, r := range s.ranges {
		total += float64(r.Count)
	}
	sums := map[int]float64{} // by bar
	for _, r := range s.ranges {
		share := float64(r.Count) / total
		if s.latency.Bucketed {
			d.Bars = append(d.Bars, chart.Bar{From: float64(max(r.From, 1)), To: float64(r.To + 1), Share: share})
			continue
		}
		sums[int(math.Floor(math.Log10(float64(max(r.From+r.To, 2))/2)*barsPerDecade))] += share
	}
	for _, i := range slices.Sorted(maps.Keys(sums)) {
		d.Bars = append(d.Bars, chart.Bar{
			From: math.Pow(10, float64(i)/barsPerDecade), To: math.Pow(10, float64(i+1)/barsPerDecade), Share: sums[i],
		})
	}
	return d
}

// marks returns percentiles and the maximum. Equal values share one mark.
func (s spread) marks() []chart.Mark {
	l, suffix := s.latency, ""
	if s.latency.Bucketed {
		suffix = " ≤"
	}
	var out []chart.Mark
	for _, m := range []struct {
		label string
		us    int64
	}{
		{"p50", l.P50Microseconds},
		{"p95", l.P95Microseconds},
		{"p99", l.P99Microseconds},
		{"p99.9", l.P999Microseconds},
		{"max", l.MaxMicroseconds},
	} {
		v := float64(max(m.us, 1))
		if last := len(out) - 1; last >= 0 && out[last].Value == v {
			out[last].Label = strings.TrimSuffix(out[last].Label, suffix) + ", " + m.label + suffix
			continue
		}
		out = append(out, chart.Mark{Label: m.label + suffix, Value: v})
	}
	return out
}

// quantileShares returns the shares at which a curve has points: tenths below 90 %, and six for each nine.
func quantileShares() []float64 {
	out := []float64{0, .1, .2, .3, .4, .5, .6, .7, .8}
	for nine := .1; nine > 1e-6; nine /= 10 {
		for _, m := range []float64{1, .7, .5, .3, .2, .15} {
			out = append(out, math.Round((1-nine*m)*1e9)/1e9)
		}
	}
	return out
}

// curve returns the quantiles of the ranges, up to the last share that one operation exceeds.
func (s spread) curve(name string) chart.Line {
	c := chart.Line{Name: name}
	total, seen, at := int64(0), int64(0), 0
	for _, r := range s.ranges {
		total += r.Count
	}
	for _, share := range quantileShares() {
		if (1-share)*float64(total) < 1 {
			break
		}
		rank := max(int64(math.Ceil(share*float64(total)-1e-6)), 1)
		for at < len(s.ranges) && seen+s.ranges[at].Count < rank {
			seen += s.ranges[at].Count
			at++
		}
		if at < len(s.ranges) {
			c.Points = append(c.Points, chart.Point{X: share, Y: float64(max(s.ranges[at].To, 1))})
		}
	}
	return c
}
