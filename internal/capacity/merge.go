package capacity

import (
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// mostCount limits the count of one client in one part of a window. Other users' pods write the
// reports. Larger counts, and parts beyond MaxLevelSeconds, are cut.
const mostCount = int64(1) << 40

// Merge combines the reports of all clients for one level. It adds reports of different lengths
// from their start, and cuts impossible counts to possible ones.
func Merge(bounds []runfile.LatencyBound, reports []runfile.LevelReport) runfile.CapacityOutcome {
	var o runfile.CapacityOutcome
	var done []int64
	slow := make([][]int64, len(bounds))
	for _, r := range reports {
		o.Due += total(add(nil, r.Due))
		done = add(done, r.Done)
		o.Errors += clamp(r.Errors)
		for b := range bounds {
			if b < len(r.Slow) {
				slow[b] = add(slow[b], r.Slow[b])
			} else { // no counts for this bound: all operations may have been slow
				slow[b] = add(slow[b], r.Done)
			}
		}
	}
	o.Done = total(done)
	for b := range bounds {
		o.Bounds = append(o.Bounds, share(slow[b], done))
	}
	return o
}

// Level returns a level as one client measured it, or false for a repetition of another load.
func Level(bounds []runfile.LatencyBound, rep runfile.Repetition) (runfile.CapacityLevel, bool) {
	if rep.Level == nil || rep.Step == nil {
		return runfile.CapacityLevel{}, false
	}
	outcome := Merge(bounds, []runfile.LevelReport{*rep.Level})
	return runfile.CapacityLevel{
		Index: rep.Index, Round: rep.Step.Round, OperationsPerSecond: rep.Step.OperationsPerSecond,
		Seconds: rep.Level.WindowSeconds(), Outcome: &outcome,
	}, true
}

// add adds the counts of one client to the sum, second by second.
func add(sum, more []int64) []int64 {
	for i, n := range more[:min(len(more), runfile.MaxLevelSeconds)] {
		if i == len(sum) {
			sum = append(sum, 0)
		}
		sum[i] += clamp(n)
	}
	return sum
}

func clamp(n int64) int64 { return min(max(n, 0), mostCount) }

func total(counts []int64) (sum int64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// share returns the share of slow operations with its interval. Operations that had not ended count
// as slow but not as done.
func share(slow, done []int64) runfile.BoundOutcome {
	n := max(len(slow), len(done))
	over, of := make([]float64, n), make([]float64, n)
	var sum, all float64
	for i := range n {
		if i < len(slow) {
			over[i] = float64(slow[i])
		}
		if i < len(done) {
			of[i] = float64(done[i])
		}
		of[i] = max(of[i], over[i])
		sum, all = sum+over[i], all+of[i]
	}
	interval, ok := stats.RatioInterval(over, of)
	if !ok { // nothing ended
		return runfile.BoundOutcome{High: 1}
	}
	return runfile.BoundOutcome{Share: sum / all, Low: interval.Low, High: interval.High}
}
