package judge

import (
	"cmp"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// repetitionName returns the name by which users find a repetition.
func repetitionName(s measure.Summary) string {
	switch {
	case s.Step == nil:
		return fmt.Sprint(s.Repetition)
	case s.IsOf(runfile.StepRate):
		return fmt.Sprintf("%d (%d operations/s, round %d)", s.Repetition, s.Step.OperationsPerSecond, s.Step.Round)
	case s.Step.Users == 0:
		return fmt.Sprintf("%d (round %d)", s.Repetition, s.Step.Round)
	default:
		return fmt.Sprintf("%d (%s, round %d)", s.Repetition, level(s.Step.Kind, s.Step.Users), s.Step.Round)
	}
}

// level describes a step.
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

// Points returns the numbers of a result that can be compared, by repetition:
// one point, or one for each step of a ramp. It leaves out warm-ups.
func Points(r runfile.Result) [][]runfile.SuitePoint {
	c := newFacts(r)
	rounds := c.Rounds()
	var points [][]runfile.SuitePoint
	if len(rounds) == 0 {
		for _, s := range c.Headline {
			points = append(points, []runfile.SuitePoint{point(s.Summary, nil)})
		}
	}
	for _, round := range rounds {
		// A median over rounds is not a sample.
		if of := c.OfRound(round); of.Overall != nil {
			points = append(points, headline(of.Steps, &of.Overall.Summary, (&facts{Facts: of, engine: c.engine}).withLimits()))
		}
	}
	return points
}

// Headline returns the numbers that represent a whole run, as Points does for one repetition: medians if the run has
// several repetitions. A calibration has one point, its result. The levels that it tried depend on its results, so
// two calibrations can have different levels.
func Headline(j Judgement) []runfile.SuitePoint { return headline(j.Steps, j.Summary, j.Capacity) }

func headline(steps []measure.StepSummary, s *measure.Summary, c *measure.Capacity) []runfile.SuitePoint {
	var points []runfile.SuitePoint
	for _, step := range steps {
		if step.Kind == runfile.StepUsers {
			p := point(step.Summary, nil)
			p.Step, p.Knee = fmt.Sprintf("%s=%d", step.Kind, step.Users), step.Knee
			points = append(points, p)
		}
	}
	if len(points) == 0 && s != nil {
		points = append(points, point(*s, c))
	}
	return points
}

// point returns the metrics of one repetition. If the wire limits a capacity, the wire percentage comes from the
// level above: the level at the capacity stays a little below the limit.
func point(s measure.Summary, c *measure.Capacity) runfile.SuitePoint {
	p, wire := runfile.SuitePoint{Metrics: map[string]float64{}}, s.WirePermille
	for _, n := range measure.Numbers(s, c) {
		p.Metrics[n.Name] = float64(n.Value)
		if in := n.Interval; in != nil {
			if p.Intervals == nil {
				p.Intervals = map[string]runfile.SuiteInterval{}
			}
			p.Intervals[n.Name] = runfile.SuiteInterval{Low: float64(in.Low), High: float64(in.High)}
		}
	}
	if c != nil && c.Bounds[0].Reached && c.Bounds[0].LimitedBy == measure.LimitWire {
		wire = cmp.Or(c.Bounds[0].WireAbovePermille, wire)
	}
	if wire != nil {
		p.WirePercent = new(wire.Percent())
	}
	return p
}
