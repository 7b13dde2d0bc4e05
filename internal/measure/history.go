package measure

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxSlots and maxPaths limit the memory that a file can take: two days of seconds, and more paths than
// a figure shows.
const (
	maxSlots = 2 * 24 * 3600
	maxPaths = 64
)

// History is the load of all clients over time, warm-up included, on one axis of equal intervals.
type History struct {
	Start    time.Time // of the first interval
	Interval float64   // seconds
	Slots    []Slot
	Paths    map[Channel][]float64   // bytes in each interval; -1: no sample has this path
	Steps    map[int32]*runfile.Step // level of load by repetition; nil: the load has no levels
	Both     bool                    // reads and writes
	Writes   bool                    // writes alone
}

// Slot is one interval. Directions are added up over clients.
type Slot struct {
	Clients     int
	Span        string
	Repetition  int32
	Read, Write SlotOps
}

// SlotOps is one direction of an interval. Latencies are in microseconds.
type SlotOps struct{ Bytes, Count, LatencySum, P99 float64 }

// Channel names a path, and whether it leads to a data server.
type Channel struct {
	PathPair
	Role bench.PathRole
}

// History puts the samples of all clients on one axis. Each client keeps its own
// phase, as in stats.MergeSeries.
func (c *Facts) History() *History {
	h := &History{Interval: 1, Paths: map[Channel][]float64{}, Steps: map[int32]*runfile.Step{}}
	first := time.Time{}
	for _, cl := range c.result.Clients {
		h.Interval = max(h.Interval, float64(cl.Load.SampleSeconds))
		for _, s := range cl.Load.Samples {
			if first.IsZero() || s.Time.Before(first) {
				first = s.Time
			}
		}
		for _, rep := range cl.Load.Repetitions {
			h.Steps[rep.Index] = rep.Step
		}
	}
	h.Start = first.Add(-time.Duration(h.Interval * float64(time.Second)))
	for _, cl := range c.result.Clients {
		h.add(cl, first)
	}
	h.trim()
	return h
}

func (h *History) add(cl runfile.ClientResult, first time.Time) {
	samples, names := cl.Load.Samples, channelNames(cl)
	stands := float64(max(cl.Load.SampleSeconds, 1)) // a thinned result keeps one of this many samples
	if len(samples) == 0 {
		return
	}
	phase := samples[0].Time
	offset := math.Round(phase.Sub(first).Seconds() / h.Interval)
	for _, s := range samples {
		i := int(offset + math.Round(s.Time.Sub(phase).Seconds()/h.Interval))
		if i < 0 || i >= maxSlots {
			continue
		}
		for len(h.Slots) <= i {
			h.Slots = append(h.Slots, Slot{})
		}
		at := &h.Slots[i]
		at.Clients, at.Span, at.Repetition = at.Clients+1, s.Span, s.Repetition
		at.Read.add(s.Read, stands)
		at.Write.add(s.Write, stands)
		for _, p := range s.Channels {
			if channel := names[p.ID]; channel != (Channel{}) {
				h.addPath(channel, i, stands*(float64(p.BytesRead)+float64(p.BytesWritten)))
			}
		}
	}
}

func (h *History) addPath(name Channel, interval int, bytes float64) {
	if h.Paths[name] == nil && len(h.Paths) >= maxPaths {
		return
	}
	for len(h.Paths[name]) <= interval {
		h.Paths[name] = append(h.Paths[name], -1)
	}
	h.Paths[name][interval] = max(h.Paths[name][interval], 0) + bytes
}

func (o *SlotOps) add(from *runfile.SampleOps, stands float64) {
	if from == nil {
		return
	}
	o.Bytes += stands * float64(from.Bytes)
	o.Count += stands * float64(from.Count)
	o.LatencySum += stands * float64(from.MeanMicroseconds) * float64(from.Count)
	o.P99 = max(o.P99, float64(from.P99Microseconds))
}

