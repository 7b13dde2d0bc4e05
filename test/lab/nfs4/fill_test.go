package nfs4

import (
	"bytes"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/target/direct"
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

// TestAFillSurvivesARestart: what was not committed is lost with the state of the files.
func TestAFillSurvivesARestart(t *testing.T) {
	for _, v := range append(versions(), bench.PNFS) {
		t.Run(string(v), func(t *testing.T) {
			t.Parallel()
			s := serveNFS4(t, v == bench.PNFS)
			e := engineOf(s, "127.0.0.1", "127.0.0.2")
			e.NFSVersion, e.CallTimeoutSeconds = v, 600
			lost := &watcher{text: "lost data"}
			tgt, err := direct.Open(t.Context(), direct.Options{Engine: e, Now: time.Now, Logger: slog.New(slog.NewTextHandler(lost, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = tgt.Close() }()
			set, err := fileset.Prepare(t.Context(), tgt, fileset.Spec{
				Directory: "d", Jobs: 2, FileSizeBytes: 8 << 20, BlockSizeBytes: 64 << 10,
			})
			if err != nil {
				t.Fatal(err)
			}
			var filled atomic.Int64
			var once sync.Once
			err = set.Fill(t.Context(), func(n int64) {
				if filled.Add(n) >= 6<<20 {
					once.Do(func() {
						s.Restart()
						s.EndGrace()
					})
				}
			})
			if err != nil || filled.Load() != 16<<20 {
				t.Fatalf("%d bytes were filled, %v", filled.Load(), err)
			}
			if !lost.seen.Load() {
				t.Fatal("the restart lost nothing: the test proves nothing")
			}
			s.Restart() // what is not stable now is lost
			s.EndGrace()
			if _, err := set.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			defer set.Close()
			if v, wrong, err := set.Verify(t.Context()); err != nil || v.BlocksWrong != 0 || v.BlocksChecked != 128 {
				t.Errorf("verified %+v: %s, %v", v, wrong, err)
			}
		})
	}
}
