package matrix

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// EstimatedSeconds is what one run takes at least, by what its benchmarks declare:
// baselines, warm-ups, windows and cooldowns. Filling files and waiting for others
// come on top. Calibrations, whose length is unknown before, count with the most
// that they may take. It needs the defaults that Check fills in.
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

// Durations are how long one benchmark of the cell takes by its schedule, and
// after which time it ends in any case, counted from the start of its pods; both
// in seconds, and zero where the spec is not complete.
func (c Cell) Durations() (scheduled, timeout int64) {
	p, err := plan.Build(c.benchmark(), plan.Anywhere()) // where the storage is does not matter to the time
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
