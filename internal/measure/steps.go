package measure

import (
	"cmp"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func (s Summary) isWarmup() bool { return s.Step != nil && s.Step.Warmup }

// IsOf reports whether the step of the repetition has this kind.
func (s Summary) IsOf(kind string) bool { return s.Step != nil && s.Step.Kind == kind }

// medianOf returns the representative repetition: the median by throughput, or by IOPS for
// calibrations and searches, which measure IOPS.
func medianOf(all []RepetitionFacts) *RepetitionFacts {
	rates := make([]float64, 0, len(all))
	for _, s := range all {
		rates = append(rates, s.Figure())
	}
	return &all[stats.MedianIndex(rates)]
}

// Figure returns the number that a repetition measures.
func (s Summary) Figure() float64 {
	if s.IsOf(runfile.StepCalibrate) || s.IsOf(runfile.StepSmallReads) || s.IsOf(runfile.StepRate) {
		return s.Total.OperationRate
	}
	return s.Total.ByteRate
}

// VariationOf returns how much the repetitions of one step differ; nil if
// unknown.
func VariationOf(all []RepetitionFacts) *int32 {
	rates, iops := make([]float64, 0, len(all)), make([]float64, 0, len(all))
	for _, s := range all {
		rates = append(rates, s.Total.ByteRate)
		iops = append(iops, s.Total.OperationRate)
	}
	if all[0].Figure() != all[0].Total.ByteRate {
		return larger(variation(rates), variation(iops))
	}
	return variation(rates)
}

func variation(values []float64) *int32 {
	if cv, ok := stats.CoefficientOfVariation(values); ok {
		return PermilleOf(cv)
	}
	return nil
}

// RoundsOf returns the repetitions of one step.
func (c *Facts) RoundsOf(kind string, users int32) []RepetitionFacts {
	return Filtered(c.Repetitions, func(s RepetitionFacts) bool { return s.IsOf(kind) && s.Step.Users == users })
}

// stepSummaries returns the median repetition of each level of load, in the order of the first
// round. Calibrations of a database have none, and the levels of a search form a curve instead.
func (c *Facts) stepSummaries() []StepSummary {
	var steps []StepSummary
	for _, s := range c.Repetitions {
		if s.Step == nil || s.IsOf(runfile.StepCalibrate) || s.IsOf(runfile.StepRate) {
			continue
		}
		kind, users := s.Step.Kind, s.Step.Users
		if slices.ContainsFunc(steps, func(o StepSummary) bool { return o.Kind == kind && o.Users == users }) {
			continue
		}
		rounds := c.RoundsOf(kind, users)
		step := StepSummary{Kind: kind, Users: users, Summary: medianOf(rounds).Summary}
		step.WirePermille = step.Summary.WirePermille
		for _, r := range rounds {
			step.Rounds = append(step.Rounds, r.Summary)
		}
		steps = append(steps, step)
	}
	markKnee(steps, runfile.StepUsers)
	markKnee(steps, runfile.StepSmallReads)
	return steps
}

// markKnee finds the knee among the steps of a kind. See stats.Knee.
func markKnee(steps []StepSummary, kind string) {
	var at []int
	for i, s := range steps {
		if s.Kind == kind {
			at = append(at, i)
		}
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(steps[a].Users, steps[b].Users) })
	points := make([]stats.LoadPoint, 0, len(at))
	for _, i := range at {
		t := steps[i].Summary.Total
		p := stats.LoadPoint{Users: float64(steps[i].Users), Throughput: cmp.Or(t.ByteRate, t.OperationRate)}
		if t.Latency != nil {
			p.MeanMicroseconds = float64(t.Latency.MeanMicroseconds)
		}
		points = append(points, p)
	}
	if i, ok := stats.Knee(points); ok {
		steps[at[i]].Knee = true
	}
}

// headlines returns the repetitions from which the summary is chosen: the repetitions of the step with the most
// users, one per round for calibrations and searches, or all.
func (c *Facts) headlines() []RepetitionFacts {
	if c.Plan.Workload.Calibrate != nil {
		return c.calibrationHeadlines()
	}
	if len(c.Searches) > 0 {
		return c.searchHeadlines()
	}
	most := int32(-1)
	for _, s := range c.Repetitions {
		if s.IsOf(runfile.StepUsers) {
			most = max(most, s.Step.Users)
		}
	}
	if most < 0 {
		return c.Repetitions
	}
	return c.RoundsOf(runfile.StepUsers, most)
}

// Outstanding returns the number of I/Os that the load keeps outstanding, and
// the settings that increase it.
func (c *Facts) Outstanding() (ios int64, raise string) {
	s := c.Plan.Workload.SLOB
	if s == nil {
		r := c.Raw()
		return int64(r.Jobs) * int64(r.Depth) * int64(c.Overall.Clients), "depth or jobs"
	}
	users := int64(1)
	if c.Overall.Step != nil {
		users = int64(c.Overall.Step.Users)
	}
	if s.Access == bench.SLOBFullTableScan && !c.engine.statements {
		users *= int64(max(s.ReadAhead, 1))
	}
	return users, "users"
}

// WorkingSet returns the number of bytes that the load can read; 0 = unknown.
func (c *Facts) WorkingSet() int64 {
	f := c.Plan.Files()
	return f.SizeBytes * int64(f.Count+f.Schemas) * int64(max(len(c.result.Clients), 1))
}