// channelNames returns the paths of a client by channel ID.
func channelNames(cl runfile.ClientResult) map[int32]Channel {
	names := map[int32]Channel{}
	for _, rep := range cl.Load.Repetitions {
		for _, ch := range rep.Channels {
			names[ch.ID] = channelOf(ch)
		}
	}
	return names
}

// Windows returns the intervals of each window.
func (h *History) Windows() [][]Slot {
	var out [][]Slot
	for from, to := 0, 0; from < len(h.Slots); from = to {
		first := h.Slots[from]
		for to < len(h.Slots) && h.Slots[to].Span == first.Span && h.Slots[to].Repetition == first.Repetition {
			to++
		}
		out = append(out, h.Slots[from:to])
	}
	return out
}

// trim clears the intervals at the ends of a window in which some client had not begun or was done: they would look
// like a dip. It also sets Both and Writes.
func (h *History) trim() {
	for _, w := range h.Windows() {
		most := 0
		for _, s := range w {
			most = max(most, s.Clients)
		}
		for i := 0; i < len(w) && w[i].Clients < most; i++ {
			w[i] = Slot{}
		}
		for i := len(w) - 1; i > 0 && w[i].Clients < most; i-- {
			w[i] = Slot{}
		}
	}
	reads, writes := false, false
	for _, s := range h.Slots {
		reads, writes = reads || s.Read.Count > 0, writes || s.Write.Count > 0
	}
	h.Both, h.Writes = reads && writes, writes && !reads
}

// End returns the end of the axis, in seconds.
func (h *History) End() float64 { return float64(len(h.Slots)) * h.Interval }

// ChannelTotal is the load of one channel of a client over all measured windows.
type ChannelTotal struct {
	Channel

	Client                int32
	ReadBytes, WriteBytes int64
	DownMilliseconds      int64
}

// ChannelTotals returns the channels of each client in the order in which they opened. Layouts open more channels
// during a run.
func (c *Facts) ChannelTotals() []ChannelTotal {
	var out []ChannelTotal
	for _, cl := range c.result.Clients {
		at := map[int32]int{} // position by channel
		for _, rep := range cl.Load.Repetitions {
			window := rep.End.Sub(rep.Start).Milliseconds() // an outage may begin before the window
			for _, ch := range rep.Channels {
				i, known := at[ch.ID]
				if !known {
					i = len(out)
					at[ch.ID] = i
					out = append(out, ChannelTotal{Channel: channelOf(ch), Client: cl.Index})
				}
				out[i].ReadBytes += ch.BytesRead
				out[i].WriteBytes += ch.BytesWritten
				out[i].DownMilliseconds += min(ch.DownMilliseconds, window)
			}
		}
	}
	return out
}

// channelOf names a channel. A file of a stranger may have any role.
func channelOf(ch runfile.Channel) Channel {
	c := Channel{PathPair: PathPair{Local: ch.Local, Path: ch.Path}}
	if ch.Role == bench.PathDataServer {
		c.Role = ch.Role
	}
	return c
}

// TimeValue is a value at a time of a History, in seconds from its start.
type TimeValue struct{ Second, Value float64 }

// StorageHistory returns the counters of the storage on the axis of a History: the busy percent of each node, and the
// bytes per second of each node, or of the source if it has no addresses. A value that is unknown is NaN.
func (c *Facts) StorageHistory(h *History) (cpu, traffic map[string][]TimeValue) {
	cpu, traffic = map[string][]TimeValue{}, map[string][]TimeValue{}
	for _, samples := range c.storageSamples() {
		ahead := c.clockAhead(samples[0].Source)
		for i := 1; i < len(samples); i++ {
			a, b := samples[i-1], samples[i]
			seconds := b.Time.Sub(a.Time).Seconds()
			if seconds <= 0 {
				continue
			}
			at := b.Time.Sub(h.Start).Seconds() - ahead - seconds/2
			for name, busy := range busyOf(a, b, seconds) {
				cpu[name] = append(cpu[name], TimeValue{at, busy})
			}
			for name, bytes := range trafficOf(a, b) {
				traffic[name] = append(traffic[name], TimeValue{at, bytes / seconds})
			}
		}
	}
	return cpu, traffic
}

