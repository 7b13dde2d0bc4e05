package oracle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	planner "github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// planFor is the plan of a short run over Direct NFS with the paths of a World.
func planFor(w *standin.World, paths ...string) runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "r"}, Clients: 1, Seed: 7,
		Schedule: runfile.Schedule{DurationSeconds: 2, Repetitions: 1},
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Server: "flashblade", Export: "/export",
			Channels: runfile.ChannelsTo(paths...), MountPath: w.Config().Data,
		},
		Database: &runfile.Database{Kind: runfile.DatabaseContainer, DirectNFS: true, User: "sys", Role: "SYSDBA", RestartBeforeRun: true},
	}
}

func withSLOB(p runfile.Plan, access bench.SLOBAccess, users ...int32) runfile.Plan {
	p.Workload.SLOB = &bench.SLOBWorkload{
		Access: access, Users: users, Schemas: 2, Scale: *bench.Bytes(8 << 20), ScanTableSize: *bench.Bytes(8 << 20), WorkUnit: 16, LoadParallelDegree: 2,
		Tablespace: "NFSBENCH", RedoStress: bench.SLOBRedoLite,
	}
	return p
}

// statements is how many each user executes in a step of withWork.
const statements = 8

// withWork lets each step end when its work is done, and not with its time.
func withWork(p runfile.Plan) runfile.Plan {
	p.Schedule.DurationSeconds, p.Workload.SLOB.WorkLoop = 3600, statements
	return p
}

func succeeded(t *testing.T, r runfile.Result) runfile.Load {
	t.Helper()
	load := r.Clients[0].Load
	if load.Failure != nil || load.Partial {
		t.Fatalf("failure %+v", load.Failure)
	}
	if !r.Simulated {
		t.Error("the result does not say that it is simulated")
	}
	return load
}

func codes(j judge.Judgement) []judge.Code {
	var all []judge.Code
	for _, f := range j.Findings {
		all = append(all, f.Code)
	}
	return all
}

func TestCalibrateThroughThePipeline(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths(), Config: standin.Config{Calibrate: 8 * time.Second}})
	plan := planFor(w, fourPaths()...)
	plan.Workload.Calibrate = &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1))}
	plan.Database.Parameters = map[string]string{"filesystemio_options": "SETALL", "sga_target": "1G"}
	result := execute(t, w, plan)
	load := succeeded(t, result)
	window := load.Repetitions[1].Oracle
	if window.Calibration == nil || window.ServiceTimeUnit != runfile.UnitMicroseconds {
		t.Fatalf("%+v, unit %q", window.Calibration, window.ServiceTimeUnit)
	}
	measure.Record(t, "a calibration over four paths", "IOPS", float64(window.Calibration.MaxIOPS))
	found := 0.0
	for _, rep := range load.Repetitions {
		p := rep.Oracle.Phases
		if p == nil {
			continue // a database that is looked at too rarely shows no boundary
		}
		found++
		if len(p) != 2 || p[1].Reads < 1 || p[1].Start.Before(p[0].End) || p[0].BusyCentiseconds == nil {
			t.Errorf("phases of calibration %d: %+v", rep.Index, p)
		}
	}
	measure.Expect(t, "calibrations with phases", "of 2", measure.AtLeast(2), found)
	j := judge.Judge(result)
	if v := j.Protocol.Verified; v == nil || !*v || !strings.Contains(j.Protocol.Message, "4 of 4 paths") {
		t.Errorf("protocol %+v", j.Protocol)
	}
	read := int64(0)
	for _, f := range window.Files {
		read += f.SmallReads
	}
	if seconds := float64(w.Config().Calibrate) / 2e9; float64(read) < float64(window.Calibration.MaxIOPS)*seconds*.9 {
		t.Errorf("%d reads were counted in %.1f s, and %d IOPS told", read, seconds, window.Calibration.MaxIOPS)
	}
}

