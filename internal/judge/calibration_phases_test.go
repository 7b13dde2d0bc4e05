package judge

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

func TestCPUAndLatencyAreThoseOfEachPhaseOfACalibration(t *testing.T) {
	t.Parallel()
	nodes := func(a, b int32) []measure.StorageNode {
		return []measure.StorageNode{{Source: "array", Name: "fas-a", CPUPermille: &a}, {Source: "array", Name: "fas-b", CPUPermille: &b}}
	}
	load := func(ops, micros int64) measure.StorageLoad {
		return measure.StorageLoad{OperationsPerSecond: &ops, MeanLatencyMicroseconds: &micros, LatencyLayer: measure.LayerVolume}
	}
	want := []measure.CalibrationPhase{
		{
			Kind: "SmallReads", DurationMilliseconds: 300_000, MeanLatencyMicroseconds: new(int64(391)), CPUPermille: new(int32(880)),
			Cores: []runfile.CoreWindow{{Number: 0, BusyPermille: 780}, {Number: 1, BusyPermille: 980}}, Storage: load(3333, 300), StorageNodes: nodes(370, 380),
		},
		{
			Kind: "LargeReads", DurationMilliseconds: 240_000, MeanLatencyMicroseconds: new(int64(8500)), CPUPermille: new(int32(210)),
			Cores: []runfile.CoreWindow{{Number: 0, BusyPermille: 110}, {Number: 1, BusyPermille: 310}}, Storage: load(3333, 750), StorageNodes: nodes(200, 190),
		},
	}
	j := Judge(experiments.CalibrationInPhases())
	if diff := cmp.Diff(want, j.Calibrations[1].Phases); diff != "" {
		t.Error(diff)
	}
	// The summary, which comparisons and the status use, has the figures of the small reads, as the IOPS are theirs.
	s := j.Summary
	if diff := cmp.Diff(want[0].StorageNodes, s.StorageNodes); diff != "" || *s.ClientCPU.BusiestNodePermille != 880 || *s.Storage.MeanLatencyMicroseconds != 300 {
		t.Errorf("%s %+v", diff, s)
	}
	if hasFinding(j, NotCollected, "small to large") {
		t.Errorf("%+v", j.Findings)
	}
}

func TestTheComparedCPUOfACalibrationIsThatOfTheSmallReadsAboveIdle(t *testing.T) {
	t.Parallel()
	r := experiments.CalibrationInPhases()
	for _, rep := range r.Clients[0].Load.Repetitions {
		r.Clients[0].Observed.Windows = append(r.Clients[0].Observed.Windows, runfile.ObservedWindow{Kind: runfile.SpanBaseline, Repetition: rep.Index, NodeCPUPermille: new(int32(30))})
	}
	if above := Judge(r).Summary.ClientCPU.AboveIdlePermille; bench.OrZero(above) != 850 {
		t.Errorf("%d permille above idle, want 880 less 30", bench.OrZero(above))
	}
}

// The small reads may be too short for two samples of a source.
func TestWhatThePhaseOfTheSmallReadsLacksIsOfTheWholeCall(t *testing.T) {
	t.Parallel()
	second := runfile.StorageWindow{Source: "second", Seconds: 60, Nodes: []runfile.StorageNodeWindow{{Name: "fas-a", CPUPermille: new(int32(111))}}}
	for name, tc := range map[string]struct {
		change  func(whole, small *runfile.ObservedWindow)
		nodes   []int32
		latency int64
	}{
		"no sample": {func(_, small *runfile.ObservedWindow) { small.Storage = nil }, []int32{300, 290}, 500},
		"no sample, and the owner is known": {func(whole, small *runfile.ObservedWindow) {
			whole.Storage[0].VolumeNodes = []string{"fas-a"}
			small.Storage[0].Nodes = nil
			small.Storage[0].VolumeNodes = []string{"fas-a"}
		}, []int32{300, 290}, 300},
		"one source of two": {func(whole, _ *runfile.ObservedWindow) {
			whole.Storage = append(whole.Storage, second)
		}, []int32{370, 111, 380}, 300},
		"all": {func(_, _ *runfile.ObservedWindow) {}, []int32{370, 380}, 300},
	} {
		r := experiments.CalibrationInPhases()
		windows := r.Clients[0].Observed.Windows
		for i := range windows {
			if windows[i].Kind == runfile.StepSmallReads {
				tc.change(&windows[i-1], &windows[i])
			}
		}
		s := Judge(r).Summary
		var nodes []int32
		for _, n := range s.StorageNodes {
			nodes = append(nodes, bench.OrZero(n.CPUPermille))
		}
		slices.Sort(nodes)
		slices.Sort(tc.nodes)
		if !slices.Equal(nodes, tc.nodes) || bench.OrZero(s.ClientCPU.BusiestNodePermille) != 880 || bench.OrZero(s.Storage.MeanLatencyMicroseconds) != tc.latency {
			t.Errorf("%s: nodes %v, CPU %v, %+v", name, nodes, s.ClientCPU, s.Storage)
		}
	}
}

func TestTheMachineOfAnExternalDatabaseIsNotThatOfTheLoader(t *testing.T) {
	t.Parallel()
	r := experiments.CalibrationInPhases()
	r.Plan.Database.Kind = runfile.DatabaseExternal
	p := Judge(r).Calibrations[1].Phases
	if len(p) != 2 || *p[0].CPUPermille != 900 || *p[1].CPUPermille != 200 {
		t.Errorf("%+v", p)
	}
}

func TestACalibrationWithoutABoundaryHasOneMean(t *testing.T) {
	t.Parallel()
	r := experiments.CalibrationInPhases()
	eachRep(&r, func(rep *runfile.Repetition) { rep.Oracle.Phases = nil })
	j := Judge(r)
	p := j.Calibrations[1].Phases
	if len(p) != 1 || p[0].Kind != runfile.StepCalibrate || *p[0].CPUPermille != 601 || *p[0].Storage.MeanLatencyMicroseconds != 500 || *p[0].MeanLatencyMicroseconds != 393 || len(p[0].Cores) != 2 {
		t.Errorf("%+v", p)
	}
	// Why there is no boundary is not known: the query may have failed, or an instance was started again.
	if !hasFinding(j, NotCollected, "to large reads. So the CPU") || *j.Summary.StorageNodes[0].CPUPermille != 300 {
		t.Errorf("%+v", j)
	}
}

// Without the unit of the view the times of its reads say nothing; the rest does.
func TestAPhaseWithoutAUnitHasNoLatency(t *testing.T) {
	t.Parallel()
	r := experiments.CalibrationInPhases()
	r.Clients[0].Load.Repetitions[1].Oracle.ServiceTimeUnit = ""
	if p := Judge(r).Calibrations[1].Phases; len(p) != 2 || p[0].MeanLatencyMicroseconds != nil || *p[0].CPUPermille != 880 {
		t.Errorf("%+v", p)
	}
}
