package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkTransferSize compares what one READ or WRITE moves with the requested size, or with the block.
// If the array allows no more, the finding names its setting.
func checkTransferSize(c *facts, found *findings) {
	full, why := min(c.block, defaultXfer), fmt.Sprintf("so each block of %s takes several", human.Size(c.block))
	wanted := c.Plan.Engine.TransferSizeBytes
	if wanted > 0 {
		full, why = min(wanted, c.block), fmt.Sprintf("where %s were asked for", human.Size(wanted))
	}
	limit := bench.OrZero(bench.OrZero(c.survey.NFS).TransferSizeBytes) // of the array; 0: not known
	for _, d := range []struct {
		name string
		xfer int64
		used bool
	}{{"READ", c.transfer[reads], c.overall.Read != nil}, {"WRITE", c.transfer[writes], c.overall.Write != nil}} {
		moves := fmt.Sprintf("A %s moves %s, %s", d.name, human.Size(d.xfer), why)
		switch {
		case !d.used || d.xfer >= full:
		case limit > 0 && limit < full && d.xfer <= limit:
			found.warn(TransferSizeCapped, "%s: the array allows %s. Raise it (vserver nfs modify -vserver %s "+
				"-tcp-max-xfer-size %d, privilege advanced), then mount again.", moves, human.Size(limit), c.svm(), full)
		case limit > 0:
			found.warn(TransferSizeReduced, "%s, and the array allows %s: the limit is that of the mount. Look at its rsize "+
				"and wsize.", moves, human.Size(limit))
		case wanted > 0:
			found.warn(TransferSizeReduced, "%s. Raise the server's limit (ONTAP: tcp-max-xfer-size), or the mount's rsize "+
				"and wsize, then mount again.", moves)
		default:
			found.warn(TransferSizeReduced, "%s. Raise the server's limit (ONTAP: tcp-max-xfer-size), then mount again.", moves)
		}
	}
}

func checkRetransmits(c *facts, found *findings) {
	for _, t := range c.segmentTroubles() {
		found.warn(Retransmits, "%s%s. Look for %s.", t.what, t.why, t.look)
	}
	again := int64(0)
	for _, p := range c.overall.Paths {
		again += p.Retransmits
	}
	if m := c.overall.mount; m.known && c.kernel() {
		again += m.Retransmits
	}
	if again > 0 {
		found.warn(Retransmits, "%d NFS calls were sent again because no reply came in time. Look at the server's log "+
			"and at the network.", again)
	}
}

// segmentTrouble is a rate of TCP segments that is too high.
type segmentTrouble struct{ what, why, look string }

// segmentTroubles looks for packets that were lost or overtook others: those of the
// client, which sends them again, and those of the server, which leave a gap.
func (c *facts) segmentTroubles() (troubles []segmentTrouble) {
	check := func(payload int64, limit float64, count func(*runfile.ObservedWindow) *int64, t segmentTrouble) {
		if rate, known := c.segmentPermille(payload, count); known && rate > limit {
			t.what = fmt.Sprintf("%.1f of 1000 TCP segments %s", rate, t.what)
			troubles = append(troubles, t)
		}
	}
	check(c.overall.Total.Bytes, retransmitRate,
		func(w *runfile.ObservedWindow) *int64 { return w.TCPRetransmittedSegment }, segmentTrouble{
			"were sent again", "",
			"a bad cable, a duplex or MTU mismatch, and drops in a switch",
		})
	check(bench.OrZero(c.overall.Read).Bytes, outOfOrderRate,
		func(w *runfile.ObservedWindow) *int64 { return w.TCPOutOfOrderSegments }, segmentTrouble{
			"arrived out of order", ": packets from the server were lost or overtook others",
			"a bad cable, drops in a switch, and a bond that spreads one connection over its links",
		})
	return troubles
}

// segmentPermille is the segments that a counter has for each 1000 that the
// payload needs at least. The counters are those of the client's whole network
// namespace.
func (c *facts) segmentPermille(payload int64, count func(*runfile.ObservedWindow) *int64) (float64, bool) {
	counted, known := int64(0), false
	for _, p := range c.overall.parts {
		if p.window == nil {
			continue
		}
		if n := count(p.window); n != nil {
			counted += *n
			known = true
		}
	}
	mtu := int64(defaultMTU)
	if c.wire != nil {
		mtu = int64(c.wire.Links[0].MTUBytes)
	}
	segments := payload / (mtu - ipv4Bytes - tcpBytes)
	if segments == 0 {
		return 0, false
	}
	return float64(counted) * 1000 / float64(segments), known
}

func checkCopy(c *facts, found *findings) {
	s, r := c.overall, c.raw()
	if r.Pattern != bench.PatternCopy || r.Depth != 1 || s.Read == nil || s.Write == nil {
		return
	}
	both := s.Read.bytesPerSec + s.Write.bytesPerSec
	compare := ""
	if c.wire != nil {
		compare = fmt.Sprintf(" That is %.1f %% of what one direction carries.", both/float64(c.wire.ReadBytesPerSecond)*100)
	}
	found.info(HalfDuplexCopy, "The copy is serial, half duplex: with depth 1 each job reads a block, then writes it. "+
		"Read %s and write %s make %s together.%s Use depth 2 or more to fill both directions.",
		human.Throughput(s.Read.BytesPerSecond), human.Throughput(s.Write.BytesPerSecond), human.Throughput(both), compare)
}

// carriersOf are the interfaces that carry the load of one client: those with
// the local address of a channel, or, for a mount of the kernel, those that
// moved a tenth of its bytes.
func (c *facts) carriersOf(cl runfile.ClientResult) []runfile.Interface {
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
	for w := range windowsOf(cl, windowMeasure) {
		for _, i := range w.Interfaces {
			moved[i.Name] += i.ReceivedBytes + i.SentBytes
		}
	}
	return filtered(all, func(i runfile.Interface) bool { return load > 0 && moved[i.Name] >= load/10 })
}

// interfaceOf finds the interface that has an address, written with or without
// its prefix length.
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

// hasAddress reports whether an address is among others, in whatever spelling.
func hasAddress(all []string, address string) bool {
	return slices.ContainsFunc(all, func(a string) bool { return runfile.SameAddress(a, address) })
}

// nodeOf is the machine of a client. Without a node name each client counts as
// a machine of its own.
func nodeOf(cl runfile.ClientResult) string { return cmp.Or(cl.Host.Node, cl.Host.Name) }

// loadedNodes are the machines that do the I/O of a client: its own, or the hosts
// of an external database.
func (c *facts) loadedNodes(cl runfile.ClientResult) []string {
	var hosts []string
	if c.external() {
		for _, i := range bench.OrZero(cl.Load.Oracle).Instances {
			hosts = append(hosts, cmp.Or(i.Host, i.Name))
		}
	}
	if len(hosts) == 0 {
		return []string{nodeOf(cl)}
	}
	return hosts
}
