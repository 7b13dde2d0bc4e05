package collect

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const microsecondsPerSecond = 1e6

// storageWindow makes the deltas of one source from two or more readings.
func storageWindow(source string, readings []Reading) runfile.StorageWindow {
	first, last := readings[0].Sample, readings[len(readings)-1].Sample
	w := runfile.StorageWindow{Source: source, Seconds: last.Time.Sub(first.Time).Seconds()}
	if w.Seconds < 0 || newEpoch(readings) || anyWentBack(readings) {
		// A clock that went back is that of another server, or as bad as one.
		return runfile.StorageWindow{Source: source, Reset: true}
	}
	if w.Seconds == 0 {
		return w // the storage gave the same reading twice: no deltas
	}
	fields := storageFields(&runfile.StorageSample{})
	deltas := make([]*int64, len(fields))
	for n := range fields {
		deltas[n] = grown(readings, sampleField(n))
	}
	w.ReadOps, w.WriteOps, w.OtherOps, w.ReadBytes, w.WriteBytes = deltas[0], deltas[1], deltas[2], deltas[3], deltas[4]
	w.ReadMicroseconds, w.WriteMicroseconds = deltas[5], deltas[6]
	w.VolumeNodes = owners(readings)
	w.Clients = clients(readings)
	for _, node := range first.Nodes {
		w.Nodes = append(w.Nodes, nodeWindow(readings, node.Name, w.Seconds))
	}
	for _, path := range last.Paths {
		w.Paths = append(w.Paths, pathWindow(readings, path))
	}
	return w
}

// owners are the nodes that owned the data, in order, without repetitions.
func owners(readings []Reading) []string {
	var out []string
	for _, r := range readings {
		if n := r.Sample.VolumeNode; n != "" && (len(out) == 0 || out[len(out)-1] != n) {
			out = append(out, n)
		}
	}
	return out
}

// clients are those of the last reading that asked for them.
func clients(readings []Reading) []runfile.StorageClient {
	for _, r := range slices.Backward(readings) {
		if c := r.Sample.Clients; len(c) > 0 {
			return c
		}
	}
	return nil
}

// storageFields returns the fields in the order in which storageWindow reads
// them again.
func storageFields(s *runfile.StorageSample) []*int64 {
	return []*int64{s.ReadOps, s.WriteOps, s.OtherOps, s.ReadBytes, s.WriteBytes, s.ReadMicroseconds, s.WriteMicroseconds}
}

func sampleField(n int) func(Reading) *int64 {
	return func(r Reading) *int64 { return storageFields(&r.Sample)[n] }
}

func newEpoch(readings []Reading) bool {
	for _, r := range readings[1:] {
		if r.Epoch != readings[0].Epoch {
			return true
		}
	}
	return false
}

func anyWentBack(readings []Reading) bool {
	for n := range storageFields(&runfile.StorageSample{}) {
		if wentBack(readings, sampleField(n)) {
			return true
		}
	}
	return false
}

// nodeWindow needs to know the cores, or the time in which the node could have
// been busy: CPU time of an unknown number of cores is no share of anything.
func nodeWindow(readings []Reading, name string, seconds float64) runfile.StorageNodeWindow {
	node := func(r Reading) *runfile.StorageNode {
		for i := range r.Sample.Nodes {
			if r.Sample.Nodes[i].Name == name {
				return &r.Sample.Nodes[i]
			}
		}
		return nil
	}
	delta := func(get func(*runfile.StorageNode) *int64) *int64 {
		return grown(readings, func(r Reading) *int64 {
			if n := node(r); n != nil {
				return get(n)
			}
			return nil
		})
	}
	w := runfile.StorageNodeWindow{Name: name}
	busy := delta(func(n *runfile.StorageNode) *int64 { return n.BusyMicroseconds })
	if base := delta(func(n *runfile.StorageNode) *int64 { return n.BaseMicroseconds }); base != nil {
		w.CPUPermille = share(busy, float64(*base))
	} else if cores := node(readings[0]).Cores; cores != nil {
		w.CPUPermille = share(busy, seconds*microsecondsPerSecond*float64(*cores))
	}
	return w
}

// pathWindow is that of a path as it is known at the end.
func pathWindow(readings []Reading, path runfile.StoragePath) runfile.StoragePath {
	field := func(get func(runfile.StoragePath) *int64) *int64 {
		return grown(readings, func(r Reading) *int64 {
			for _, p := range r.Sample.Paths {
				if p.Address == path.Address {
					return get(p)
				}
			}
			return nil
		})
	}
	return runfile.StoragePath{
		Address:    path.Address,
		Name:       path.Name,
		Node:       path.Node,
		ReadBytes:  field(func(p runfile.StoragePath) *int64 { return p.ReadBytes }),
		WriteBytes: field(func(p runfile.StoragePath) *int64 { return p.WriteBytes }),
		Ops:        field(func(p runfile.StoragePath) *int64 { return p.Ops }),
	}
}
