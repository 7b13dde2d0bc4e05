package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

func (s Summary) isWarmup() bool { return s.Step != nil && s.Step.Warmup }

func (s Summary) isOf(kind string) bool { return s.Step != nil && s.Step.Kind == kind }

// name is a repetition as people find it again.
func (s Summary) name() string {
	switch {
	case s.Step == nil:
		return fmt.Sprint(s.Repetition)
	case s.isOf(runfile.StepRate):
		return fmt.Sprintf("%d (%d operations/s, round %d)", s.Repetition, s.Step.OperationsPerSecond, s.Step.Round)
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

// medianOf returns the representative repetition: the median by throughput, or by IOPS for
// calibrations and searches, which measure IOPS.
func medianOf(all []repetition) *repetition {
	rates := make([]float64, 0, len(all))
	for _, s := range all {
		rates = append(rates, s.figure())
	}
	return &all[stats.MedianIndex(rates)]
}

// figure is the number that a repetition was made for.
func (s Summary) figure() float64 {
	if s.isOf(runfile.StepCalibrate) || s.isOf(runfile.StepSmallReads) || s.isOf(runfile.StepRate) {
		return s.Total.iopsSec
	}
	return s.Total.bytesPerSec
}

// variationOf is how much the repetitions of one step differ; nil when that
// cannot be told.
func variationOf(all []repetition) *int32 {
	rates, iops := make([]float64, 0, len(all)), make([]float64, 0, len(all))
	for _, s := range all {
		rates = append(rates, s.Total.bytesPerSec)
		iops = append(iops, s.Total.iopsSec)
	}
	if all[0].figure() != all[0].Total.bytesPerSec {
		return larger(variation(rates), variation(iops))
	}
	return variation(rates)
}

func variation(values []float64) *int32 {
	if cv, ok := stats.CoefficientOfVariation(values); ok {
		return permille(cv)
	}
	return nil
}

// roundsOf are the repetitions of one step.
func (c *facts) roundsOf(kind string, users int32) []repetition {
	return filtered(c.repetitions, func(s repetition) bool { return s.isOf(kind) && s.Step.Users == users })
}

// stepSummaries returns the median repetition of each level of load, in the order of the first
// round. Calibrations of a database have none, and the levels of a search form a curve instead.
func (c *facts) stepSummaries() []StepSummary {
	var steps []StepSummary
	for _, s := range c.repetitions {
		if s.Step == nil || s.isOf(runfile.StepCalibrate) || s.isOf(runfile.StepRate) {
			continue
		}
		kind, users := s.Step.Kind, s.Step.Users
		if slices.ContainsFunc(steps, func(o StepSummary) bool { return o.Kind == kind && o.Users == users }) {
			continue
		}
		rounds := c.roundsOf(kind, users)
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

// headlines returns the repetitions that the summary is chosen from: those of the step with the
// most users, one per round for calibrations and searches, or all.
func (c *facts) headlines() []repetition {
	if c.Plan.Workload.Calibrate != nil {
		return c.calibrationHeadlines()
	}
	if len(c.searches) > 0 {
		return c.searchHeadlines()
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

// blockBytes is the size of one I/O of the load; in a calibration that of the large reads, because
// only they can fill a wire. 0 = not known.
func blockBytes(p runfile.Plan) int64 {
	w, f := p.Workload, p.Files()
	switch {
	case w == (bench.Workload{}):
		return 0
	case w.Calibrate != nil, w.SLOB != nil && w.SLOB.Access == bench.SLOBFullTableScan:
		return f.LargeReadBytes
	default:
		return f.BlockSizeBytes
	}
}

// outstanding is how many I/Os the load keeps going at once, and what to raise
// for more.
func (c *facts) outstanding() (ios int64, raise string) {
	s := c.Plan.Workload.SLOB
	if s == nil {
		r := c.raw()
		return int64(r.Jobs) * int64(r.Depth) * int64(c.overall.Clients), "depth or jobs"
	}
	users := int64(1)
	if c.overall.Step != nil {
		users = int64(c.overall.Step.Users)
	}
	if s.Access == bench.SLOBFullTableScan && c.Plan.Database == nil {
		users *= int64(max(s.ReadAhead, 1))
	}
	return users, "users"
}

// workingSet is all that the load can read; 0 = not known.
func (c *facts) workingSet() int64 {
	p := c.Plan
	if w := p.Workload.SLOB; w != nil && p.Database != nil {
		return w.TableBytes() * int64(w.Schemas)
	}
	f := p.Files()
	return f.SizeBytes * int64(f.Count) * int64(max(len(c.Clients), 1))
}

// Points are the numbers of a result that can be compared, by repetition: one
// point, or one for each step of a ramp. Warm-up is left out.
func Points(r runfile.Result) [][]runfile.SuitePoint {
	c := newFacts(r)
	var rounds []int32
	for _, s := range c.repetitions {
		if s.Step != nil {
			rounds = withNew(rounds, s.Step.Round)
		}
	}
	slices.Sort(rounds)
	var points [][]runfile.SuitePoint
	if len(rounds) == 0 {
		for _, s := range c.headline {
			points = append(points, []runfile.SuitePoint{point(s.Summary, nil)})
		}
	}
	for _, round := range rounds {
		// A median over rounds would be no sample.
		of := *c
		of.warmups, of.repetitions = nil, filtered(c.repetitions, func(s repetition) bool {
			return s.Step != nil && s.Step.Round == round
		})
		if of.conclude(); of.overall != nil {
			points = append(points, headline(of.steps, &of.overall.Summary, of.capacity))
		}
	}
	return points
}

// Headline returns the numbers that represent a whole run, as Points does for one repetition: medians
// if the run has several repetitions. A calibration has one point, its result. The levels that it
// tried on the way depend on what it found, so two calibrations need not have the same levels.
func Headline(j Judgement) []runfile.SuitePoint { return headline(j.Steps, j.Summary, j.Capacity) }

func headline(steps []StepSummary, s *Summary, c *Capacity) []runfile.SuitePoint {
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

// point takes the metrics of one repetition. If the wire limits a capacity, its percentage is that of the
// level above: the level at the capacity stays a little below the limit.
func point(s Summary, c *Capacity) runfile.SuitePoint {
	p, wire := runfile.SuitePoint{Metrics: map[string]float64{}}, s.WirePermille
	for _, n := range Numbers(s, c) {
		p.Metrics[n.Name] = float64(n.Value)
		if in := n.Interval; in != nil {
			if p.Intervals == nil {
				p.Intervals = map[string]runfile.SuiteInterval{}
			}
			p.Intervals[n.Name] = runfile.SuiteInterval{Low: float64(in.Low), High: float64(in.High)}
		}
	}
	if c != nil && c.Bounds[0].Reached && c.Bounds[0].LimitedBy == LimitWire {
		wire = cmp.Or(c.Bounds[0].wirePermille, wire)
	}
	if wire != nil {
		p.WirePercent = new(wire.percent())
	}
	return p
}
