package realserver

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nfs"
)

// testServer is the environment variable that names a real server for the tests
// below: "addr[,addr]:/export".
const testServer = "NFSBENCH_TEST_NFS"

func dialReal(tb testing.TB, versions ...bench.NFSVersion) *nfs.Client {
	tb.Helper()
	spec := os.Getenv(testServer)
	if spec == "" {
		tb.Skipf("%s is not set: no real NFS server to test against", testServer)
	}
	addresses, export, ok := strings.Cut(spec, ":/")
	if !ok {
		tb.Fatalf("%s=%q is not addr[,addr]:/export", testServer, spec)
	}
	cfg := nfs.Config{Export: "/" + export, Now: time.Now, Logger: slog.New(slog.NewTextHandler(tb.Output(), nil))}
	for _, v := range versions {
		cfg.Version = v
	}
	for a := range strings.SplitSeq(addresses, ",") {
		cfg.Channels = append(cfg.Channels, nfs.Channel{Path: a})
	}
	c, err := nfs.Dial(tb.Context(), cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c
}

func TestRealServerReturnsWhatWasWritten(t *testing.T) {
	for _, version := range []bench.NFSVersion{bench.NFSv3, bench.NFSv40, bench.NFSv41, bench.PNFS} {
		t.Run(string(version), func(t *testing.T) { returnsWhatWasWritten(t, version) })
	}
}

func returnsWhatWasWritten(t *testing.T, version bench.NFSVersion) {
	t.Helper()
	ctx, c := t.Context(), dialReal(t, version)
	name := fmt.Sprintf("nfsbench-test-%d", os.Getpid())
	dir, err := c.Mkdir(ctx, c.Root(), name, 0o700)
	if err != nil {
		t.Fatal(err)
	}
	f, err := c.Create(ctx, dir, "data", 0o600, true)
	if err != nil {
		t.Fatal(err)
	}
	const size = 16<<20 + 123
	content := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content)
	if n, err := f.WriteAt(ctx, content, 0, nfs.Unstable); n != size || err != nil {
		t.Fatalf("WriteAt = %d, %v", n, err)
	}
	overwriteAndCompare(t, f, content)
	checkNames(t, c, dir, size)
	for _, ch := range c.Channels() {
		t.Logf("%+v", ch)
		if ch.BytesRead == 0 || ch.BytesWritten == 0 || ch.InFlight != 0 {
			t.Errorf("channel %s did not carry its share: %+v", ch.Path, ch)
		}
	}
	if err := c.Remove(ctx, dir, "data"); err != nil {
		t.Error(err)
	}
	if err := c.Rmdir(ctx, c.Root(), name); err != nil {
		t.Error(err)
	}
}

// overwriteAndCompare changes and reads f at random offsets from several
// goroutines, each in its own part of the file.
func overwriteAndCompare(t *testing.T, f *nfs.File, content []byte) {
	t.Helper()
	const workers = 8
	part := len(content) / workers
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			mine, base := content[w*part:(w+1)*part], w*part
			r := rand.New(rand.NewPCG(uint64(w), 1))
			for range 40 {
				off := r.IntN(part - 20_000)
				p := mine[off : off+1+r.IntN(20_000)]
				for i := range p {
					p[i] ^= 0x5A
				}
				if n, err := f.WriteAt(t.Context(), p, int64(base+off), nfs.Stability(r.IntN(3))); n != len(p) || err != nil {
					t.Errorf("WriteAt = %d, %v", n, err)
				}
				got := make([]byte, len(p))
				if n, err := f.ReadAt(t.Context(), got, int64(base+off)); n != len(p) || err != nil || !bytes.Equal(got, p) {
					t.Errorf("ReadAt = %d, %v or other bytes than were written", n, err)
				}
			}
		})
	}
	wg.Wait()
	if lost, err := f.Commit(t.Context()); err != nil || len(lost) > 0 || f.UncommittedBytes() != 0 {
		t.Errorf("Commit = %v, %v, %d bytes uncommitted", lost, err, f.UncommittedBytes())
	}
	got := make([]byte, len(content))
	if n, err := f.ReadAt(t.Context(), got, 0); n != len(content) || err != nil || !bytes.Equal(got, content) {
		t.Errorf("reading all back = %d, %v or other bytes than were written", n, err)
	}
}

func checkNames(t *testing.T, c *nfs.Client, dir nfs.FileHandle, size uint64) {
	t.Helper()
	ctx := t.Context()
	entries, err := c.ReadDir(ctx, dir)
	if err != nil || len(entries) != 1 || entries[0] != "data" {
		t.Errorf("ReadDir = %v, %v", entries, err)
	}
	fh, err := c.Lookup(ctx, dir, "data")
	if err != nil {
		t.Fatal(err)
	}
	attr, err := c.Getattr(ctx, fh)
	if err != nil || attr.SizeBytes != size || attr.Type != nfs.TypeRegular {
		t.Errorf("Getattr = %+v, %v", attr, err)
	}
	if s, err := c.FSStat(ctx); err != nil || s.TotalBytes == 0 {
		t.Errorf("FSStat = %+v, %v", s, err)
	}
	half := size / 2
	if err := c.SetSize(ctx, fh, half); err != nil {
		t.Error(err)
	}
	if attr, err := c.Getattr(ctx, fh); err != nil || attr.SizeBytes != half {
		t.Errorf("after truncation Getattr = %+v, %v", attr, err)
	}
	if _, err := c.Lookup(ctx, dir, "nope"); !nfs.IsNotExist(err) {
		t.Errorf("Lookup of nothing = %v", err)
	}
}

// BenchmarkRealServer reads a file "big" of at least 512 MiB in the export's root.
func BenchmarkRealServer(b *testing.B) {
	const fileSize = 512 << 20
	for _, bc := range []struct {
		name        string
		size, depth int
	}{
		{"read1MiB/depth1", 1 << 20, 1},
		{"read1MiB/depth2", 1 << 20, 2},
		{"read1MiB/depth8", 1 << 20, 8},
		{"random8KiB/depth1", 8 << 10, 1},
		{"random8KiB/depth16", 8 << 10, 16},
		{"random8KiB/depth64", 8 << 10, 64},
	} {
		b.Run(bc.name, func(b *testing.B) {
			c := dialReal(b)
			fh, err := c.Lookup(b.Context(), c.Root(), "big")
			if err != nil {
				b.Fatal(err)
			}
			f := c.OpenFile(fh)
			blocks := int64(fileSize / bc.size)
			b.SetBytes(int64(bc.size))
			var next atomic.Int64
			var wg sync.WaitGroup
			b.ResetTimer()
			for w := range bc.depth {
				wg.Go(func() {
					p := make([]byte, bc.size)
					r := rand.New(rand.NewPCG(uint64(w), 2))
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						block := i % blocks
						if bc.size < 1<<20 {
							block = r.Int64N(blocks)
						}
						if _, err := f.ReadAt(b.Context(), p, block*int64(bc.size)); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "IOPS")
		})
	}
}