func TestRandomReadsAndScansThroughThePipeline(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		access bench.SLOBAccess
		event  string
		users  []int32
		waits  int64 // of a statement
		bytes  int64 // of a wait
	}{
		"random read": {bench.SLOBRandomRead, "db file sequential read", []int32{1, 4}, 16, 8192},
		"scan":        {bench.SLOBFullTableScan, "direct path read", []int32{2}, 8, 1 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: fourPaths(), Config: standin.Config{
				Faults: standin.Faults{Uncached: 100},
				Disk:   func(int) time.Duration { return time.Millisecond }, // less is no latency of a network
			}})
			plan := withWork(withSLOB(planFor(w, fourPaths()...), c.access, c.users...))
			result := execute(t, w, plan)
			load := succeeded(t, result)
			if len(load.Repetitions) != len(c.users) || load.Oracle.LoadedBytes < 16<<20 {
				t.Fatalf("%d repetitions, %d bytes loaded", len(load.Repetitions), load.Oracle.LoadedBytes)
			}
			for _, rep := range load.Repetitions {
				waits := int64(0)
				for _, e := range rep.Oracle.Events {
					if e.Name == c.event {
						waits = e.Waits
					}
				}
				users, read := rep.Step.Users, rep.Read.Bytes
				if want := int64(users) * statements * c.waits; waits != want || read != want*c.bytes {
					t.Errorf("%d users: %d waits for %s, %d bytes; want %d waits", users, waits, c.event, read, want)
				}
			}
			j := judge.Judge(result)
			if v := j.Protocol.Verified; v == nil || !*v {
				t.Errorf("protocol %+v", j.Protocol)
			}
			waits := j.Database.Waits // the only ones of sessions that are not idle
			if len(waits) != 1 || waits[0].Name != c.event || waits[0].Class != "User I/O" || *waits[0].Permille != 1000 {
				t.Errorf("waits %+v", waits)
			}
			for _, bad := range []judge.Code{judge.SuspectLatency, judge.PathUnused, judge.BatchedReads, judge.BufferedScan, judge.WaitsNotStorage, judge.SyncIO} {
				if slices.Contains(codes(j), bad) {
					t.Errorf("finding %s: %+v", bad, j.Findings)
				}
			}
		})
	}
}

// Each statement waits 20 ms for a checkpoint, so two sessions execute at most 100 a second. Two sessions whose
// statements take 100 ms execute at most 20 a second, however busy the machine is. Levels of one second only
// show that the capacity is below the rate of 64/s, at which the queue exceeds the bound; package slob tests
// the counts. This test proves that a search paces the statements of a real run and ends by their reports.
func TestTheCapacityOfADatabaseIsARateOfStatements(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{Faults: standin.Faults{CheckpointWait: 100 * time.Millisecond}}})
	p := withSLOB(planFor(w), bench.SLOBRandomRead, 2)
	p.Schedule.DurationSeconds = 1
	p.Workload.SLOB.UpdatePercent = 100
	bounds := []runfile.LatencyBound{{Percentile: "p90", Microseconds: 500_000}}
	p.Workload.SLOB.Capacity = gen.CapacityWithin(bench.ArrivalsFixed, bounds...)
	load := succeeded(t, execute(t, w, p))
	if load.LoopMode != "open" {
		t.Fatalf("loop %s", load.LoopMode)
	}
	var levels []runfile.CapacityLevel
	for _, rep := range load.Repetitions {
		if rep.Step.Kind != runfile.StepRate || rep.Level == nil || rep.Read == nil {
			t.Fatalf("level %+v", rep)
		}
		due, done := rep.Level.Due[0], rep.Level.Done[0]
		if due != rep.Step.OperationsPerSecond {
			t.Errorf("%d statements were due in a second at %d/s", due, rep.Step.OperationsPerSecond)
		}
		if done > 22 || done > 0 && rep.Level.Histogram == "" {
			t.Errorf("%d statements ended in a second at %d/s, with latencies %q", done, due, rep.Level.Histogram)
		}
		l, _ := capacity.Level(bounds, rep)
		levels = append(levels, l)
	}
	if e := capacity.Estimates(bounds, levels)[0]; e.StillHeld || e.OperationsPerSecond >= 64 {
		t.Errorf("%d levels gave %+v", len(levels), e)
	}
}

// TestUpdatesThatWaitForCheckpointsSayNothingOfTheStorage: a session waits for checkpoints for as long as its
// statements take, so the share of that wait does not depend on the speed of the machine.
func TestUpdatesThatWaitForCheckpointsSayNothingOfTheStorage(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Faults: standin.Faults{
		Waits: []standin.Waiting{{Event: "log file switch (checkpoint incomplete)", Class: "Configuration", Percent: 50}},
	}}})
	plan := withWork(withSLOB(planFor(w, fourPaths()[:1]...), bench.SLOBRandomRead, 2))
	plan.Workload.SLOB.UpdatePercent = 50
	result := execute(t, w, plan)
	succeeded(t, result)
	j := judge.Judge(result)
	i := slices.IndexFunc(j.Findings, func(f bench.Finding) bool { return f.Code == judge.WaitsNotStorage })
	if i < 0 || !strings.Contains(j.Findings[i].Message, "log file switch (checkpoint incomplete)") || j.Validity != bench.ValiditySuspect {
		t.Errorf("validity %s, waits %+v, findings %+v", j.Validity, j.Database.Waits, j.Findings)
	}
}

