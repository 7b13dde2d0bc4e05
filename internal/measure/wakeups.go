package measure

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// latestWakeUps returns the wake-ups of the client with the largest p99; nil if no client knows them. Merged wake-ups
// would hide a noisy client among quiet ones, although the operations of one client are enough to determine the p99
// of all.
func latestWakeUps(parts []part) (latest *runfile.WakeUps) {
	for _, p := range parts {
		w := p.rep.WakeUps
		if believable(w) && (latest == nil || w.P99Microseconds > latest.P99Microseconds) {
			latest = w
		}
	}
	return latest
}

// believable reports whether a loader can have measured w. Results are not trusted.
func believable(w *runfile.WakeUps) bool {
	return w != nil && w.Count > 0 && slices.IsSorted([]int64{
		0, w.P50Microseconds, w.P90Microseconds, w.P95Microseconds, w.P99Microseconds, w.P999Microseconds,
		w.MaxMicroseconds, 2 * stats.HighestMicroseconds,
	})
}
