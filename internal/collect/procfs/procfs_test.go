package procfs

import (
	"bufio"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestCPUCountsEverythingButIdleAndWaitingAsBusy(t *testing.T) {
	cases := map[string]struct {
		reason, in string
		want       CPU
		wantErr    string
	}{
		"modern": {
			reason: "guest time is contained in user time and must not count twice",
			in:     "cpu  10 20 30 1000 500 1 2 3 99 99\ncpu0 1 2 3 90 5 1 2 3 9 9\ncpu3 9 18 27 910 495 0 0 0 90 90\nintr 5\n",
			want: CPU{BusyMicroseconds: 660_000, TotalMicroseconds: 15_660_000, Online: 2, Cores: []runfile.CoreCounters{
				{Number: 0, BusyMicroseconds: 120_000}, {Number: 3, BusyMicroseconds: 540_000},
			}},
		},
		"cores that say less": {
			reason: "the line of the machine counts nevertheless", in: "cpu 1 2 3 4\ncpu0 1 1\ncpux 1 2 3 4\n",
			want: CPU{BusyMicroseconds: 60_000, TotalMicroseconds: 100_000, Online: 2},
		},
		"ancient": {
			reason: "old kernels have four columns", in: "cpu 1 2 3 4\n",
			want: CPU{BusyMicroseconds: 60_000, TotalMicroseconds: 100_000},
		},
		"empty":   {reason: "nothing is unknown", in: "", wantErr: `no line "cpu"`},
		"short":   {reason: "half a line is unknown", in: "cpu 1 2\n", wantErr: "the cpu line has 2 columns, want at least 4"},
		"garbage": {reason: "words are unknown", in: "cpu a b c d\n", wantErr: `cpu column 1: strconv.ParseInt: parsing "a": invalid syntax`},
		"huge": {
			reason: "a product that overflows must not turn negative", in: "cpu 9223372036854775807 0 0 0\n",
			wantErr: "cpu column 1: 9223372036854775807 ticks are too many",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := ParseCPU(strings.NewReader(tc.in))
			if text := errText(err); text != tc.wantErr {
				t.Fatalf("%s: error %q, want %q", tc.reason, text, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

const netDev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3393      33    0    0    0     0          0         0     3393      33    0    0    0     0       0          0
  eth0: 395179854   24324    0    0    0     0          0         0  2046718   17995    0    0    0     0       0          0
eth0:1:7 1 0 0 0 0 0 0 8 1 0 0 0 0 0 0
`

func TestNetDevGivesBytesOfAllButTheLoopback(t *testing.T) {
	got, err := ParseNetDev(strings.NewReader(netDev))
	if err != nil {
		t.Fatal(err)
	}
	want := []runfile.InterfaceRead{
		{Name: "eth0", ReceivedBytes: 395179854, SentBytes: 2046718},
		{Name: "eth0:1", ReceivedBytes: 7, SentBytes: 8},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for in, want := range map[string]string{
		"eth0: 1 2\n": `line 1, interface "eth0": 2 columns, want more than 8`,
		"eth0\n":      "line 1 has no interface name",
	} {
		if _, err := ParseNetDev(strings.NewReader(in)); errText(err) != want {
			t.Errorf("%q: error %q, want %q", in, errText(err), want)
		}
	}
}

func TestSegmentsAreFoundByName(t *testing.T) {
	const (
		snmp    = "Ip: Forwarding RetransSegs\nIp: 1 99\nTcp: RtoAlgorithm InSegs RetransSegs InErrs\nTcp: 1 1000 17 0\n"
		netstat = "TcpExt: TCPRcvCoalesce TCPOFOQueue TCPOFODrop\nTcpExt: 5 18 6\nIpExt: TCPOFOQueue\nIpExt: 99\n"
	)
	cases := map[string]struct {
		reason string
		read   func(Reader) (int64, error)
		in     string
		want   int64
		err    string
	}{
		"sent again":            {"the column of Tcp, not that of Ip", Reader.RetransmittedSegments, snmp, 17, ""},
		"no file content":       {"unknown is not zero", Reader.RetransmittedSegments, "", 0, "no Tcp lines"},
		"no column":             {"unknown is not zero", Reader.RetransmittedSegments, "Tcp: A\nTcp: 1\n", 0, "the Tcp lines have no RetransSegs"},
		"no value":              {"fewer values than names", Reader.RetransmittedSegments, "Tcp: RetransSegs\nTcp:\n", 0, "the Tcp lines have no RetransSegs"},
		"no second line":        {"names without values", Reader.RetransmittedSegments, "Tcp: RetransSegs\nUdp: 1 ", 0, "no Tcp lines"},
		"out of order":          {"the column of TcpExt, not that of IpExt", Reader.OutOfOrderSegments, netstat, 18, ""},
		"no TcpExt":             {"Tcp is another protocol", Reader.OutOfOrderSegments, snmp, 0, "no TcpExt lines"},
		"before Linux 3.6":      {"kernels that do not count them", Reader.OutOfOrderSegments, "TcpExt: A\nTcpExt: 1\n", 0, "the TcpExt lines have no TCPOFOQueue"},
		"only names":            {"gVisor has no values", Reader.OutOfOrderSegments, "TcpExt: TCPOFOQueue\n", 0, "no TcpExt lines"},
		"negative":              {"no counter is negative", Reader.OutOfOrderSegments, "TcpExt: TCPOFOQueue\nTcpExt: -1\n", 0, errNegative.Error()},
		"a line without an end": {"a line is bounded", Reader.OutOfOrderSegments, strings.Repeat("x", maxLineBytes+1), 0, bufio.ErrTooLong.Error()},
	}
	for name, tc := range cases {
		got, err := tc.read(Reader{Root: files(map[string]string{"proc/net/snmp": tc.in, "proc/net/netstat": tc.in})})
		if text := errText(err); got != tc.want || (text == "") != (tc.err == "") || !strings.HasSuffix(text, tc.err) {
			t.Errorf("%s: got %d, error %q; want %d, %q: %s", name, got, text, tc.want, tc.err, tc.reason)
		}
	}
}

func TestMountInfoGivesOptionsAndTheMountOfAPath(t *testing.T) {
	in := `22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw,errors=remount-ro
40 22 0:50 / /u02\040x rw,noatime shared:7 master:1 - nfs 192.168.1.31:/tpcc rw,vers=3,rsize=262144
41 22 0:51 / /u02\040x ro - nfs4 a:/b rw,vers=4.1
42 22 0:52 / /u02 rw - tmpfs none
`
	mounts, err := ParseMountInfo(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := Mount{Point: "/u02 x", Type: "nfs", Source: "192.168.1.31:/tpcc", Device: "0:50", Options: []string{"rw", "noatime", "vers=3", "rsize=262144"}}
	if diff := cmp.Diff(want, mounts[1]); diff != "" {
		t.Error(diff)
	}
	for path, point := range map[string]string{
		"/u02 x/data": "a:/b", "/u02 x": "a:/b", "/u02 xy": "/dev/sda1", "/u02/d": "none", "/": "/dev/sda1",
	} {
		if m, ok := MountOf(mounts, path); !ok || m.Source != point {
			t.Errorf("mount of %q is %q, want %q", path, m.Source, point)
		}
	}
	if _, err := ParseMountInfo(strings.NewReader("1 2 3\n")); errText(err) != "line 1 is not of the form of mountinfo" {
		t.Errorf("error %v", err)
	}
}

func TestOnlyWhatHardwareCarriesHasASpeed(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	root := fstest.MapFS{
		"sys/class/net/eth0/device/vendor":   file("x"),
		"sys/class/net/eth0/speed":           file("10000\n"),
		"sys/class/net/eth0/mtu":             file("9000\n"),
		"sys/class/net/virtio/device/vendor": file("x"),
		"sys/class/net/virtio/speed":         file("-1\n"),
		"sys/class/net/odd/device/vendor":    file("x"),
		"sys/class/net/odd/speed":            file("4294967295\n"),
		"sys/class/net/veth1/speed":          file("10000\n"),
		"sys/class/net/veth1/mtu":            file("1450\n"),
		"sys/class/net/bond0/lower_eth0":     file(""),
		"sys/class/net/bond0/speed":          file("20000\n"),
		"sys/class/net/vlan/lower_bond0":     file(""),
		"sys/class/net/vlan/speed":           file("20000\n"),
		"sys/class/net/br0/lower_eth0":       file(""),
		"sys/class/net/br0/lower_veth1":      file(""),
		"sys/class/net/br0/speed":            file("10000\n"),
		"sys/class/net/loop/lower_loop":      file(""),
	}
	speed := func(v int64) *int64 { return &v }
	want := []runfile.Interface{
		{Name: "eth0", MTUBytes: 9000, SpeedBitsPerSecond: speed(10_000_000_000)},
		{Name: "virtio"},
		{Name: "odd"},
		{Name: "veth1", MTUBytes: 1450, Virtual: true},
		{Name: "bond0", SpeedBitsPerSecond: speed(20_000_000_000)},
		{Name: "vlan", SpeedBitsPerSecond: speed(20_000_000_000)},
		{Name: "br0", Virtual: true},
		{Name: "loop", Virtual: true},
		{Name: "../eth0", Virtual: true},
	}
	for _, w := range want {
		if diff := cmp.Diff(w, Reader{Root: root}.Interface(w.Name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", w.Name, diff)
		}
	}
}
