package judge

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

const (
	windowMeasure  = "Measure"
	windowBaseline = "Baseline"
	mebibyte       = 1 << 20
)

// facts are what the checks share: the result, and what is computed from it once.
// Nothing writes to them after newFacts.
type facts struct {
	runfile.Result

	survey    runfile.Survey         // what the array said before the run; its zero value says nothing
	volume    runfile.SurveyVolume   // that the load was on; its zero value is not known
	declared  []pathPair             // the channels of the plan
	oracles   []runfile.Oracle       // what the loaders found of the database
	databases []runfile.OracleWindow // what databases counted in the windows that count
	cores     float64                // that the database can use at most; 0 = not known, or all of its machine
	block     int64                  // bytes of one I/O of the load; 0 = not known
	transfer  [2]int64               // bytes that one READ or WRITE moves, by direction
	wire      *WireLimit             // nil: not known
	timelines map[int32]*timeline    // by client

	repetitions  []repetition // that count, of all steps
	warmups      []repetition // of those that do not
	steps        []StepSummary
	calibrations []calibration
	bounds       []runfile.LatencyBound // of a search for capacity; none for another load
	searches     []search               // by round
	capacity     *Capacity              // nil: no search
	headline     []repetition           // those that overall is the median of
	overall      *repetition            // nil: nothing was measured
	database     *DatabaseSummary
	variation    *int32
	protocol     Evidence
	indirect     []indirection
	silent       []silence
	unreadable   []string // why latency histograms cannot be read
}

// repetition is one repetition over all clients, with what the checks need beside its numbers.
type repetition struct {
	Summary

	parts     []clientRep
	together  float64                 // share of the shortest window in which all clients ran
	points    []stats.Point           // of all clients
	storage   []runfile.StorageWindow // of each source once
	owner     string                  // the node that owned the data, if known
	used      []string                // the addresses of the storage that the load went to
	mount     mountLoad               // what the mounts of the kernel moved
	databases []runfile.OracleWindow  // what databases counted
}

func newFacts(r runfile.Result) *facts {
	c := &facts{
		Result: r, survey: bench.OrZero(r.Plan.Survey), declared: declaredPaths(r.Plan),
		block: blockBytes(r.Plan), bounds: searchBounds(r.Plan), timelines: map[int32]*timeline{},
	}
	c.volume = bench.OrZero(c.survey.Volume)
	indexes := map[int32]bool{} // of the repetitions that any client has
	for _, cl := range r.Clients {
		c.timelines[cl.Index] = newTimeline(cl.Load)
		if o := cl.Load.Oracle; o != nil {
			c.oracles = append(c.oracles, *o)
		}
		for _, rep := range cl.Load.Repetitions {
			indexes[rep.Index] = true
			if rep.Oracle != nil && (rep.Step == nil || !rep.Step.Warmup) {
				c.databases = append(c.databases, *rep.Oracle)
			}
		}
	}
	c.cores = c.databaseCores()
	c.transfer = [2]int64{reads: c.transferBytes(reads), writes: c.transferBytes(writes)}
	c.wire = c.wireLimit()
	for _, index := range slices.Sorted(maps.Keys(indexes)) {
		s, ok := c.repetition(index)
		switch {
		case !ok:
		case s.isWarmup():
			c.warmups = append(c.warmups, s)
		default:
			c.repetitions = append(c.repetitions, s)
		}
	}
	c.conclude()
	c.database = c.databaseSummary()
	c.protocol = c.evidence()
	c.indirect = c.indirections()
	c.silent = c.silences()
	return c
}

// conclude computes what represents the repetitions.
func (c *facts) conclude() {
	c.steps = c.stepSummaries()
	c.calibrations = c.calibrationRuns()
	c.searches = c.search()
	c.capacity = c.capacityOf()
	c.headline = c.headlines()
	c.overall, c.variation = nil, nil
	if len(c.headline) == 0 {
		return
	}
	median := *medianOf(c.headline)
	median.LongestPauseMicroseconds = longestPause(c.repetitions)
	c.overall, c.variation = &median, variationOf(c.headline)
	if c.capacity != nil {
		c.variation = variation(rates(c.searches, 0)) // between the capacities of the rounds
	}
}

// clientRep is one client's part in a repetition.
type clientRep struct {
	client  runfile.ClientResult
	rep     runfile.Repetition
	seconds float64
	window  *runfile.ObservedWindow // nil when the collector has none
}

