package e2e

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// verified demands that blocks were read back and were right, and that Direct
// NFS carried the load.
func verified(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	blocksVerified(t, b)
	if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionProtocolVerified) {
		t.Errorf("ProtocolVerified is %+v", meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProtocolVerified))
	}
}

// directions demands that bytes went where the pattern says, on every path.
func directions(t *testing.T, b *v1alpha1.NFSBenchmark, reads, writes bool) {
	t.Helper()
	_, j := judged(t, b)
	if s := j.Summary; (s.Read != nil) != reads || (s.Write != nil) != writes {
		t.Errorf("reads: %v, writes: %v; want %v, %v", s.Read, s.Write, reads, writes)
	}
	for _, p := range b.Status.Paths {
		if (*p.ReadBytes > 0) != reads || (*p.WriteBytes > 0) != writes {
			t.Errorf("path %s: %d bytes read, %d written", p.Path, *p.ReadBytes, *p.WriteBytes)
		}
		if net.ParseIP(p.Local) == nil {
			t.Errorf("path %s does not tell the local address: %q", p.Path, p.Local)
		}
	}
}

// usedOranfstab demands that the status shows the file that Direct NFS used,
// and that it is one that Oracle would take.
func usedOranfstab(t *testing.T, b *v1alpha1.NFSBenchmark, a array) {
	t.Helper()
	rs := b.Status.Resolved
	if rs == nil {
		t.Fatal("status.resolved is missing")
	}
	if problems := oranfstab.Lint([]byte(rs.Oranfstab)); len(problems) > 0 {
		t.Errorf("lint of the oranfstab: %v", problems)
	}
	f, err := oranfstab.Parse([]byte(rs.Oranfstab))
	if err != nil {
		t.Fatalf("the oranfstab in the status: %v\n%s", err, rs.Oranfstab)
	}
	var paths []string
	for _, p := range f.Servers[0].Paths {
		paths = append(paths, p.Path)
	}
	if diff := cmp.Diff(a.lifs, paths); diff != "" {
		t.Errorf("paths of the oranfstab (-want +got):\n%s", diff)
	}
	if rs.Export != a.export {
		t.Errorf("status.resolved.export is %q, want %q", rs.Export, a.export)
	}
}

// TestFilesOfOthersAreNeverTouched puts a file of somebody else where the run
// wants to work.
func TestFilesOfOthersAreNeverTouched(t *testing.T) {
	p := newPlot(t, 1)
	name, path := p.directory(t, 0o777)
	file := filepath.Join(path, "c0-j0.dat") // a name that we would use too
	if err := os.WriteFile(file, []byte("datafile of somebody"), 0o666); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}

	b := p.run(t, directory(name))
	failed := p.finished(t, b)
	wantFailure(t, failed, runfile.FailureForeignFiles, name, "c0-j0.dat", "nothing was touched")
	p.cleanedUp(t, b)

	text, err := os.ReadFile(file)
	if err != nil || string(text) != "datafile of somebody" {
		t.Errorf("the file is %q now (%v)", text, err)
	}
	after, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	if !after.ModTime().Equal(before.ModTime()) || !os.SameFile(before, after) {
		t.Errorf("the file was replaced or written: %v, then %v", before.ModTime(), after.ModTime())
	}
	if got := files(t, path); len(got) != 1 {
		t.Errorf("the directory holds %v now", got)
	}
}

// TestDirectoryThatAnAdministratorMadeIsUsed copies in a directory that somebody made
// beforehand, because the export belongs to root. The run may not remove it.
func TestDirectoryThatAnAdministratorMadeIsUsed(t *testing.T) {
	p := newPlot(t, 1)
	name, path := p.directory(t, 0o777)
	done := p.succeeded(t, p.run(t, directory(name), raw(func(w *bench.RawWorkload) { w.Pattern = bench.PatternCopy })))
	verified(t, done)
	directions(t, done, true, true)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		t.Errorf("the directory is not there now: %v", err)
	}
	if got := files(t, path); len(got) != 0 {
		t.Errorf("the run left %v", got)
	}
}

// TestPermissionsThatForbidAreExplained lets user 54321 work where only root may.
func TestPermissionsThatForbidAreExplained(t *testing.T) {
	p := newPlot(t, 1)
	name, path := p.directory(t, 0o700)
	failed := p.finished(t, p.run(t, directory(name)))
	wantFailure(t, failed, runfile.FailureAccessDenied, name, "54321", "does not let")
	if got := files(t, path); len(got) != 0 {
		t.Errorf("the directory holds %v now", got)
	}
}

// wantFailure demands a failed run with its reason, and a sentence with the
// words that a stranger needs.
func wantFailure(t *testing.T, b *v1alpha1.NFSBenchmark, reason string, words ...string) {
	t.Helper()
	if b.Status.Phase != v1alpha1.PhaseFailed || reasonOf(b) != reason {
		t.Errorf("want Failed/%s, got %s", reason, state(b))
	}
	if b.Status.Verdict != bench.VerdictInconclusive {
		t.Errorf("verdict %s of a run that failed", b.Status.Verdict)
	}
	mustSay(t, b.Status.Message, words...)
	if strings.Contains(b.Status.Message, "\n") {
		t.Errorf("the message is more than a line: %q", b.Status.Message)
	}
	t.Log(state(b))
	measure.Record(t, "until "+reason+" was told", "s", took(b).Seconds())
}

// took is how long the user waited for the end.
func took(b *v1alpha1.NFSBenchmark) time.Duration {
	if b.Status.CompletionTime == nil {
		return 0
	}
	return b.Status.CompletionTime.Sub(b.CreationTimestamp.Time)
}
