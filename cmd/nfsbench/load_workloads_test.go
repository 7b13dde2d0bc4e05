package main

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/cli"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func planOf(t *testing.T, args ...string) runfile.Plan {
	t.Helper()
	out, _ := runLoad(t, cli.ExitOK, append([]string{"load", "--server", "10.0.1.1", "--export", "/e", "--print-plan"}, args...)...)
	plan, err := runfile.ReadPlan(strings.NewReader(out))
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

func nativeFiles(directory string, foreign bench.ForeignFilesPolicy) bench.NativeFiles {
	return bench.NativeFiles{Count: 4, Size: *bench.Bytes(1 << 30), Directory: directory, ForeignFiles: foreign, Verify: bench.VerifyWritten}
}

func TestFlagsBecomeTheLoadOfADatabase(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		args   []string
		want   bench.Workload
		window int32
	}{
		"calibrate": {
			[]string{"--workload=calibrate", "--disks=40", "--max-latency=30ms", "--warmup-runs=2", "--files=8", "--file-size=2Gi", "--keep-files"},
			bench.Workload{Calibrate: &bench.CalibrateWorkload{
				PhysicalDisks: 40, MaxLatencyMilliseconds: 30, WarmupRuns: new(int32(2)),
				NativeFiles: bench.NativeFiles{Count: 8, Size: *bench.Bytes(2 << 30), Directory: "nfsbench", ForeignFiles: bench.ForeignFilesRefuse, Verify: bench.VerifyWritten},
			}},
			60,
		},
		"random reads": {
			[]string{
				"--workload=slob-read", "--users=1,2,4,8,16", "--schemas=4", "--scale=80Mi", "--update-percent=20",
				"--work-unit=3", "--dir=slob", "--overwrite-existing", "--duration=20s",
			},
			bench.Workload{SLOB: &bench.SLOBWorkload{
				Access: bench.SLOBRandomRead, Users: []int32{1, 2, 4, 8, 16}, Schemas: 4, Scale: *bench.Bytes(80 << 20), ScanTableSize: *bench.Bytes(1 << 30),
				WorkUnit: 3, UpdatePercent: 20,
				ReadAhead: 4, ThreadsPerSchema: 1, RedoStress: "Lite", LoadParallelDegree: 2, Tablespace: "NFSBENCH", ObfuscateColumns: "Enabled", AWR: "Disabled",
				NativeFiles: nativeFiles("slob", bench.ForeignFilesOverwrite),
			}},
			20,
		},
		"scans": {
			[]string{"--workload=slob-scan", "--users=4", "--schemas=2", "--scan-size=4Gi", "--read-ahead=8"},
			bench.Workload{SLOB: &bench.SLOBWorkload{
				Access: bench.SLOBFullTableScan, Users: []int32{4}, Schemas: 2, Scale: *bench.Bytes(80 << 20), ScanTableSize: *bench.Bytes(4 << 30), WorkUnit: 64, ReadAhead: 8,
				ThreadsPerSchema: 1, RedoStress: "Lite", LoadParallelDegree: 2, Tablespace: "NFSBENCH", ObfuscateColumns: "Enabled", AWR: "Disabled",
				NativeFiles: nativeFiles("nfsbench", bench.ForeignFilesRefuse),
			}},
			60,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := planOf(t, tc.args...)
			if diff := cmp.Diff(tc.want, plan.Workload); diff != "" {
				t.Errorf("workload (-want +got):\n%s", diff)
			}
			if plan.Schedule.DurationSeconds != tc.window {
				t.Errorf("windows of %d s, want %d", plan.Schedule.DurationSeconds, tc.window)
			}
		})
	}
}

