package report

import (
	"math"
	"time"

	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxSlots and maxPaths limit the memory that a file can take: two days of seconds, and more paths than
// a figure shows.
const (
	maxSlots = 2 * 24 * 3600
	maxPaths = 64
)

// course is the load of all clients over time, on one axis of equal intervals.
type course struct {
	start    time.Time // of the first interval
	interval float64   // seconds
	slots    []slot
	paths    map[string][]float64                       // bytes in each interval by path; -1: no sample has this path
	names    func(span string, repetition int32) string // of windows
	clients  int
	both     bool // reads and writes
	writes   bool // writes alone
}

// slot is one interval. Directions are added up over clients.
type slot struct {
	clients     int
	span        string
	repetition  int32
	read, write ops
}

// ops is one direction of an interval.
type ops struct{ bytes, count, latencySum, p99 float64 }

// courseOf puts the samples of all clients on one axis. Each client keeps its own
// phase, as in stats.MergeSeries.
func courseOf(r runfile.Result) *course {
	c := &course{interval: 1, paths: map[string][]float64{}, names: bandNames(r), clients: len(r.Clients)}
	first := time.Time{}
	for _, cl := range r.Clients {
		c.interval = max(c.interval, float64(cl.Load.SampleSeconds))
		for _, s := range cl.Load.Samples {
			if first.IsZero() || s.Time.Before(first) {
				first = s.Time
			}
		}
	}
	c.start = first.Add(-time.Duration(c.interval * float64(time.Second)))
	for _, cl := range r.Clients {
		c.add(cl, first)
	}
	c.trim()
	return c
}

func (c *course) add(cl runfile.ClientResult, first time.Time) {
	samples, names := cl.Load.Samples, channelNames(cl)
	stands := float64(max(cl.Load.SampleSeconds, 1)) // a thinned result keeps one of this many samples
	if len(samples) == 0 {
		return
	}
	phase := samples[0].Time
	offset := math.Round(phase.Sub(first).Seconds() / c.interval)
	for _, s := range samples {
		i := int(offset + math.Round(s.Time.Sub(phase).Seconds()/c.interval))
		if i < 0 || i >= maxSlots {
			continue
		}
		for len(c.slots) <= i {
			c.slots = append(c.slots, slot{})
		}
		at := &c.slots[i]
		at.clients, at.span, at.repetition = at.clients+1, s.Span, s.Repetition
		at.read.add(s.Read, stands)
		at.write.add(s.Write, stands)
		for _, p := range s.Channels {
			c.addPath(names[p.ID], i, stands*(float64(p.BytesRead)+float64(p.BytesWritten)))
		}
	}
}

func (c *course) addPath(name string, interval int, bytes float64) {
	if name == "" || c.paths[name] == nil && len(c.paths) >= maxPaths {
		return
	}
	for len(c.paths[name]) <= interval {
		c.paths[name] = append(c.paths[name], -1)
	}
	c.paths[name][interval] = max(c.paths[name][interval], 0) + bytes
}

func (o *ops) add(from *runfile.SampleOps, stands float64) {
	if from == nil {
		return
	}
	o.bytes += stands * float64(from.Bytes)
	o.count += stands * float64(from.Count)
	o.latencySum += stands * float64(from.MeanMicroseconds) * float64(from.Count)
	o.p99 = max(o.p99, float64(from.P99Microseconds))
}

// channelNames returns the names of a client's paths by channel ID.
func channelNames(cl runfile.ClientResult) map[int32]string {
	names := map[int32]string{}
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			names[ch.ID] = channelName(ch.Local, ch.Path, ch.Role)
		}
	}
	return names
}

// windows returns the intervals of each window.
func (c *course) windows() [][]slot {
	var out [][]slot
	for from, to := 0, 0; from < len(c.slots); from = to {
		first := c.slots[from]
		for to < len(c.slots) && c.slots[to].span == first.span && c.slots[to].repetition == first.repetition {
			to++
		}
		out = append(out, c.slots[from:to])
	}
	return out
}

// trim clears the intervals at the ends of a window in which some client had not begun or was done: they would look
// like a dip. It also sets both and writes.
func (c *course) trim() {
	for _, w := range c.windows() {
		most := 0
		for _, s := range w {
			most = max(most, s.clients)
		}
		for i := 0; i < len(w) && w[i].clients < most; i++ {
			w[i] = slot{}
		}
		for i := len(w) - 1; i > 0 && w[i].clients < most; i-- {
			w[i] = slot{}
		}
	}
	reads, writes := false, false
	for _, s := range c.slots {
		reads, writes = reads || s.read.count > 0, writes || s.write.count > 0
	}
	c.both, c.writes = reads && writes, writes && !reads
}

// end returns the end of the axis, in seconds.
func (c *course) end() float64 { return float64(len(c.slots)) * c.interval }

// line returns a line with the value of each interval; NaN is a gap.
func (c *course) line(name string, of func(slot) float64) chart.Line {
	l := chart.Line{Name: name, Points: make([]chart.Point, 0, len(c.slots))}
	for i, s := range c.slots {
		y := math.NaN()
		if s.clients > 0 {
			y = of(s)
		}
		l.Points = append(l.Points, chart.Point{X: (float64(i) + .5) * c.interval, Y: y})
	}
	return l
}

// directions returns a line of each direction in use.
func (c *course) directions(of func(ops) float64) []chart.Line {
	var out []chart.Line
	if !c.writes {
		out = append(out, c.line("read", func(s slot) float64 { return of(s.read) }))
	}
	if c.both || c.writes {
		out = append(out, c.line("write", func(s slot) float64 { return of(s.write) }))
	}
	return out
}

// bands returns the windows with their names.
func (c *course) bands() []chart.Band {
	var out []chart.Band
	at := 0.0
	for _, w := range c.windows() {
		if w[0].clients > 0 {
			out = append(out, chart.Band{
				From: at * c.interval, To: (at + float64(len(w))) * c.interval,
				Label: c.names(w[0].span, w[0].repetition), Shaded: w[0].span == runfile.SpanWarmup,
			})
		}
		at += float64(len(w))
	}
	return out
}
