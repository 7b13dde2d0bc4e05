package loadgen

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nanosleep"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// wakePeriod is the interval at which a sentinel is due. A wake-up costs some microseconds of CPU time, and
// up to 30 in a virtual machine.
const wakePeriod = 5 * time.Millisecond

// sentinel measures the noise of this client. Its thread is due to wake at fixed times and records how much
// later it woke, as jHiccup does. Its delays (from other work on the machine, a CPU limit, a hypervisor, the
// Go runtime) also delay operations and do not come from the storage. A standstill counts once for each due
// time in it, because it delays all operations that are due in it. A nil sentinel measures nothing.
type sentinel struct {
	stopping atomic.Bool
	ended    chan struct{}

	mu   sync.Mutex
	late *stats.Histogram
}

// startSentinel starts the thread of a sentinel. nap makes the thread sleep.
func startSentinel(now func() time.Time, nap func(time.Duration)) *sentinel {
	s := &sentinel{ended: make(chan struct{}), late: stats.NewHistogram()}
	due := now().Add(wakePeriod) // counts a late start of the thread, too
	go func() {
		defer close(s.ended)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine, and with it the timer precision
		nanosleep.Precise()
		for {
			nap(due.Sub(now()))
			if due = s.record(due, now()); s.stopping.Load() {
				return
			}
		}
	}()
	return s
}

// record counts all times that were due until now. It returns the next due time.
func (s *sentinel) record(due, now time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	for ; !due.After(now); due = due.Add(wakePeriod) {
		s.late.Record(now.Sub(due).Microseconds(), 1)
	}
	return due
}

// stop makes the thread end at its next wake-up.
func (s *sentinel) stop() {
	if s != nil {
		s.stopping.Store(true)
	}
}

// end waits for the thread after stop, because it may still be asleep.
func (s *sentinel) end() {
	if s != nil {
		<-s.ended
	}
}

// wakeUps returns the recorded delays, or nil without any.
func (s *sentinel) wakeUps() *runfile.WakeUps {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.late.Latency()
	if l == nil {
		return nil
	}
	return &runfile.WakeUps{
		Count: l.Count, P50Microseconds: l.P50Microseconds, P90Microseconds: s.late.Percentile(90),
		P95Microseconds: l.P95Microseconds, P99Microseconds: l.P99Microseconds, P999Microseconds: l.P999Microseconds,
		MaxMicroseconds: l.MaxMicroseconds,
	}
}
