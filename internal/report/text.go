package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Options say what the reader's terminal can do.
type Options struct {
	Width int  // columns; 0 = 80. Between 60 and 120 are used.
	Color bool // ANSI colours
	ASCII bool // nothing but ASCII: for terminals and files that are not UTF-8
}

// Text writes one page: what ran on what, the numbers, the paths, what the
// storage saw, the wire limit with its arithmetic, what it cost, whether it is good and may be
// believed, and what to do. It returns the first error of w.
func Text(w io.Writer, r runfile.Result, j judge.Judgement, o Options) error {
	p := newPage(w, o)
	title(p, r, j)
	if s := j.Summary; s != nil {
		headline(p, *s)
		directions(p, *s)
		throughput(p, j)
		repetitions(p, j)
		calibrations(p, j)
		steps(p, j)
		if j.Database == nil {
			paths(p, *s)
		} else {
			database(p, r, j)
		}
		storage(p, *s)
		limits(p, j)
		cost(p, *s)
		storageLoad(p, *s)
	} else {
		p.line("")
		p.line(p.paint(bold, "No number was measured."))
	}
	p.fact("protocol", protocolText(j.Protocol))
	conclusion(p, j)
	findings(p, j.Findings)
	return p.err
}

func title(p *page, r runfile.Result, j judge.Judgement) {
	name := r.Plan.Run.Name
	if r.Plan.Run.Namespace != "" {
		name = r.Plan.Run.Namespace + "/" + name
	}
	head := "nfsbench  " + p.clean(name)
	if isSimulated(j) {
		head += "  " + p.paint(yellow, "SIMULATED")
	}
	p.line(p.paint(bold, head))
	if has(j, judge.SimulatedDatabase) {
		p.wrapped("", SimulatedDatabaseNote)
	}
	p.wrapped("", WhatRan(r, j))
	p.rule()
}

// isSimulated says that a stand-in took part, by the result, by the storage or by
// the database.
func isSimulated(j judge.Judgement) bool {
	return has(j, judge.SimulatedStorage) || has(j, judge.SimulatedDatabase)
}

func has(j judge.Judgement, code judge.Code) bool {
	return slices.ContainsFunc(j.Findings, func(f judge.Finding) bool { return f.Code == code })
}

// headline is the four numbers that everybody asks for.
func headline(p *page, s judge.Summary) {
	figures := []figure{
		{Rate(s.Total.BytesPerSecond), "MB/s"},
		{fmt.Sprint(s.Total.OperationsPerSecond), "IOPS"},
	}
	if l := s.Total.Latency; l != nil {
		figures = append(figures, latencyFigure(l))
	}
	if s.WirePermille != nil {
		figures = append(figures, figure{Tenths(*s.WirePermille), "% of the wire"})
	}
	p.line("")
	p.big(figures)
	p.line("")
}

// directions is a line of latency for each direction, with its throughput
// where there are two.
func directions(p *page, s judge.Summary) {
	both := s.Read != nil && s.Write != nil
	row := func(name string, d *judge.Direction) {
		if d == nil {
			return
		}
		text := ""
		if both {
			text = together(fmt.Sprintf("%s MB/s", Rate(d.BytesPerSecond))) + "  " + together(fmt.Sprintf("%d IOPS", d.OperationsPerSecond)) + "  "
			if d.WirePermille != nil {
				text += together(Tenths(*d.WirePermille)+" % of the wire") + "  "
			}
		}
		if l := d.Latency; l != nil {
			text += percentiles(l)
		} else {
			text += "latency is unknown"
		}
		p.fact(name, text)
	}
	if both {
		row("read", s.Read)
		row("write", s.Write)
		return
	}
	row("latency", &s.Total)
}

func latencyFigure(l *stats.Latency) figure {
	value, unit := LatencyParts(l.P99Microseconds)
	switch {
	case l.MeanOnly:
		value, unit = LatencyParts(l.MeanMicroseconds)
		return figure{value, unit + " mean"}
	case l.Bucketed:
		return figure{value, unit + " p99 at most"}
	default:
		return figure{value, unit + " p99"}
	}
}

