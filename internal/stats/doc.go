// Package stats holds the arithmetic of a benchmark: latency histograms that
// are merged and never averaged, medians and variation, steadiness, and time
// series of several clients on one clock.
//
// It is pure: values in, values out, no clock and no I/O.
package stats