func TestFlagsBecomeASearchForCapacity(t *testing.T) {
	t.Parallel()
	bound := func(percentile bench.LatencyPercentile, microseconds int64) runfile.LatencyBound {
		return runfile.LatencyBound{Percentile: percentile, Microseconds: microseconds}
	}
	for name, tc := range map[string]struct {
		args []string
		want bench.Capacity
	}{
		"raw": {
			[]string{"--pattern=RandMixed", "--read-percent=70", "--capacity=p99=1ms"},
			*gen.CapacityWithin(bench.ArrivalsPoisson, bound("p99", 1000)),
		},
		"sorted": {
			[]string{"--capacity=p99.9=5ms,P50=500us", "--capacity=p99=1ms", "--arrivals=fixed"},
			*gen.CapacityWithin(bench.ArrivalsFixed, bound("p50", 500), bound("p99", 1000), bound("p999", 5000)),
		},
		"SLOB": {
			[]string{"--workload=slob-read", "--users=64", "--update-percent=20", "--capacity=p95=2ms"},
			*gen.CapacityWithin(bench.ArrivalsPoisson, bound("p95", 2000)),
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(&tc.want, planOf(t, tc.args...).Workload.Capacity()); diff != "" {
				t.Errorf("capacity (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefusesASearchThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no latency":  {[]string{"--capacity=p99"}, "PERCENTILE=LATENCY"},
		"nanoseconds": {[]string{"--capacity=p99=1500ns"}, "PERCENTILE=LATENCY"},
		"percentile":  {[]string{"--capacity=p98=1ms"}, "p50, p90"},
		"negative":    {[]string{"--capacity=p99=-1ms"}, "PERCENTILE=LATENCY"},
		"too many":    {[]string{"--capacity=p99=1ms,p99=2ms,p99=3ms,p99=4ms,p99=5ms"}, "1 to 4"},
		"twice":       {[]string{"--capacity=p99=1ms,p99=1ms"}, "twice"},
		"arrivals":    {[]string{"--capacity=p99=1ms", "--arrivals=often"}, "Poisson, Fixed"},
		"alone":       {[]string{"--arrivals=fixed"}, "no effect without --capacity"},
		"a rate":      {[]string{"--capacity=p99=1ms", "--ops-per-second=5"}, "--ops-per-second is set"},
		"a copy":      {[]string{"--capacity=p99=1ms", "--pattern=copy"}, "--pattern is Copy"},
		"a ramp":      {[]string{"--workload=slob-read", "--capacity=p99=1ms", "--users=1,2"}, "--users has 2 steps"},
		"calibrate":   {[]string{"--workload=calibrate", "--capacity=p99=1ms"}, "does nothing with calibrate"},
		"reads":       {[]string{"--pattern=randmixed"}, "--read-percent is the share"},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, append([]string{"load", "--server", "10.0.1.1", "--export", "/e", "--print-plan"}, tc.args...), tc.want)
		})
	}
}

func TestLoadRefusesWhatIsOfAnotherWorkload(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args []string
		says []string
	}{
		"unknown":        {[]string{"--workload=slob"}, []string{`"slob" for "--workload"`, "slob-read"}},
		"pattern":        {[]string{"--workload=slob-read", "--pattern=read"}, []string{"--pattern is of --workload raw", "slob-read"}},
		"users of raw":   {[]string{"--users=4"}, []string{"--users", "slob-read and slob-scan", "raw"}},
		"disks":          {[]string{"--workload=slob-scan", "--disks=4"}, []string{"--disks", "calibrate"}},
		"updating scans": {[]string{"--workload=slob-scan", "--update-percent=4"}, []string{"--update-percent", "slob-read"}},
		"scale of scans": {[]string{"--workload=slob-scan", "--scale=1Gi"}, []string{"--scale", "slob-read"}},
		"read ahead":     {[]string{"--workload=slob-read", "--read-ahead=4"}, []string{"--read-ahead", "slob-scan"}},
		"file size":      {[]string{"--workload=slob-read", "--file-size=1Gi"}, []string{"--file-size", "raw and calibrate"}},
		"no user":        {[]string{"--workload=slob-read", "--users=1,0"}, []string{"--users is 0"}},
		"updates":        {[]string{"--workload=slob-read", "--update-percent=60"}, []string{"--update-percent is 60", "100"}},
		"latency":        {[]string{"--workload=calibrate", "--max-latency=5ms"}, []string{"--max-latency is 5"}},
		"split latency":  {[]string{"--workload=calibrate", "--max-latency=10500us"}, []string{`"10500us" for "--max-latency"`, "whole"}},
		"no disk":        {[]string{"--workload=calibrate", "--disks=0"}, []string{"--disks is 0"}},
		"uneven table":   {[]string{"--workload=slob-scan", "--scan-size=1025Ki"}, []string{"--scan-size is 1049600", "multiple"}},
		"uneven schema":  {[]string{"--workload=slob-read", "--scale=1025Ki"}, []string{"--scale is 1049600", "multiple"}},
	} {
		t.Run(name, func(t *testing.T) {
			refuses(t, append([]string{"load", "--server", "10.0.0.1", "--export", "/e"}, tc.args...), tc.says...)
		})
	}
}

