package exporter_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage/exporter"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
	"github.com/nfsbench/nfsbench/test/lab/monitors"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

// kernel is the /proc of an NFS server that never was: two processors and nfsd.
type kernel struct {
	dir                        string
	boot                       int64
	user, idle                 int // hundredths of a second, of each processor
	reads3, writes3, gets3     int
	reads4, writes4, confirms4 int
	readBytes, writtenBytes    int
	noNFS                      bool
}

// write puts the files where node_exporter reads them: the layout of Linux.
func (k *kernel) write(t *testing.T) {
	t.Helper()
	var stat strings.Builder
	fmt.Fprintf(&stat, "cpu  0 0 0 0 0 0 0 0 0 0\n")
	for n := range 2 {
		// user nice system idle iowait irq softirq steal guest guest_nice
		fmt.Fprintf(&stat, "cpu%d %d 100 200 %d 400 50 60 70 0 0\n", n, k.user, k.idle)
	}
	fmt.Fprintf(&stat, "intr 0\nctxt 0\nbtime %d\nprocesses 1\nprocs_running 1\nprocs_blocked 0\nsoftirq 0 0 0 0 0 0 0 0 0 0 0\n", k.boot)
	files := map[string]string{"stat": stat.String(), "cpuinfo": ""}
	if !k.noNFS {
		v3, v4 := make([]int, 22), make([]int, 59)
		v3[1], v3[6], v3[7] = k.gets3, k.reads3, k.writes3
		v4[22], v4[25], v4[36], v4[38] = k.reads4+k.writes4, k.reads4, k.confirms4, k.writes4 // PUTFH, READ, SETCLIENTID_CONFIRM, WRITE
		files["net/rpc/nfsd"] = fmt.Sprintf("rc 0 0 0\nfh 0 0 0 0 0\nio %d %d\nth 8 0 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000 0.000\n"+
			"ra 32 0 0 0 0 0 0 0 0 0 0 0\nnet 9 0 9 1\nrpc 9 0 0 0 0\nproc3 22%s\nproc4 2 0 9\nproc4ops 59%s\n", k.readBytes, k.writtenBytes, row(v3), row(v4))
	}
	for name, content := range files {
		path := filepath.Join(k.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		// In one step: node_exporter may be reading.
		if err := os.WriteFile(path+".new", []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(path+".new", path); err != nil {
			t.Fatal(err)
		}
	}
}

func row(values []int) string {
	var s strings.Builder
	for _, v := range values {
		fmt.Fprintf(&s, " %d", v)
	}
	return s.String()
}

func newKernel(t *testing.T) *kernel {
	t.Helper()
	k := &kernel{dir: t.TempDir(), boot: 1_790_000_000, user: 1000, idle: 5000}
	k.write(t)
	return k
}

func source(t *testing.T, nodes ...runfile.SourceNode) *exporter.Source {
	t.Helper()
	s, err := exporter.New(runfile.Source{Kind: runfile.SourceExporter, Name: "servers", Nodes: nodes}, rest.Credentials{}, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// waitFor waits until somebody accepts connections at base.
func waitFor(t *testing.T, base string) {
	t.Helper()
	u, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	for range 2400 { // two minutes, against hangs
		if c, err := net.Dial("tcp", u.Host); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-t.Context().Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not answer", base)
}

// old reports whether the node_exporter at base is one of those before 1.7.
func old(t *testing.T, base string) bool {
	t.Helper()
	resp, err := http.Get(base + "/metrics") //nolint:noctx // a test's own server
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close() //nolint:errcheck // everything wanted was read
	page, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []string{"1.3", "1.4", "1.5", "1.6"} {
		if strings.Contains(string(page), `version="`+v+`.`) {
			return true
		}
	}
	return false
}

func TestARealNodeExporterKeepsTheContract(t *testing.T) {
	storagetest.Run(t, func(t *testing.T) storagetest.Subject {
		t.Helper()
		k := newKernel(t)
		p := monitors.NodeExporter(t, k.dir, "cpu", "nfsd", "stat")
		return storagetest.Subject{
			Source: source(t, runfile.SourceNode{Name: "a", URL: p.URL + "/metrics"}),
			Work: func(t *testing.T) {
				t.Helper()
				k.reads3, k.readBytes, k.user = k.reads3+1, k.readBytes+8192, k.user+1
				k.write(t)
			},
			Restart: func(t *testing.T) {
				t.Helper()
				*k = kernel{dir: k.dir, boot: k.boot + 600, user: 1, idle: 1}
				k.write(t)
			},
			Break: func(t *testing.T) { t.Helper(); p.End(t) },
			Mend:  func(t *testing.T) { t.Helper(); p.Start(t); waitFor(t, p.URL) },
		}
	})
}

func TestARealNodeExporterIsUnderstood(t *testing.T) {
	a, b := newKernel(t), newKernel(t)
	// Bytes above 2^32 show on any kernel that its counters have more than 32 bits.
	a.reads3, a.writes3, a.gets3, a.readBytes, a.writtenBytes = 100, 50, 5, 819200, 5<<30
	a.reads4 = 7
	b.reads3, b.readBytes, b.user, b.boot = 1, 5<<30, 3000, b.boot+5
	a.write(t)
	b.write(t)
	pa, pb := monitors.NodeExporter(t, a.dir, "cpu", "nfsd", "stat"), monitors.NodeExporter(t, b.dir, "cpu", "nfsd", "stat")
	s := source(t, runfile.SourceNode{Name: "b", URL: pb.URL + "/metrics"}, runfile.SourceNode{Name: "a", URL: pa.URL + "/metrics"})
	got := storagetest.Sample(t, s)

	// Per processor: user, nice, system, irq, softirq and steal, but neither idle nor iowait.
	want := []runfile.StorageNode{
		{Name: "a", BusyMicroseconds: new(int64(2 * 14.8e6)), Cores: new(int32(2))},
		{Name: "b", BusyMicroseconds: new(int64(2 * 34.8e6)), Cores: new(int32(2))},
	}
	if diff := cmp.Diff(want, got.Nodes, cmp.Comparer(func(a, b int64) bool { return a-b <= 1 && b-a <= 1 })); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	total := runfile.StorageSample{ReadOps: new(int64(108)), WriteOps: new(int64(50)), OtherOps: new(int64(5)), ReadBytes: new(int64(5<<30 + 819200)), WriteBytes: new(int64(5 << 30))}
	if old(t, pa.URL) { // Debian 12's: what it reports about NFSv4's WRITE is not true
		total.WriteOps, total.OtherOps = nil, nil
	}
	if diff := cmp.Diff(total, storagetest.Totals(got)); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	if got.Epoch != "a 1790000000, b 1790000005" {
		t.Errorf("epoch %q, want the boot times", got.Epoch)
	}
}

func TestTheCollectorThatIsSwitchedOffIsNotAskedForAgain(t *testing.T) {
	k := newKernel(t)
	k.reads3 = 3
	k.write(t)
	p := monitors.NodeExporter(t, k.dir, "cpu", "nfsd")
	s := source(t, runfile.SourceNode{Name: "a", URL: p.URL + "/metrics"})
	for range 2 {
		if got := storagetest.Sample(t, s); got.ReadOps == nil || *got.ReadOps != 3 || got.Nodes[0].BusyMicroseconds == nil || got.Epoch != "" {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAServerWithoutNFSCountsAsZero(t *testing.T) {
	active, passive := newKernel(t), newKernel(t)
	active.reads3, passive.noNFS = 9, true
	active.write(t)
	if err := os.RemoveAll(filepath.Join(passive.dir, "net")); err != nil {
		t.Fatal(err)
	}
	a, b := monitors.NodeExporter(t, active.dir, "cpu", "nfsd", "stat"), monitors.NodeExporter(t, passive.dir, "cpu", "nfsd", "stat")
	nodes := []runfile.SourceNode{{Name: "a", URL: a.URL + "/metrics"}, {Name: "b", URL: b.URL + "/metrics"}}
	if got := storagetest.Sample(t, source(t, nodes...)); got.ReadOps == nil || *got.ReadOps != 9 {
		t.Errorf("it looked for NFS and found none: %+v", got.StorageSample)
	}
	mute := monitors.NodeExporter(t, passive.dir, "cpu", "stat")
	nodes[1].URL = mute.URL + "/metrics"
	if got := storagetest.Sample(t, source(t, nodes...)); got.ReadOps != nil || got.Nodes[1].BusyMicroseconds == nil {
		t.Errorf("it did not look, so nobody knows: %+v", got.StorageSample)
	}
}
