package matrix

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// EstimatedSeconds adds up the declared times of the benchmarks of a run: baselines, warm-ups, windows and cooldowns.
// It does not include the time for filling files and for waiting for other runs. Calibrations, whose length is
// unknown before, count with their maximum. It needs the defaults that Check sets.
func EstimatedSeconds(m Matrix) int64 {
	var each []int64
	for _, c := range m.Cells {
		seconds, _ := c.Durations()
		each = append(each, seconds)
	}
	var sum int64
	for _, s := range m.Sequence {
		sum += each[s.Cell]
	}
	return sum
}

// Durations returns the scheduled time of one benchmark of the cell, and its timeout from the start of its pods, both
// in seconds. Both are zero if the spec is not complete.
func (c Cell) Durations() (scheduled, timeout int64) {
	p, err := plan.Build(c.benchmark(), plan.Anywhere()) // the location of the storage does not affect the time
	if err != nil {
		return 0, 0
	}
	return p.ScheduledSteps().Seconds, int64(p.Schedule.TimeoutSeconds)
}

func (c Cell) benchmark() *v1alpha1.NFSBenchmark {
	b := &v1alpha1.NFSBenchmark{Spec: c.Spec}
	b.Name, b.Namespace, b.UID = "cell", "default", "cell"
	return b
}
