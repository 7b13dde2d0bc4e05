package procfs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzParseProc reads hostile bytes as every file of /proc and /sys. No counter
// is negative, and memory follows the input.
func FuzzParseProc(f *testing.F) {
	seeds, err := filepath.Glob("testdata/*")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, name := range seeds {
		if seed, err := os.ReadFile(name); err == nil {
			f.Add(seed)
		}
	}
	f.Add([]byte("cpu  1 2 3 4 5 6 7 8 9 10\ncpu0 1 2 3 4\n"))
	f.Add([]byte("Inter-|\n face |\n  lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\neth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"))
	f.Add([]byte("Tcp: RtoAlgorithm RetransSegs\nTcp: 1 2\n"))
	f.Add([]byte("TcpExt: SyncookiesSent TCPOFOQueue\nTcpExt: 1 2\n"))
	f.Add([]byte("0::/kubepods/pod1\n1:cpu,cpuacct:/a\n"))
	f.Add([]byte("36 35 98:0 / /mnt\\040x rw,noatime - nfs4 s:/e rw,vers=4.1\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		memory.Bound(t, 256*len(in)+(1<<20), func() { parseAll(t, in) })
	})
}

func parseAll(t *testing.T, in []byte) {
	t.Helper()
	reader := func() *bytes.Reader { return bytes.NewReader(in) }
	if cpu, err := ParseCPU(reader()); err == nil && (cpu.BusyMicroseconds < 0 || cpu.TotalMicroseconds < cpu.BusyMicroseconds) {
		t.Fatalf("CPU times %+v", cpu)
	}
	if reads, err := ParseNetDev(reader()); err == nil {
		checkInterfaces(t, reads)
	}
	r := Reader{Root: fstest.MapFS{"proc/net/snmp": {Data: in}, "proc/net/netstat": {Data: in}}}
	if n, err := r.RetransmittedSegments(); err == nil && n < 0 {
		t.Fatalf("%d segments were sent again", n)
	}
	if n, err := r.OutOfOrderSegments(); err == nil && n < 0 {
		t.Fatalf("%d segments arrived out of order", n)
	}
	if mounts, err := ParseMountInfo(reader()); err == nil {
		for _, m := range mounts {
			MountOf(mounts, m.Point)
		}
	}
	_, _ = parseCgroupPaths(reader())
	parseCgroupFiles(in)
}

func checkInterfaces(t *testing.T, reads []runfile.InterfaceRead) {
	t.Helper()
	for _, r := range reads {
		if r.ReceivedBytes < 0 || r.SentBytes < 0 {
			t.Fatalf("a counter is negative: %+v", r)
		}
	}
}

// parseCgroupFiles puts the same bytes wherever control groups of both versions
// and interfaces have a file.
func parseCgroupFiles(in []byte) {
	roots := []fstest.MapFS{
		{
			"proc/self/cgroup":                 {Data: []byte("0::/pod\n")},
			"sys/fs/cgroup/cgroup.controllers": {Data: in},
			"sys/fs/cgroup/pod/cpu.stat":       {Data: in},
			"sys/fs/cgroup/pod/cpu.max":        {Data: in},
			"sys/fs/cgroup/pod/memory.max":     {Data: in},
		},
		{
			"proc/self/cgroup":                            {Data: []byte("1:cpu,cpuacct:/\n2:memory:/\n")},
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  {Data: in},
			"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": {Data: in},
			"sys/fs/cgroup/cpu,cpuacct/cpu.stat":          {Data: in},
			"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":     {Data: in},
			"sys/fs/cgroup/memory/memory.limit_in_bytes":  {Data: in},
			"sys/class/net/eth0/speed":                    {Data: in},
			"sys/class/net/eth0/mtu":                      {Data: in},
			"sys/class/net/eth0/device/uevent":            {Data: in},
		},
		{"proc/self/cgroup": {Data: in}},
	}
	for _, root := range roots {
		r := Reader{Root: root}
		r.Interface("eth0")
		if g, err := r.Cgroup(); err == nil {
			g.CPU()
			g.CPULimit()
			g.MemoryLimitBytes()
		}
	}
}
