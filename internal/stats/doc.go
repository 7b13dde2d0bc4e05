// Package stats holds the arithmetic of a benchmark: latency histograms that
// are merged and never averaged, medians and variation, steadiness, time series of
// several clients on one clock, and tests of ranks with their intervals.
//
// It is pure: values in, values out, no clock and no I/O.
package stats