// short are the flags of windows of a second.
func short(args ...string) []string {
	return append(append(args, patience()...), "--output=json", "--duration=1s", "--warmup=0s", "--baseline=0s", "--cooldown=0s", "--progress=none")
}

// checkLoad runs a load that reads, and writes where writes is set, and returns its
// repetitions, which must all be good.
func checkLoad(t *testing.T, writes bool, args ...string) []runfile.Repetition {
	t.Helper()
	result, _ := runUntilMeasured(t, true, writes, short(append([]string{"load"}, args...)...)...)
	load := result.Clients[0].Load
	if load.Failure != nil || load.Partial || load.Verification == nil || load.Verification.BlocksWrong > 0 {
		t.Fatalf("failure %+v, verification %+v", load.Failure, load.Verification)
	}
	for i, rep := range load.Repetitions {
		if rep.Index != int32(i+1) || rep.Step == nil || rep.Read == nil || rep.Read.Count == 0 || rep.Read.Errors > 0 {
			t.Errorf("repetition %d: %+v", i+1, rep)
		}
	}
	return load.Repetitions
}

func TestTheLoadsOfADatabaseRunWithoutOne(t *testing.T) {
	t.Parallel()
	direct, dir := serveLoopback(t)
	t.Cleanup(func() {
		if names, err := os.ReadDir(dir); err != nil || len(names) != 0 {
			t.Errorf("left behind: %v, %v", names, err)
		}
	})
	// A directory of this machine, past its page cache.
	kernel := []string{"--mount", t.TempDir(), "--allow-non-nfs"}
	for name, storage := range map[string][]string{"DirectNFS": direct, "Kernel": kernel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with := func(args ...string) []string { return append(args, storage...) }
			reps := checkLoad(t, true, with("--workload=slob-read", "--users=1,3", "--schemas=2", "--scale=1Mi", "--update-percent=20")...)
			if len(reps) != 2 || reps[1].Step.Users != 3 || reps[1].Read.Bytes != 8192*reps[1].Read.Count || reps[1].Write == nil {
				t.Errorf("two steps: %+v", reps)
			}
			reps = checkLoad(t, false, with("--workload=slob-scan", "--users=2", "--scan-size=4Mi")...)
			if len(reps) != 1 || reps[0].Read.Bytes != reps[0].Read.Count<<20 {
				t.Errorf("a scan: %+v", reps)
			}
			reps = checkLoad(t, false, with("--workload=calibrate", "--disks=1", "--files=2", "--file-size=4Mi", "--warmup-runs=0", "--max-latency=100ms")...)
			kinds := map[string]int{}
			for _, rep := range reps {
				kinds[rep.Step.Kind]++
			}
			if kinds[runfile.StepSmallReads] < 3 || kinds[runfile.StepLargeReads] < 3 || len(kinds) != 2 {
				t.Errorf("levels of each kind: %v", kinds)
			}
		})
	}
}

func TestCleanRemovesTheFilesOfADatabasesLoad(t *testing.T) {
	t.Parallel()
	storage, dir := serveLoopback(t)
	args := append([]string{"--workload=slob-read", "--schemas=2", "--scale=1Mi", "--dir=slob", "--keep-files"}, storage...)
	planFile := writtenPlan(t, short(args...)...)
	runLoad(t, cli.ExitOK, "load", "--plan", planFile, "--progress=none")
	out, _ := runLoad(t, cli.ExitOK, "clean", "--plan", planFile)
	if want := "removed 3 files of directory \"slob\": c0-j0.dat, c0-j1.dat, nfsbench-c0.json\nremoved the directory\n"; out != want {
		t.Errorf("clean said %q, want %q", out, want)
	}
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("clean left %v", names)
	}
}
