package browser

import (
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// storageSeconds is how often the storage is sampled.
const storageSeconds = 10

// storage adds what the storage would have counted of the load of all clients:
// the node that owns the volume works, the other passes on.
func (g *generator) storage(r *runfile.Result) {
	type moved struct{ read, write [paths]int64 }
	seconds := map[int64]moved{}
	for _, c := range r.Clients {
		for _, s := range c.Load.Samples {
			m := seconds[s.Time.Unix()]
			for i, p := range s.Channels {
				m.read[i] += p.BytesRead
				m.write[i] += p.BytesWritten
			}
			seconds[s.Time.Unix()] = m
		}
	}
	var read, write [paths]int64
	busy := [2]int64{1e6, 1e6}
	observed := r.Clients[0].Observed
	spans := r.Clients[0].Load.Spans
	for at := Start(); !at.After(spans[len(spans)-1].End); at = at.Add(time.Second) {
		m := seconds[at.Unix()]
		all := int64(0)
		for i := range paths {
			read[i], write[i] = read[i]+m.read[i], write[i]+m.write[i]
			all += m.read[i] + m.write[i]
		}
		for n, cost := range []float64{.0135, .0052} { // microseconds for each byte
			busy[n] += int64(float64(all)*cost*(1+.06*g.random.NormFloat64())) + 300_000 + int64(g.random.Float64()*200_000)
		}
		if at.Unix()%storageSeconds == 0 {
			observed.Storage = append(observed.Storage, storageSample(at, read, write, busy))
		}
	}
	addWindows(observed, spans)
}

func storageSample(at time.Time, read, write [paths]int64, busy [2]int64) runfile.StorageSample {
	s := runfile.StorageSample{Source: "ontap", Time: at, VolumeNode: "c1-01"}
	reads, writes := int64(0), int64(0)
	for i := range paths {
		s.Paths = append(s.Paths, runfile.StoragePath{Address: address(i), Name: "lif", Node: nodeOf(i), ReadBytes: new(read[i]), WriteBytes: new(write[i])})
		reads, writes = reads+read[i], writes+write[i]
	}
	for n, name := range []string{"c1-01", "c1-02"} {
		s.Nodes = append(s.Nodes, runfile.StorageNode{Name: name, BusyMicroseconds: new(busy[n]), Cores: new(int32(8))})
	}
	s.ReadBytes, s.WriteBytes = &reads, &writes
	s.ReadOps, s.WriteOps = new(reads/blockBytes), new(writes/blockBytes)
	s.ReadMicroseconds, s.WriteMicroseconds = new(reads/blockBytes*470), new(writes/blockBytes*810)
	return s
}

// addWindows are the differences of the samples next to the ends of each window,
// as the collector makes them.
func addWindows(o *runfile.Observed, spans []runfile.Span) {
	for _, span := range spans {
		if span.Kind != runfile.SpanBaseline && span.Kind != runfile.SpanMeasure {
			continue
		}
		if w, ok := windowOf(o.Storage, span); ok {
			at := windowAt(o, span)
			o.Windows[at].Storage = []runfile.StorageWindow{w}
		}
	}
}

func windowOf(samples []runfile.StorageSample, span runfile.Span) (runfile.StorageWindow, bool) {
	var inside []runfile.StorageSample
	for _, s := range samples {
		if !s.Time.Before(span.Start) && !s.Time.After(span.End) {
			inside = append(inside, s)
		}
	}
	if len(inside) < 2 {
		return runfile.StorageWindow{}, false
	}
	return difference(inside[0], inside[len(inside)-1]), true
}

// windowAt is where the window of a span is, added if it was not there.
func windowAt(o *runfile.Observed, span runfile.Span) int {
	at := slices.IndexFunc(o.Windows, func(w runfile.ObservedWindow) bool { return w.Kind == span.Kind && w.Repetition == span.Repetition })
	if at < 0 {
		at = len(o.Windows)
		o.Windows = append(o.Windows, runfile.ObservedWindow{Kind: span.Kind, Repetition: span.Repetition, Start: span.Start, End: span.End})
	}
	return at
}

func difference(a, b runfile.StorageSample) runfile.StorageWindow {
	seconds := b.Time.Sub(a.Time).Seconds()
	w := runfile.StorageWindow{
		Source: a.Source, Seconds: seconds, VolumeNodes: []string{a.VolumeNode},
		ReadOps: less(b.ReadOps, a.ReadOps), WriteOps: less(b.WriteOps, a.WriteOps), ReadBytes: less(b.ReadBytes, a.ReadBytes), WriteBytes: less(b.WriteBytes, a.WriteBytes),
		ReadMicroseconds: less(b.ReadMicroseconds, a.ReadMicroseconds), WriteMicroseconds: less(b.WriteMicroseconds, a.WriteMicroseconds),
	}
	for i, n := range b.Nodes {
		used := float64(*n.BusyMicroseconds-*a.Nodes[i].BusyMicroseconds) / (seconds * 1e6 * float64(*n.Cores))
		w.Nodes = append(w.Nodes, runfile.StorageNodeWindow{Name: n.Name, CPUPermille: new(int32(used * 1000))})
	}
	for i, p := range b.Paths {
		w.Paths = append(w.Paths, runfile.StoragePath{
			Address: p.Address, Name: p.Name, Node: p.Node, ReadBytes: less(p.ReadBytes, a.Paths[i].ReadBytes), WriteBytes: less(p.WriteBytes, a.Paths[i].WriteBytes),
		})
	}
	return w
}

func less(b, a *int64) *int64 { return new(*b - *a) }
