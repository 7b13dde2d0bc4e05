package benchmark

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// setCapacity copies the result of a search for capacity. The capacity at the first bound becomes
// the IOPS of the run, except in a database, where it counts statements.
func setCapacity(st *v1alpha1.NFSBenchmarkStatus, q *measure.Capacity) {
	st.Capacity, st.Curve = nil, nil
	if q == nil || len(q.Bounds) == 0 {
		return
	}
	st.Summary.Capacity = pass.ClipTo(capacityWords(q.Bounds[0]), 64)
	if !q.Statements {
		st.Summary.IOPS = known(q.Bounds[0].OperationsPerSecond)
	}
	for _, b := range q.Bounds[:min(len(q.Bounds), runfile.MaxLatencyBounds)] {
		st.Capacity = append(st.Capacity, v1alpha1.CapacityStatus{
			Percentile: pass.ClipTo(string(b.Percentile), 8), Microseconds: b.Microseconds,
			OperationsPerSecond: b.OperationsPerSecond, Low: b.Low, High: b.High,
			LimitedBy: pass.ClipTo(b.LimitedBy, 32), Reached: b.Reached,
		})
	}
	if len(q.Curve) > runfile.MaxCapacityLevels {
		return // several repetitions: too long for the status, but the result has the curve
	}
	for _, p := range q.Curve {
		st.Curve = append(st.Curve, v1alpha1.CurvePoint{
			Offered: p.Offered, Achieved: p.Achieved, P50Microseconds: p.P50Microseconds,
			P99Microseconds: p.P99Microseconds, P999Microseconds: p.P999Microseconds, Errors: p.Errors, Knee: p.Knee,
		})
	}
}

// capacityWords formats a capacity for people, such as "41.2k @ p99 of 1 ms".
func capacityWords(b measure.BoundCapacity) string {
	sign := ""
	if !b.Reached && b.OperationsPerSecond > 0 {
		sign = ">=" // the highest rate that was tried
	}
	return sign + human.Operations(float64(b.OperationsPerSecond)) + " @ " + b.Bound()
}
