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
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/oranfstab"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAnArrayWithTwoLIFsIsMeasuredOverBoth runs each pattern against a real NFS
// server outside of the cluster.
func TestAnArrayWithTwoLIFsIsMeasuredOverBoth(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	ns := c.namespace(t)
	cases := map[string]struct {
		pattern   v1alpha1.RawPattern
		blockSize string
		reads     bool
		writes    bool
	}{
		"read":        {pattern: v1alpha1.PatternRead, blockSize: "1Mi", reads: true},
		"overwrite":   {pattern: v1alpha1.PatternOverwrite, blockSize: "1Mi", writes: true},
		"copy":        {pattern: v1alpha1.PatternCopy, blockSize: "1Mi", reads: true, writes: true},
		"random-read": {pattern: v1alpha1.PatternRandomRead, blockSize: "8Ki", reads: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := "e2e-" + name
			b := c.create(t, gen.Benchmark(name, gen.In(ns), gen.Export(a.export, a.lifs...), quick, directory(dir), raw(func(w *v1alpha1.RawWorkload) {
				w.Pattern, w.BlockSize = tc.pattern, resource.MustParse(tc.blockSize)
			})))
			done := c.succeeded(t, b)
			balanced(t, done, len(a.lifs))
			verified(t, done)
			directions(t, done, tc.reads, tc.writes)
			usedOranfstab(t, done, a)
			a.hasNo(t, dir)
			for _, r := range c.results(t, done) {
				if l := r.Clients[0].Load; l.Partial || l.FilledBytes == 0 {
					t.Errorf("partial: %v, filled: %d bytes", l.Partial, l.FilledBytes)
				}
			}
		})
	}
}

// verified demands that blocks were read back and were right, and that Direct
// NFS carried the load.
func verified(t *testing.T, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	s := b.Status.Summary
	if s == nil || s.BlocksVerified == nil || *s.BlocksVerified == 0 || *s.BlocksWrong != 0 {
		t.Errorf("blocks were not verified: %+v", s)
	}
	if !meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionProtocolVerified) {
		t.Errorf("ProtocolVerified is %+v", meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionProtocolVerified))
	}
}

// directions demands that bytes went where the pattern says, on every path.
func directions(t *testing.T, b *v1alpha1.NFSBenchmark, reads, writes bool) {
	t.Helper()
	s := b.Status.Summary
	if (s.ReadBytesPerSecond != nil) != reads || (s.WriteBytesPerSecond != nil) != writes {
		t.Errorf("reads: %v, writes: %v; want %v, %v", s.ReadBytesPerSecond, s.WriteBytesPerSecond, reads, writes)
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
	var exports []string
	for _, lif := range a.lifs {
		exports = append(exports, lif+":"+a.export)
	}
	if diff := cmp.Diff(exports, rs.Exports); diff != "" {
		t.Errorf("status.resolved.exports (-want +got):\n%s", diff)
	}
}

// TestFilesOfOthersAreNeverTouched puts a file of somebody else where the run
// wants to work.
func TestFilesOfOthersAreNeverTouched(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	ns := c.namespace(t)
	name, path := a.directory(t, 0o777)
	file := filepath.Join(path, "c0-j0.dat") // a name that we would use too
	if err := os.WriteFile(file, []byte("datafile of somebody"), 0o666); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}

	b := c.create(t, gen.Benchmark("foreign", gen.In(ns), gen.Export(a.export, a.lifs...), quick, directory(name)))
	failed := c.finished(t, b, time.Minute)
	wantFailure(t, failed, runfile.FailureForeignFiles, name, "c0-j0.dat", "nothing was touched")
	c.cleanedUp(t, b)

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

// TestADirectoryThatAnAdministratorMadeIsUsed: where the export belongs to root,
// someone makes the directory beforehand, and the run may not remove it.
func TestADirectoryThatAnAdministratorMadeIsUsed(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	name, path := a.directory(t, 0o777)
	b := c.create(t, gen.Benchmark("prepared", gen.In(c.namespace(t)), gen.Export(a.export, a.lifs...), quick, directory(name)))
	done := c.succeeded(t, b)
	verified(t, done)
	if got := files(t, path); len(got) != 0 {
		t.Errorf("the run left %v", got)
	}
}

// TestPermissionsThatForbidAreExplained lets user 54321 work where only root may.
func TestPermissionsThatForbidAreExplained(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	ns := c.namespace(t)
	name, path := a.directory(t, 0o700)

	b := c.create(t, gen.Benchmark("forbidden", gen.In(ns), gen.Export(a.export, a.lifs...), quick, directory(name)))
	failed := c.finished(t, b, time.Minute)
	wantFailure(t, failed, runfile.FailureAccessDenied, name, "54321", "permission")
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
	if b.Status.Verdict != v1alpha1.VerdictInconclusive {
		t.Errorf("verdict %s of a run that failed", b.Status.Verdict)
	}
	mustSay(t, b.Status.Message, words...)
	if strings.Contains(b.Status.Message, "\n") {
		t.Errorf("the message is more than a line: %q", b.Status.Message)
	}
	t.Logf("after %v: %s", took(b), state(b))
}

// took is how long the user waited for the end.
func took(b *v1alpha1.NFSBenchmark) time.Duration {
	if b.Status.CompletionTime == nil {
		return 0
	}
	return b.Status.CompletionTime.Sub(b.CreationTimestamp.Time)
}
