package procfs

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestMountStatsGivesTheCountersOfEveryNFSMount(t *testing.T) {
	f, err := os.Open("testdata/mountstats")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	got, err := ParseMountStats(f)
	if err != nil {
		t.Fatal(err)
	}
	want := []NFSMount{
		{
			Point: "/u02",
			Counters: runfile.MountCounters{
				NormalReadBytes: 100, NormalWriteBytes: 200, DirectReadBytes: 300, DirectWriteBytes: 400,
				ServerReadBytes: 500, ServerWriteBytes: 600, PNFSReads: 26, PNFSWrites: 27,
				ReadOps: 81000, WriteOps: 42,
				Operations: []runfile.OperationCounters{
					{Name: "NULL", Operations: 1, Transmissions: 1},
					{Name: "READ", Operations: 81000, Transmissions: 81004},
					{Name: "WRITE", Operations: 42, Transmissions: 43},
				},
				Transports: []runfile.Transport{{Protocol: "tcp", Sends: 85765, Receives: 85764}, {Protocol: "tcp", Sends: 4242, Receives: 4241}},
			},
		},
		{
			Point: "/mnt a",
			Counters: runfile.MountCounters{
				NormalReadBytes: 1, NormalWriteBytes: 2, DirectReadBytes: 3, DirectWriteBytes: 4,
				ServerReadBytes: 5, ServerWriteBytes: 6, ReadOps: 5,
				Operations: []runfile.OperationCounters{
					{Name: "LAYOUTGET", Operations: 9, Transmissions: 9}, {Name: "READ", Operations: 5, Transmissions: 5},
				},
				Transports: []runfile.Transport{{Protocol: "rdma", Sends: 11, Receives: 12}},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
}

func TestReadsOfBothKindsAreCounted(t *testing.T) {
	const device = "device s:/p mounted on /m with fstype nfs4 statvers=1.1\n\tper-op statistics\n"
	mounts, err := ParseMountStats(strings.NewReader(device + " READ: 3 4 0 0\n READ_PLUS: 4 4 0 0\n"))
	if err != nil {
		t.Fatal(err)
	}
	if c := mounts[0].Counters; c.ReadOps != 7 || len(c.Operations) != 2 {
		t.Errorf("%d reads of the kinds %+v; want 7 of 2", c.ReadOps, c.Operations)
	}
	if _, err := ParseMountStats(strings.NewReader(device + " READ: 9223372036854775807 0 0 0\n READ_PLUS: 1 1 0 0\n")); err == nil {
		t.Error("a sum beyond 63 bits was accepted")
	}
}

func TestMountStatsRefusesWhatItDoesNotUnderstand(t *testing.T) {
	const device = "device s:/p mounted on /m with fstype nfs statvers=1.1\n"
	cases := map[string]struct {
		reason, in, want string
	}{
		"version": {
			reason: "columns of another version may mean something else",
			in:     "device s:/p mounted on /m with fstype nfs statvers=2.0\n",
			want:   `line 1: mount "/m": statistics of another version than 1.0 and 1.1`,
		},
		"no version": {
			reason: "a mount without statistics must not read as zeros",
			in:     "device s:/p mounted on /m with fstype nfs\n",
			want:   `line 1: mount "/m": statistics of another version than 1.0 and 1.1`,
		},
		"short bytes": {
			reason: "missing columns must not read as zeros", in: device + "\tbytes:\t1 2 3\n",
			want: `line 2: mount "/m", bytes: has 3 columns, want 6`,
		},
		"no number": {
			reason: "a word is not a counter", in: device + "\tbytes:\tx 2 3 4 5 6\n",
			want: `line 2: mount "/m", bytes: strconv.ParseInt: parsing "x": invalid syntax`,
		},
		"negative": {
			reason: "counters never are negative", in: device + "\tper-op statistics\n READ: -1 1 1 1\n",
			want: `line 3: mount "/m", operation READ: counter is negative or larger than 63 bits`,
		},
		"short transport": {
			reason: "sends and receives must be there", in: device + "\txprt:\ttcp 1 2 3 4 5 6\n",
			want: `line 2: mount "/m", xprt: has too few columns`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := ParseMountStats(strings.NewReader(tc.in))
			if err == nil || err.Error() != tc.want {
				t.Errorf("%s: error %v, want %s", tc.reason, err, tc.want)
			}
		})
	}
}

func TestNFSMountAtTakesTheLastOfMountsOverEachOther(t *testing.T) {
	mounts := []NFSMount{{Point: "/a", Counters: runfile.MountCounters{ReadOps: 1}}, {Point: "/a", Counters: runfile.MountCounters{ReadOps: 2}}, {Point: "/b"}}
	if m, ok := NFSMountAt(mounts, "/a"); !ok || m.Counters.ReadOps != 2 {
		t.Errorf("got %+v, %v", m, ok)
	}
	if _, ok := NFSMountAt(mounts, "/c"); ok {
		t.Error("found a mount that is not there")
	}
}

func FuzzParseMountStats(f *testing.F) {
	seed, err := os.ReadFile("testdata/mountstats")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add([]byte("device s:/p mounted on /m with fstype nfs statvers=1.1\n\tper-op statistics\n" +
		"A: 0 9223372036854775807 0 0\nB: 0 1 0 0\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var mounts []NFSMount
		var err error
		memory.Bound(t, 64*len(in)+(128<<10), func() { mounts, err = ParseMountStats(bytes.NewReader(in)) })
		if err != nil {
			return
		}
		for _, m := range mounts {
			c := m.Counters
			for _, v := range []int64{
				c.ServerReadBytes, c.ServerWriteBytes, c.DirectReadBytes,
				c.DirectWriteBytes, c.NormalReadBytes, c.NormalWriteBytes, c.PNFSReads, c.PNFSWrites,
				c.ReadOps, c.WriteOps,
			} {
				if v < 0 {
					t.Fatalf("a counter is negative: %+v", m)
				}
			}
		}
	})
}
