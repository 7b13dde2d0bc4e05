package kernelnfs

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestTheKernelsServerAndClient(t *testing.T) {
	g := boot(t)
	for mounted := range mountedVersions() {
		t.Run(mounted, func(t *testing.T) {
			for _, pattern := range []string{"Read", "Overwrite", "RandomRead", "RandomWrite"} {
				t.Run(pattern, func(t *testing.T) { checkMounted(t, g, mounted, pattern) })
			}
			t.Run("the target keeps its contract", func(t *testing.T) { checkConformance(t, g, mounted+"-conformance") })
			t.Run("the files hold what was written", func(t *testing.T) { checkFiles(t, g, mounted+"-check", fileBytes) })
		})
	}
	t.Run("a mount that is not NFS is refused", func(t *testing.T) { checkRefusal(t, g) })
	t.Run("a mount that is not NFS is used when allowed", func(t *testing.T) { checkAllowed(t, g) })
	for name, d := range declared() {
		t.Run(name, func(t *testing.T) { checkDeclared(t, g, name, d) })
	}
	checkDirect(t, g)
	checkRestarts(t, g)
}

// checkMounted looks at one run of the Kernel engine.
func checkMounted(t *testing.T, g guest, mounted, pattern string) {
	t.Helper()
	s := g.succeeded(t, mounted+"-"+pattern)
	r := g.result(t, s.name)
	load := checkLoad(t, r)
	if load.Mount == nil || load.Mount.NFSVersion != mounted || !load.Mount.DirectIO {
		t.Errorf("the loader saw %+v, mounted was %s", load.Mount, mounted)
	}
	grown := countersOf(t, s.after, "/mnt/"+mounted).since(countersOf(t, s.before, "/mnt/"+mounted))
	checkDirectIO(t, grown, r)
	checkWindow(t, grown, r)
	checkJudgement(t, g, s.name, r, mounted)
}

// checkLoad looks at what every good run has in common.
func checkLoad(t *testing.T, r runfile.Result) runfile.Load {
	t.Helper()
	load := r.Clients[0].Load
	if load.Failure != nil || load.Partial || len(load.Repetitions) != 1 {
		t.Fatalf("the load ended with %+v, partial %v, %d repetitions", load.Failure, load.Partial, len(load.Repetitions))
	}
	for _, ops := range []*runfile.Ops{load.Repetitions[0].Read, load.Repetitions[0].Write} {
		if ops != nil && ops.Errors != 0 {
			t.Errorf("%d I/Os failed", ops.Errors)
		}
	}
	if v := load.Verification; v == nil || v.BlocksChecked == 0 || v.BlocksWrong != 0 {
		t.Errorf("verification: %+v", v)
	}
	return load
}

// moved is what a load says that it moved: at least low, and not more than high,
// because what was under way when the window ended is not counted.
type moved struct{ low, high, ops int64 }

// slack is for the marker, a file of one page that is written a few times.
const slack = 64 << 10

func movedBy(r runfile.Result) (read, written moved) {
	load, raw := r.Clients[0].Load, r.Plan.Workload.Raw
	rep := load.Repetitions[0]
	verified := load.Verification.BlocksChecked
	bytes := verified * raw.BlockBytes()
	read = moved{bytes, bytes + slack, bytes / max(1<<20, raw.BlockBytes())} // neighbours are read back together
	written = moved{load.FilledBytes, load.FilledBytes + slack, 0}
	for _, d := range []struct {
		ops *runfile.Ops
		to  *moved
	}{{rep.Read, &read}, {rep.Write, &written}} {
		if d.ops != nil {
			d.to.low += d.ops.Bytes
			d.to.high += d.ops.Bytes + int64(raw.Jobs*raw.Depth)*raw.BlockBytes()
			d.to.ops += d.ops.Count
		}
	}
	return read, written
}

