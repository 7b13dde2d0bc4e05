package faults

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// refusing answers calls to one procedure with a status while it is switched on.
func refusing(procedure uint32, status v3.Status) (s *faulty.Server, on *atomic.Bool) {
	on = &atomic.Bool{}
	return &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
		if c.Program == v3.Program && c.Procedure == procedure && on.Load() {
			return faulty.Fail(status)
		}
		return faulty.Answer
	}}, on
}

func TestWhatTheServerRefusesInMidRunIsToldInItsOwnWords(t *testing.T) {
	for name, tc := range map[string]struct {
		status v3.Status
		read   bool
		code   string
		says   []string
	}{
		"full":           {status: v3.ErrNoSpc, code: runfile.FailureNoSpace, says: []string{"full", "NFS3ERR_NOSPC", "127.0.0.2"}},
		"over quota":     {status: v3.ErrDQuot, code: runfile.FailureNoSpace, says: []string{"quota", "NFS3ERR_DQUOT"}},
		"file removed":   {status: v3.ErrStale, code: runfile.FailureIO, says: []string{"removed the file", "NFS3ERR_STALE"}},
		"handle unknown": {status: v3.ErrBadHandle, read: true, code: runfile.FailureIO, says: []string{"NFS3ERR_BADHANDLE"}},
		"media error":    {status: v3.ErrIO, read: true, code: runfile.FailureIO, says: []string{"NFS3ERR_IO", "I/O error on the server"}},
		"read-only":      {status: v3.ErrROFS, code: runfile.FailureAccessDenied, says: []string{"read-only", "NFS3ERR_ROFS"}},
		"denied":         {status: v3.ErrAcces, read: true, code: runfile.FailureAccessDenied, says: []string{"NFS3ERR_ACCES", "uid"}},
		"server fault":   {status: v3.Status(10006), code: runfile.FailureIO, says: []string{"NFS3ERR_SERVERFAULT"}},
		"unknown status": {status: v3.Status(4711), read: true, code: runfile.FailureIO, says: []string{"4711"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			procedure, kind := uint32(v3.ProcWrite), bench.PatternRandomWrite
			if tc.read {
				procedure, kind = v3.ProcRead, bench.PatternRandomRead
			}
			s, on := refusing(procedure, tc.status)
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 60, pattern(kind)))
			r.underLoad()
			on.Store(true)
			began := time.Now()
			r.awaitEnd()
			took(t, "until the run ends", began, 10*time.Second)
			l := r.finish()
			wantFailure(t, l, tc.code, append(tc.says, "j")...)
			for _, c := range channels(l) {
				if c.Reconnects != 0 || c.State != "Up" {
					t.Errorf("a path is blamed for what the server said: %+v", c)
				}
			}
		})
	}
}

func TestAFullDiskInTheFillIsToldBeforeAnythingIsMeasured(t *testing.T) {
	for name, status := range map[string]v3.Status{"full": v3.ErrNoSpc, "over quota": v3.ErrDQuot} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var writes atomic.Int64
			s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
				if c.IsWrite() && writes.Add(1) > 30 {
					return faulty.Fail(status)
				}
				return faulty.Answer
			}}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			l := run(t, plan(twoPaths(s), 10, load(1<<20, 4, 2)))
			wantFailure(t, l, runfile.FailureNoSpace, "fill", "c0-j", "larger")
			if len(l.Repetitions) != 0 {
				t.Error("something was measured")
			}
			if s.Content("c0-j0.dat") != nil {
				t.Error("the files were left on a disk that is full")
			}
		})
	}
}

func TestAServerThatAsksToTryLaterIsWaitedFor(t *testing.T) {
	for name, kind := range map[string]bench.RawPattern{"reads": bench.PatternRandomRead, "writes": bench.PatternRandomWrite} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var on atomic.Bool
			var asked atomic.Int64
			s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
				if (c.IsRead() || c.IsWrite()) && on.Load() {
					asked.Add(1)
					return faulty.TryLater
				}
				return faulty.Answer
			}}
			s.Start(t, "127.0.0.2", "127.0.0.3")
			r := start(t, plan(twoPaths(s), 6, pattern(kind)))
			r.underLoad()
			on.Store(true)
			began := time.Now()
			waitFor(t, "16 I/Os were sent several times", func() bool { return asked.Load() > 16*4 })
			seconds := time.Since(began).Seconds()
			on.Store(false)
			l := r.finish()
			wantClean(t, l)
			measure.Expect(t, "how often an I/O is sent that is to be tried later", "1/s", measure.AtMost(20), float64(asked.Load())/16/seconds)
			for _, c := range channels(l) {
				if c.Reconnects != 0 || c.DownMilliseconds != 0 {
					t.Errorf("a path is blamed: %+v", c)
				}
			}
		})
	}
}

func TestAServerThatAsksToTryLaterForEverEndsTheRunInTime(t *testing.T) {
	t.Parallel()
	s, on := refusing(v3.ProcWrite, v3.ErrJukebox)
	s.Start(t, "127.0.0.2", "127.0.0.3")
	const timeout = 10
	r := start(t, plan(twoPaths(s), 60, callTimeout(timeout)))
	r.await(runfile.SpanMeasure)
	on.Store(true)
	began := time.Now()
	r.awaitEnd()
	took(t, "until the run ends", began, (timeout+5)*time.Second)
	on.Store(false)
	wantFailure(t, r.finish(), runfile.FailureIO, "NFS3ERR_JUKEBOX", "try again later")
}
