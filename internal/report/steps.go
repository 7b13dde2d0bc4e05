package report

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// calibrations is a table of what CALIBRATE_IO gave, or what the native engine
// found in its place.
func calibrations(p *page, j judge.Judgement) {
	if len(j.Calibrations) == 0 {
		return
	}
	p.line("")
	p.line(p.paint(dim, fmt.Sprintf("%-10s %12s %12s %14s", "RUN", "MAX IOPS", "MAX MB/s", "LATENCY")))
	counted := 0
	for _, c := range j.Calibrations {
		name := "warm-up"
		if !c.Warmup {
			counted++
			name = fmt.Sprint(counted)
		}
		p.line(fmt.Sprintf("%-10s %12s %12s %14s", name, number(c.MaxIOPS), number(c.MaxMegabytesPerSecond), withUnit(c.ActualLatencyMilliseconds, "ms")))
	}
	p.line("")
}

func number(v *int64) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprint(*v)
}

func withUnit(v *int64, unit string) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprintf("%d %s", *v, unit)
}

const kneeMark = " knee"

// steps is a table of the levels of load, with a bar of the throughput of each.
func steps(p *page, j judge.Judgement) {
	if len(j.Steps) < 2 {
		return
	}
	most, room := int64(1), p.width
	for _, s := range j.Steps {
		most = max(most, s.Summary.Total.BytesPerSecond)
		if s.Knee {
			room = p.width - len(kneeMark)
		}
	}
	p.line("")
	p.line(p.paint(dim, fmt.Sprintf("%-10s %8s %8s %8s %10s %6s", "LOAD", "MB/s", "IOPS", "MEAN", "P99", "WIRE %")))
	for _, s := range j.Steps {
		t := s.Summary.Total
		wire := unknown
		if s.WirePermille != nil {
			wire = Tenths(*s.WirePermille)
		}
		mean, p99 := stepLatency(t.Latency)
		row := fmt.Sprintf("%s %8s %8d %s %s %6s ", padded(p.clean(levelName(s)), 10), Rate(t.BytesPerSecond), t.OperationsPerSecond,
			rightAligned(p.clean(mean), 8), rightAligned(p.clean(p99), 10), wire)
		bar := p.bar(float64(t.BytesPerSecond)/float64(most), max(room-columns(row), 0))
		mark := ""
		switch {
		case s.Knee && bar == "":
			mark = strings.TrimSpace(kneeMark)
		case s.Knee:
			mark = kneeMark
		}
		p.line(row + p.paint(cyan, bar) + p.paint(yellow, mark))
	}
	p.line("")
}

// levelName is a level in ten columns.
func levelName(s judge.StepSummary) string {
	switch s.Kind {
	case runfile.StepUsers:
		return Count(int(s.Users), "user")
	case runfile.StepSmallReads:
		return fmt.Sprintf("%d small", s.Users)
	case runfile.StepLargeReads:
		return fmt.Sprintf("%d large", s.Users)
	default:
		return s.Kind
	}
}

func stepLatency(l *stats.Latency) (mean, p99 string) {
	switch {
	case l == nil:
		return unknown, unknown
	case l.MeanOnly:
		return Latency(l.MeanMicroseconds), unknown
	default:
		return Latency(l.MeanMicroseconds), atMost(l) + Latency(l.P99Microseconds)
	}
}

// rightAligned fills in by columns, for a µ is one and two bytes.
func rightAligned(s string, n int) string {
	for columns(s) < n {
		s = " " + s
	}
	return s
}