// storageSamples returns the samples of each source, from the client that has most of them: every client's collector
// reads the same counters.
func (c *Facts) storageSamples() [][]runfile.StorageSample {
	best := map[string][]runfile.StorageSample{}
	for _, cl := range c.result.Clients {
		if cl.Observed == nil {
			continue
		}
		own := map[string][]runfile.StorageSample{}
		for _, s := range cl.Observed.Storage {
			own[s.Source] = append(own[s.Source], s)
		}
		for source, samples := range own {
			if len(samples) > len(best[source]) {
				best[source] = samples
			}
		}
	}
	var out [][]runfile.StorageSample
	for _, source := range slices.Sorted(maps.Keys(best)) {
		out = append(out, best[source])
	}
	return out
}

// clockAhead returns how far the clock of a source is ahead of ours, in seconds.
func (c *Facts) clockAhead(source string) float64 {
	if c.Survey.Source != source {
		return 0
	}
	return float64(bench.OrZero(c.Survey.ClockOffsetMilliseconds)) / 1000
}

// busyOf returns the busy percent of each node between two readings.
func busyOf(a, b runfile.StorageSample, seconds float64) map[string]float64 {
	busy := map[string]float64{}
	for _, n := range b.Nodes {
		k := slices.IndexFunc(a.Nodes, func(o runfile.StorageNode) bool { return o.Name == n.Name })
		if k >= 0 {
			busy[n.Name] = busyPercent(a.Nodes[k], n, seconds)
		}
	}
	return busy
}

// busyPercent returns the busy share between two readings of one node; NaN if the counters do not show it.
func busyPercent(a, b runfile.StorageNode, seconds float64) float64 {
	if a.BusyMicroseconds == nil || b.BusyMicroseconds == nil || *b.BusyMicroseconds < *a.BusyMicroseconds {
		return math.NaN()
	}
	busy := float64(*b.BusyMicroseconds - *a.BusyMicroseconds)
	switch {
	case a.BaseMicroseconds != nil && b.BaseMicroseconds != nil && *b.BaseMicroseconds > *a.BaseMicroseconds:
		return min(100*busy/float64(*b.BaseMicroseconds-*a.BaseMicroseconds), 100)
	case b.BaseMicroseconds == nil && b.Cores != nil && *b.Cores > 0:
		return min(100*busy/(seconds*1e6*float64(*b.Cores)), 100)
	default:
		return math.NaN()
	}
}

// trafficOf returns the bytes between two readings by node. Without addresses it takes the counters of the whole
// source.
func trafficOf(a, b runfile.StorageSample) map[string]float64 {
	sums := map[string]float64{}
	for _, p := range b.Paths {
		i := slices.IndexFunc(a.Paths, func(o runfile.StoragePath) bool { return o.Address == p.Address && o.Node == p.Node })
		if i < 0 {
			continue
		}
		if d, ok := moved(a.Paths[i].ReadBytes, p.ReadBytes, a.Paths[i].WriteBytes, p.WriteBytes); ok {
			sums[cmp.Or(p.Node, p.Address)] += d
		}
	}
	if d, ok := moved(a.ReadBytes, b.ReadBytes, a.WriteBytes, b.WriteBytes); ok && len(sums) == 0 {
		sums[b.Source] = d
	}
	return sums
}

// moved returns the growth of both counters. It is not ok if both are unknown, or one of them went back.
func moved(readBefore, read, writeBefore, write *int64) (bytes float64, ok bool) {
	for _, d := range [][2]*int64{{readBefore, read}, {writeBefore, write}} {
		if d[0] == nil || d[1] == nil {
			continue
		}
		if *d[1] < *d[0] {
			return 0, false
		}
		bytes, ok = bytes+float64(*d[1]-*d[0]), true
	}
	return bytes, ok
}
