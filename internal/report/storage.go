package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/chart"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// storageSection shows the counters of the storage itself: CPU and throughput of each node on the time axis of the
// load, and the throughput of each address.
func storageSection(c axis, j judge.Judgement) doc.Section {
	s := doc.Section{ID: "storage", Title: "Storage nodes"}
	if panels := storagePanels(c, j); len(panels) > 0 && len(c.Slots) > 1 {
		t := chart.Timeline{Panels: panels, Bands: c.bands(), To: c.End()}
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
func storagePanels(c axis, j judge.Judgement) []chart.Panel {
	cpu, traffic := j.Facts.StorageHistory(c.History)
	busy, carried := strips(points(cpu, 1), ": CPU, %", "%"), strips(points(traffic, 1e6), ": MB/s", "MB/s")
	for i := range busy {
		busy[i].Max = 100
	}
	oneScale(carried)
	return append(busy, carried...)
}

// points returns values divided by unit.
func points(all map[string][]measure.TimeValue, unit float64) map[string][]chart.Point {
	out := map[string][]chart.Point{}
	for name, values := range all {
		for _, v := range values {
			out[name] = append(out[name], chart.Point{X: v.Second, Y: v.Value / unit})
		}
	}
	return out
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
		if short == "remote" && bench.OrZero(p.ReadBytes)+bench.OrZero(p.WriteBytes) > 0 {
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
