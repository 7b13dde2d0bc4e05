package collect

import "github.com/nfsbench/nfsbench/internal/runfile"

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
		received := grown(samples, func(s runfile.HostSample) *int64 {
			if at := findInterface(s, i.Name); at != nil {
				return &at.ReceivedBytes
			}
			return nil
		})
		sent := grown(samples, func(s runfile.HostSample) *int64 {
			if at := findInterface(s, i.Name); at != nil {
				return &at.SentBytes
			}
			return nil
		})
		if received != nil && sent != nil {
			out = append(out, runfile.InterfaceRead{Name: i.Name, ReceivedBytes: *received, SentBytes: *sent})
		}
	}
	return out
}

func findInterface(s runfile.HostSample, name string) *runfile.InterfaceRead {
	for i := range s.Interfaces {
		if s.Interfaces[i].Name == name {
			return &s.Interfaces[i]
		}
	}
	return nil
}

// mountDelta is nil when any counter of the mount went back: it is another
// mount then. The transports are left out when their number changed.
func mountDelta(samples []runfile.HostSample) *runfile.MountCounters {
	var out runfile.MountCounters
	for n, field := range mountFields(&out) {
		delta := grown(samples, func(s runfile.HostSample) *int64 {
			if s.Mount == nil {
				return nil
			}
			return mountFields(s.Mount)[n]
		})
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
		sends := grown(samples, func(s runfile.HostSample) *int64 {
			if t := transport(s); t != nil {
				return &t.Sends
			}
			return nil
		})
		receives := grown(samples, func(s runfile.HostSample) *int64 {
			if t := transport(s); t != nil {
				return &t.Receives
			}
			return nil
		})
		if sends == nil || receives == nil {
			return nil
		}
		out = append(out, runfile.Transport{Sends: *sends, Receives: *receives})
	}
	return out
}
