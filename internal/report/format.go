package report

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// Rate writes bytes per second as megabytes of 10^6 per second.
func Rate(bytesPerSecond int64) string {
	v := float64(bytesPerSecond) / 1e6
	if v >= 10_000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

// Tenths writes permille as percent.
func Tenths(permille int32) string { return fmt.Sprintf("%.1f", float64(permille)/10) }

// Gibibytes writes bytes as GiB.
func Gibibytes(b int64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }

// LatencyParts scales microseconds to three significant digits or so.
func LatencyParts(us int64) (value, unit string) {
	switch {
	case us < 1000:
		return fmt.Sprint(us), "µs"
	case us < 10_000:
		return fmt.Sprintf("%.2f", float64(us)/1e3), "ms"
	case us < 1_000_000:
		return fmt.Sprintf("%.1f", float64(us)/1e3), "ms"
	default:
		return fmt.Sprintf("%.2f", float64(us)/1e6), "s"
	}
}

// Latency writes microseconds with their unit.
func Latency(us int64) string {
	value, unit := LatencyParts(us)
	return value + " " + unit
}

// BinarySize writes a size as people write it in a spec: 1Mi, 4Gi.
func BinarySize(b int64) string {
	units := []struct {
		shift int
		name  string
	}{{40, "Ti"}, {30, "Gi"}, {20, "Mi"}, {10, "Ki"}}
	for _, u := range units {
		if b > 0 && b%(1<<u.shift) == 0 {
			return fmt.Sprintf("%d%s", b>>u.shift, u.name)
		}
	}
	return fmt.Sprintf("%d", b)
}

// Count writes a number and its noun: 1 user, 2 users.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// known writes a value that may be unknown.
func known[T any](v *T, text func(T) string) string {
	if v == nil {
		return doc.Unknown
	}
	return text(*v)
}

// number writes a count that may be unknown.
func number(v *int64) string { return known(v, func(v int64) string { return fmt.Sprint(v) }) }

// nonZero writes a count whose zero is unknown.
func nonZero(v int64) string {
	if v == 0 {
		return doc.Unknown
	}
	return fmt.Sprint(v)
}

// percentText writes a share that may be unknown.
func percentText(permille *int32) string {
	return known(permille, func(v int32) string { return Tenths(v) + " %" })
}

// pathName is a path with the address that it starts from, where that is known.
func pathName(local, path string) string {
	if local == "" {
		return path
	}
	return local + " → " + path
}

// joined is a list in words.
func joined(parts []string) string { return strings.Join(parts, ", ") }

// upperFirst begins s with a capital.
func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// capital makes words a sentence.
func capital(s string) string {
	if s == "" {
		return ""
	}
	return upperFirst(strings.TrimSuffix(s, ".")) + "."
}

// firstLines are the first of many lines, and how many more there are.
func firstLines(lines []string) string {
	const most = 8
	if more := len(lines) - most; more > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Figure writes a value of a metric in the unit that fits it. unit is that of the metric.
func Figure(v float64, unit string) string {
	if math.IsNaN(v) || math.Abs(v) > 1e15 {
		return doc.Unknown
	}
	switch unit {
	case judge.UnitBytes:
		return Rate(int64(math.Round(v))) + " MB/s"
	case judge.UnitTime:
		return duration(v)
	case judge.UnitCost:
		return duration(v) + "/MiB"
	case judge.UnitPermille:
		return fmt.Sprintf("%.1f %%", v/10)
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// duration writes microseconds like Latency, but with the fractions of means.
func duration(us float64) string {
	if us < 100 && us != math.Trunc(us) {
		return fmt.Sprintf("%.1f µs", us)
	}
	return Latency(int64(math.Round(us)))
}

// Percent writes a share as percent with its sign, in two decimals.
func Percent(share float64) string { return fmt.Sprintf("%+.2f", share*100) }

// Interval is the confidence interval of a line in percent; a dash where it is
// not known.
func Interval(l compare.Line) string {
	if l.ShiftLow == nil || l.ShiftHigh == nil {
		return doc.Unknown
	}
	return fmt.Sprintf("%+.1f to %+.1f", *l.ShiftLow*100, *l.ShiftHigh*100)
}

// Probability writes p: that after the correction where there is one.
func Probability(l compare.Line) string {
	switch p := cmp.Or(l.AdjustedP, l.P); {
	case p == nil:
		return doc.Unknown
	case *p < 0.0001:
		return "<0.0001"
	case *p < 0.1:
		return fmt.Sprintf("%.4f", *p)
	default:
		return fmt.Sprintf("%.2f", *p)
	}
}

// The sentences of a page that involves a stand-in, and of one with numbers of Oracle.
const (
	SimulatedDatabaseNote = "The database was a stand-in for Oracle: no number here is one of Oracle."
	SimulatedStorageNote  = "The storage was a stand-in: no number here is one of real storage."
	DisclosureNote        = "This page shows numbers of Oracle software. Oracle's licences have forbidden to publish " +
		"benchmark results without consent: check your licence, or ask Oracle, before you give this page away."
)
