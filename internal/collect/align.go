package collect

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Reading is one sample of a storage source with its time on the client's clock. The storage's clock may
// differ from the client's, so At assigns a reading to a window, and the sample's own time is the clock for
// rates.
type Reading struct {
	At     time.Time // middle of the call, on the client's clock
	Epoch  string    // of the counters, see storage.Snapshot; empty is unknown
	Sample runfile.StorageSample
}

// minCoverage defines the share of a span, 1/minCoverage, that the samples inside must cover to represent it.
const minCoverage = 2

// Align returns what the counters did in each closed span of a Baseline, a window or a phase of a calibration,
// in the order of the spans. Samples are in the order in which they were taken.
//
// A window reaches from the first sample inside the span to the last one inside it, both ends included.
// Samples outside are never used: one second of load in an idle baseline, or of idleness in a measured
// window, is worse than a window that is a second shorter. Start and End of the window are the times of
// the two host samples, so that a delta always matches its duration; a window without host samples keeps
// the times of its span. Each storage source has its own two readings, times and Seconds. The window has
// no values if fewer than two samples are inside, or if they cover less than half of the span.
//
// A counter that is missing at either end, or that went back in between, has no delta. A storage source that
// restarted, or whose own counters went back, has Reset set and no values at all; a node or a path whose
// counter went back loses only that counter's delta.
func Align(spans []runfile.Span, hosts []runfile.HostSample, storage []Reading) []runfile.ObservedWindow {
	var windows []runfile.ObservedWindow
	var sources []string // in the order of their first reading
	bySource := map[string][]Reading{}
	for _, r := range storage {
		name := r.Sample.Source
		if _, known := bySource[name]; !known {
			sources = append(sources, name)
		}
		bySource[name] = append(bySource[name], r)
	}
	for _, span := range spans {
		if !slices.Contains(alignedKinds(), span.Kind) || !span.End.After(span.Start) {
			continue
		}
		w := runfile.ObservedWindow{Kind: span.Kind, Repetition: span.Repetition, Start: span.Start, End: span.End}
		if inner := inside(hosts, func(s runfile.HostSample) time.Time { return s.Time }, span); inner != nil {
			fillHostWindow(&w, inner)
		}
		for _, source := range sources {
			held := heldAt(bySource[source])
			if inner := inside(bySource[source], held, span); inner != nil {
				w.Storage = append(w.Storage, dated(storageWindow(source, inner), held(inner[0]), held(inner[len(inner)-1])))
			}
		}
		windows = append(windows, w)
	}
	return windows
}

func alignedKinds() []string {
	return []string{runfile.SpanBaseline, runfile.SpanMeasure, runfile.StepSmallReads, runfile.StepLargeReads}
}

// phases returns the parts of calibrations with small and with large reads, as spans.
func phases(load runfile.Load) (spans []runfile.Span) {
	for _, rep := range load.Repetitions {
		if rep.Oracle == nil {
			continue
		}
		for _, p := range rep.Oracle.Phases {
			spans = append(spans, runfile.Span{Kind: p.Kind, Repetition: rep.Index, Start: p.Start, End: p.End})
		}
	}
	return spans
}

// dated adds the times of a window's counters, if it has any.
func dated(w runfile.StorageWindow, start, end time.Time) runfile.StorageWindow {
	if w.Seconds > 0 {
		w.Start, w.End = start.Round(time.Microsecond), end.Round(time.Microsecond)
	}
	return w
}

// maxAge is above the age of the counters of any storage.
const maxAge = 2 * time.Minute

// heldAt returns a function for the time, on the client's clock, at which the storage took the counters of a
// reading. An array updates its counters on a grid (ONTAP: every 15 s), so a reading is as old as the last
// update. No reading can be older than its counters: the youngest reading of all shows the offset between the
// two clocks. A reading that seems much older than the others, because a clock was set, gets the time of the
// call.
func heldAt(readings []Reading) func(Reading) time.Time {
	youngest := time.Duration(math.MaxInt64)
	for _, r := range readings {
		youngest = min(youngest, r.At.Sub(r.Sample.Time))
	}
	return func(r Reading) time.Time {
		held := r.Sample.Time.Add(youngest)
		if age := r.At.Sub(held); age < 0 || age > maxAge {
			return r.At
		}
		return held
	}
}

