package judge

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

func TestCPUAndLatencyAreThoseOfEachPhaseOfACalibration(t *testing.T) {
	t.Parallel()
	nodes := func(a, b int32) []StorageNode {
		return []StorageNode{{Source: "array", Name: "fas-a", CPUPermille: &a}, {Source: "array", Name: "fas-b", CPUPermille: &b}}
	}
	load := func(ops, micros int64) StorageLoad {
		return StorageLoad{OperationsPerSecond: &ops, MeanLatencyMicroseconds: &micros, LatencyLayer: LayerVolume}
	}
	want := []CalibrationPhase{
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
	// What is compared, and what the status has, is of the small reads, as the IOPS are.
	s := j.Summary
	if diff := cmp.Diff(want[0].StorageNodes, s.StorageNodes); diff != "" || *s.ClientCPU.BusiestNodePermille != 880 || *s.Storage.MeanLatencyMicroseconds != 300 {
		t.Errorf("%s %+v", diff, s)
	}
	if hasFinding(j, NotCollected, "small to large") {
		t.Errorf("%+v", j.Findings)
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
	for i := range r.Clients[0].Load.Repetitions {
		r.Clients[0].Load.Repetitions[i].Oracle.Phases = nil
	}
	j := Judge(r)
	p := j.Calibrations[1].Phases
	if len(p) != 1 || p[0].Kind != runfile.StepCalibrate || *p[0].CPUPermille != 601 || *p[0].Storage.MeanLatencyMicroseconds != 500 || *p[0].MeanLatencyMicroseconds != 393 || len(p[0].Cores) != 2 {
		t.Errorf("%+v", p)
	}
	if !hasFinding(j, NotCollected, "means of the whole call") || *j.Summary.StorageNodes[0].CPUPermille != 300 {
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