// checkDirectIO compares what the kernel counted around the whole process with
// what the loader says, byte for byte, and wants the page cache untouched.
func checkDirectIO(t *testing.T, c counters, r runfile.Result) {
	t.Helper()
	if c.normalRead != 0 || c.normalWrite != 0 {
		t.Errorf("%d bytes were read and %d written through the page cache", c.normalRead, c.normalWrite)
	}
	read, written := movedBy(r)
	mount, block := r.Clients[0].Load.Mount, r.Plan.Workload.Raw.BlockBytes()
	for _, d := range []struct {
		what           string
		direct         int64
		carried, calls int64 // bytes of all calls with their headers, and their number
		moved          moved
		limit          int64 // bytes of one call
	}{
		{"read", c.directRead, c.reads.received, c.reads.ops, read, mount.ReadSizeBytes},
		{"written", c.directWrite, c.writes.sent, c.writes.ops, written, mount.WriteSizeBytes},
	} {
		if d.direct < d.moved.low || d.direct > d.moved.high {
			t.Errorf("the kernel counted %d bytes %s directly, the loader %d to %d", d.direct, d.what, d.moved.low, d.moved.high)
		}
		if d.carried < d.direct || d.carried > d.direct+d.calls*512 {
			t.Errorf("calls carried %d bytes for %d %s directly", d.carried, d.direct, d.what)
		}
		perBlock := (block + d.limit - 1) / d.limit
		if least := d.moved.ops * perBlock; d.calls < least || d.calls*min(block, d.limit) > d.moved.high+d.calls*slack {
			t.Errorf("%d calls for %d I/Os %s of %d bytes, of which one call takes %d", d.calls, d.moved.ops, d.what, block, d.limit)
		}
	}
}

// checkWindow looks at what the collector made of the counters in the window.
func checkWindow(t *testing.T, grown counters, r runfile.Result) {
	t.Helper()
	observed, rep := r.Clients[0].Observed, r.Clients[0].Load.Repetitions[0]
	if observed == nil || len(observed.Windows) != 1 || observed.Windows[0].Mount == nil {
		t.Fatalf("the collector saw no mount counters: %+v", observed)
	}
	for _, p := range observed.Problems {
		if p.Source == "mountstats" {
			t.Errorf("mountstats could not be read: %s", p.Message)
		}
	}
	m := observed.Windows[0].Mount
	if m.NormalReadBytes != 0 || m.NormalWriteBytes != 0 || m.PNFSReads != 0 || m.PNFSWrites != 0 {
		t.Errorf("the window has I/O that nobody made: %+v", m)
	}
	if m.DirectReadBytes > grown.directRead || m.DirectWriteBytes > grown.directWrite || m.ReadOps > grown.reads.ops || m.WriteOps > grown.writes.ops {
		t.Errorf("the window has more than the whole run: %+v, %+v", m, grown)
	}
	sends := int64(0)
	for _, tr := range m.Transports {
		sends += tr.Sends
	}
	// The kernel prints the connections before the operations, and I/O goes on
	// meanwhile: the two agree in the whole run, not in a window.
	if calls := grown.reads.ops + grown.writes.ops; grown.sends < calls || sends > grown.sends || sends < (m.ReadOps+m.WriteOps)/2 {
		t.Errorf("%d calls left on the connections in the window, for %d READ and %d WRITE; in the whole run %d for %d", sends, m.ReadOps, m.WriteOps, grown.sends, calls)
	}
	for what, d := range map[string]struct {
		ops                  *runfile.Ops
		server, direct, call int64
	}{
		"read": {rep.Read, m.ServerReadBytes, m.DirectReadBytes, m.ReadOps}, "written": {rep.Write, m.ServerWriteBytes, m.DirectWriteBytes, m.WriteOps},
	} {
		if (d.ops != nil) != (d.server > 0 && d.direct > 0 && d.call > 0) {
			t.Errorf("in the window the load has %+v %s, the mount %d bytes from or to the server and %d direct in %d calls", d.ops, what, d.server, d.direct, d.call)
		}
	}
}

