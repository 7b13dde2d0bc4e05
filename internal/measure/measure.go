package measure

import (
	"maps"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Of computes the facts of a result.
func Of(r runfile.Result) *Facts {
	c := &Facts{
		result: r, engine: engineOf(r.Plan), Plan: r.Plan, Simulated: r.Simulated,
		Survey: bench.OrZero(r.Plan.Survey), Declared: declaredPaths(r.Plan),
		Block: r.Plan.Files().LoadBytes, Bounds: searchBounds(r.Plan), timelines: map[int32]*timeline{},
	}
	c.Volume = bench.OrZero(c.Survey.Volume)
	indexes := map[int32]bool{} // of the repetitions of any client
	for _, cl := range r.Clients {
		c.Clients = append(c.Clients, c.client(cl))
		c.timelines[cl.Index] = newTimeline(cl.Load)
		if o := cl.Load.Oracle; o != nil {
			c.Oracles = append(c.Oracles, *o)
		}
		for _, rep := range cl.Load.Repetitions {
			indexes[rep.Index] = true
			if rep.Oracle != nil && (rep.Step == nil || !rep.Step.Warmup) {
				c.Databases = append(c.Databases, *rep.Oracle)
			}
		}
	}
	c.Cores = c.engine.cores(c)
	c.Transfer = [2]int64{Reads: c.transferBytes(Reads), Writes: c.transferBytes(Writes)}
	c.Wire = c.wireLimit()
	for _, index := range slices.Sorted(maps.Keys(indexes)) {
		s, ok := c.repetition(index)
		switch {
		case !ok:
		case s.isWarmup():
			c.warmups = append(c.warmups, s)
		default:
			c.Repetitions = append(c.Repetitions, s)
		}
	}
	c.conclude()
	c.Database = c.engine.database(c)
	c.Indirect = c.indirections()
	c.Silent = c.silences()
	return c
}

// conclude computes the facts that represent all repetitions.
func (c *Facts) conclude() {
	c.Steps = c.stepSummaries()
	c.Calibrations = c.calibrationRuns()
	c.Searches = c.search()
	c.Capacity = c.capacityOf()
	c.Headline = c.headlines()
	c.Overall, c.Variation = nil, nil
	if len(c.Headline) == 0 {
		return
	}
	median := *medianOf(c.Headline)
	median.LongestPauseMicroseconds = longestPause(c.Repetitions)
	c.Overall, c.Variation = &median, VariationOf(c.Headline)
	if c.Capacity != nil {
		c.Variation = variation(RatesReached(c.Searches, 0)) // between the capacities of the rounds
	}
}

// Rounds returns the rounds of the repetitions that count, ascending; none without steps.
func (c *Facts) Rounds() []int32 {
	var rounds []int32
	for _, s := range c.Repetitions {
		if s.Step != nil {
			rounds = WithNew(rounds, s.Step.Round)
		}
	}
	slices.Sort(rounds)
	return rounds
}

// OfRound returns the facts with the repetitions of one round alone, and what Of concludes from them. What the
// database and the array say stays that of the whole run.
func (c *Facts) OfRound(round int32) *Facts {
	of := *c
	of.warmups, of.Repetitions = nil, Filtered(c.Repetitions, func(s RepetitionFacts) bool {
		return s.Step != nil && s.Step.Round == round
	})
	of.conclude()
	return &of
}

// repetition adds up the clients of one repetition. It computes each client's rate over the client's own window and
// adds the rates: the clocks of two machines differ by more than their windows.
func (c *Facts) repetition(index int32) (RepetitionFacts, bool) {
	parts := c.parts(index)
	if len(parts) == 0 {
		return RepetitionFacts{}, false
	}
	s := RepetitionFacts{parts: parts, Together: together(parts), StorageWindows: storageWindows(parts)}
	s.Repetition, s.Clients, s.Step = index, int32(len(parts)), parts[0].rep.Step
	for _, p := range parts {
		s.DurationMilliseconds = max(s.DurationMilliseconds, p.rep.End.Sub(p.rep.Start).Milliseconds())
		s.EdgeMilliseconds = max(s.EdgeMilliseconds, p.rep.EdgeMilliseconds)
		s.Read = joined(s.Read, directionOf(p.rep.Read, p.seconds))
		s.Write = joined(s.Write, directionOf(p.rep.Write, p.seconds))
		s.Late += p.rep.LateOps
		s.Dropped += p.rep.DroppedOps
		if p.rep.Oracle != nil {
			s.Databases = append(s.Databases, *p.rep.Oracle)
		}
	}
	for _, d := range []*Direction{s.Read, s.Write} {
		if d != nil {
			s.Total = s.Total.plus(*d)
			c.finish(d)
		}
	}
	if h := c.finish(&s.Total); h != nil {
		c.openLoop(&s.Summary, h)
	}
	c.oracleLatency(&s)
	s.points = c.series(index, func(*runfile.LoadSample) {})
	c.intervals(&s)
	c.wireShare(&s.Summary)
	s.Paths, s.Servers = c.pathShares(parts), serversOf(parts)
	s.Pauses, s.LongestPauseMicroseconds = c.pausesOf(&s)
	s.ClientCPU, s.WakeUps = c.clientCPU(s), latestWakeUps(parts)
	s.Mount = c.mountLoad(s)
	c.storageSide(&s)
	s.CollectorCPUPermille = collectorCPU(parts)
	s.Steadiness = steadiness(s.points)
	return s, true
}

// SeriesPoints returns the series of the representative repetition.
func (c *Facts) SeriesPoints() []SeriesPoint {
	if c.Overall == nil {
		return nil
	}
	out := make([]SeriesPoint, 0, len(c.Overall.points))
	for i, p := range c.Overall.points {
		out = append(out, SeriesPoint{
			Second:             float64(i+1) * c.sampleInterval().Seconds(),
			ReadBytesPerSecond: int64(p.ReadBytesPerSecond), WriteBytesPerSecond: int64(p.WriteBytesPerSecond),
		})
	}
	return out
}
