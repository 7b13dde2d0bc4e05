package run

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// memory is a sink that keeps what it hears.
type memory struct {
	events []runfile.Event
	loads  int
	onLoad func(*runfile.Load)
}

func (m *memory) Event(e runfile.Event) { m.events = append(m.events, e) }

func (m *memory) Load(l *runfile.Load) error {
	m.loads++
	if m.onLoad != nil {
		m.onLoad(l)
	}
	return nil
}

// windowSeconds is how long the windows of a ramp are, in seconds.
const windowSeconds = 10

// testPlan is a ramp of random reads in a container.
func testPlan() runfile.Plan {
	return runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: 42, Run: runfile.Identity{Name: "test"},
		Engine: runfile.Engine{Client: bench.ClientKernel, MountPath: "/opt/oracle/oradata"},
		Workload: bench.Workload{SLOB: &bench.SLOBWorkload{
			Access: bench.SLOBRandomRead, Users: []int32{2, 4}, Schemas: 2, Scale: *bench.Bytes(80 << 20), ScanTableSize: *bench.Bytes(1 << 20),
			WorkUnit: 64, LoadParallelDegree: 2, Tablespace: "NFSBENCH", ObfuscateColumns: bench.Enabled,
		}},
		Schedule: runfile.Schedule{BaselineSeconds: 2, WarmupSeconds: 3, DurationSeconds: windowSeconds, CooldownSeconds: 1, Repetitions: 2},
		Database: &runfile.Database{
			Kind: runfile.DatabaseContainer, AdminConnect: "localhost:1521/ORCLCDB", Connects: []string{"localhost:1521/ORCLPDB1"},
			User: "sys", Role: "SYSDBA", RestartBeforeRun: true, StartupTimeoutSeconds: 600,
			SID: "ORCLCDB", DataDirectory: "/opt/oracle/oradata",
		},
	}
}

func calibratePlan() runfile.Plan {
	p := testPlan()
	p.Workload = bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1))}}
	return p
}

func runOn(ctx context.Context, t *testing.T, d *database, plan runfile.Plan, change ...func(*Options)) (*runfile.Load, *memory) {
	t.Helper()
	sink := &memory{}
	start := time.Now()
	o := Options{
		Plan: plan, Now: time.Now, Open: d.open, User: "sys", Password: "secret", Sink: sink, Database: d,
		Usage: func() (time.Duration, int64) { return time.Since(start) / 10, 1 << 20 },
	}
	for _, c := range change {
		c(&o)
	}
	load, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return load, sink
}

func wantFailure(t *testing.T, load *runfile.Load, code string, words ...string) {
	t.Helper()
	if load.Failure == nil || load.Failure.Code != code || !load.Partial {
		t.Fatalf("failure %+v, partial %v; want %s", load.Failure, load.Partial, code)
	}
	for _, w := range words {
		if !strings.Contains(load.Failure.Message, w) {
			t.Errorf("no %q in %q", w, load.Failure.Message)
		}
	}
}

func wantSuccess(t *testing.T, load *runfile.Load) {
	t.Helper()
	if load.Failure != nil || load.Partial {
		t.Fatalf("failure %+v, partial %v", load.Failure, load.Partial)
	}
}

