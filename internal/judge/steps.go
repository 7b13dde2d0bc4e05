package judge

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
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
func medianOf(all []Summary) *Summary {
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
func (c *facts) roundsOf(kind string, users int32) []Summary {
	var rounds []Summary
	for _, s := range c.repetitions {
		if s.isOf(kind) && s.Step.Users == users {
			rounds = append(rounds, s)
		}
	}
	return rounds
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
		m := medianOf(rounds)
		steps = append(steps, StepSummary{
			Kind: kind, Users: users, Summary: *m, Rounds: rounds, WirePermille: m.WirePermille,
		})
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
func (c *facts) headlines() []Summary {
	if c.result.Plan.Workload.Calibrate != nil {
		return c.calibrationSummaries()
	}
	if len(c.searches) > 0 {
		return c.searchSummaries()
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
	s := c.result.Plan.Workload.SLOB
	if s == nil {
		r := c.raw()
		return int64(r.Jobs) * int64(r.Depth) * int64(c.overall.Clients), "depth or jobs"
	}
	users := int64(1)
	if c.overall.Step != nil {
		users = int64(c.overall.Step.Users)
	}
	if s.Access == bench.SLOBFullTableScan && c.result.Plan.Database == nil {
		users *= int64(max(s.ReadAhead, 1))
	}
	return users, "users"
}

// workingSet is all that the load can read; 0 = not known.
func (c *facts) workingSet() int64 {
	p := c.result.Plan
	if w := p.Workload.SLOB; w != nil && p.Database != nil {
		return w.TableBytes() * int64(w.Schemas)
	}
	f := p.Files()
	return f.SizeBytes * int64(f.Count) * int64(max(len(c.result.Clients), 1))
}

// Points are the numbers of a result that can be compared, by repetition: one
// point, or one for each step of a ramp. Warm-up is left out.
func Points(r runfile.Result) [][]runfile.SuitePoint {
	rounds := roundsOf(r)
	if len(rounds) == 0 {
		var points [][]runfile.SuitePoint
		for _, s := range newFacts(r).headline {
			points = append(points, []runfile.SuitePoint{point(s, nil)})
		}
		return points
	}
	var points [][]runfile.SuitePoint
	for _, round := range rounds {
		c := newFacts(only(r, round))
		if of := headline(c.steps, c.overall, c.capacity); len(of) > 0 {
			points = append(points, of)
		}
	}
	return points
}

// Headline returns the numbers that represent a whole run, as Points does for one repetition: medians
// if the run has several repetitions. A calibration has one point, its result. The levels that it
// tried on the way depend on what it found, so two calibrations need not have the same levels.
func Headline(j Judgement) []runfile.SuitePoint { return headline(j.Steps, j.Summary, j.Capacity) }

func headline(steps []StepSummary, overall *Summary, c *Capacity) []runfile.SuitePoint {
	var points []runfile.SuitePoint
	for _, s := range steps {
		if s.Kind != runfile.StepUsers {
			continue
		}
		p := point(s.Summary, nil)
		p.Step, p.Knee = fmt.Sprintf("%s=%d", s.Kind, s.Users), s.Knee
		points = append(points, p)
	}
	if len(points) == 0 && overall != nil {
		points = append(points, point(*overall, c))
	}
	return points
}

// roundsOf are the rounds of a load with steps, ascending; none without steps.
func roundsOf(r runfile.Result) []int32 {
	var rounds []int32
	for _, c := range r.Clients {
		for _, rep := range c.Load.Repetitions {
			if rep.Step != nil && !rep.Step.Warmup && !slices.Contains(rounds, rep.Step.Round) {
				rounds = append(rounds, rep.Step.Round)
			}
		}
	}
	slices.Sort(rounds)
	return rounds
}

// only is the result as if there had been no other round: the judgement takes
// the median over rounds otherwise, and a median is no sample.
func only(r runfile.Result, round int32) runfile.Result {
	clients := slices.Clone(r.Clients)
	for i, c := range clients {
		clients[i].Load.Repetitions = slices.DeleteFunc(slices.Clone(c.Load.Repetitions), func(rep runfile.Repetition) bool {
			return rep.Step == nil || rep.Step.Warmup || rep.Step.Round != round
		})
	}
	r.Clients = clients
	return r
}

// point takes the metrics of one repetition. If the wire limits a capacity, its percentage is that of the
// level above: the level at the capacity stays a little below the limit.
func point(s Summary, c *Capacity) runfile.SuitePoint {
	p := runfile.SuitePoint{Metrics: map[string]float64{}, WirePercent: percentOf(s.WirePermille)}
	for _, n := range Numbers(s, c) {
		p.Metrics[n.Name] = float64(n.Value)
		if in := n.Interval; in != nil {
			if p.Intervals == nil {
				p.Intervals = map[string]runfile.SuiteInterval{}
			}
			p.Intervals[n.Name] = runfile.SuiteInterval{Low: float64(in.Low), High: float64(in.High)}
		}
	}
	if c != nil && c.Bounds[0].Reached && c.Bounds[0].LimitedBy == LimitWire && c.Bounds[0].wirePermille != nil {
		p.WirePercent = percentOf(c.Bounds[0].wirePermille)
	}
	return p
}
