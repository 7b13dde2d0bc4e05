package gen

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// OfArray adds to the result of a client what that array counted: all of its
// reads at the LIFs of the plan's paths, and a node that owns nothing busy when
// it passes them on.
func OfArray(c *runfile.ClientResult, p runfile.Plan) {
	for i := range c.Observed.Windows {
		w := &c.Observed.Windows[i]
		total := bytesPerSecond * int64(p.Schedule.DurationSeconds)
		ops, none, cost := total/blockOf(p, nil), int64(0), int64(40_000)
		micros := ops * 900
		s := runfile.StorageWindow{
			Source: p.Survey.Source, Seconds: w.End.Sub(w.Start).Seconds(), ReadOps: &ops, WriteOps: &none, ReadBytes: &total, WriteBytes: &none,
			ReadMicroseconds: &micros, VolumeNodes: []string{p.Survey.Volume.Node},
		}
		used := pathsOf(p)
		busy := map[string]int32{p.Survey.Volume.Node: 320}
		for _, l := range p.Survey.LIFs {
			path := runfile.StoragePath{Address: l.Address, Name: l.Name, Node: l.Node, ReadBytes: &none, WriteBytes: &none}
			if slices.Contains(used, l.Address) {
				share := total / int64(len(used))
				path.ReadBytes = &share
				busy[l.Node] = max(busy[l.Node], 350)
			}
			s.Paths = append(s.Paths, path)
		}
		for _, n := range p.Survey.Nodes {
			cpu := busy[n.Name]
			s.Nodes = append(s.Nodes, runfile.StorageNodeWindow{Name: n.Name, CPUPermille: &cpu})
		}
		w.Storage, w.CollectorCPUMicroseconds = []runfile.StorageWindow{s}, &cost
	}
}