// spansOf writes spans as words.
func spansOf(load *runfile.Load) string {
	var words []string
	for _, s := range load.Spans {
		word := s.Kind
		if s.Repetition > 0 {
			word += strconv.Itoa(int(s.Repetition))
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestARampGoesThroughAllStepsInEachRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		load, sink := runOn(t.Context(), t, d, testPlan())
		wantSuccess(t, load)
		want := "Connect Fill Baseline1 Warmup1 Measure1 Cooldown1 Baseline2 Warmup2 Measure2 Cooldown2 " +
			"Baseline3 Warmup3 Measure3 Cooldown3 Baseline4 Warmup4 Measure4 Clean Done"
		if got := spansOf(load); got != want {
			t.Errorf("spans\n%s, want\n%s", got, want)
		}
		var steps []runfile.Step
		for i, rep := range load.Repetitions {
			steps = append(steps, *rep.Step)
			checkRampStep(t, load, int32(i+1), rep)
		}
		wantSteps := []runfile.Step{
			{Kind: runfile.StepUsers, Users: 2, Round: 1},
			{Kind: runfile.StepUsers, Users: 4, Round: 1},
			{Kind: runfile.StepUsers, Users: 2, Round: 2},
			{Kind: runfile.StepUsers, Users: 4, Round: 2},
		}
		if diff := cmp.Diff(wantSteps, steps); diff != "" {
			t.Error(diff)
		}
		checkProgress(t, sink.events)
		if len(d.users) != 0 || len(d.tablespaces) != 1 || load.FilesLeft {
			t.Errorf("left behind: %v, %v, told %v", d.users, d.tablespaces, load.FilesLeft)
		}
		for where, n := range d.sessions {
			if n != 0 {
				t.Errorf("%d sessions of %s are left", n, where)
			}
		}
	})
}

// checkRampStep holds a repetition against what users of the model do: 64 blocks
// in 100 ms each, at 150 microseconds a block.
func checkRampStep(t *testing.T, load *runfile.Load, index int32, rep runfile.Repetition) {
	t.Helper()
	seconds := rep.End.Sub(rep.Start).Seconds()
	if rep.Index != index || seconds < windowSeconds || seconds > windowSeconds+0.1 {
		t.Errorf("repetition %d has index %d and %v s", index, rep.Index, seconds)
	}
	blocks := int64(rep.Step.Users) * 64 * 10 * windowSeconds
	if rep.Read.Count < blocks-300 || rep.Read.Count > blocks+300 || rep.Read.Bytes != rep.Read.Count*8192 {
		t.Errorf("repetition %d: %+v, want about %d reads", index, rep.Read, blocks)
	}
	// The users go on while the views are read one after the other.
	near := func(n int64) bool { return n > rep.Read.Count-300 && n < rep.Read.Count+300 }
	if l := rep.Read.Buckets; len(l) != 1 || l[0].BelowMicroseconds != 256 || !near(l[0].Count) || !near(rep.Read.TotalMicroseconds/150) {
		t.Errorf("repetition %d: latency %+v", index, rep.Read)
	}
	if rep.Write != nil || rep.CPUMicroseconds != (rep.End.Sub(rep.Start)/10).Microseconds() || rep.PeakMemoryBytes != 1<<20 {
		t.Errorf("repetition %d: %+v", index, rep)
	}
	looks := int64(1 + windowSeconds) // the last, and one a second; the first empties
	if c := rep.Oracle.DirectNFS.Channels; len(c) != 1 || c[0].Sends < 5*(looks-2) || c[0].Sends > 5*looks {
		t.Errorf("repetition %d: channels %+v", index, c)
	}
	checkSamples(t, load, rep)
}

func checkSamples(t *testing.T, load *runfile.Load, rep runfile.Repetition) {
	t.Helper()
	n := map[string]int{}
	for _, s := range load.Samples {
		if s.Repetition != rep.Index {
			continue
		}
		n[s.Span]++
		each := int64(rep.Step.Users) * 640
		if s.Read.Count < each-300 || s.Read.Count > each+300 || s.Read.Bytes != s.Read.Count*8192 {
			t.Errorf("a second of %s %d has %+v, want about %d reads", s.Span, rep.Index, s.Read, each)
		}
		if s.Span == runfile.SpanMeasure && (s.Time.Before(rep.Start) || s.Time.After(rep.End)) {
			t.Errorf("a sample at %v is not in the window %v to %v", s.Time, rep.Start, rep.End)
		}
	}
	if n[runfile.SpanMeasure] < windowSeconds-1 || n[runfile.SpanMeasure] > windowSeconds || n[runfile.SpanWarmup] < 2 || n[runfile.SpanWarmup] > 3 {
		t.Errorf("repetition %d has samples %v", rep.Index, n)
	}
}