// inside returns the samples from the first to the last inside the span, nil if they cannot represent the
// span.
func inside[T any](samples []T, at func(T) time.Time, span runfile.Span) []T {
	within := func(s T) bool { return !at(s).Before(span.Start) && !at(s).After(span.End) }
	first := slices.IndexFunc(samples, within)
	if first < 0 {
		return nil
	}
	last := len(samples) - 1
	for !within(samples[last]) {
		last--
	}
	covered := at(samples[last]).Sub(at(samples[first]))
	if covered <= 0 || covered*minCoverage < span.End.Sub(span.Start) {
		return nil
	}
	return samples[first : last+1]
}

// grown returns the growth of a counter over the samples, nil if the counter is unknown at either end or went
// back in between.
func grown[T any](samples []T, counter func(T) *int64) *int64 {
	first, last := counter(samples[0]), counter(samples[len(samples)-1])
	if first == nil || last == nil || wentBack(samples, counter) {
		return nil
	}
	return new(*last - *first)
}

// of returns a counter of a part of a sample, nil if the sample has no such part.
func of[T, P any](part func(T) *P, counter func(*P) *int64) func(T) *int64 {
	return func(sample T) *int64 {
		if p := part(sample); p != nil {
			return counter(p)
		}
		return nil
	}
}

// find returns the first wanted element, nil if there is none.
func find[T any](list []T, wanted func(T) bool) *T {
	if i := slices.IndexFunc(list, wanted); i >= 0 {
		return &list[i]
	}
	return nil
}

// wentBack reports whether a counter is smaller in any sample than in an earlier one.
func wentBack[T any](samples []T, counter func(T) *int64) bool {
	var before *int64
	for _, s := range samples {
		now := counter(s)
		if now == nil {
			continue
		}
		if before != nil && *now < *before {
			return true
		}
		before = now
	}
	return false
}

const permille = 1000

// share returns part/whole in permille, at most 1000, nil if it is unknown. Two counters that are not read at
// the same instant can give a little more than the whole.
func share(part *int64, whole float64) *int32 {
	if part == nil || whole <= 0 {
		return nil
	}
	return new(int32(min(float64(*part)/whole*permille+0.5, permille)))
}

// fillHostWindow writes the deltas of two or more samples into w.
func fillHostWindow(w *runfile.ObservedWindow, samples []runfile.HostSample) {
	first, last := samples[0], samples[len(samples)-1]
	w.Start, w.End = first.Time, last.Time
	w.EdgeMilliseconds = first.TookMilliseconds + last.TookMilliseconds
	delta := func(counter func(runfile.HostSample) *int64) *int64 { return grown(samples, counter) }
	busy := delta(func(s runfile.HostSample) *int64 { return s.NodeBusyMicroseconds })
	if total := delta(func(s runfile.HostSample) *int64 { return s.NodeTotalMicroseconds }); total != nil {
		w.NodeCPUPermille, w.NodeBusyMicroseconds = share(busy, float64(*total)), busy
	}
	w.Cores = coreShares(samples)
	w.CgroupCPUMicroseconds = delta(func(s runfile.HostSample) *int64 { return s.CgroupCPUMicroseconds })
	w.CgroupThrottledMicros = delta(func(s runfile.HostSample) *int64 { return s.CgroupThrottledMicros })
	w.TCPRetransmittedSegment = delta(func(s runfile.HostSample) *int64 { return s.TCPRetransmittedSegment })
	w.TCPOutOfOrderSegments = delta(func(s runfile.HostSample) *int64 { return s.TCPOutOfOrderSegments })
	w.CollectorCPUMicroseconds = delta(func(s runfile.HostSample) *int64 { return s.CollectorCPUMicroseconds })
	w.Interfaces = interfaceDeltas(samples)
	w.Mount = mountDelta(samples)
	for _, s := range samples {
		if a := s.AsyncIO; a != nil && (w.AsyncIO == nil || a.Requests > w.AsyncIO.Requests) {
			w.AsyncIO = a
		}
	}
}

// coreShares omits cores that were not present all the time. The kernel's idle time of one core can go back,
// so the whole is the time of the window.
func coreShares(samples []runfile.HostSample) (out []runfile.CoreWindow) {
	for n, core := range samples[0].Cores {
		in := func(s runfile.HostSample) *runfile.CoreCounters {
			if n < len(s.Cores) && s.Cores[n].Number == core.Number {
				return &s.Cores[n] // unless a core was removed
			}
			return find(s.Cores, func(c runfile.CoreCounters) bool { return c.Number == core.Number })
		}
		busy := grown(samples, of(in, func(c *runfile.CoreCounters) *int64 { return &c.BusyMicroseconds }))
		whole := samples[len(samples)-1].Time.Sub(samples[0].Time)
		if v := share(busy, float64(whole.Microseconds())); v != nil {
			out = append(out, runfile.CoreWindow{Number: core.Number, BusyPermille: *v})
		}
	}
	return out
}

