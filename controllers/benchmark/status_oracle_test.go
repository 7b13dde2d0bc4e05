package benchmark

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestTheStatusOfACalibrationHasOraclesOwnNumbers(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Oracle, gen.Calibrate(1), gen.Repetitions(2), gen.OracleMod(func(c *v1alpha1.DatabaseContainer) {
		c.Parameters = map[string]v1alpha1.ParameterValue{"db_cache_size": "128M"}
	}))
	st := written(t, s)
	want := []measure.CalibrationSummary{
		{Warmup: true, MaxIOPS: new(int64(27_001)), MaxMegabytesPerSecond: new(int64(1100)), ActualLatencyMilliseconds: new(int64(1))},
		{MaxIOPS: new(int64(27_001)), MaxMegabytesPerSecond: new(int64(1100)), ActualLatencyMilliseconds: new(int64(1))},
		{MaxIOPS: new(int64(27_002)), MaxMegabytesPerSecond: new(int64(1100)), ActualLatencyMilliseconds: new(int64(1))},
	}
	if diff := cmp.Diff(want, s.judgement.Calibrations, cmpopts.IgnoreFields(measure.CalibrationSummary{}, "Phases")); diff != "" {
		t.Error(diff)
	}
	sum := st.Summary
	got := []any{sum.Workload, s.judgement.Engine, sum.Protocol, *sum.ThroughputMegabytesPerSecond, *sum.MeanLatencyMicroseconds}
	if diff := cmp.Diff([]any{"Calibrate, 100 disks, at most 20 ms", "Oracle", "NFSv3 DirectNFS 2 paths", int64(1100), int64(400)}, got); diff != "" {
		t.Error(diff)
	}
	if !slices.Contains([]int64{27_001, 27_002}, *sum.IOPS) || !strings.HasPrefix(st.Message, fmt.Sprintf("1100.0 MB/s, %d IOPS at 400 µs", *sum.IOPS)) {
		t.Errorf("%d IOPS; message %q", *sum.IOPS, st.Message)
	}
	if r := s.judgement.Repetitions; len(r) != 2 || r[0].Step.Round != 1 || r[1].Step.Round != 2 || r[1].Total.OperationsPerSecond != 27_002 {
		t.Errorf("repetitions %+v: the warm-up is none", r)
	}
}

func TestARunInADatabaseIsVerifiedByItsViews(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 4))
	setStatus(s, nil)
	if c := s.b.Status.Conditions; len(c) == 0 || !isTrue(s.b, v1alpha1.ConditionProtocolVerified) || !isTrue(s.b, v1alpha1.ConditionDatabaseReady) {
		t.Errorf("conditions %+v", c)
	}
}

func TestARampHasItsStepsAndTheRepetitionsOfTheLast(t *testing.T) {
	t.Parallel()
	for name, mods := range map[string][]gen.Mod{
		"Oracle": {gen.Oracle},
		"Native": {gen.Export("/vol/oradata", "10.0.1.61")},
	} {
		s := finishedScope(t, append(mods, gen.SLOB(bench.SLOBRandomRead, 1, 4, 8, 16), gen.Repetitions(3))...)
		st := written(t, s)
		var got []string
		for _, step := range st.Steps {
			got = append(got, fmt.Sprintf("%s %d %d %dus %t", step.Kind, step.Users, *step.ThroughputBytesPerSecond, *step.MeanLatencyMicroseconds/100*100, step.Knee))
		}
		want := []string{"Users 1 26214400 400us false", "Users 4 104857600 400us false", "Users 8 209715200 400us true", "Users 16 209715200 1200us false"}
		if name == "Native" {
			want = []string{"Users 1 26214400 900us false", "Users 4 104857600 900us false", "Users 8 209715200 900us true", "Users 16 209715200 1700us false"}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(name, diff)
		}
		if r := s.judgement.Repetitions; len(r) != 3 || r[2].Step.Round != 3 || r[2].Total.BytesPerSecond != 209715200 {
			t.Errorf("%s: repetitions %+v", name, r)
		}
		if st.Summary.Workload != "SLOB RandomRead, 1 to 16 users in 4 steps" || s.judgement.Engine != name {
			t.Errorf("summary %+v", st.Summary)
		}
		if want := "209.7 MB/s, 25600 IOPS with 16 users, hardly more than with 8. "; !strings.HasPrefix(st.Message, want) {
			t.Errorf("%s: message %q, want %q first", name, st.Message, want)
		}
	}
}

