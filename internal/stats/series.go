package stats

import (
	"math"
	"time"
)

// Sample counts the operations of one client in one interval that ended at Time.
type Sample struct {
	Time                  time.Time
	ReadBytes, WriteBytes int64
	Ops                   int64
	// LatencySumMicroseconds is the sum over all operations, so that a mean
	// over several clients is weighted by their operations.
	LatencySumMicroseconds float64
}

// Point adds up the samples of all clients in one interval.
type Point struct {
	ReadBytesPerSecond   float64
	WriteBytesPerSecond  float64
	OpsPerSecond         float64
	MeanMicroseconds     float64 // 0 when no operation ended
	Clients              int     // how many clients have a sample here
	latencySum, opsCount float64
}

// BytesPerSecond returns the throughput of reads and writes together.
func (p Point) BytesPerSecond() float64 { return p.ReadBytesPerSecond + p.WriteBytesPerSecond }

// MergeSeries puts the samples of several clients on one time axis of the given interval and adds them. Each
// client keeps its own phase: its samples count from its first one, so that two clients that sample at .0 and
// at .5 do not alternate between neighbouring intervals. An interval without a sample is a point with zero
// clients, so that a gap stays visible.
func MergeSeries(clients [][]Sample, interval time.Duration) []Point {
	origin, ok := earliest(clients)
	if !ok || interval <= 0 {
		return nil
	}
	var points []Point
	most := mostPoints(clients)
	for _, samples := range clients {
		last := -1
		for _, s := range samples {
			phase := samples[0].Time
			at := intervals(phase.Sub(origin), interval) + intervals(s.Time.Sub(phase), interval)
			if at < 0 || at >= most {
				continue
			}
			for len(points) <= at {
				points = append(points, Point{})
			}
			points[at].add(s, interval)
			if at != last {
				points[at].Clients++
			}
			last = at
		}
	}
	return points
}

func mostPoints(clients [][]Sample) int {
	most := leastPoints
	for _, samples := range clients {
		most = min(most+pointsPerSample*len(samples), maxPoints)
	}
	return most
}

// Bounds of the number of points, because a wrong clock in an untrusted file could create any number. Gaps
// may have more points than the samples between them, but not many more.
const (
	leastPoints     = 60
	pointsPerSample = 4
	maxPoints       = 14 * 24 * 3600 // two weeks of seconds
)

func (p *Point) add(s Sample, interval time.Duration) {
	sec := interval.Seconds()
	p.ReadBytesPerSecond += float64(s.ReadBytes) / sec
	p.WriteBytesPerSecond += float64(s.WriteBytes) / sec
	p.OpsPerSecond += float64(s.Ops) / sec
	p.latencySum += s.LatencySumMicroseconds
	p.opsCount += float64(s.Ops)
	if p.opsCount > 0 {
		p.MeanMicroseconds = p.latencySum / p.opsCount
	}
}

func earliest(clients [][]Sample) (first time.Time, found bool) {
	for _, samples := range clients {
		for _, s := range samples {
			if !found || s.Time.Before(first) {
				first, found = s.Time, true
			}
		}
	}
	return first, found
}

func intervals(d, interval time.Duration) int {
	return int(math.Round(float64(d) / float64(interval)))
}
