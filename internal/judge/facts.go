package judge

import (
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
	result       runfile.Result
	wire         *WireLimit // nil: not known
	repetitions  []Summary  // that count, of all steps
	warmups      []Summary  // of those that do not
	steps        []StepSummary
	calibrations []CalibrationSummary
	searches     []search  // searches for capacity, by round
	capacity     *Capacity // nil: no search
	headline     []Summary // those that overall is the median of
	overall      *Summary  // nil: nothing was measured
	database     *DatabaseSummary
	series       []SeriesPoint
	variation    *int32
	protocol     Evidence
	unreadable   []string // why latency histograms cannot be read
}

func newFacts(r runfile.Result) *facts {
	c := &facts{result: r, wire: wireLimit(r)}
	indexes := map[int32]bool{} // of the repetitions that any client has
	for _, cl := range r.Clients {
		for _, rep := range cl.Load.Repetitions {
			indexes[rep.Index] = true
		}
	}
	for _, index := range slices.Sorted(maps.Keys(indexes)) {
		s, ok := c.summary(index)
		switch {
		case !ok:
		case s.isWarmup():
			c.warmups = append(c.warmups, s)
		default:
			c.repetitions = append(c.repetitions, s)
		}
	}
	c.steps = c.stepSummaries()
	c.calibrations = c.calibrate()
	c.searches = c.search()
	c.capacity = c.capacityOf()
	c.headline = c.headlines()
	if len(c.headline) > 0 {
		c.overall = medianOf(c.headline)
		c.series = seriesPoints(r, c.overall.Repetition)
		c.variation = variationOf(c.headline)
		if c.capacity != nil {
			c.variation = c.capacityVariation()
		}
	}
	c.database = databaseSummary(r, c.overall)
	c.protocol = evidence(r, c.overall, c.database)
	return c
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
	for _, cl := range c.result.Clients {
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

func windowOf(cl runfile.ClientResult, kind string, index int32) *runfile.ObservedWindow {
	if cl.Observed == nil {
		return nil
	}
	for i, w := range cl.Observed.Windows {
		if w.Kind == kind && w.Repetition == index {
			return &cl.Observed.Windows[i]
		}
	}
	return nil
}

// summary adds up the clients of one repetition. Each client's rate is over its
// own window and the rates are added: the clocks of two machines differ by more
// than their windows do.
func (c *facts) summary(index int32) (Summary, bool) {
	parts := c.parts(index)
	if len(parts) == 0 {
		return Summary{}, false
	}
	s := Summary{Repetition: index, Clients: int32(len(parts)), Step: parts[0].rep.Step}
	for _, p := range parts {
		s.DurationMilliseconds = max(s.DurationMilliseconds, p.rep.End.Sub(p.rep.Start).Milliseconds())
		s.EdgeMilliseconds = max(s.EdgeMilliseconds, p.rep.EdgeMilliseconds)
		s.Read = added(s.Read, p.rep.Read, p.seconds)
		s.Write = added(s.Write, p.rep.Write, p.seconds)
	}
	for _, d := range []*Direction{s.Read, s.Write} {
		if d != nil {
			s.Total = s.Total.plus(*d)
			c.finish(d)
		}
	}
	if h := c.finish(&s.Total); h != nil {
		c.openLoop(&s, h)
	}
	c.oracleLatency(&s, parts)
	points, _ := series(c.result, index)
	c.intervals(&s, points)
	c.wireShare(&s)
	s.Paths, s.Servers = c.pathShares(parts), serversOf(parts)
	s.ClientCPU = clientCPU(parts, databaseCores(c.result))
	if used, known := c.machineCPU(parts); known && s.Total.Bytes > 0 {
		s.ClientCPU.MicrosecondsPerMiB = rounded(used / (float64(s.Total.Bytes) / mebibyte))
	}
	c.storageSide(&s, parts)
	s.CollectorCPUPermille = collectorCPU(parts)
	s.Steadiness = steadiness(points)
	return s, true
}

func added(d *Direction, ops *runfile.Ops, seconds float64) *Direction {
	if ops == nil {
		return d
	}
	if d == nil {
		d = &Direction{}
	}
	sum := d.plus(Direction{
		Ops: ops.Count, Bytes: ops.Bytes, Errors: ops.Errors, histograms: []string{ops.Histogram},
		batches: [][]runfile.Batch{ops.Batches}, buckets: bucketsOf(ops.Buckets), latencySum: ops.TotalMicroseconds,
		bytesPerSec: float64(ops.Bytes) / seconds, iopsSec: float64(ops.Count) / seconds,
	})
	return &sum
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
		if !slices.Contains(c.unreadable, err.Error()) {
			c.unreadable = append(c.unreadable, err.Error())
		}
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
	s.WirePermille = permille(busier)
	s.Total.WirePermille = s.WirePermille
}

func (d *Direction) shareOf(limit int64) float64 {
	share := d.bytesPerSec / float64(limit)
	d.WirePermille = permille(share)
	return share
}

// permille rounds down, so that a threshold is reached only when it is.
func permille(share float64) *int32 {
	v := int32(min(max(math.Floor(share*1000+1e-9), math.MinInt32), math.MaxInt32))
	return &v
}

func opsBytes(o *runfile.Ops) int64 {
	if o == nil {
		return 0
	}
	return o.Bytes
}

func opsCount(o *runfile.Ops) int64 {
	if o == nil {
		return 0
	}
	return o.Count
}

// samplesOf returns the samples of each client in the measured window of a repetition, after
// applying change to each.
func samplesOf(r runfile.Result, index int32, change func(*runfile.LoadSample)) [][]stats.Sample {
	out := make([][]stats.Sample, 0, len(r.Clients))
	for _, cl := range r.Clients {
		stands := int64(max(cl.Load.SampleSeconds, 1)) // a thinned result keeps one sample of so many
		var samples []stats.Sample
		for _, s := range cl.Load.Samples {
			if s.Span != runfile.SpanMeasure || s.Repetition != index {
				continue
			}
			change(&s)
			read, write := runfile.SampleOps{}, runfile.SampleOps{}
			if s.Read != nil {
				read = *s.Read
			}
			if s.Write != nil {
				write = *s.Write
			}
			samples = append(samples, stats.Sample{
				Time: s.Time, Ops: stands * (read.Count + write.Count),
				ReadBytes: stands * read.Bytes, WriteBytes: stands * write.Bytes,
				LatencySumMicroseconds: float64(stands) * (float64(read.MeanMicroseconds)*float64(read.Count) +
					float64(write.MeanMicroseconds)*float64(write.Count)),
			})
		}
		if len(samples) > 0 {
			out = append(out, samples)
		}
	}
	return out
}

// series merges the clients of a repetition, without the intervals that some
// client has no sample of: at the edges they would look like a dip.
func series(r runfile.Result, index int32) ([]stats.Point, time.Duration) {
	return seriesOf(r, index, func(*runfile.LoadSample) {})
}

func seriesOf(r runfile.Result, index int32, change func(*runfile.LoadSample)) ([]stats.Point, time.Duration) {
	interval := time.Second
	for _, cl := range r.Clients {
		interval = max(interval, time.Duration(cl.Load.SampleSeconds)*time.Second)
	}
	samples := samplesOf(r, index, change)
	points := stats.MergeSeries(samples, interval)
	first, last := 0, len(points)
	for first < last && points[first].Clients < len(samples) {
		first++
	}
	for last > first && points[last-1].Clients < len(samples) {
		last--
	}
	return points[first:last], interval
}

func seriesPoints(r runfile.Result, index int32) []SeriesPoint {
	points, interval := series(r, index)
	out := make([]SeriesPoint, 0, len(points))
	for i, p := range points {
		out = append(out, SeriesPoint{
			Second:             float64(i+1) * interval.Seconds(),
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

func (c *facts) raw() bench.RawWorkload {
	if r := c.result.Plan.Workload.Raw; r != nil {
		return *r
	}
	return bench.RawWorkload{}
}

// native says that our own user-space client carried the load.
func (c *facts) native() bool { return !c.kernel() && c.result.Plan.Database == nil }

func (c *facts) kernel() bool { return c.result.Plan.Engine.Client == bench.ClientKernel }
