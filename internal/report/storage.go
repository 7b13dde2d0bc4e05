package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// storageSection shows the counters of the storage itself: CPU and throughput of each node on the time axis of the
// load, and the throughput of each address.
func storageSection(r runfile.Result, c *course, j judge.Judgement) doc.Section {
	s := doc.Section{ID: "storage", Title: "Storage nodes"}
	if panels := storagePanels(r, c); len(panels) > 0 && len(c.slots) > 1 {
		t := chart.Timeline{Panels: panels, Bands: c.bands(), To: c.end()}
		s.Add(doc.Block{Figure: &doc.Figure{
			ID: "storage", Title: "CPU and throughput of each storage node over time", Draw: t.SVG,
			Description: "One strip for the CPU of each storage node and one for what it sent and received," +
				" on the time axis of the load.",
			Caption: "As the storage counts it, on the time axis of the load.",
		}})
	}
	s.Add(doc.Block{Table: nodeTable(j.Summary.StorageNodes)}, doc.Block{Table: lifTable(j.Summary.StoragePaths)})
	return s
}

// storagePanels returns the strips of all sources, CPU of nodes first.
func storagePanels(r runfile.Result, c *course) []chart.Panel {
	cpu, traffic := map[string][]chart.Point{}, map[string][]chart.Point{}
	for _, samples := range storageSamples(r) {
		ahead := clockOffset(r, samples[0].Source)
		for i := 1; i < len(samples); i++ {
			a, b := samples[i-1], samples[i]
			seconds := b.Time.Sub(a.Time).Seconds()
			if seconds <= 0 {
				continue
			}
			x := b.Time.Sub(c.start).Seconds() - ahead - seconds/2
			for _, n := range b.Nodes {
				k := slices.IndexFunc(a.Nodes, func(o runfile.StorageNode) bool { return o.Name == n.Name })
				if k >= 0 {
					cpu[n.Name] = append(cpu[n.Name], chart.Point{X: x, Y: busyPercent(a.Nodes[k], n, seconds)})
				}
			}
			addTraffic(traffic, a, b, x, seconds)
		}
	}
	busy, carried := strips(cpu, ": CPU, %", "%"), strips(traffic, ": MB/s", "MB/s")
	for i := range busy {
		busy[i].Max = 100
	}
	oneScale(carried)
	return append(busy, carried...)
}

// storageSamples returns the samples of each source, from the client that has most of them: every client's collector
// reads the same counters.
func storageSamples(r runfile.Result) [][]runfile.StorageSample {
	best := map[string][]runfile.StorageSample{}
	for _, cl := range r.Clients {
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

// clockOffset returns how far the clock of a source is ahead of ours, in seconds.
func clockOffset(r runfile.Result, source string) float64 {
	s := r.Plan.Survey
	if s == nil || s.Source != source || s.ClockOffsetMilliseconds == nil {
		return 0
	}
	return float64(*s.ClockOffsetMilliseconds) / 1000
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

// addTraffic adds up the addresses of each node. Without addresses it takes the counters of the whole source.
func addTraffic(into map[string][]chart.Point, a, b runfile.StorageSample, x, seconds float64) {
	sums := map[string]float64{}
	for _, p := range b.Paths {
		i := slices.IndexFunc(a.Paths, func(o runfile.StoragePath) bool { return o.Address == p.Address && o.Node == p.Node })
		if i < 0 {
			continue
		}
		if d, ok := moved(a.Paths[i].ReadBytes, p.ReadBytes, a.Paths[i].WriteBytes, p.WriteBytes); ok {
			sums[cmp.Or(p.Node, p.Address)] += d / seconds / 1e6
		}
	}
	if d, ok := moved(a.ReadBytes, b.ReadBytes, a.WriteBytes, b.WriteBytes); ok && len(sums) == 0 {
		sums[b.Source] = d / seconds / 1e6
	}
	for name, v := range sums {
		into[name] = append(into[name], chart.Point{X: x, Y: v})
	}
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

func nodeTable(nodes []measure.StorageNode) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Head: "Node"},
		{Head: "Source", In: doc.HTMLOnly},
		{Head: "Role", Width: 12},
		{Head: "CPU, idle", Short: "CPU IDLE", Number: true, Width: 8},
		{Head: "CPU, loaded", Short: "LOADED", Number: true, Width: 8},
	}}
	several := slices.ContainsFunc(nodes, func(n measure.StorageNode) bool { return n.Source != nodes[0].Source })
	for _, n := range nodes {
		var roles, short []string
		if n.Owner {
			roles, short = append(roles, "owns the volume"), append(short, "Owner")
		}
		if n.Entry {
			roles, short = append(roles, "a path ends here"), append(short, "Entry")
		}
		row := t.Row(n.Name, n.Source, cmp.Or(joined(roles), doc.Unknown), known(n.BaselineCPUPermille, human.Share),
			known(n.CPUPermille, human.Share))
		row.Cells[2].Short = cmp.Or(joined(short), " ")
		if several {
			row.Cells[0].Short = n.Source + "/" + n.Name
		}
		if n.CPUPermille != nil {
			row.Bar = new(float64(*n.CPUPermille) / 1000)
		}
	}
	return t
}

func lifTable(paths []measure.StoragePath) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Head: "Address", In: doc.HTMLOnly},
		{Head: "LIF"},
		{Head: "Node"},
		{Head: "Data", Width: 6},
		{Head: "Read", Number: true, Width: 12},
		{Head: "Written", Number: true, Width: 12},
	}}
	for _, p := range paths {
		where, short := doc.Unknown, doc.Unknown
		if p.Local != nil {
			where = map[bool]string{true: "on this node", false: "on another node"}[*p.Local]
			short = map[bool]string{true: "local", false: "remote"}[*p.Local]
		}
		row := t.Row(p.Address, cmp.Or(p.LIF, doc.Unknown), cmp.Or(p.Node, doc.Unknown), where,
			known(p.ReadBytes, human.Bytes), known(p.WriteBytes, human.Bytes))
		row.Cells[1].Short = strings.TrimSpace(p.Address + " " + p.LIF)
		row.Cells[2].Short = cmp.Or(p.Node, " ")
		row.Cells[3].Short = short
		bytes, _ := moved(new(int64), p.ReadBytes, new(int64), p.WriteBytes)
		if short == "remote" && bytes > 0 {
			row.Cells[3].Tone = doc.Warn
		}
	}
	return t
}

// storageParts returns the load as the storage counted it. Its latency is not subtracted from the client's latency:
// layer, size of the operations and window differ.
func storageParts(s measure.Summary) []string {
	var parts []string
	if v := s.Storage.OperationsPerSecond; v != nil {
		parts = append(parts, fmt.Sprintf("%d IOPS", *v))
	}
	if v := s.Storage.BytesPerSecond; v != nil {
		parts = append(parts, human.Throughput(*v))
	}
	if v := s.Storage.MeanLatencyMicroseconds; v != nil {
		parts = append(parts, "mean "+human.Latency(*v)+" "+latencyLayer(s.Storage))
	}
	return parts
}

// latencyLayer names the layer in which the storage measures its latency.
func latencyLayer(l measure.StorageLoad) string {
	switch l.LatencyLayer {
	case measure.LayerVolume:
		return "in its volume layer (without its NFS service, the network of the cluster and QoS limits)"
	case measure.LayerProtocol:
		return "in its NFS service"
	default:
		return "in an unknown layer"
	}
}
