package plan_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestTheFilesOfTheNativeEngine(t *testing.T) {
	t.Parallel()
	files := func(load, field string, count int32, size, block int64) runfile.Files {
		return runfile.Files{
			Count: count, SizeBytes: size, SizeField: "workload." + load + "." + field, BlockSizeBytes: 8192, LargeReadBytes: 1 << 20, LoadBytes: block,
			Field: "workload." + load + ".nativeFiles", Directory: "nfsbench", Verify: bench.VerifyWritten,
		}
	}
	cases := map[string]struct {
		reason string
		mods   []gen.Mod
		want   runfile.Files
	}{
		"Calibrate":  {"as declared", []gen.Mod{gen.Calibrate(1)}, files("calibrate", "nativeFiles.size", 4, 64<<20, 1<<20)},
		"RandomRead": {"one of scale for each schema", []gen.Mod{gen.SLOB(bench.SLOBRandomRead), gen.Schemas(2)}, files("slob", "scale", 2, 80<<20, 8192)},
		"Scan":       {"one of scanTableSize for each schema", []gen.Mod{gen.SLOB(bench.SLOBFullTableScan), gen.Schemas(2)}, files("slob", "scanTableSize", 2, 1<<30, 1<<20)},
	}
	for name, tc := range cases {
		if diff := cmp.Diff(tc.want, build(t, target("10.0.1.61"), tc.mods...).Files()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, tc.reason, diff)
		}
	}
	overwrite := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Calibrate.NativeFiles.ForeignFiles = bench.ForeignFilesOverwrite
	}
	keep := gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupDelete)
	if p := build(t, target("a.b"), gen.Calibrate(1), overwrite, keep); !p.Keep || !p.Files().OverwriteExisting {
		t.Errorf("files %+v", p.Files())
	}
}

func TestASearchForCapacity(t *testing.T) {
	t.Parallel()
	mixed := func(b *v1alpha1.NFSBenchmark) {
		w := b.Spec.Workload.Raw
		w.Pattern, w.ReadPercent, w.BlockSize = bench.PatternRandomMixed, new(int32(70)), nil
		w.Capacity = &bench.Capacity{
			Microseconds: new(int64(500)), AlsoAt: []bench.LatencyBound{
				{Percentile: "p999", Milliseconds: new(int64(5))}, {Percentile: "p50", Milliseconds: new(int64(1))},
			},
		}
		b.Spec.Expect = &bench.Expect{MinCapacity: new(int64(40_000))}
	}
	p := build(t, target("10.0.1.61"), mixed)
	want := []runfile.LatencyBound{
		{Percentile: "p99", Microseconds: 500}, {Percentile: "p50", Microseconds: 1000}, {Percentile: "p999", Microseconds: 5000},
	}
	if diff := cmp.Diff(want, runfile.Bounds(p.Workload.Raw.Capacity)); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	if r := p.Workload.Raw; bench.OrZero(r.ReadPercent) != 70 || r.BlockBytes() != 8192 || *p.Expect.MinCapacity != 40_000 {
		t.Errorf("raw %+v, expect %+v", r, p.Expect)
	}
	// Baseline 2 s, warm-up 2 s, and 48 levels of 10 s with 1 s warm-up; 128 MiB at 50 MB/s, 10 s to
	// read back, 180 s to start, 30 s to mount.
	if got, want := p.Schedule.TimeoutSeconds, int32(4+48*11+2+10+180+30+600); got != want {
		t.Errorf("times out after %d s, want %d", got, want)
	}
	// With two clients, each level warms up for 2 s and may wait 15 s for the operator, and there are
	// twice as many files.
	if got, want := build(t, target("10.0.1.61"), mixed, gen.Clients(2)).Schedule.TimeoutSeconds, int32(4+48*27+5+10+180+30+600); got != want {
		t.Errorf("two clients time out after %d s, want %d", got, want)
	}
	slob := func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.SLOB.Capacity = &bench.Capacity{Milliseconds: new(int64(2)), Arrivals: bench.ArrivalsFixed}
	}
	want = []runfile.LatencyBound{{Percentile: "p99", Microseconds: 2000}}
	got := build(t, target("10.0.1.61"), gen.SLOB(bench.SLOBRandomRead, 16), slob).Workload.SLOB.Capacity
	if diff := cmp.Diff(want, runfile.Bounds(got)); diff != "" {
		t.Errorf("capacity of SLOB (-want +got):\n%s", diff)
	}
}