func (c *facts) parts(index int32) []clientRep {
	var parts []clientRep
	for _, cl := range c.Clients {
		for _, rep := range cl.Load.Repetitions {
			seconds := rep.End.Sub(rep.Start).Seconds()
			if rep.Index != index || seconds <= 0 {
				continue
			}
			parts = append(parts, clientRep{client: cl, rep: rep, seconds: seconds, window: windowOf(cl, windowMeasure, index)})
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
func (c *facts) repetition(index int32) (repetition, bool) {
	parts := c.parts(index)
	if len(parts) == 0 {
		return repetition{}, false
	}
	s := repetition{parts: parts, together: together(parts), storage: storageWindows(parts)}
	s.Repetition, s.Clients, s.Step = index, int32(len(parts)), parts[0].rep.Step
	for _, p := range parts {
		s.DurationMilliseconds = max(s.DurationMilliseconds, p.rep.End.Sub(p.rep.Start).Milliseconds())
		s.EdgeMilliseconds = max(s.EdgeMilliseconds, p.rep.EdgeMilliseconds)
		s.Read = joined(s.Read, directionOf(p.rep.Read, p.seconds))
		s.Write = joined(s.Write, directionOf(p.rep.Write, p.seconds))
		if p.rep.Oracle != nil {
			s.databases = append(s.databases, *p.rep.Oracle)
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
	s.mount = c.mountLoad(s)
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
		bytesPerSec: float64(ops.Bytes) / seconds, iopsSec: float64(ops.Count) / seconds,
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
		buckets:     slices.Concat(d.buckets, o.buckets),
		latencySum:  d.latencySum + o.latencySum,
		bytesPerSec: d.bytesPerSec + o.bytesPerSec, iopsSec: d.iopsSec + o.iopsSec,
	}
}

// finish rounds the rates and takes the percentiles from the merged histograms, which it returns,
// or else from the merged buckets. A histogram that cannot be read leaves the latency unknown.
func (c *facts) finish(d *Direction) *stats.Histogram {
	d.BytesPerSecond = int64(math.Round(d.bytesPerSec))
	d.OperationsPerSecond = int64(math.Round(d.iopsSec))
	h, err := stats.MergeEncoded(d.histograms...)
	if err != nil {
		c.unreadable = withNew(c.unreadable, err.Error())
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
func (c *facts) wireShare(s *Summary) {
	if c.wire == nil {
		return
	}
	busier := 0.0
	if s.Read != nil {
		busier = s.Read.shareOf(c.wire.ReadBytesPerSecond)
	}
	if s.Write != nil {
		busier = max(busier, s.Write.shareOf(c.wire.WriteBytesPerSecond))
	}
	s.WirePermille = (*Permille)(permille(busier))
	s.Total.WirePermille = s.WirePermille
}

func (d *Direction) shareOf(limit int64) float64 {
	share := d.bytesPerSec / float64(limit)
	d.WirePermille = (*Permille)(permille(share))
	return share
}

// permille rounds down, so that a threshold is reached only when it is.
func permille(share float64) *int32 {
	return new(int32(min(max(math.Floor(share*1000+1e-9), math.MinInt32), math.MaxInt32)))
}

// sampleInterval is the time between two samples of the client that has the fewest: a thinned result keeps
// one sample of so many.
func (c *facts) sampleInterval() time.Duration {
	seconds := int32(1)
	for _, cl := range c.Clients {
		seconds = max(seconds, cl.Load.SampleSeconds)
	}
	return time.Duration(seconds) * time.Second
}

// series merges the samples of all clients in the measured window of a repetition, after applying change to
// each. It leaves out the intervals that some client has no sample of: at the edges they would look like a dip.
func (c *facts) series(index int32, change func(*runfile.LoadSample)) []stats.Point {
	clients := make([][]stats.Sample, 0, len(c.Clients))
	for _, cl := range c.Clients {
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

// seriesPoints are those of the repetition that represents all.
func (c *facts) seriesPoints() []SeriesPoint {
	if c.overall == nil {
		return nil
	}
	out := make([]SeriesPoint, 0, len(c.overall.points))
	for i, p := range c.overall.points {
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
		DeviationPermille: *permille(t.Deviation), DriftPermille: *permille(t.Drift),
		LatencyDeviationPermille: *permille(l.Deviation), LatencyDriftPermille: *permille(l.Drift),
		StepPermille: *permille(t.Step), LatencyStepPermille: *permille(l.Step),
	}
}

// larger is the larger of two shares that are known.
func larger(a, b *int32) *int32 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// filtered returns the elements that are wanted.
func filtered[T any](all []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range all {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// distinct returns the texts that of gives for the elements, each text once and none empty.
func distinct[T any](all []T, of func(T) string) (texts []string) {
	for _, v := range all {
		if text := of(v); text != "" {
			texts = withNew(texts, text)
		}
	}
	return texts
}

// withNew appends v unless it is there.
func withNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

func (c *facts) raw() bench.RawWorkload { return bench.OrZero(c.Plan.Workload.Raw) }

// native says that our own user-space client carried the load.
func (c *facts) native() bool { return !c.kernel() && c.Plan.Database == nil }

func (c *facts) kernel() bool { return c.Plan.Engine.Client == bench.ClientKernel }

// external says that the load was that of a database on machines of its own.
func (c *facts) external() bool {
	return bench.OrZero(c.Plan.Database).Kind == runfile.DatabaseExternal
}

func (c *facts) isPNFS() bool { return c.Plan.Engine.NFSVersion == bench.PNFS }
