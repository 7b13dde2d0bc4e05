package measure

import (
	"cmp"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// SegmentsSentAgain returns the TCP segments that the clients retransmitted per 1000 segments that the payload needs
// at least; nil if unknown. The counters cover a client's whole network namespace.
func (c *Facts) SegmentsSentAgain() *float64 {
	return c.segmentPermille(c.Overall.Total.Bytes,
		func(w *runfile.ObservedWindow) *int64 { return w.TCPRetransmittedSegment })
}

// SegmentsOutOfOrder returns the TCP segments that arrived out of order per 1000 segments that were read.
func (c *Facts) SegmentsOutOfOrder() *float64 {
	return c.segmentPermille(bench.OrZero(c.Overall.Read).Bytes,
		func(w *runfile.ObservedWindow) *int64 { return w.TCPOutOfOrderSegments })
}

func (c *Facts) segmentPermille(payload int64, count func(*runfile.ObservedWindow) *int64) *float64 {
	counted, known := int64(0), false
	for _, p := range c.Overall.parts {
		if p.window == nil {
			continue
		}
		if n := count(p.window); n != nil {
			counted += *n
			known = true
		}
	}
	mtu := int64(defaultMTU)
	if c.Wire != nil {
		mtu = int64(c.Wire.Links[0].MTUBytes)
	}
	segments := payload / (mtu - ipv4Bytes - tcpBytes)
	if segments == 0 || !known {
		return nil
	}
	return new(float64(counted) * 1000 / float64(segments))
}

// carriersOf returns the interfaces that carry the load of one client: those
// with the local address of a channel or, for a kernel mount, those that moved
// at least a tenth of its bytes.
func (c *Facts) carriersOf(cl runfile.ClientResult) []runfile.Interface {
	interfaces := bench.OrZero(cl.Observed).Interfaces
	if c.Plan.Engine.Client != bench.ClientDirectNFS {
		return busyInterfaces(cl, interfaces)
	}
	var found []runfile.Interface
	for _, p := range connectedPaths(cl) {
		i, ok := interfaceOf(interfaces, p.Local)
		if !ok {
			return nil
		}
		if !slices.ContainsFunc(found, func(f runfile.Interface) bool { return f.Name == i.Name }) {
			found = append(found, i)
		}
	}
	return found
}

func busyInterfaces(cl runfile.ClientResult, all []runfile.Interface) []runfile.Interface {
	load, moved := int64(0), map[string]int64{}
	for _, rep := range cl.Load.Repetitions {
		load += bench.OrZero(rep.Read).Bytes + bench.OrZero(rep.Write).Bytes
	}
	for w := range windowsOf(cl, runfile.SpanMeasure) {
		for _, i := range w.Interfaces {
			moved[i.Name] += i.ReceivedBytes + i.SentBytes
		}
	}
	return Filtered(all, func(i runfile.Interface) bool { return load > 0 && moved[i.Name] >= load/10 })
}

// interfaceOf finds the interface with an address, written with or without its
// prefix length.
func interfaceOf(all []runfile.Interface, local string) (runfile.Interface, bool) {
	for _, i := range all {
		for _, a := range i.Addresses {
			if a, _, _ = strings.Cut(a, "/"); local != "" && runfile.SameAddress(a, local) {
				return i, true
			}
		}
	}
	return runfile.Interface{}, false
}

// nodeOf returns the machine of a client. Without a node name each client
// counts as a machine of its own.
func nodeOf(cl runfile.ClientResult) string { return cmp.Or(cl.Host.Node, cl.Host.Name) }

// loadedNodes returns the machines that do the I/O of a client: its own, or the
// hosts of an external database.
func (c *Facts) loadedNodes(cl runfile.ClientResult) []string {
	var hosts []string
	if c.External() {
		for _, i := range bench.OrZero(cl.Load.Oracle).Instances {
			hosts = append(hosts, cmp.Or(i.Host, i.Name))
		}
	}
	if len(hosts) == 0 {
		return []string{nodeOf(cl)}
	}
	return hosts
}