func TestASLOBLoadInADatabase(t *testing.T) {
	t.Parallel()
	change := func(b *v1alpha1.NFSBenchmark) {
		w := b.Spec.Workload.SLOB
		w.Tablespace, w.UpdatePercent, w.RedoStress, w.AWR, w.ObfuscateColumns = "bench", 25, bench.SLOBRedoHeavy, bench.Enabled, bench.Disabled
		w.Think = &bench.SLOBThink{Frequency: 3, MinimumMilliseconds: 100, MaximumMilliseconds: 500}
	}
	p := build(t, target("10.0.1.61"), gen.SLOB(bench.SLOBRandomRead, 1, 2, 4), gen.Schemas(2), change, ee(), gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupDelete))
	if !p.Keep || p.Workload.SLOB.TableBytes() != 80<<20 || p.Files().Count != 0 {
		t.Errorf("slob %+v, keep %t, files %+v", p.Workload.SLOB, p.Keep, p.Files())
	}
	// Three steps of 14 s, two tables of 80 MiB at 5 MB/s.
	if got, want := p.Schedule.TimeoutSeconds, int32(42+33+2700+900+180+30); got != want {
		t.Errorf("times out after %d s, want %d", got, want)
	}
	// One step of 14 s; a table of 1 GiB at 5 MB/s. A kit loads as much, does not warm up, and writes
	// a report; in an existing database the owner has loaded it.
	scan := []gen.Mod{gen.SLOB(bench.SLOBFullTableScan, 1), ee()}
	if got, want := build(t, target("10.0.1.61"), scan...).Schedule.TimeoutSeconds, int32(14+214+2700+900+180+30); got != want {
		t.Errorf("a scan times out after %d s, want %d", got, want)
	}
	if got, want := build(t, target("10.0.1.61"), append(scan, gen.Kit("", "/slob"))...).Schedule.TimeoutSeconds, int32(12+214+runfile.KitReportSeconds+2700+900+180+30); got != want {
		t.Errorf("a kit times out after %d s, want %d", got, want)
	}
	scan[1] = gen.External("db1:1521/ORCL")
	if got, want := build(t, target("10.0.1.61"), append(scan, gen.Kit("", "/slob"))...).Schedule.TimeoutSeconds, int32(12+runfile.KitReportSeconds+180+30); got != want {
		t.Errorf("a kit in a database that exists times out after %d s, want %d", got, want)
	}
}

func TestUsersAreSchemasTimesThreadsUnlessListed(t *testing.T) {
	t.Parallel()
	threads := func(b *v1alpha1.NFSBenchmark) { b.Spec.Workload.SLOB.ThreadsPerSchema = 3 }
	if got := build(t, target("a.b"), gen.SLOB(bench.SLOBRandomRead), gen.Schemas(2), threads).Workload.SLOB.Ramp(); !slices.Equal(got, []int32{6}) {
		t.Errorf("users %v, want those of 2 schemas with 3 threads", got)
	}
	if got := build(t, target("a.b"), gen.SLOB(bench.SLOBRandomRead, 16, 1), gen.Schemas(2)).Workload.SLOB.Ramp(); !slices.Equal(got, []int32{16, 1}) {
		t.Errorf("users %v, want those listed, in their order", got)
	}
}

func TestWhereTheLoaderSeesAKit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ claim, directory, want string }{
		{"", "/home/oracle/SLOB/", "/home/oracle/SLOB"},
		{"kit", "SLOB", "/opt/slob/SLOB"},
		{"kit", "/SLOB/.", "/opt/slob/SLOB"},
		{"kit", ".", "/opt/slob"},
	} {
		p := build(t, target("10.0.1.61"), gen.SLOB(bench.SLOBRandomRead), gen.Schemas(2), gen.Kit(tc.claim, tc.directory), ee())
		if got := runfile.KitDirectory(*p.Workload.SLOB.Kit); got != tc.want {
			t.Errorf("%q of claim %q is at %s, want %s", tc.directory, tc.claim, got, tc.want)
		}
	}
}

func TestTheTimeOfNativeLoads(t *testing.T) {
	t.Parallel()
	// Twice a baseline of 2 s and 40 levels of 12 s, four files of 64 MiB at 50 MB/s, 10 s to read back.
	if got, want := build(t, target("10.0.1.61"), gen.Calibrate(1)).Schedule.TimeoutSeconds, int32(2*(2+40*12)+5+10+180+30+600); got != want {
		t.Errorf("a calibrate times out after %d s, want %d", got, want)
	}
	// Three rounds of a baseline and two steps, two clients with two files of 1 GiB.
	mods := []gen.Mod{gen.SLOB(bench.SLOBFullTableScan, 1, 2), gen.Schemas(2), gen.Repetitions(3), gen.Clients(2)}
	if got, want := build(t, target("10.0.1.61"), mods...).Schedule.TimeoutSeconds, int32(3*(2+2*12)+85+10+180+30+600); got != want {
		t.Errorf("a scan times out after %d s, want %d", got, want)
	}
}

// TestTheSizeOfADatabaseHasItsRedoLogsAndUndo, which are written whole when they are made.
func TestTheSizeOfADatabaseHasItsRedoLogsAndUndo(t *testing.T) {
	t.Parallel()
	sizes := func(c *v1alpha1.DatabaseContainer) {
		c.RedoLogSize, c.UndoSize = new(resource.MustParse("1Gi")), new(resource.MustParse("4Gi"))
	}
	load := gen.SLOB(bench.SLOBRandomRead, 2, 4)
	plain, large := gen.Benchmark("demo", load, ee()), gen.Benchmark("demo", load, ee(sizes))
	if got := plan.DatabaseBytes(plain) - plan.TableBytes(plain); got != 2<<30 {
		t.Errorf("a database alone takes %d bytes", got)
	}
	if got := plan.DatabaseBytes(large) - plan.DatabaseBytes(plain); got != 8<<30 {
		t.Errorf("four redo logs of 1 GiB and 4 GiB of undo take %d bytes", got)
	}
	elsewhere := large.DeepCopy()
	elsewhere.Spec.Storage = v1alpha1.Storage{Export: &v1alpha1.ExportStorage{Path: "/data", RedoPath: "/redo"}}
	if got := plan.DatabaseBytes(elsewhere) - plan.DatabaseBytes(plain); got != 4<<30 {
		t.Errorf("4 GiB of undo, with redo logs on another export, take %d bytes", got)
	}
}