// checkProgress wants an event a second, rates under load, and an estimate that
// never goes back.
func checkProgress(t *testing.T, events []runfile.Event) {
	t.Helper()
	last, lastTime, loaded, filled := int32(0), events[0].Time, 0, 0
	for _, e := range events {
		if e.Percent < last || e.Time.Sub(lastTime) > time.Second {
			t.Errorf("event %+v after %d %% at %v", e, last, lastTime)
		}
		last, lastTime = e.Percent, e.Time
		if e.Span == runfile.SpanMeasure && e.OpsPerSecond > 0 {
			loaded++
		}
		if e.Span == runfile.SpanFill && e.BytesPerSecond > 0 && e.ETASeconds != nil {
			filled++
		}
	}
	if last != 100 || loaded < 30 || filled < 2 {
		t.Errorf("%d %% at the end, %d events with a rate under load, %d while loading", last, loaded, filled)
	}
}

func TestTheInstanceRestartsAfterLoadingAndBeforeTheFirstWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		load, _ := runOn(t.Context(), t, d, testPlan())
		wantSuccess(t, load)
		if !d.has("slob_load_obfuscated", "slob_index_create", "slob_marker_write", "restart", "sysstat", "slob_random_read", "sysstat", "slob_schema_drop", "slob_tablespace_drop") {
			t.Errorf("order of statements: %v", d.log)
		}
		o := load.Oracle
		if !o.Restarted || !o.Instances[0].StartupTime.Equal(d.startup) || *o.ReadyMilliseconds != 90_000 || o.Library == nil || !o.Library.Wanted || o.Host == nil || len(o.Host.Mended) != 1 {
			t.Errorf("%+v", o)
		}
	})
}

func TestNoRestartIsMadeUnlessAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), testPlan()
		plan.Database.RestartBeforeRun = false
		load, _ := runOn(t.Context(), t, d, plan)
		wantSuccess(t, load)
		if d.has("restart") || load.Oracle.Restarted {
			t.Error("the instance was restarted")
		}
	})
}

func TestAnExternalDatabaseIsNeitherRestartedNorConfigured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), testPlan()
		plan.Engine.MountPath = ""
		plan.Database = &runfile.Database{
			Kind: runfile.DatabaseExternal, AdminConnect: "db:1521/ROOT", Connects: []string{"db:1521/PDB"}, User: "sys", Role: "SYSDBA",
		}
		external := func(o *Options) { o.Database = nil }
		load, _ := runOn(t.Context(), t, d, plan, external)
		wantSuccess(t, load)
		if d.has("restart") || load.Oracle.ReadyMilliseconds != nil {
			t.Error("an external database was restarted, or waited for")
		}
		plan.Database.Parameters = map[string]string{"db_cache_size": "128M"}
		load, _ = runOn(t.Context(), t, d, plan, external)
		wantFailure(t, load, runfile.FailureInvalidPlan, "database.parameters")
		if d.has("set_parameter") {
			t.Error("a parameter of an external database was set")
		}
	})
}

func TestCancellingKeepsWhatWasMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		ctx, cancel := context.WithCancelCause(t.Context())
		plan := testPlan()
		plan.Keep = true
		d.fail = func(name, _ string, nth int) error {
			if name == "slob_sample" && nth == 24 { // within the second window
				cancel(errors.New("SIGTERM"))
			}
			return nil
		}
		load, _ := runOn(ctx, t, d, plan)
		wantFailure(t, load, runfile.FailureCancelled, "SIGTERM")
		if len(load.Repetitions) != 2 {
			t.Fatalf("%d repetitions", len(load.Repetitions))
		}
		cut := load.Repetitions[1]
		took := cut.End.Sub(cut.Start)
		if took < 2*time.Second || took > 8*time.Second || cut.Oracle == nil || cut.Read.Count == 0 {
			t.Errorf("the window that was cut has %v and %+v", took, cut.Read)
		}
		if got := spansOf(load); !strings.HasSuffix(got, "Measure2 Done") {
			t.Error(got)
		}
		if len(d.users) != 2 {
			t.Error("schemas to keep are gone")
		}
	})
}
