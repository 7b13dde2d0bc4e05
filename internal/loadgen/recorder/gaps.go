package recorder

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// LeastGap is the shortest recorded time without an answer. Operations of a normal load take less.
	LeastGap = 100 * time.Millisecond
	// maxGaps bounds the memory of Gaps. If there are more gaps, the longest ones remain.
	maxGaps = 512
)

// Gap is a time in which a thread had no answer. Waiting is the start of the oldest operation that was answered
// at To or later: from then on at least one operation waited.
type Gap struct{ From, To, Waiting time.Duration }

// NothingWaits is the Waiting of a gap without a known waiting operation.
const NothingWaits = time.Duration(math.MaxInt64)

// Gaps records the gaps of one thread in one level. All times count from the start of the level. Only the thread
// calls Answered and Failed; Until may be called concurrently. The zero value is ready to use.
type Gaps struct {
	last   atomic.Int64 // time of the newest answer
	recent Gap          // the newest gap; only the thread changes it, with mu

	mu     sync.Mutex
	ended  []Gap         // sorted by time, without recent
	least  time.Duration // shorter gaps are no longer recorded
	failed time.Duration // start of the oldest operation that failed since the newest answer; 0 = none
}

// Answered records an answer at end to an operation that began at start. It costs two comparisons unless a
// gap ends.
func (g *Gaps) Answered(start, end time.Duration) {
	last := time.Duration(g.last.Load())
	switch {
	case end-last >= LeastGap:
		g.mu.Lock()
		g.keep()
		if g.failed > 0 {
			start = min(start, g.failed)
		}
		g.recent, g.failed = Gap{From: last, To: end, Waiting: start}, 0
		g.mu.Unlock()
	case start < g.recent.Waiting:
		g.mu.Lock()
		g.recent.Waiting = start
		g.mu.Unlock()
	}
	g.last.Store(int64(end))
}

// Failed records the failure of an operation that began at start, which is not an answer.
func (g *Gaps) Failed(start time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if start = max(start, 1); g.failed == 0 || start < g.failed {
		g.failed = start
	}
}

// keep adds the recent gap to ended. When ended is full, keep drops the shorter half. mu is held.
func (g *Gaps) keep() {
	if g.recent.To-g.recent.From < max(g.least, LeastGap) {
		return
	}
	if g.ended = append(g.ended, g.recent); len(g.ended) < maxGaps {
		return
	}
	longest := func(a, b Gap) int { return cmp.Compare(b.To-b.From, a.To-a.From) }
	slices.SortFunc(g.ended, longest)
	g.ended = g.ended[:maxGaps/2]
	shortest := g.ended[len(g.ended)-1]
	g.least = shortest.To - shortest.From
	slices.SortFunc(g.ended, byTime)
}

func byTime(a, b Gap) int { return cmp.Compare(a.From, b.From) }

// Until returns the gaps up to end, sorted by time, including the one that still lasts. since is the time
// from which an unfinished operation waits, or NothingWaits.
func (g *Gaps) Until(end, since time.Duration) []Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	last := time.Duration(g.last.Load())
	present := Gap{From: last, To: max(end, last), Waiting: g.waiting(max(last, since))}
	all := append(slices.Clone(g.ended), g.recent, present)
	return slices.DeleteFunc(all, func(gap Gap) bool { return gap.To-gap.From < LeastGap })
}

// waiting returns the time from which an unanswered operation waits. mu is held.
func (g *Gaps) waiting(since time.Duration) time.Duration {
	if g.failed > 0 {
		return g.failed
	}
	return since
}

// Reset removes all gaps. The thread must not be running.
func (g *Gaps) Reset() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last.Store(0)
	g.recent, g.ended, g.least, g.failed = Gap{}, nil, 0, 0
}

// Common returns the times that are in the gaps of both lists. Each list is sorted by time.
func Common(a, b []Gap) []Gap {
	var out []Gap
	for len(a) > 0 && len(b) > 0 {
		both := Gap{
			From: max(a[0].From, b[0].From), To: min(a[0].To, b[0].To), Waiting: min(a[0].Waiting, b[0].Waiting),
		}
		if both.To-both.From >= LeastGap {
			out = append(out, both)
		}
		if a[0].To < b[0].To {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}
