package faults

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestOneSlowIOAmongOthersCostsNoConnection(t *testing.T) {
	t.Parallel()
	const timeout = 120
	var on atomic.Bool
	s := &faulty.Server{Delay: func(c faulty.Call) time.Duration {
		if isData(c) && on.CompareAndSwap(true, false) {
			return timeout * time.Second * 5 / 8 // at half of it, a path without other replies is left
		}
		return 0
	}}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 8, callTimeout(timeout)))
	r.underLoad()
	on.Store(true)
	l := r.finish()
	wantClean(t, l)
	wantUntouched(t, l)
}

func TestAWindowThatIsClosedForAMomentIsNoLoss(t *testing.T) {
	t.Parallel()
	s := &faulty.Server{}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	// Writes of 1 MiB fill the socket buffers on both sides.
	r := start(t, plan(twoPaths(s), 8, load(1<<20, 16, 2)))
	r.underLoad()
	resume := s.Stall()
	pass(3 * time.Second)
	resume()
	l := r.finish()
	wantClean(t, l)
	wantUntouched(t, l)
}

func TestAServerThatSendsEveryReplyTwiceIsUnderstood(t *testing.T) {
	s := &faulty.Server{Rewrite: func(c faulty.Call, r []byte) ([]byte, bool) {
		if !isData(c) {
			return r, true
		}
		return append(append([]byte{}, r...), r...), true
	}}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	// The server allocates for each small WRITE, and not for large ones.
	memory.Bound(t, 256<<20, func() { wantClean(t, run(t, plan(twoPaths(s), 3, load(64<<10, 8, 2)))) })
}
