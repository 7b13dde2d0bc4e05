package collect

import (
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// fillHostWindow writes the deltas of the samples, of which there are two or
// more, into w.
func fillHostWindow(w *runfile.ObservedWindow, samples []runfile.HostSample) {
	w.Start, w.End = samples[0].Time, samples[len(samples)-1].Time
	delta := func(counter func(runfile.HostSample) *int64) *int64 { return grown(samples, counter) }
	busy := delta(func(s runfile.HostSample) *int64 { return s.NodeBusyMicroseconds })
	if total := delta(func(s runfile.HostSample) *int64 { return s.NodeTotalMicroseconds }); total != nil {
		w.NodeCPUPermille = share(busy, float64(*total))
	}
	w.CgroupCPUMicroseconds = delta(func(s runfile.HostSample) *int64 { return s.CgroupCPUMicroseconds })
	w.CgroupThrottledMicros = delta(func(s runfile.HostSample) *int64 { return s.CgroupThrottledMicros })
	w.TCPRetransmittedSegment = delta(func(s runfile.HostSample) *int64 { return s.TCPRetransmittedSegment })
	w.CollectorCPUMicroseconds = delta(func(s runfile.HostSample) *int64 { return s.CollectorCPUMicroseconds })
	w.Interfaces = interfaceDeltas(samples)
	w.Mount = mountDelta(samples)
}

// interfaceDeltas leaves out interfaces that were not there all the time.
func interfaceDeltas(samples []runfile.HostSample) []runfile.InterfaceRead {
	var out []runfile.InterfaceRead
	for _, i := range samples[0].Interfaces {
		in := func(s runfile.HostSample) *runfile.InterfaceRead {
			return find(s.Interfaces, func(r runfile.InterfaceRead) bool { return r.Name == i.Name })
		}
		received := grown(samples, of(in, func(r *runfile.InterfaceRead) *int64 { return &r.ReceivedBytes }))
		sent := grown(samples, of(in, func(r *runfile.InterfaceRead) *int64 { return &r.SentBytes }))
		if received != nil && sent != nil {
			out = append(out, runfile.InterfaceRead{Name: i.Name, ReceivedBytes: *received, SentBytes: *sent})
		}
	}
	return out
}

// mountDelta is nil when any counter of the mount went back: it is another
// mount then. The transports are left out when their number changed.
func mountDelta(samples []runfile.HostSample) *runfile.MountCounters {
	var out runfile.MountCounters
	mount := func(s runfile.HostSample) *runfile.MountCounters { return s.Mount }
	for n, field := range mountFields(&out) {
		delta := grown(samples, of(mount, func(m *runfile.MountCounters) *int64 { return mountFields(m)[n] }))
		if delta == nil {
			return nil
		}
		*field = *delta
	}
	out.Transports = transportDeltas(samples)
	return &out
}

func mountFields(m *runfile.MountCounters) []*int64 {
	return []*int64{
		&m.ServerReadBytes, &m.ServerWriteBytes,
		&m.DirectReadBytes, &m.DirectWriteBytes,
		&m.NormalReadBytes, &m.NormalWriteBytes,
		&m.PNFSReads, &m.PNFSWrites,
		&m.ReadOps, &m.WriteOps, &m.Retransmits,
	}
}

func transportDeltas(samples []runfile.HostSample) []runfile.Transport {
	count := len(samples[0].Mount.Transports)
	var out []runfile.Transport
	for n := range count {
		transport := func(s runfile.HostSample) *runfile.Transport {
			if s.Mount == nil || len(s.Mount.Transports) != count {
				return nil
			}
			return &s.Mount.Transports[n]
		}
		sends := grown(samples, of(transport, func(t *runfile.Transport) *int64 { return &t.Sends }))
		receives := grown(samples, of(transport, func(t *runfile.Transport) *int64 { return &t.Receives }))
		if sends == nil || receives == nil {
			return nil
		}
		out = append(out, runfile.Transport{Sends: *sends, Receives: *receives})
	}
	return out
}

const microsecondsPerSecond = 1e6

// storageFields returns the totals in the order in which storageWindow reads them.
func storageFields(s *runfile.StorageSample) []*int64 {
	return []*int64{s.ReadOps, s.WriteOps, s.OtherOps, s.ReadBytes, s.WriteBytes, s.ReadMicroseconds, s.WriteMicroseconds}
}

// storageWindow makes the deltas of one source from two or more readings.
func storageWindow(source string, readings []Reading) runfile.StorageWindow {
	first, last := readings[0].Sample, readings[len(readings)-1].Sample
	w := runfile.StorageWindow{Source: source, Seconds: last.Time.Sub(first.Time).Seconds()}
	// A clock that went back is that of another server, or as bad as one.
	reset := w.Seconds < 0 || slices.ContainsFunc(readings, func(r Reading) bool { return r.Epoch != readings[0].Epoch })
	deltas := make([]*int64, len(storageFields(&first)))
	for n := range deltas {
		total := func(r Reading) *int64 { return storageFields(&r.Sample)[n] }
		reset = reset || wentBack(readings, total)
		deltas[n] = grown(readings, total)
	}
	if reset {
		return runfile.StorageWindow{Source: source, Reset: true}
	}
	if w.Seconds == 0 {
		return w // the storage gave the same reading twice: no deltas
	}
	w.ReadOps, w.WriteOps, w.OtherOps, w.ReadBytes, w.WriteBytes = deltas[0], deltas[1], deltas[2], deltas[3], deltas[4]
	w.ReadMicroseconds, w.WriteMicroseconds = deltas[5], deltas[6]
	for _, r := range readings {
		if n := r.Sample.VolumeNode; n != "" && (len(w.VolumeNodes) == 0 || w.VolumeNodes[len(w.VolumeNodes)-1] != n) {
			w.VolumeNodes = append(w.VolumeNodes, n) // those that owned the data, in order
		}
		if len(r.Sample.Clients) > 0 {
			w.Clients = r.Sample.Clients // of the last reading that asked for them
		}
	}
	for _, node := range first.Nodes {
		w.Nodes = append(w.Nodes, nodeWindow(readings, node.Name, w.Seconds))
	}
	for _, path := range last.Paths {
		w.Paths = append(w.Paths, pathWindow(readings, path))
	}
	return w
}

// nodeWindow needs to know the cores, or the time in which the node could have
// been busy: CPU time of an unknown number of cores is no share of anything.
func nodeWindow(readings []Reading, name string, seconds float64) runfile.StorageNodeWindow {
	node := func(r Reading) *runfile.StorageNode {
		return find(r.Sample.Nodes, func(n runfile.StorageNode) bool { return n.Name == name })
	}
	delta := func(get func(*runfile.StorageNode) *int64) *int64 { return grown(readings, of(node, get)) }
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
	known := func(r Reading) *runfile.StoragePath {
		return find(r.Sample.Paths, func(p runfile.StoragePath) bool { return p.Address == path.Address })
	}
	delta := func(get func(*runfile.StoragePath) *int64) *int64 { return grown(readings, of(known, get)) }
	return runfile.StoragePath{
		Address:    path.Address,
		Name:       path.Name,
		Node:       path.Node,
		ReadBytes:  delta(func(p *runfile.StoragePath) *int64 { return p.ReadBytes }),
		WriteBytes: delta(func(p *runfile.StoragePath) *int64 { return p.WriteBytes }),
		Ops:        delta(func(p *runfile.StoragePath) *int64 { return p.Ops }),
	}
}
