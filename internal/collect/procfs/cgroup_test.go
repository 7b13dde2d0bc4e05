package procfs

import (
	"net"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func files(texts map[string]string) fstest.MapFS {
	root := fstest.MapFS{}
	for name, text := range texts {
		root[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return root
}

func TestCgroupReadsUsageAndTheTightestLimit(t *testing.T) {
	type facts struct {
		Usage, Throttled *int64
		CPULimit         *float64
		Memory           int64
		Err              string
	}
	cases := map[string]struct {
		reason string
		files  map[string]string
		want   facts
	}{
		"version 2 in a container": {
			reason: "the namespace shows the container's group as the root",
			files: map[string]string{
				"proc/self/cgroup":                 "0::/\n",
				"sys/fs/cgroup/cgroup.controllers": "cpu memory\n",
				"sys/fs/cgroup/cpu.stat":           "usage_usec 1500\nuser_usec 1\nthrottled_usec 70\n",
				"sys/fs/cgroup/cpu.max":            "150000 100000\n",
				"sys/fs/cgroup/memory.max":         "1073741824\n",
			},
			want: facts{Usage: new(int64(1500)), Throttled: new(int64(70)), CPULimit: new(1.5), Memory: 1 << 30},
		},
		"version 2 on a machine": {
			reason: "a slice above may be tighter than the own group",
			files: map[string]string{
				"proc/self/cgroup":                        "1:name=systemd:/x\n0::/user.slice/a\n",
				"sys/fs/cgroup/cgroup.controllers":        "cpu memory\n",
				"sys/fs/cgroup/cpu.stat":                  "usage_usec 9\n",
				"sys/fs/cgroup/user.slice/cpu.stat":       "usage_usec 8\n",
				"sys/fs/cgroup/user.slice/cpu.max":        "50000 100000\n",
				"sys/fs/cgroup/user.slice/memory.max":     "4096\n",
				"sys/fs/cgroup/user.slice/a/cpu.stat":     "usage_usec 7\n",
				"sys/fs/cgroup/user.slice/a/cpu.max":      "200000 100000\n",
				"sys/fs/cgroup/user.slice/a/memory.max":   "max\n",
				"sys/fs/cgroup/user.slice/a/cgroup.procs": "1\n",
			},
			want: facts{Usage: new(int64(7)), CPULimit: new(0.5), Memory: 4096},
		},
		"version 2, own group tighter": {
			reason: "the smallest limit holds, wherever it is",
			files: map[string]string{
				"proc/self/cgroup":                      "0::/user.slice/a\n",
				"sys/fs/cgroup/cgroup.controllers":      "cpu memory\n",
				"sys/fs/cgroup/cpu.stat":                "usage_usec 9\n",
				"sys/fs/cgroup/user.slice/cpu.stat":     "usage_usec 8\n",
				"sys/fs/cgroup/user.slice/cpu.max":      "200000 100000\n",
				"sys/fs/cgroup/user.slice/memory.max":   "8192\n",
				"sys/fs/cgroup/user.slice/a/cpu.stat":   "usage_usec 7\n",
				"sys/fs/cgroup/user.slice/a/cpu.max":    "50000 100000\n",
				"sys/fs/cgroup/user.slice/a/memory.max": "4096\n",
			},
			want: facts{Usage: new(int64(7)), CPULimit: new(0.5), Memory: 4096},
		},
		"version 2 root": {
			reason: "the root group is the whole machine and would mislead",
			files: map[string]string{
				"proc/self/cgroup":                 "0::/\n",
				"sys/fs/cgroup/cgroup.controllers": "cpu\n",
				"sys/fs/cgroup/cpu.stat":           "usage_usec 9\n",
			},
			want: facts{Err: "the process is in the root control group"},
		},
		"version 1 in a container": {
			reason: "the path is that of the machine, the mount that of the container",
			files: map[string]string{
				"proc/self/cgroup":                            "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n",
				"sys/fs/cgroup/cpu,cpuacct/cpuacct.usage":     "5000000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.stat":          "nr_periods 1\nthrottled_time 3000000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us":  "200000\n",
				"sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
				"sys/fs/cgroup/memory/memory.limit_in_bytes":  "9223372036854771712\n",
			},
			want: facts{Usage: new(int64(5000)), Throttled: new(int64(3000)), CPULimit: new(2.0)},
		},
		"version 1 root": {
			reason: "the group with a release_agent is the whole machine",
			files: map[string]string{
				"proc/self/cgroup":                   "1:cpu:/\n",
				"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
				"sys/fs/cgroup/cpu/cpu.stat":         "throttled_time 3\n",
				"sys/fs/cgroup/cpu/release_agent":    "\n",
			},
			want: facts{Err: "no control group of version 1 or 2 is to be seen"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			g, err := Reader{Root: files(tc.files)}.Cgroup()
			got := facts{Err: errText(err)}
			if err == nil {
				got = facts{CPULimit: g.CPULimit(), Memory: g.MemoryLimitBytes()}
				got.Usage, got.Throttled = g.CPU()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReaderReadsThisMachine(t *testing.T) {
	r := Host()
	cpu, err := r.CPU()
	if err != nil {
		t.Skipf("no Linux /proc here: %v", err)
	}
	if cpu.Online < 1 || cpu.BusyMicroseconds <= 0 || cpu.TotalMicroseconds <= cpu.BusyMicroseconds {
		t.Errorf("CPU %+v makes no sense", cpu)
	}
	if memory, err := r.MemoryBytes(); err != nil || memory < 1<<20 {
		t.Errorf("memory %d, %v", memory, err)
	}
	for what, err := range map[string]error{
		"interfaces": second(r.Interfaces()), "counters": second(r.InterfaceCounters()), "mounts": second(r.Mounts()),
		"NFS mounts": second(r.NFSMounts()), "kernel": second(r.KernelRelease()), "retransmits": second(r.RetransmittedSegments()),
		"out of order": second(r.OutOfOrderSegments()), "asynchronous I/O": second(r.AsyncIO()),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestEveryInterfaceThatIsUpIsListedWithItsAddresses(t *testing.T) {
	machine, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{}
	for _, i := range machine {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagLoopback == 0 {
			addresses, err := i.Addrs()
			if err != nil {
				t.Fatal(err)
			}
			want[i.Name] = len(addresses)
		}
	}
	listed, err := Host().Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, i := range listed {
		got[i.Name] = len(i.Addresses)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("addresses by interface (-want +got):\n%s", diff)
	}
}

func second[T any](_ T, err error) error { return err }

func TestNUMANodesAndSlotsAreReadOrUnknown(t *testing.T) {
	for list, want := range map[string]int32{"0": 1, "0-1": 2, "0-1,3,8-11": 7, "": 0, "1-0": 0, "0-99999": 0, "a": 0, "-1": 0} {
		r := Reader{Root: fstest.MapFS{"sys/devices/system/node/online": {Data: []byte(list + "\n")}}}
		if got, err := r.NUMANodes(); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d, %v", list, got, err)
		}
	}
	r := Reader{Root: fstest.MapFS{"proc/sys/sunrpc/tcp_max_slot_table_entries": {Data: []byte("65536\n")}}}
	if got, err := r.TCPSlots(); got != 65536 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if _, err := (Reader{Root: fstest.MapFS{}}).TCPSlots(); err == nil {
		t.Error("a node without the client has no slots")
	}
}
