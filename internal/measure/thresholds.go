package measure

import (
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Thresholds that decide which facts count. Shares are permille unless the name says otherwise.
const (
	// A long pause is longer than any retransmission of TCP but the last, and much longer than operations take.
	PausedMilliseconds = 1000
	pausedLatencies    = 10
	// ForeignCPU is the busy share of an idle machine from which on others use it.
	ForeignCPU = 250
	// An array's mean latency is inaccurate over fewer operations.
	latencyOps = 10

	followShare   = 0.98                // achieved / due operations: below, throughput does not keep up
	bracketNarrow = capacity.Resolution // ratio to the next lower rate after a complete search
	contradicts   = 1.1                 // ratio of two rates: nearer rates differ by noise
	// DecidedSeconds is the minimum length of a level that further facts and findings use: in a shorter one, a hiccup
	// or its start weighs too much.
	DecidedSeconds = capacity.LeastDecidedSeconds
)

// steadyThroughput and steadyLatency return the limits of steadiness. Latency
// may vary more: in a closed loop it mirrors the throughput, and its noise is
// larger.
func steadyThroughput() stats.SteadyLimits {
	return stats.SteadyLimits{MaxDeviation: 0.10, MaxDrift: 0.10, MaxStep: 0.10}
}

func steadyLatency() stats.SteadyLimits {
	return stats.SteadyLimits{MaxDeviation: 0.25, MaxDrift: 0.25, MaxStep: 0.10}
}
