package nfs4

import (
	"bytes"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

// serveNFS4 serves /export over NFSv4 on two addresses of one server. With layouts, the data
// lies in stripes on two data servers of other addresses.
func serveNFS4(t *testing.T, layouts bool) *nfs4test.Server {
	t.Helper()
	data := map[string]bool{"127.0.0.3": true, "127.0.0.4": true}
	s := &nfs4test.Server{Identity: func(address string) nfs4test.Identity {
		if data[address] {
			return nfs4test.Identity{Major: address, Scope: "array", Data: true}
		}
		return nfs4test.Identity{Major: "array", Scope: "array"}
	}}
	s.Start(t, "127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
	if layouts {
		dev := &layout.Device{
			StripeIndices: []uint32{0, 1}, Servers: [][]layout.NetAddr{{s.NetAddr("127.0.0.3")}, {s.NetAddr("127.0.0.4")}},
		}
		s.SetLayouts(func(string) []layout.Segment {
			return []layout.Segment{{
				IOMode: v4.IOModeReadWrite, Length: v4.ToEnd, Device: dev,
				Body: layout.Body{Device: v4.DeviceID{1}, StripeUnit: 64 << 10, CommitThroughMDS: true},
			}}
		})
	}
	return s
}

// buildProgram builds nfsbench, with the race detector where this test has it.
func buildProgram(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "nfsbench")
	args := []string{"build", "-C", "../../..", "-o", program}
	if raceEnabled {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, "./cmd/nfsbench")...).CombinedOutput(); err != nil {
		t.Fatalf("build nfsbench: %v\n%s", err, out)
	}
	return program
}

// loadUntilMeasured runs a load with a window of a second, and with longer ones until it has an
// operation: a busy machine may complete none in a second.
func loadUntilMeasured(t *testing.T, program string, args ...string) (r runfile.Result) {
	t.Helper()
	for _, duration := range []string{"1s", "4s", "16s", "64s"} {
		cmd := exec.CommandContext(t.Context(), program, append(args, "--duration", duration)...)
		var errOut strings.Builder
		cmd.Stderr = &errOut
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s", err, &errOut)
		}
		if r, err = runfile.ReadResult(bytes.NewReader(out)); err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(r.Clients[0].Load.Repetitions, func(n runfile.Repetition) bool { return n.Write == nil }) {
			break
		}
	}
	return r
}

func TestLoadSpeaksEveryVersionOfNFSv4AndProvesIt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		version  string
		layouts  bool
		verified bool
		observed string
	}{
		"v4.0":              {"4.0", false, true, "DirectNFS NFSv4.0 over 2 paths"},
		"v4.1":              {"4.1", false, true, "DirectNFS NFSv4.1 over 2 paths (session trunking)"},
		"v4.1 with layouts": {"4.1", true, true, "DirectNFS NFSv4.1 over 2 paths (session trunking)"},
		"pNFS":              {"pNFS", true, true, "DirectNFS pNFS over 2 paths (session trunking) and 2 data servers"},
		"pNFS without":      {"pNFS", false, false, "DirectNFS NFSv4.1 over 2 paths (session trunking)"},
	}
	program := buildProgram(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveNFS4(t, tc.layouts)
			address := func(host string) string { return net.JoinHostPort(host, strconv.Itoa(s.Port())) }
			r := loadUntilMeasured(
				t, program, "load", "--output=json", "--pattern=overwrite", "--export=/export",
				"--nfs-version", tc.version, "--server", address("127.0.0.1")+","+address("127.0.0.2"),
				"--file-size=2Mi", "--block-size=64Ki", "--jobs=2", "--depth=4", "--warmup=0s", "--baseline=0s",
				"--mount-timeout=10m", "--call-timeout=10m", "--progress=json",
			)
			j := judge.Judge(r)
			e := j.Protocol
			if e.Verified == nil || *e.Verified != tc.verified || !strings.HasPrefix(e.Observed, tc.observed) {
				t.Errorf("observed %q: %s", e.Observed, e.Message)
			}
			if invalid := j.Validity == bench.ValidityInvalid; invalid == tc.verified {
				t.Errorf("validity %s: %+v", j.Validity, j.Findings)
			}
			if v := r.Clients[0].Load.Verification; v == nil || v.BlocksChecked == 0 || v.BlocksWrong > 0 {
				t.Errorf("verification %+v", v)
			}
			clients, sessions, opens, layouts := s.Clients()
			if tc.version == "4.0" {
				clients-- // NFSv4.0 has no call that ends it
			}
			if clients+sessions+opens+layouts > 0 {
				t.Errorf("left at the server: %d clients, %d sessions, %d opens, %d layouts", clients, sessions, opens, layouts)
			}
			t.Logf("observed %q: %s", e.Observed, e.Message)
		})
	}
}
