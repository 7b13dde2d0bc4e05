package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
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

// number writes a count that may be unknown.
func number(v *int64) string {
	if v == nil {
		return doc.Unknown
	}
	return fmt.Sprint(*v)
}

// nonZero writes a count whose zero is unknown.
func nonZero(v int64) string {
	if v == 0 {
		return doc.Unknown
	}
	return fmt.Sprint(v)
}

// percentText writes a share that may be unknown.
func percentText(permille *int32) string {
	if permille == nil {
		return doc.Unknown
	}
	return Tenths(*permille) + " %"
}

// amount writes bytes that may be unknown.
func amount(bytes *int64) string {
	if bytes == nil {
		return doc.Unknown
	}
	return Gibibytes(*bytes)
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

// MetricName is a metric in words.
func MetricName(metric string) string {
	switch metric {
	case runfile.MetricThroughput:
		return "Throughput"
	case runfile.MetricIOPS:
		return "IOPS"
	case runfile.MetricMeanLatency:
		return "Mean latency"
	case runfile.MetricP50Latency:
		return "Latency, median"
	case runfile.MetricP95Latency:
		return "Latency, 95th percentile"
	case runfile.MetricP99Latency:
		return "Latency, 99th percentile"
	case runfile.MetricStorageLatency:
		return "Latency of the storage"
	case runfile.MetricClientCPU:
		return "Client CPU for each MiB"
	default:
		return metric
	}
}

// Figure writes a value of a metric in the unit that fits it. unit is that of
// runfile.SuiteMetricUnit.
func Figure(v float64, unit string) string {
	if math.IsNaN(v) || math.Abs(v) > 1e15 {
		return doc.Unknown
	}
	switch unit {
	case "B/s":
		return Rate(int64(math.Round(v))) + " MB/s"
	case "us":
		return duration(v)
	case "us/MiB":
		return duration(v) + "/MiB"
	default:
		return fmt.Sprintf("%.0f", v)
	}
}

// duration writes microseconds as Latency does, of means with their fractions.
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
	p := l.P
	if l.AdjustedP != nil {
		p = l.AdjustedP
	}
	switch {
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

// OutcomeWord is the answer of a line for people.
func OutcomeWord(outcome string) string {
	switch outcome {
	case compare.Better:
		return "better"
	case compare.Worse:
		return "worse"
	case compare.NoDifference:
		return "no difference"
	case compare.Negligible:
		return "negligible"
	default:
		return "unknown"
	}
}

// LineName names what a line is of: its cell, and its step.
func LineName(cell, step string) string {
	switch {
	case step == "":
		return cell
	case cell == "":
		return step
	default:
		return cell + " " + step
	}
}

// VerdictMeaning says in words what a verdict means.
func VerdictMeaning(v judge.Verdict) string {
	switch v {
	case judge.Pass:
		return "everything that was expected was met"
	case judge.Fail:
		return "something that was expected was missed"
	case judge.Inconclusive:
		return "this run cannot tell"
	case judge.NotEvaluated:
		return "nothing was expected of this run"
	default:
		return ""
	}
}

// ValidityMeaning says in words what a validity means.
func ValidityMeaning(v judge.Validity) string {
	switch v {
	case judge.Valid:
		return "nothing speaks against the number"
	case judge.Suspect:
		return "read the findings before you build on the number"
	case judge.Invalid:
		return "do not use the number"
	default:
		return ""
	}
}

// The sentences of a page on which a stand-in took part, and of one with numbers
// of Oracle.
const (
	SimulatedDatabaseNote = "The database was a stand-in for Oracle: no number here is one of Oracle."
	SimulatedStorageNote  = "The storage was a stand-in: no number here is one of real storage."
	DisclosureNote        = "This page shows numbers of Oracle software. Oracle's licences have forbidden to publish " +
		"benchmark results without consent: check your licence, or ask Oracle, before you give this page away."
)
