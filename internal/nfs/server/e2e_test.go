package server_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/internal/nfs/server"
	"github.com/nfsbench/nfsbench/test/ports"
)

// startTwoPaths serves one directory on the same port of two loopback addresses, as the
// Services of a benchmark do.
func startTwoPaths(tb testing.TB) (*running, int) {
	tb.Helper()
	port := ports.Reserve(tb).Port()
	s := start(tb, func(o *server.Options) {
		o.Listen = []string{fmt.Sprintf("127.0.0.1:%d", port), fmt.Sprintf("127.0.0.2:%d", port)}
	})
	return s, int(port)
}

func dialTwoPaths(tb testing.TB, port int) *nfs.Client {
	tb.Helper()
	c, err := nfs.Dial(tb.Context(), nfs.Config{
		Channels: []nfs.Channel{{Path: "127.0.0.1"}, {Path: "127.0.0.2"}},
		Export:   "/export", PortmapPort: port, Now: time.Now,
	})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestTheClientOfThisProjectUsesBothPaths(t *testing.T) {
	s, port := startTwoPaths(t)
	c := dialTwoPaths(t, port)
	f, err := c.Create(t.Context(), c.Root(), "data", 0o600, true)
	if err != nil {
		t.Fatal(err)
	}
	want := random(16 << 20)
	if _, err := f.WriteAt(t.Context(), want[:8<<20], 0, nfs.Unstable); err != nil {
		t.Fatal(err)
	}
	s.ChangeWriteVerifier()
	if _, err := f.WriteAt(t.Context(), want[8<<20:], 8<<20, nfs.Unstable); err != nil {
		t.Fatal(err)
	}
	lost, err := f.Commit(t.Context())
	if err != nil || len(lost) != 1 || lost[0] != (nfs.Span{From: 0, To: 8 << 20}) || f.UncommittedBytes() != 0 {
		t.Errorf("after the restart Commit = %v, %v, and %d bytes are uncommitted", lost, err, f.UncommittedBytes())
	}
	got := make([]byte, len(want))
	var parts sync.WaitGroup
	for off := 0; off < len(got); off += 1 << 20 {
		parts.Go(func() {
			if _, err := f.ReadAt(t.Context(), got[off:][:1<<20], int64(off)); err != nil {
				t.Error(err)
			}
		})
	}
	parts.Wait()
	if !bytes.Equal(got, want) {
		t.Error("what was read differs from what was written")
	}
	for _, l := range s.Counters().Document().Listeners {
		if l.ReadBytes == 0 || l.WrittenBytes == 0 {
			t.Errorf("path %s moved nothing: %+v", l.Address, l.Counts)
		}
	}
	var sum uint64
	for _, l := range s.Counters().Document().Listeners {
		sum += l.ReadBytes
	}
	if sum != uint64(len(want)) {
		t.Errorf("the paths sent %d bytes, %d were read", sum, len(want))
	}
}

// BenchmarkClient reads through the project's own client over two paths.
func BenchmarkClient(b *testing.B) {
	_, port := startTwoPaths(b)
	c := dialTwoPaths(b, port)
	f, err := c.Create(b.Context(), c.Root(), filepath.Base(b.Name()), 0o600, false)
	if err != nil {
		b.Fatal(err)
	}
	chunk := make([]byte, 1<<20)
	for off := int64(0); off < benchFileBytes; off += int64(len(chunk)) {
		if _, err := f.WriteAt(b.Context(), chunk, off, nfs.Unstable); err != nil {
			b.Fatal(err)
		}
	}
	const depth = 8
	b.SetBytes(1 << 20)
	b.ResetTimer()
	var all sync.WaitGroup
	for i := range depth {
		all.Go(func() {
			buf := make([]byte, 1<<20)
			for j := i; j < b.N; j += depth {
				if _, err := f.ReadAt(b.Context(), buf, int64(j)<<20%benchFileBytes); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}
