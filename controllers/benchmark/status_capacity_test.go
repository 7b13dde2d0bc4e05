package benchmark

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// searched returns a run that found the capacity at one bound but not at the other.
func searched(t *testing.T) *scope {
	t.Helper()
	s := finishedScope(t, func(b *v1alpha1.NFSBenchmark) {
		w := b.Spec.Workload.Raw
		w.Pattern, w.ReadPercent, w.BlockSize = bench.PatternRandomMixed, new(int32(70)), nil
		w.Capacity = &bench.Capacity{
			Milliseconds: new(int64(1)), AlsoAt: []bench.LatencyBound{{Percentile: "p999", Milliseconds: new(int64(5))}},
		}
	})
	s.judgement.Capacity = &measure.Capacity{
		Bounds: []measure.BoundCapacity{
			{Percentile: "p99", Microseconds: 1000, OperationsPerSecond: 41_234, Low: 40_500, High: 41_900, Reached: true, LimitedBy: measure.LimitStorageCPU},
			{Percentile: "p999", Microseconds: 5000, OperationsPerSecond: 64_000},
		},
	}
	for i := range int64(runfile.MaxCapacityLevels) {
		s.judgement.Capacity.Curve = append(s.judgement.Capacity.Curve, measure.CurvePoint{
			Offered: 1000 * (i + 1), Achieved: 1000 * (i + 1), P50Microseconds: 200, P99Microseconds: 400 + i, P999Microseconds: 900 + i, Knee: i == 40,
		})
	}
	return s
}

func TestTheStatusShowsTheCapacity(t *testing.T) {
	t.Parallel()
	s := searched(t)
	st := written(t, s)
	want := []v1alpha1.CapacityStatus{
		{Percentile: "p99", Microseconds: 1000, OperationsPerSecond: 41_234, Low: 40_500, High: 41_900, LimitedBy: "StorageCPU", Reached: true},
		{Percentile: "p999", Microseconds: 5000, OperationsPerSecond: 64_000},
	}
	if diff := cmp.Diff(want, st.Capacity); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
	if len(st.Curve) != 48 || st.Curve[40] != (v1alpha1.CurvePoint{Offered: 41_000, Achieved: 41_000, P50Microseconds: 200, P99Microseconds: 440, P999Microseconds: 940, Knee: true}) {
		t.Errorf("curve %+v", st.Curve)
	}
	sum := st.Summary
	if sum.Workload != "Raw RandomMixed 8Ki, 70 % reads, 2 jobs x depth 4, capacity within p99 of 1 ms and p99.9 of 5 ms" || sum.Capacity != "41.2k @ p99 of 1 ms" || *sum.IOPS != 41_234 {
		t.Errorf("summary %q, %q, %d IOPS", sum.Workload, sum.Capacity, *sum.IOPS)
	}
}

func TestTheCapacityOfADatabaseCountsStatements(t *testing.T) {
	t.Parallel()
	s := searched(t)
	iops := s.judgement.Summary.Total.OperationsPerSecond
	s.judgement.Capacity.Statements = true
	s.judgement.Capacity.Bounds = s.judgement.Capacity.Bounds[:1]
	st := written(t, s)
	if *st.Summary.IOPS != iops {
		t.Errorf("%d IOPS, not the %d that were measured", *st.Summary.IOPS, iops)
	}
}

func TestABoundThatNoRateKeepsIsSaid(t *testing.T) {
	t.Parallel()
	s := searched(t)
	s.judgement.Summary = nil
	s.judgement.Capacity.Bounds = []measure.BoundCapacity{{Percentile: "p99", Microseconds: 1000, High: 64, LimitedBy: measure.LimitQueue}}
	st := written(t, s)
	if st.Summary.IOPS != nil || st.Summary.Capacity != "0 @ p99 of 1 ms" {
		t.Errorf("summary %+v", st.Summary)
	}
}

func TestACapacityAboveAllRatesIsALowerBound(t *testing.T) {
	t.Parallel()
	over := measure.BoundCapacity{Percentile: "p999", Microseconds: 500, OperationsPerSecond: 64_000}
	if got := capacityWords(over); got != ">=64k @ p99.9 of 500 µs" {
		t.Errorf("a capacity above all rates is %q", got)
	}
}

func TestAClientThatTheOthersWaitForIsNamed(t *testing.T) {
	t.Parallel()
	s := finishedScope(t, gen.Clients(3), func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Workload.Raw.Capacity = &bench.Capacity{Milliseconds: new(int64(1))}
	})
	s.released = true
	s.levels = []byte(`{"levels":[{"index":1,"round":1,"operationsPerSecond":64,"seconds":5},{"index":2,"round":2,"operationsPerSecond":12800,"seconds":5}]}`)
	s.reports = []*runfile.LevelReport{{Index: 2}, {Index: 1}, nil}
	const want = "; level 2 of 12800 operations/s was not reported by client 1, 2, and the others waited for it: see the log of its pod"
	if got := s.notReported(); got != want {
		t.Errorf("got %q", got)
	}
	s.reports[0] = nil
	if got := s.notReported(); got != "" {
		t.Errorf("all are late, and %q is said", got)
	}
}
