package nfs

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nfsbench/nfsbench/internal/nfs/nfstest"
)

func TestReadAtAllocatesNothing(t *testing.T) {
	for name, size := range map[string]int{"8 KiB": 8 << 10, "1 MiB": 1 << 20, "4 MiB in parts": 4 << 20} {
		t.Run(name, func(t *testing.T) {
			s := &nfstest.Server{}
			c := start(t, s, nil, "127.0.0.1", "127.0.0.2")
			f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, size))))
			p, ctx := make([]byte, size), t.Context()
			assertNoAllocs(t, func() error { _, err := f.ReadAt(ctx, p, 0); return err })
		})
	}
}

func TestWriteAtAllocatesNothing(t *testing.T) {
	for name, stable := range map[string]Stability{"unstable": Unstable, "file sync": FileSync} {
		t.Run(name, func(t *testing.T) {
			s := &nfstest.Server{}
			c := start(t, s, nil, "127.0.0.1", "127.0.0.2")
			f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, 1<<20))))
			p, ctx := make([]byte, 1<<20), t.Context()
			assertNoAllocs(t, func() error { _, err := f.WriteAt(ctx, p, 0, stable); return err })
		})
	}
}

// assertNoAllocs counts the allocations of the whole process, the fake server
// included; the ticker of the transport runs beside, hence the many runs.
func assertNoAllocs(t *testing.T, f func() error) {
	t.Helper()
	if raceEnabled {
		t.Skip("sync.Pool drops its content at random under the race detector")
	}
	for range 100 {
		if err := f(); err != nil {
			t.Fatal(err)
		}
	}
	got := testing.AllocsPerRun(300, func() {
		if err := f(); err != nil {
			t.Error(err)
		}
	})
	if got != 0 {
		t.Errorf("%v allocations per operation, want 0", got)
	}
}

func BenchmarkReadAt(b *testing.B) {
	for _, bc := range []struct {
		name  string
		size  int
		depth int
	}{
		{"1MiB/depth1", 1 << 20, 1},
		{"1MiB/depth8", 1 << 20, 8},
		{"8KiB/depth1", 8 << 10, 1},
		{"8KiB/depth16", 8 << 10, 16},
		{"8KiB/depth256", 8 << 10, 256},
	} {
		b.Run(bc.name, func(b *testing.B) {
			s := &nfstest.Server{}
			c := start(b, s, nil)
			f := c.OpenFile(FileHandle(s.AddFile("data", make([]byte, 4<<20))))
			b.SetBytes(int64(bc.size))
			b.ReportAllocs()
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for range bc.depth {
				wg.Go(func() {
					p := make([]byte, bc.size)
					for next.Add(1) <= int64(b.N) {
						if _, err := f.ReadAt(b.Context(), p, 0); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