func TestANativeCalibrationLooksLikeOracles(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Calibrate(1), gen.Repetitions(2))
	written(t, s)
	j := s.judgement
	if c := j.Calibrations; len(c) != 3 || !c[0].Warmup || c[1].Warmup || *c[2].MaxIOPS != 25600 || j.Database != nil {
		t.Fatalf("calibrations %+v, database %+v", c, j.Database)
	}
	if st := s.b.Status; j.Engine != "Native" || *st.Summary.IOPS != 25600 || len(st.Steps) != 5 || len(j.Repetitions) != 2 {
		t.Errorf("summary %+v, steps %+v, repetitions %+v", st.Summary, st.Steps, j.Repetitions)
	}
}

func TestTheLargestRampFits(t *testing.T) {
	t.Parallel()
	users := make([]int32, 32)
	for i := range users {
		users[i] = int32(i + 1)
	}
	s := finishedScope(t, gen.Oracle, gen.SLOB(bench.SLOBRandomRead, users...), gen.Repetitions(8))
	for i := range 100 { // as only a forged result has them
		s.judgement.Steps = append(s.judgement.Steps, measure.StepSummary{Kind: "Users", Users: int32(100 + i)})
	}
	written(t, s)
	st := s.b.Status
	if n := sizeOf(t, st); n > 30<<10 || len(st.Steps) != 64 || st.Steps[0].Users != 1 {
		t.Errorf("the status takes %d bytes, with %d steps from %d users", n, len(st.Steps), st.Steps[0].Users)
	}
}

func TestASimulatedDatabaseMarksTheFinding(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 4))
	s.result.Clients[0].Load.Oracle.StandIn = true
	s.result.Simulated = isSimulated(s.result)
	s.judgement = new(judge.Judge(*s.result))
	setStatus(s, nil)
	if !slices.ContainsFunc(s.b.Status.Findings, func(f bench.Finding) bool { return f.Code == "SimulatedDatabase" }) {
		t.Errorf("findings %+v", s.b.Status.Findings)
	}
}

func TestWorkloadsInWords(t *testing.T) {
	t.Parallel()
	slob := func(change func(*bench.SLOBWorkload)) runfile.Plan {
		w := bench.SLOBWorkload{Access: bench.SLOBFullTableScan, Users: []int32{8}}
		change(&w)
		return runfile.Plan{Workload: bench.Workload{SLOB: &w}}
	}
	for want, p := range map[string]runfile.Plan{
		"Calibrate, 100 disks, at most 20 ms":          {Workload: bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20}}},
		"SLOB FullTableScan, 8 users":                  slob(func(*bench.SLOBWorkload) {}),
		"SLOB FullTableScan, 1 user":                   slob(func(w *bench.SLOBWorkload) { w.Users = []int32{1} }),
		"SLOB FullTableScan, 2 to 16 users in 3 steps": slob(func(w *bench.SLOBWorkload) { w.Users = []int32{4, 16, 2} }),
		"SLOB FullTableScan, 8 users, your own kit":    slob(func(w *bench.SLOBWorkload) { w.Kit = &bench.SLOBKit{} }),
		"SLOB RandomRead, 3 to 4 users in 2 steps, 25 % updates": slob(func(w *bench.SLOBWorkload) {
			w.Access, w.UpdatePercent, w.Users = bench.SLOBRandomRead, 25, []int32{3, 4}
		}),
		"": {},
	} {
		if got := workloadWords(p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheDatabaseOfARunThatSucceededWasReady(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 4))
	s.result.Clients[0].Load.Spans = nil
	setStatus(s, nil)
	if !isTrue(s.b, v1alpha1.ConditionDatabaseReady) {
		t.Errorf("conditions %+v", s.b.Status.Conditions)
	}
}