// interfaceDeltas omits interfaces that were not present all the time.
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

// mountDelta returns nil if any counter of the mount went back, because then it is another mount.
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
	out.Retransmits = retransmits(samples)
	out.Transports = transportDeltas(samples)
	return &out
}

var errMountWentBack = errors.New("the counters of the mount went back: it was mounted again, or they were reset, " +
	"and the window of that time has none of them")

func mountWentBack(samples []runfile.HostSample) bool {
	var none runfile.MountCounters
	for n := range mountFields(&none) {
		mount := func(s runfile.HostSample) *runfile.MountCounters { return s.Mount }
		if wentBack(samples, of(mount, func(m *runfile.MountCounters) *int64 { return mountFields(m)[n] })) {
			return true
		}
	}
	return false
}

// retransmits returns, over all kinds of operations, the transmissions in excess of the operations. If calls
// ended before they were sent, their kind has fewer transmissions, which it does not subtract from the other
// kinds. The samples of a killed collector have no operations.
func retransmits(samples []runfile.HostSample) (again int64) {
	var known []runfile.HostSample
	for _, s := range samples {
		if s.Mount != nil && s.Mount.Operations != nil {
			known = append(known, s)
		}
	}
	if len(known) < 2 {
		return 0
	}
	before := known[0].Mount.Operations
	for _, o := range known[len(known)-1].Mount.Operations {
		b := find(before, func(b runfile.OperationCounters) bool { return b.Name == o.Name })
		if b == nil {
			b = &runfile.OperationCounters{} // the first operations of this kind
		}
		again += max(o.Transmissions-b.Transmissions-(o.Operations-b.Operations), 0)
	}
	return again
}

func mountFields(m *runfile.MountCounters) []*int64 {
	return []*int64{
		&m.ServerReadBytes, &m.ServerWriteBytes,
		&m.DirectReadBytes, &m.DirectWriteBytes,
		&m.NormalReadBytes, &m.NormalWriteBytes,
		&m.PNFSReads, &m.PNFSWrites,
		&m.ReadOps, &m.WriteOps,
	}
}

// connectionsChanged reports whether the problem of errConnections occurred.
func connectionsChanged(samples []runfile.HostSample) bool {
	first, last := samples[0].Mount, samples[len(samples)-1].Mount
	return first != nil && last != nil && len(first.Transports) != len(last.Transports)
}

var errConnections = errors.New("the number of connections of the mount changed, as it does with another nconnect or " +
	"with trunking: the window of that time has none that were added, and none at all if one was removed")

// transportDeltas returns the deltas of the connections that were present at both ends. The kernel appends an
// added connection to its list; it does not show which one was removed.
func transportDeltas(samples []runfile.HostSample) []runfile.Transport {
	count := len(samples[0].Mount.Transports)
	var out []runfile.Transport
	for n := range count {
		transport := func(s runfile.HostSample) *runfile.Transport {
			if s.Mount == nil || len(s.Mount.Transports) <= n {
				return nil
			}
			return &s.Mount.Transports[n]
		}
		sends := grown(samples, of(transport, func(t *runfile.Transport) *int64 { return &t.Sends }))
		receives := grown(samples, of(transport, func(t *runfile.Transport) *int64 { return &t.Receives }))
		if sends == nil || receives == nil {
			return nil
		}
		out = append(out, runfile.Transport{
			Protocol: samples[0].Mount.Transports[n].Protocol, Sends: *sends, Receives: *receives,
		})
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
	// A clock that went back belongs to another server, or is as bad as one.
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
		return w // the storage returned the same reading twice: no deltas
	}
	w.ReadOps, w.WriteOps, w.OtherOps, w.ReadBytes, w.WriteBytes = deltas[0], deltas[1], deltas[2], deltas[3], deltas[4]
	w.ReadMicroseconds, w.WriteMicroseconds = deltas[5], deltas[6]
	for _, r := range readings {
		if n := r.Sample.VolumeNode; n != "" && (len(w.VolumeNodes) == 0 || w.VolumeNodes[len(w.VolumeNodes)-1] != n) {
			w.VolumeNodes = append(w.VolumeNodes, n) // the nodes that owned the data, in order
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

// nodeWindow needs the number of cores, or the time in which the node could have been busy: without them CPU
// time is not a share.
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

// pathWindow returns the state of a path at the end of a window.
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
