package report

import (
	"fmt"
	"math"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

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
		return unknown
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
		return unknown
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
		return unknown
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
