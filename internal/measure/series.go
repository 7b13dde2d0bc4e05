package measure

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// sampleInterval returns the time between two samples of the client with the fewest samples: a thinned result keeps
// only one of several.
func (c *Facts) sampleInterval() time.Duration {
	seconds := int32(1)
	for _, cl := range c.result.Clients {
		seconds = max(seconds, cl.Load.SampleSeconds)
	}
	return time.Duration(seconds) * time.Second
}

// series merges the samples of all clients in the measured window of a repetition, after applying change to each. It
// drops intervals at the edges in which a client has no sample: they would look like a dip.
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