// percentiles are what is known of the distribution. Those of buckets are upper
// bounds.
func percentiles(l *stats.Latency) string {
	texts := []string{together("mean " + Latency(l.MeanMicroseconds))}
	if l.MeanOnly {
		return texts[0] + "; percentiles are not known"
	}
	figures := []struct {
		name string
		us   int64
	}{
		{"p50", l.P50Microseconds},
		{"p95", l.P95Microseconds},
		{"p99", l.P99Microseconds},
		{"p99.9", l.P999Microseconds},
		{"max", l.MaxMicroseconds},
	}
	for _, f := range figures {
		texts = append(texts, together(f.name+" "+atMost(l)+Latency(f.us)))
	}
	return strings.Join(texts, "  ")
}

func atMost(l *stats.Latency) string {
	if l.Bucketed {
		return "<= "
	}
	return ""
}

func throughput(p *page, j judge.Judgement) {
	if len(j.Series) < 2 {
		return
	}
	values := make([]float64, 0, len(j.Series))
	lowest, highest := int64(-1), int64(0)
	for _, pt := range j.Series {
		v := pt.ReadBytesPerSecond + pt.WriteBytesPerSecond
		values = append(values, float64(v))
		highest = max(highest, v)
		if lowest < 0 || v < lowest {
			lowest = v
		}
	}
	scale := fmt.Sprintf(" %s..%s MB/s", Rate(lowest), Rate(highest))
	p.plainFact("over time", p.spark(values, p.width-labelWidth-len(scale))+scale)
}

func repetitions(p *page, j judge.Judgement) {
	if len(j.Repetitions) < 2 {
		return
	}
	rates, unit := make([]string, 0, len(j.Repetitions)), " MB/s"
	for _, s := range j.Repetitions {
		if len(j.Calibrations) > 0 {
			unit = " IOPS"
			rates = append(rates, fmt.Sprint(s.Total.OperationsPerSecond))
			continue
		}
		rates = append(rates, Rate(s.Total.BytesPerSecond))
	}
	text := strings.Join(rates, "  ") + unit
	if j.VariationPermille != nil {
		text += fmt.Sprintf(", variation %s %%", Tenths(*j.VariationPermille))
	}
	p.fact("repeated", fmt.Sprintf("%s; shown is the median, number %d", text, j.Summary.Repetition))
}

func limits(p *page, j judge.Judgement) {
	if j.Wire == nil {
		p.fact("wire", "the speed of the links is not known")
		return
	}
	p.fact("wire", fmt.Sprintf("%s (%s)", j.Wire.Arithmetic, strings.ToLower(string(j.Wire.Source))))
}

func cost(p *page, s judge.Summary) {
	c := s.ClientCPU
	var parts []string
	if c.Millicores > 0 {
		parts = append(parts, fmt.Sprintf("%.2f cores", float64(c.Millicores)/1000))
	}
	if c.MicrosecondsPerMiB != nil {
		parts = append(parts, Latency(*c.MicrosecondsPerMiB)+" CPU per MiB")
	}
	if c.BusiestLimitPermille != nil {
		parts = append(parts, Tenths(*c.BusiestLimitPermille)+" % of its limit")
	}
	if c.BusiestNodePermille != nil {
		parts = append(parts, "machine "+Tenths(*c.BusiestNodePermille)+" % busy")
	}
	if v := s.CollectorCPUPermille; v != nil {
		parts = append(parts, "collector "+Tenths(*v)+" % of a core")
	}
	if len(parts) > 0 {
		p.fact("client", strings.Join(whole(parts), ", "))
	}
}

// whole keeps each part on one line where it is short enough.
func whole(parts []string) []string {
	out := make([]string, 0, len(parts))
	for _, s := range parts {
		if columns(s) <= minWidth-labelWidth-2 {
			s = together(s)
		}
		out = append(out, s)
	}
	return out
}

func protocolText(e judge.Evidence) string {
	switch {
	case e.Verified == nil:
		return "not verified. " + e.Message
	case *e.Verified:
		return "verified. " + e.Message
	default:
		return "NOT as declared. " + e.Message
	}
}
