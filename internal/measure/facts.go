package measure

import (
	"iter"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Facts are all that can be said of a result in numbers. Nothing writes to them after Of.
type Facts struct {
	result runfile.Result

	Plan      runfile.Plan
	Simulated bool                   // a stand-in took part
	Clients   []Client               // that gave a result
	Survey    runfile.Survey         // what the array said before the run; its zero value says nothing
	Volume    runfile.SurveyVolume   // that the load was on; its zero value is not known
	Declared  []PathPair             // the channels of the plan
	Oracles   []runfile.Oracle       // what the loaders found of the database
	Databases []runfile.OracleWindow // what databases counted in the windows that count
	Cores     float64                // that the database can use at most; 0 = not known, or all of its machine
	Block     int64                  // bytes of one I/O of the load; 0 = not known
	Transfer  [2]int64               // bytes that one READ or WRITE moves, by direction
	Wire      *WireLimit             // nil: not known
	timelines map[int32]*timeline    // by client

	Repetitions  []RepetitionFacts // that count, of all steps
	warmups      []RepetitionFacts // of those that do not
	Steps        []StepSummary
	Calibrations []Calibration
	Bounds       []runfile.LatencyBound // of a search for capacity; none for another load
	Searches     []Search               // by round
	Capacity     *Capacity              // nil: no search
	Headline     []RepetitionFacts      // those that Overall is the median of
	Overall      *RepetitionFacts       // nil: nothing was measured
	Database     *DatabaseSummary
	Variation    *int32
	Indirect     []Indirection
	Silent       []Silence
	Unreadable   []string // why latency histograms cannot be read
}

// RepetitionFacts is one repetition over all clients, with what the checks need beside its numbers.
type RepetitionFacts struct {
	Summary

	parts          []part
	Together       float64                 // share of the shortest window in which all clients ran
	points         []stats.Point           // of all clients
	StorageWindows []runfile.StorageWindow // of each source once
	owner          string                  // the node that owned the data, if known
	Used           []string                // the addresses of the storage that the load went to
	Mount          mountLoad               // what the mounts of the kernel moved
	Databases      []runfile.OracleWindow  // what databases counted
	// Late operations began after they were due, and Dropped ones not at all.
	Late, Dropped int64
}

// Of computes the facts of a result.
func Of(r runfile.Result) *Facts {
	c := &Facts{
		result: r, Plan: r.Plan, Simulated: r.Simulated, Survey: bench.OrZero(r.Plan.Survey), Declared: declaredPaths(r.Plan),
		Block: blockBytes(r.Plan), Bounds: searchBounds(r.Plan), timelines: map[int32]*timeline{},
	}
	c.Volume = bench.OrZero(c.Survey.Volume)
	indexes := map[int32]bool{} // of the repetitions that any client has
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
	c.Cores = c.databaseCores()
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
	c.Database = c.databaseSummary()
	c.Indirect = c.indirections()
	c.Silent = c.silences()
	return c
}

// conclude computes what represents the repetitions.
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

// Rounds are those of the repetitions that count, ascending; none without steps.
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

// OfRound returns the facts of one round alone.
func (c *Facts) OfRound(round int32) *Facts {
	of := *c
	of.warmups, of.Repetitions = nil, Filtered(c.Repetitions, func(s RepetitionFacts) bool {
		return s.Step != nil && s.Step.Round == round
	})
	of.conclude()
	return &of
}

// part is one client's part in a repetition.
type part struct {
	client  runfile.ClientResult
	rep     runfile.Repetition
	seconds float64
	window  *runfile.ObservedWindow // nil when the collector has none
}

func (c *Facts) parts(index int32) []part {
	var parts []part
	for _, cl := range c.result.Clients {
		for _, rep := range cl.Load.Repetitions {
			seconds := rep.End.Sub(rep.Start).Seconds()
			if rep.Index != index || seconds <= 0 {
				continue
			}
			parts = append(parts, part{client: cl, rep: rep, seconds: seconds, window: windowOf(cl, runfile.SpanMeasure, index)})
		}
	}
	return parts
}

// windowsOf are the windows of a kind that a client's collector has.
func windowsOf(cl runfile.ClientResult, kind string) iter.Seq[*runfile.ObservedWindow] {
	return func(yield func(*runfile.ObservedWindow) bool) {
		windows := bench.OrZero(cl.Observed).Windows
		for i := range windows {
			if windows[i].Kind == kind && !yield(&windows[i]) {
				return
			}
		}
	}
}

func windowOf(cl runfile.ClientResult, kind string, index int32) *runfile.ObservedWindow {
	for w := range windowsOf(cl, kind) {
		if w.Repetition == index {
			return w
		}
	}
	return nil
}

// repetition adds up the clients of one repetition. Each client's rate is over its
// own window and the rates are added: the clocks of two machines differ by more
// than their windows do.
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

func directionOf(ops *runfile.Ops, seconds float64) *Direction {
	if ops == nil {
		return nil
	}
	return &Direction{
		Ops: ops.Count, Bytes: ops.Bytes, Errors: ops.Errors, histograms: []string{ops.Histogram},
		batches: [][]runfile.Batch{ops.Batches}, buckets: bucketsOf(ops.Buckets), latencySum: ops.TotalMicroseconds,
		ByteRate: float64(ops.Bytes) / seconds, OperationRate: float64(ops.Count) / seconds,
	}
}

// joined is the sum of two directions, of which either may be nil.
func joined(sum, d *Direction) *Direction {
	if d == nil {
		return sum
	}
	return new(bench.OrZero(sum).plus(*d))
}

func (d Direction) plus(o Direction) Direction {
	return Direction{
		Ops: d.Ops + o.Ops, Bytes: d.Bytes + o.Bytes, Errors: d.Errors + o.Errors,
		histograms: slices.Concat(d.histograms, o.histograms), batches: slices.Concat(d.batches, o.batches),
		buckets:    slices.Concat(d.buckets, o.buckets),
		latencySum: d.latencySum + o.latencySum,
		ByteRate:   d.ByteRate + o.ByteRate, OperationRate: d.OperationRate + o.OperationRate,
	}
}

// finish rounds the rates and takes the percentiles from the merged histograms, which it returns,
// or else from the merged buckets. A histogram that cannot be read leaves the latency unknown.
func (c *Facts) finish(d *Direction) *stats.Histogram {
	d.BytesPerSecond = int64(math.Round(d.ByteRate))
	d.OperationsPerSecond = int64(math.Round(d.OperationRate))
	h, err := stats.MergeEncoded(d.histograms...)
	if err != nil {
		c.Unreadable = WithNew(c.Unreadable, err.Error())
		return nil
	}
	d.Latency = h.Latency()
	if d.Latency == nil {
		d.Latency = stats.BucketLatency(d.buckets, d.latencySum)
		return nil
	}
	d.Intervals.P99Microseconds = p99Interval(h, d.batches)
	return h
}

// wireShare compares each direction with the link capacity in that direction. The repetition's
// share is that of the busier direction.
func (c *Facts) wireShare(s *Summary) {
	if c.Wire == nil {
		return
	}
	busier := 0.0
	if s.Read != nil {
		busier = s.Read.shareOf(c.Wire.ReadBytesPerSecond)
	}
	if s.Write != nil {
		busier = max(busier, s.Write.shareOf(c.Wire.WriteBytesPerSecond))
	}
	s.WirePermille = (*Permille)(PermilleOf(busier))
	s.Total.WirePermille = s.WirePermille
}

func (d *Direction) shareOf(limit int64) float64 {
	share := d.ByteRate / float64(limit)
	d.WirePermille = (*Permille)(PermilleOf(share))
	return share
}

// PermilleOf rounds down, so that a threshold is reached only when it is.
func PermilleOf(share float64) *int32 {
	return new(int32(min(max(math.Floor(share*1000+1e-9), math.MinInt32), math.MaxInt32)))
}

// sampleInterval is the time between two samples of the client that has the fewest: a thinned result keeps
// one sample of so many.
func (c *Facts) sampleInterval() time.Duration {
	seconds := int32(1)
	for _, cl := range c.result.Clients {
		seconds = max(seconds, cl.Load.SampleSeconds)
	}
	return time.Duration(seconds) * time.Second
}

// series merges the samples of all clients in the measured window of a repetition, after applying change to
// each. It leaves out the intervals that some client has no sample of: at the edges they would look like a dip.
func (c *Facts) series(index int32, change func(*runfile.LoadSample)) []stats.Point {
	clients := make([][]stats.Sample, 0, len(c.result.Clients))
	for _, cl := range c.result.Clients {
		stands := int64(max(cl.Load.SampleSeconds, 1))
		var samples []stats.Sample
		for _, s := range cl.Load.Samples {
			if s.Span != runfile.SpanMeasure || s.Repetition != index {
				continue
			}
			change(&s)
			read, write := bench.OrZero(s.Read), bench.OrZero(s.Write)
			samples = append(samples, stats.Sample{
				Time: s.Time, Ops: stands * (read.Count + write.Count),
				ReadBytes: stands * read.Bytes, WriteBytes: stands * write.Bytes,
				LatencySumMicroseconds: float64(stands) * (float64(read.MeanMicroseconds)*float64(read.Count) +
					float64(write.MeanMicroseconds)*float64(write.Count)),
			})
		}
		if len(samples) > 0 {
			clients = append(clients, samples)
		}
	}
	points := stats.MergeSeries(clients, c.sampleInterval())
	first, last := 0, len(points)
	for first < last && points[first].Clients < len(clients) {
		first++
	}
	for last > first && points[last-1].Clients < len(clients) {
		last--
	}
	return points[first:last]
}

// SeriesPoints are those of the repetition that represents all.
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

func steadiness(points []stats.Point) SteadinessFact {
	rate, latency := make([]float64, 0, len(points)), make([]float64, 0, len(points))
	for _, p := range points {
		rate = append(rate, p.OpsPerSecond)
		latency = append(latency, p.MeanMicroseconds)
	}
	t, l := stats.Steady(rate, steadyThroughput()), stats.Steady(latency, steadyLatency())
	return SteadinessFact{
		Known: t.Known, Steady: t.Steady && (!l.Known || l.Steady),
		DeviationPermille: *PermilleOf(t.Deviation), DriftPermille: *PermilleOf(t.Drift),
		LatencyDeviationPermille: *PermilleOf(l.Deviation), LatencyDriftPermille: *PermilleOf(l.Drift),
		StepPermille: *PermilleOf(t.Step), LatencyStepPermille: *PermilleOf(l.Step),
	}
}

// larger is the larger of two shares that are known.
func larger(a, b *int32) *int32 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Filtered returns the elements that are wanted.
func Filtered[T any](all []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range all {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// Distinct returns the texts that of gives for the elements, each text once and none empty.
func Distinct[T any](all []T, of func(T) string) (texts []string) {
	for _, v := range all {
		if text := of(v); text != "" {
			texts = WithNew(texts, text)
		}
	}
	return texts
}

// WithNew appends v unless it is there.
func WithNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

// Raw is the raw workload; its zero value for another one.
func (c *Facts) Raw() bench.RawWorkload { return bench.OrZero(c.Plan.Workload.Raw) }

// Native says that our own user-space client carried the load.
func (c *Facts) Native() bool { return !c.Kernel() && c.Plan.Database == nil }

// Kernel reports whether the client of the kernel did the I/O.
func (c *Facts) Kernel() bool { return c.Plan.Engine.Client == bench.ClientKernel }

// External says that the load was that of a database on machines of its own.
func (c *Facts) External() bool {
	return bench.OrZero(c.Plan.Database).Kind == runfile.DatabaseExternal
}

// IsPNFS reports whether pNFS was declared.
func (c *Facts) IsPNFS() bool { return c.Plan.Engine.NFSVersion == bench.PNFS }
