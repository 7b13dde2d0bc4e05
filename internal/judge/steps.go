package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func engineOf(p runfile.Plan) string {
	if p.Database != nil {
		return EngineOracle
	}
	return EngineNative
}

func (s Summary) isWarmup() bool { return s.Step != nil && s.Step.Warmup }

func (s Summary) isOf(kind string) bool { return s.Step != nil && s.Step.Kind == kind }

// name is a repetition as people find it again.
func (s Summary) name() string {
	switch {
	case s.Step == nil:
		return fmt.Sprint(s.Repetition)
	case s.Step.Users == 0:
		return fmt.Sprintf("%d (round %d)", s.Repetition, s.Step.Round)
	default:
		return fmt.Sprintf("%d (%s, round %d)", s.Repetition, level(s.Step.Kind, s.Step.Users), s.Step.Round)
	}
}

// level is a step in words.
func level(kind string, users int32) string {
	switch kind {
	case runfile.StepSmallReads:
		return fmt.Sprintf("%d small reads at once", users)
	case runfile.StepLargeReads:
		return fmt.Sprintf("%d large reads at once", users)
	default:
		return fmt.Sprintf("%d users", users)
	}
}

// medianOf is the repetition that stands for all: by throughput, or, of
// calibrations, by IOPS, for that is what they look for.
func medianOf(all []Summary) *Summary {
	rates := make([]float64, 0, len(all))
	for _, s := range all {
		rates = append(rates, s.figure())
	}
	return &all[stats.MedianIndex(rates)]
}

// figure is the number that a repetition was made for.
func (s Summary) figure() float64 {
	if s.isOf(runfile.StepCalibrate) || s.isOf(runfile.StepSmallReads) {
		return s.Total.iopsSec
	}
	return s.Total.bytesPerSec
}

// variationOf is how much the repetitions of one step differ; nil when that
// cannot be told.
func variationOf(all []Summary) *int32 {
	rates, iops := make([]float64, 0, len(all)), make([]float64, 0, len(all))
	for _, s := range all {
		rates = append(rates, s.Total.bytesPerSec)
		iops = append(iops, s.Total.iopsSec)
	}
	var most *int32
	if cv, ok := stats.CoefficientOfVariation(rates); ok {
		most = permille(cv)
	}
	if cv, ok := stats.CoefficientOfVariation(iops); ok && all[0].figure() != all[0].Total.bytesPerSec {
		most = larger(most, permille(cv))
	}
	return most
}

// roundsOf are the repetitions of one step.
func (c *judging) roundsOf(kind string, users int32) []Summary {
	var rounds []Summary
	for _, s := range c.repetitions {
		if s.isOf(kind) && s.Step.Users == users {
			rounds = append(rounds, s)
		}
	}
	return rounds
}

// stepSummaries are the median repetitions of all levels of load, in the order
// in which they were first gone through. Calibrations of a database are none.
func (c *judging) stepSummaries() []StepSummary {
	var steps []StepSummary
	for _, s := range c.repetitions {
		if s.Step == nil || s.isOf(runfile.StepCalibrate) {
			continue
		}
		kind, users := s.Step.Kind, s.Step.Users
		if slices.ContainsFunc(steps, func(o StepSummary) bool { return o.Kind == kind && o.Users == users }) {
			continue
		}
		m := medianOf(c.roundsOf(kind, users))
		steps = append(steps, StepSummary{Kind: kind, Users: users, Summary: *m, WirePermille: m.WirePermille})
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
		p := stats.LoadPoint{Users: float64(steps[i].Users), Throughput: cmp.Or(t.bytesPerSec, t.iopsSec)}
		if t.Latency != nil {
			p.MeanMicroseconds = float64(t.Latency.MeanMicroseconds)
		}
		points = append(points, p)
	}
	if i, ok := stats.Knee(points); ok {
		steps[at[i]].Knee = true
	}
}

// headlines are the repetitions that the summary is chosen from: of the step
// with the most users, of calibrations one for each round, or all.
func (c *judging) headlines() []Summary {
	if c.result.Plan.Workload.Calibrate != nil {
		return c.calibrationSummaries()
	}
	most := int32(-1)
	for _, s := range c.repetitions {
		if s.isOf(runfile.StepUsers) {
			most = max(most, s.Step.Users)
		}
	}
	if most < 0 {
		return c.repetitions
	}
	return c.roundsOf(runfile.StepUsers, most)
}
