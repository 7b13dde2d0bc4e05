package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxSlots bounds what a wrong clock in a file can allocate: two days of seconds.
const maxSlots = 2 * 24 * 3600

// course is the load of all clients over time, on one axis of equal intervals.
type course struct {
	start    time.Time // of the first interval
	interval float64   // seconds
	slots    []slot
	paths    []coursePath // in the order of their names
	both     bool         // reads and writes
	writes   bool         // writes alone
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

// coursePath is the traffic of one path, bytes in each interval; -1 is none told.
type coursePath struct {
	name  string
	bytes []float64
}

// courseOf puts the samples of all clients on one axis. Each client keeps its own
// phase, as in stats.MergeSeries.
func courseOf(r runfile.Result) *course {
	c := &course{interval: 1}
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
	paths := map[string][]float64{}
	for _, cl := range r.Clients {
		c.add(cl, first, paths)
	}
	for name, bytes := range paths {
		c.paths = append(c.paths, coursePath{name, bytes})
	}
	slices.SortFunc(c.paths, func(a, b coursePath) int { return cmp.Compare(a.name, b.name) })
	c.trim()
	return c
}

func (c *course) add(cl runfile.ClientResult, first time.Time, paths map[string][]float64) {
	samples, names := cl.Load.Samples, channelNames(cl)
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
		c.slots[i].add(s)
		for _, p := range s.Channels {
			addPath(paths, names[p.ID], i, float64(p.BytesRead)+float64(p.BytesWritten))
		}
	}
}

func (s *slot) add(from runfile.LoadSample) {
	s.clients++
	s.span, s.repetition = from.Span, from.Repetition
	s.read.add(from.Read)
	s.write.add(from.Write)
}

func (o *ops) add(from *runfile.SampleOps) {
	if from == nil {
		return
	}
	o.bytes += float64(from.Bytes)
	o.count += float64(from.Count)
	o.latencySum += float64(from.MeanMicroseconds) * float64(from.Count)
	o.p99 = max(o.p99, float64(from.P99Microseconds))
}

// channelNames are the paths of a client by the number of their channel.
func channelNames(cl runfile.ClientResult) map[int32]string {
	names := map[int32]string{}
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			names[ch.ID] = pathName(ch.Local, ch.Path)
		}
	}
	return names
}

func addPath(paths map[string][]float64, name string, i int, bytes float64) {
	if name == "" {
		return
	}
	series := paths[name]
	for len(series) <= i {
		series = append(series, -1)
	}
	series[i] = max(series[i], 0) + bytes
	paths[name] = series
}

// trim takes out the intervals at the ends of a window in which some client had
// not begun or was done: they would look like a dip. It also tells the directions.
func (c *course) trim() {
	for from := 0; from < len(c.slots); {
		to := from
		most := 0
		for to < len(c.slots) && c.slots[to].window() == c.slots[from].window() {
			most = max(most, c.slots[to].clients)
			to++
		}
		for i := from; i < to && c.slots[i].clients < most; i++ {
			c.slots[i] = slot{}
		}
		for i := to - 1; i > from && c.slots[i].clients < most; i-- {
			c.slots[i] = slot{}
		}
		from = to
	}
	reads, writes := false, false
	for _, s := range c.slots {
		reads, writes = reads || s.read.count > 0, writes || s.write.count > 0
	}
	c.both, c.writes = reads && writes, writes && !reads
}

func (s slot) window() string { return fmt.Sprintf("%s/%d", s.span, s.repetition) }

// end of the axis, in seconds.
func (c *course) end() float64 { return float64(len(c.slots)) * c.interval }

// line makes a line of what each interval says; not a number is a gap.
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

// directions makes a line of each direction that there is.
func (c *course) directions(of func(ops) float64) []chart.Line {
	read := func() chart.Line { return c.line("read", func(s slot) float64 { return of(s.read) }) }
	write := func() chart.Line { return c.line("write", func(s slot) float64 { return of(s.write) }) }
	switch {
	case c.both:
		return []chart.Line{read(), write()}
	case c.writes:
		return []chart.Line{write()}
	default:
		return []chart.Line{read()}
	}
}

// bands are the windows, with the name that of gives them.
func (c *course) bands(of func(span string, repetition int32) string) []chart.Band {
	var out []chart.Band
	for from := 0; from < len(c.slots); {
		to := from
		for to < len(c.slots) && c.slots[to].window() == c.slots[from].window() {
			to++
		}
		if s := c.slots[from]; s.clients > 0 {
			out = append(out, chart.Band{
				From: float64(from) * c.interval, To: float64(to) * c.interval,
				Label: of(s.span, s.repetition), Shaded: s.span == runfile.SpanWarmup,
			})
		}
		from = to
	}
	return out
}

// since puts a moment on the axis.
func (c *course) since(t time.Time) float64 { return t.Sub(c.start).Seconds() }
