package faults

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// crashAt returns a server that crashes when it has seen so many WRITEs, each
// time for a moment, and what counts them.
func crashAt(t *testing.T, counts ...int64) (s *faulty.Server, crashes *atomic.Int64) {
	t.Helper()
	var writes atomic.Int64
	var crashing sync.Mutex // one after the other
	crashes = &atomic.Int64{}
	s = &faulty.Server{}
	s.Hook = func(c faulty.Call) faulty.Action {
		if !c.IsWrite() {
			return faulty.Answer
		}
		n := writes.Add(1)
		for _, at := range counts {
			if n == at {
				go func() {
					crashing.Lock()
					defer crashing.Unlock()
					s.Crash()
					pass(300 * time.Millisecond)
					if err := s.Recover(); err != nil {
						t.Error(err)
					}
					crashes.Add(1)
				}()
			}
		}
		return faulty.Answer
	}
	return s, crashes
}

// wantStable fails unless a crash right now would lose nothing.
func wantStable(t *testing.T, s *faulty.Server, jobs int) {
	t.Helper()
	var before [][]byte
	for j := range jobs {
		before = append(before, s.Content(fmt.Sprintf("c0-j%d.dat", j)))
	}
	lost := s.Forgotten()
	s.Restart()
	if n := s.Forgotten() - lost; n != 0 {
		t.Errorf("a crash after the run undoes %d bytes", n)
	}
	for j, want := range before {
		if got := s.Content(fmt.Sprintf("c0-j%d.dat", j)); len(got) == 0 || !bytes.Equal(got, want) {
			t.Errorf("the file of job %d is another after a crash: %d bytes, before %d", j, len(got), len(want))
		}
	}
}

func TestWhatACrashInTheFillLostIsWrittenAgain(t *testing.T) {
	t.Parallel()
	// 128 WRITEs of 1 MiB fill the files of two jobs.
	s, crashes := crashAt(t, 20, 50, 90, 120)
	s.Start(t, "127.0.0.2", "127.0.0.3")
	l := run(t, plan(twoPaths(s), 1, load(1<<20, 4, 2), pattern(bench.PatternRandomRead), keepFiles))
	wantClean(t, l)
	if crashes.Load() != 4 || s.Forgotten() < 4<<20 {
		t.Errorf("%d crashes undid %d bytes: the test proves nothing", crashes.Load(), s.Forgotten())
	}
	wantStable(t, s, 2)
}

func TestACrashWhileItIsMeasuredLosesNoWrite(t *testing.T) {
	for name, at := range map[string][]string{"one path": {"127.0.0.2"}, "two paths": {"127.0.0.2", "127.0.0.3"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The fill takes 2 WRITEs.
			s, crashes := crashAt(t, 100, 300, 305, 800)
			s.Start(t, at...)
			r := start(t, plan(site{paths: at, port: s.Port()}, 1, keepFiles))
			waitFor(t, "the server has crashed four times", func() bool { return crashes.Load() == 4 })
			l := r.finish()
			wantClean(t, l)
			for _, c := range channels(l) { // the window may end before one of them is up again
				if c.Reconnects == 0 || c.DownMilliseconds == 0 {
					t.Errorf("the result does not tell of the crash: %+v", c)
				}
			}
			wantStable(t, s, 2)
		})
	}
}

func TestANewWriteVerifierAloneIsNoFault(t *testing.T) {
	t.Parallel()
	var writes atomic.Int64
	s := &faulty.Server{}
	s.Hook = func(c faulty.Call) faulty.Action {
		// Connections stay, as behind an address that moves to another head.
		if c.IsWrite() && writes.Add(1)%40 == 0 {
			go s.Restart()
		}
		return faulty.Answer
	}
	s.Start(t, "127.0.0.2", "127.0.0.3")
	l := run(t, plan(twoPaths(s), 2, load(1<<20, 4, 2), keepFiles))
	wantClean(t, l)
	if s.Forgotten() == 0 {
		t.Error("nothing was undone: the test proves nothing")
	}
	for _, c := range channels(l) {
		if c.Reconnects != 0 {
			t.Errorf("a connection was given up: %+v", c)
		}
	}
	wantStable(t, s, 2)
}