// The operator's own parameters keep the jobs of a new database away from its load.
func TestNoJobDisturbsADatabaseOfOurOwn(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Autotasks: time.Hour}})
	plan := planFor(w, fourPaths()[0])
	paths, err := planner.SelectPaths(v1alpha1.NFSBenchmarkSpec{}, fourPaths()[:1], nil)
	if err != nil {
		t.Fatal(err)
	}
	own, err := planner.Build(gen.Benchmark("own", gen.Calibrate(0), gen.Oracle), planner.Target{Export: "/export", Paths: paths})
	if err != nil {
		t.Fatal(err)
	}
	plan.Database.Parameters = own.Database.Parameters
	plan.Workload.Calibrate = &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20}
	succeeded(t, execute(t, w, plan))
}

// ASYNCH_IO says what a file is capable of, and not that the kernel has any left.
func TestANodeWithoutAsynchronousIOIsExplained(t *testing.T) {
	t.Parallel()
	for name, paths := range map[string][]string{"kernel": nil, "Direct NFS": fourPaths()[:1]} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: paths, Config: standin.Config{Faults: standin.Faults{NoKernelAIO: true}}})
			plan := planFor(w, paths...)
			plan.Workload.Calibrate = &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20}
			plan.Database.Parameters = map[string]string{"filesystemio_options": "SETALL"}
			if len(paths) > 0 {
				succeeded(t, execute(t, w, plan))
				return
			}
			plan.Database.DirectNFS = false
			plan.Engine = runfile.Engine{Client: bench.ClientKernel, NFSVersion: "NFSv3", MountPath: w.Config().Data}
			f := execute(t, w, plan).Clients[0].Load.Failure
			if f == nil || f.Code != runfile.FailureAsyncIO || !strings.Contains(f.Message, "fs.aio-max-nr=3145728") {
				t.Errorf("failure %+v", f)
			}
		})
	}
}

func TestSchemasAreReused(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1]})
	plan := withSLOB(planFor(w, fourPaths()[:1]...), bench.SLOBRandomRead, 1)
	plan.Keep = true
	if first := succeeded(t, execute(t, w, plan)); first.Oracle.SchemasReused {
		t.Error("the first run finds schemas")
	}
	if second := succeeded(t, execute(t, w, plan)); !second.Oracle.SchemasReused || second.Oracle.LoadedBytes != 0 {
		t.Errorf("the second run loads %d bytes", second.Oracle.LoadedBytes)
	}
}

func TestASilentFallbackIsSeen(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths(), Config: standin.Config{Faults: standin.Faults{Fallback: true}}})
	plan := withSLOB(planFor(w, fourPaths()...), bench.SLOBRandomRead, 2)
	j := judge.Judge(execute(t, w, plan))
	if v := j.Protocol.Verified; v == nil || *v || !j.Protocol.Mismatch || j.Validity != bench.ValidityInvalid {
		t.Errorf("validity %s, protocol %+v, findings %+v", j.Validity, j.Protocol, j.Findings)
	}
}

func TestWhatEndsARun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config standin.Config
		change func(*runfile.Plan)
		user   string
		want   string // code
		says   string
	}{
		"the password":           {want: runfile.FailurePassword, user: "wrong", says: "ORA-01017"},
		"no asynchronous I/O":    {config: standin.Config{Faults: standin.Faults{AsyncOff: true}}, want: runfile.FailureAsyncIO},
		"a parameter of nowhere": {change: func(p *runfile.Plan) { p.Database.Parameters = map[string]string{"nowhere": "1"} }, want: runfile.FailureParameter},
		"the volume is full": {config: standin.Config{Faults: standin.Faults{FullAfter: 6 << 20}}, want: runfile.FailureNoSpace, change: func(p *runfile.Plan) {
			p.Workload.Calibrate = nil
			*p = withSLOB(*p, bench.SLOBRandomRead, 1)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: c.config})
			plan := planFor(w, fourPaths()[0])
			plan.Workload.Calibrate = &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20}
			if c.change != nil {
				c.change(&plan)
			}
			d := plan.Database
			d.AdminConnect, d.Connects, d.SID = w.Admin(), []string{w.Load()}, standin.DefaultSID
			d.DataDirectory, d.StartupTimeoutSeconds = plan.Engine.MountPath, 600
			password := standin.Password
			if c.user != "" {
				password = c.user
			}
			load, err := run.Run(t.Context(), run.Options{
				Plan: plan, Now: time.Now, Open: w.Opener(), User: "sys", Password: password, Sink: deafSink{}, Database: w,
			})
			if err != nil || load.Failure == nil || load.Failure.Code != c.want || !strings.Contains(load.Failure.Message, c.says) {
				t.Errorf("%v: %s, want %s with %q", err, fmt.Sprintf("%+v", load.Failure), c.want, c.says)
			}
		})
	}
}