// checkJudgement wants the protocol verified, and not when another is declared.
func checkJudgement(t *testing.T, g guest, name string, r runfile.Result, mounted string) {
	t.Helper()
	var j judge.Judgement
	if err := json.Unmarshal(g.report(t, name), &j); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s (%d I/Os, counters of %.0f %% of the time)", j.Protocol.Message, j.Summary.Total.Ops, 100*coverage(r))
	if j.Protocol.Mismatch || !strings.HasPrefix(j.Protocol.Observed, "Kernel "+mounted) {
		t.Errorf("protocol: %+v", j.Protocol)
	}
	if v := j.Protocol.Verified; (v == nil || !*v) && quiet(r, j) {
		t.Errorf("the protocol was not verified: %s", j.Protocol.Message)
	}
	for _, f := range j.Findings {
		if f.Code == judge.ProtocolMismatch || f.Severity == bench.SeverityError {
			t.Errorf("finding %+v", f)
		}
	}
	for _, declared := range []string{"NFSv3", "NFSv4.0", "NFSv4.1", "pNFS"} {
		if declared == mounted {
			continue
		}
		r.Plan.Engine.NFSVersion = bench.NFSVersion(declared)
		if p := judge.Judge(r).Protocol; !p.Mismatch {
			t.Errorf("%s declared on a mount of %s gave %+v", declared, mounted, p)
		}
	}
}

// quiet says whether the machine let the collector look when it wanted to. On a
// busy one a window of a few seconds may have a handful of I/Os, or be seen in
// part only; what the judge makes of that is a test of its own.
func quiet(r runfile.Result, j judge.Judgement) bool {
	return coverage(r) > 0.9 && j.Summary.Total.Ops > 200
}

// coverage is the share of the measured time that the mount's counters are of.
func coverage(r runfile.Result) float64 {
	rep, w := r.Clients[0].Load.Repetitions[0], r.Clients[0].Observed.Windows[0]
	return w.End.Sub(w.Start).Seconds() / rep.End.Sub(rep.Start).Seconds()
}

func checkConformance(t *testing.T, g guest, name string) {
	t.Helper()
	s := g.succeeded(t, name)
	if !strings.Contains(s.stdout, "\n--- PASS: Test") || strings.Contains(s.stdout, "\n--- SKIP") {
		t.Errorf("the suite did not run:\n%s", s.stdout)
	}
}

// checkFiles wants both files complete, as the guest's own look at the server's
// file system found them.
func checkFiles(t *testing.T, g guest, name string, bytes int64) {
	t.Helper()
	size := strconv.FormatInt(bytes, 10)
	s := g.succeeded(t, name)
	if want := "c0-j0.dat " + size + "\nc0-j1.dat " + size + "\n"; s.stdout != want {
		t.Errorf("complete files: %q, want %q", s.stdout, want)
	}
}

func checkRefusal(t *testing.T, g guest) {
	t.Helper()
	for fs, source := range map[string]string{"ext4": "/dev/vda", "tmpfs": "tmpfs"} {
		s := g.step(t, "refused-"+fs)
		r := g.result(t, s.name)
		f := r.Clients[0].Load.Failure
		if s.code != "1" || f == nil || f.Code != runfile.FailureNotNFS {
			t.Errorf("%s: exit code %s, failure %+v", fs, s.code, f)
		}
		for _, part := range []string{"NotNFS", " is " + fs + " from " + source + ", not NFS", "--allow-non-nfs"} {
			if !strings.Contains(s.stderr, part) {
				t.Errorf("%s: the message lacks %q: %s", fs, part, s.stderr)
			}
		}
	}
}

func checkAllowed(t *testing.T, g guest) {
	t.Helper()
	g.succeeded(t, "allowed-ext4")
	r := g.result(t, "allowed-ext4")
	load := checkLoad(t, r)
	if load.Mount.FilesystemType != "ext4" || load.Mount.NFSVersion != "" {
		t.Errorf("the loader saw %+v", load.Mount)
	}
	// tmpfs of this kernel knows no O_DIRECT: that is said, not worked around.
	s := g.step(t, "allowed-tmpfs")
	if f := g.result(t, s.name).Clients[0].Load.Failure; s.code != "1" || f == nil || f.Code != runfile.FailureUnsupported || !strings.Contains(f.Message, "O_DIRECT") {
		t.Errorf("tmpfs: exit code %s, failure %+v", s.code, f)
	}
}
