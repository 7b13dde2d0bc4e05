package faults

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// sightings remembers on which connections each xid of a WRITE was seen.
type sightings struct {
	mu   sync.Mutex
	seen map[uint32][]int
	lost map[uint32]int // xids that were never answered, and on which connection
}

func (s *sightings) note(c faulty.Call, answered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen[c.XID] = append(s.seen[c.XID], c.Conn)
	if !answered {
		s.lost[c.XID] = c.Conn
	}
}

func (s *sightings) misses(xid uint32) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.lost[xid]
	return ok
}

func TestACallThatIsSentAgainKeepsItsXID(t *testing.T) {
	for name, tc := range map[string]struct {
		at  []string
		act faulty.Action
	}{
		"not executed, one path":  {[]string{"127.0.0.2"}, faulty.Disconnect},
		"not executed, two paths": {[]string{"127.0.0.2", "127.0.0.3"}, faulty.Disconnect},
		"executed, one path":      {[]string{"127.0.0.2"}, faulty.Lose},
		"executed, two paths":     {[]string{"127.0.0.2", "127.0.0.3"}, faulty.Lose},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			saw := &sightings{seen: map[uint32][]int{}, lost: map[uint32]int{}}
			var measuring atomic.Bool
			var writes atomic.Int64
			s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
				if !c.IsWrite() || !measuring.Load() {
					return faulty.Answer
				}
				n := writes.Add(1)
				if n > 3000 && !saw.misses(c.XID) {
					return faulty.Answer // xids are used again in the normal course, some day
				}
				broken := n <= 3000 && n%500 == 0
				saw.note(c, !broken)
				if broken {
					return tc.act
				}
				return faulty.Answer
			}}
			s.Start(t, tc.at...)
			r := start(t, plan(site{paths: tc.at, port: s.Port()}, 1))
			r.await(runfile.SpanMeasure)
			measuring.Store(true)
			waitFor(t, "six calls are lost", func() bool { return writes.Load() > 3000 })
			wantClean(t, r.finish())
			saw.mu.Lock()
			defer saw.mu.Unlock()
			for xid, conn := range saw.lost {
				again := false
				for _, other := range saw.seen[xid] {
					again = again || other != conn
				}
				if !again {
					t.Errorf("xid %08x was lost on connection %d and seen only on %v", xid, conn, saw.seen[xid])
				}
			}
		})
	}
}

// TestANameThatWasMadeByALostCallIsOurs loses the first reply to every call that
// changes names. The server keeps no cache of replies, so the second call finds
// the name made, or gone.
func TestANameThatWasMadeByALostCallIsOurs(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	seen, kinds := map[uint32]bool{}, map[uint32]int{}
	s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
		mu.Lock()
		defer mu.Unlock()
		switch c.Procedure {
		case v3.ProcCreate, v3.ProcMkdir, v3.ProcRemove, v3.ProcRmdir:
			if c.Program == v3.Program && !seen[c.XID] {
				seen[c.XID] = true
				kinds[c.Procedure]++
				return faulty.Lose
			}
		}
		return faulty.Answer
	}}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	wantClean(t, run(t, plan(twoPaths(s), 1)))
	mu.Lock()
	defer mu.Unlock()
	if len(kinds) != 4 || kinds[v3.ProcCreate] < 3 || kinds[v3.ProcRemove] < 3 {
		t.Errorf("replies were lost to %v: the test proves less than it says", kinds)
	}
	if s.Content("c0-j0.dat") != nil {
		t.Error("a file is left")
	}
}

func TestAReplyThatComesAfterTheCallWasMadeElsewhereHarmsNothing(t *testing.T) {
	t.Parallel()
	const timeout = 12
	var on atomic.Bool
	s := &faulty.Server{Delay: func(c faulty.Call) time.Duration {
		// One path answers only after the client gave it up.
		if isData(c) && on.Load() && c.Address == "127.0.0.3" {
			return timeout*time.Second/2 + 700*time.Millisecond
		}
		return 0
	}}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	r := start(t, plan(twoPaths(s), 8, callTimeout(timeout), pattern(bench.PatternCopy)))
	r.underLoad()
	on.Store(true)
	r.watch.until(t, 1, "the path is given up", func(c runfile.Channel) bool { return c.State == "Down" || c.Reconnects > 0 })
	on.Store(false)
	wantClean(t, r.finish())
}
