package nfs4

import (
	"bytes"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

// watcher waits for a text in a log.
type watcher struct {
	text string
	seen atomic.Bool
}

func (w *watcher) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte(w.text)) {
		w.seen.Store(true)
	}
	return len(p), nil
}

// filled fills two files over both addresses of the metadata server and checks them; lost says
// that the client noticed a loss. progress gets what is written so far; before the check, then
// is called.
func filled(t *testing.T, s *nfs4test.Server, v bench.NFSVersion, progress func(int64), then func()) (lost bool) {
	t.Helper()
	e := engineOf(s, here, there)
	e.NFSVersion, e.CallTimeoutSeconds = v, 600
	log := &watcher{text: "lost data"}
	tgt, err := direct.Open(t.Context(), direct.Options{Engine: e, Now: time.Now, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tgt.Close() }()
	set, err := fileset.Prepare(t.Context(), tgt, fileset.Spec{Directory: "d", Jobs: 2, FileSizeBytes: 8 << 20, BlockSizeBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	var written atomic.Int64
	err = set.Fill(t.Context(), func(n int64) { progress(written.Add(n)) })
	if err != nil || written.Load() != 16<<20 {
		t.Fatalf("%d bytes were filled, %v", written.Load(), err)
	}
	then()
	for _, name := range []string{"c0-j0.dat", "c0-j1.dat"} {
		got := s.Content("d/" + name)
		if wrong := content.NewPool(0).File(name).Check(got, 0, 0, math.MaxUint64); wrong != nil || len(got) != 8<<20 {
			t.Errorf("%s has %d bytes: %v", name, len(got), wrong)
		}
	}
	return log.seen.Load()
}

// TestAFillSurvivesARestart: what was not committed is lost with the state of the files.
func TestAFillSurvivesARestart(t *testing.T) {
	for _, v := range append(versions(), bench.PNFS) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			s := serveNFS4(t, v == bench.PNFS)
			restart := func() {
				s.Restart()
				s.EndGrace()
			}
			var once sync.Once
			inTheMiddle := func(written int64) {
				if written >= 6<<20 {
					once.Do(restart)
				}
			}
			if !filled(t, s, v, inTheMiddle, restart) {
				t.Error("the restart lost nothing: the test proves nothing")
			}
		})
	}
}

// TestAFillNeedsNoDataServer: what is not stable is written and committed at the metadata server, so a data server that
// dies has nothing to commit.
func TestAFillNeedsNoDataServer(t *testing.T) {
	t.Parallel()
	s := serveNFS4(t, true)
	s.LeaveState = true // at the data servers
	data := []string{"127.0.0.3", "127.0.0.4"}
	var once sync.Once
	die := func(written int64) {
		if written >= 6<<20 {
			once.Do(func() {
				for _, a := range data {
					s.Kill(a)
				}
			})
		}
	}
	if filled(t, s, bench.PNFS, die, func() {}) {
		t.Error("data count as lost, and the metadata server did not restart")
	}
	for _, a := range data {
		if k := s.Counters(a); k.Writes > 0 || k.Commits > 0 {
			t.Errorf("data server %s: %+v, want no writes and no commits", a, k)
		}
	}
}

// TestAFillIsCommittedAtEachServer: separate servers of a cluster have verifiers of their own.
func TestAFillIsCommittedAtEachServer(t *testing.T) {
	for _, v := range versions() {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			s := &nfs4test.Server{Identity: func(a string) nfs4test.Identity { return nfs4test.Identity{Major: a, Scope: "s"} }}
			s.Start(t, here, there)
			lost := filled(t, s, v, func(int64) {}, func() {
				for _, a := range []string{here, there} {
					if k := s.Counters(a); k.BytesWritten == 0 || k.Commits == 0 {
						t.Errorf("path %s: %+v, want writes and commits", a, k)
					}
				}
			})
			if lost {
				t.Error("data count as lost, and no server restarted")
			}
		})
	}
}
