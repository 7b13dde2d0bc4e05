package judge

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// What the layers below the data cost, in bytes. docs/wire-limit.md shows the
// arithmetic.
const (
	ethernetBytes  = 38 // each frame: preamble 8, header 14, check sum 4, gap 12
	ipv4Bytes      = 20 // each packet
	ipv6Bytes      = 40
	tcpBytes       = 32  // each segment: header 20, timestamps 12
	readCallBytes  = 132 // READ reply: record mark 4, RPC reply 24, READ3res 104
	writeCallBytes = 140 // WRITE call: record mark 4, RPC call with AUTH_SYS 80, WRITE3args 56
	defaultMTU     = 1500
	defaultXfer    = 1 << 20
)

// Source says where the speed of a link comes from.
type Source string

// The sources of a link's speed.
const (
	Declared   Source = "Declared"   // in the plan
	Discovered Source = "Discovered" // the client's interface says so
)

// WireLimit is the file data that the links can carry in each direction, because they are full
// duplex. It covers the clients' side; the storage's own links are not known here.
type WireLimit struct {
	Source              Source     `json:"source"`
	ReadBytesPerSecond  int64      `json:"readBytesPerSecond"`
	WriteBytesPerSecond int64      `json:"writeBytesPerSecond"`
	Links               []WireLink `json:"links"`
	Arithmetic          string     `json:"arithmetic"` // one line, for people
}

// WireLink is one link that counts.
type WireLink struct {
	Label         string `json:"label"` // of the path, or the interface
	Node          string `json:"node,omitempty"`
	BitsPerSecond int64  `json:"bitsPerSecond"`
	MTUBytes      int32  `json:"mtuBytes"`
	IPv6          bool   `json:"ipv6,omitempty"`
}

// Payload is the file data that a link carries in one direction, in bytes per
// second: the speed, times the share of each frame that is TCP payload, times
// the share of each RPC that is file data. callBytes is what a call or reply
// adds to transferBytes of data.
func (l WireLink) Payload(transferBytes, callBytes int64) float64 {
	ip := ipv4Bytes
	if l.IPv6 {
		ip = ipv6Bytes
	}
	segment := float64(int(l.MTUBytes) - ip - tcpBytes)
	frame := segment / float64(l.MTUBytes+ethernetBytes)
	rpc := float64(transferBytes) / float64(transferBytes+callBytes)
	return float64(l.BitsPerSecond) / 8 * frame * rpc
}

// wireLimit finds the links of a run, and what they can carry; nil when the
// speed of one of them is not known.
func (c *facts) wireLimit() *WireLimit {
	w := &WireLimit{Source: Declared}
	if c.Plan.Link != nil {
		w.Links = c.declaredLinks()
	} else {
		w.Source, w.Links = Discovered, c.discoveredLinks()
	}
	rd, wr := 0.0, 0.0
	for _, l := range w.Links {
		rd += l.Payload(c.transfer[reads], readCallBytes)
		wr += l.Payload(c.transfer[writes], writeCallBytes)
	}
	w.ReadBytesPerSecond, w.WriteBytesPerSecond = int64(rd), int64(wr)
	if w.ReadBytesPerSecond <= 0 || w.WriteBytesPerSecond <= 0 {
		return nil // no link is known, or nothing can be compared with it
	}
	w.Arithmetic = arithmetic(w.Links, c.transfer[reads], rd)
	return w
}

// declaredLinks counts the declared link once for each path of each machine: clients on one machine share its
// links, and each instance of an external database has the links of its host. With pNFS, the native engine's
// paths are the addresses of data servers that moved data: the data does not cross the link of a metadata path.
func (c *facts) declaredLinks() (links []WireLink) {
	for _, cl := range c.Clients {
		for _, p := range c.pathsOf(cl) {
			for _, node := range c.loadedNodes(cl) {
				links = withNew(links, WireLink{
					Label: p.String(), Node: node, IPv6: isIPv6(p.Path),
					BitsPerSecond: c.Plan.Link.BitsPerSecond.Value(), MTUBytes: mtuOr(c.Plan.Link.MTUBytes()),
				})
			}
		}
	}
	return links
}

// discoveredLinks takes the interfaces that carry the local address of a path,
// each once. One interface of unknown speed makes the whole limit unknown: a
// sum that leaves one out would call every result too fast.
func (c *facts) discoveredLinks() []WireLink {
	var links []WireLink
	for _, cl := range c.Clients {
		carriers := c.carriersOf(cl)
		if len(carriers) == 0 {
			return nil
		}
		ipv6 := slices.ContainsFunc(c.pathsOf(cl), func(p pathPair) bool { return isIPv6(p.Path) })
		for _, i := range carriers {
			node := nodeOf(cl)
			if slices.ContainsFunc(links, func(l WireLink) bool { return l.Node == node && l.Label == i.Name }) {
				continue
			}
			if i.Virtual || bench.OrZero(i.SpeedBitsPerSecond) <= 0 {
				return nil
			}
			links = append(links, WireLink{
				Label: i.Name, Node: node, BitsPerSecond: *i.SpeedBitsPerSecond, MTUBytes: mtuOr(i.MTUBytes), IPv6: ipv6,
			})
		}
	}
	return links
}

func mtuOr(mtu int32) int32 {
	if mtu < 576 { // absent, or nothing that IPv4 could use
		return defaultMTU
	}
	return mtu
}

// transferBytes is how much data one READ or WRITE moves: the block, unless
// the mount, or what Direct NFS reports about the server, cuts it into smaller ones.
func (c *facts) transferBytes(kind direction) int64 {
	n := cmp.Or(c.block, defaultXfer)
	limit := func(read, written int64) {
		if most := [2]int64{reads: read, writes: written}[kind]; most > 0 {
			n = min(n, most)
		}
	}
	if bench.OrZero(c.Plan.Database).DirectNFS {
		for _, w := range c.databases {
			for _, row := range c.ownServers(w.DirectNFS.Servers) {
				limit(row.ReadMaxBytes, row.WriteMaxBytes)
			}
		}
		return n // the mount is the kernel's, which carries nothing
	}
	for _, cl := range c.Clients {
		m := bench.OrZero(cl.Load.Mount)
		limit(m.ReadSizeBytes, m.WriteSizeBytes)
	}
	return n
}

func arithmetic(links []WireLink, transfer int64, total float64) string {
	l := links[0]
	for _, other := range links[1:] {
		if other.BitsPerSecond != l.BitsPerSecond || other.MTUBytes != l.MTUBytes || other.IPv6 != l.IPv6 {
			names := make([]string, 0, len(links))
			for _, l := range links {
				names = append(names, l.Label+" "+bitRate(l.BitsPerSecond))
			}
			return fmt.Sprintf("%d links of different kinds, %s -> %s per direction", len(links),
				strings.Join(names, ", "), human.Throughput(total))
		}
	}
	ip := ipv4Bytes
	if l.IPv6 {
		ip = ipv6Bytes
	}
	return fmt.Sprintf("%d x %s / 8 x %d/%d (MTU %d) x %d/%d (RPC) = %s per direction",
		len(links), bitRate(l.BitsPerSecond), int(l.MTUBytes)-ip-tcpBytes, int(l.MTUBytes)+ethernetBytes, l.MTUBytes,
		transfer, transfer+readCallBytes, human.Throughput(total))
}

// bitRate writes a link speed in its usual unit.
func bitRate(bits int64) string {
	if bits >= 1e9 && bits%1e8 == 0 {
		return fmt.Sprintf("%g Gbit/s", float64(bits)/1e9)
	}
	return fmt.Sprintf("%g Mbit/s", float64(bits)/1e6)
}

// isIPv6 reads an address, or the source of a mount: [fd00::1]:/export.
func isIPv6(addr string) bool {
	if rest, ok := strings.CutPrefix(addr, "["); ok {
		addr, _, _ = strings.Cut(rest, "]")
	}
	a, err := netip.ParseAddr(addr)
	return err == nil && a.Is6() && !a.Is4In6()
}

func checkWire(c *facts, found *findings) {
	if c.wire == nil && c.Plan.Link != nil {
		found.info(WireLimitUnknown, "The wire limit is not known, because no path of the load is known.")
		return
	}
	if c.wire == nil {
		found.info(WireLimitUnknown, "The speed of the links is not known: %s. Declare it (link: bitsPerSecond and mtu "+
			"of each path) to see what share of the wire was reached.", c.whyUnknown())
		return
	}
	share, full, limited := *c.overall.WirePermille, c.fullSteps(), c.limitedBy(LimitWire)
	limit, got := c.busier()
	numbers := fmt.Sprintf("%s of %s (%s)", human.Throughput(got), human.Throughput(limit), human.Share(int64(share)))
	const more = "; add paths or faster links to find out."
	switch {
	case share > wireExceeded && c.wire.Source == Declared:
		found.fail(AboveWireLimit, "%s: more than the declared links can carry. The declaration is wrong, or the load "+
			"did not cross these links. Correct link.bitsPerSecond and link.mtu.", numbers)
	case share > wireExceeded:
		found.fail(AboveWireLimit, "%s: more than the discovered links can carry. The load did not cross them, or the "+
			"interface reports a wrong speed. Declare the link.", numbers)
	case share >= wireSaturated:
		if full != "" {
			full = " with " + full
		}
		found.info(LineSaturated, "%s: the line is full%s. The storage may be faster than this"+more, numbers, full)
	case limited != "":
		found.info(LineSaturated, "%s The line limits the capacity, and the storage may be faster: add paths or faster "+
			"links to find out.", limited)
	case full != "":
		found.info(LineSaturated, "The line is full with %s. The storage may be faster than that"+more, full)
	case share < wireGood && c.shouldFillTheWire():
		found.warn(BelowWireSpeed, "%s. Oracle gets line speed over NFS unless something is ill-configured. %s", numbers,
			c.suspects())
	}
}

// busier is the limit and the rate of the direction that is nearer to its limit.
func (c *facts) busier() (limit, got int64) {
	s := c.overall
	if s.Read == nil || s.Write != nil && *s.Write.WirePermille > *s.Read.WirePermille {
		if s.Write != nil {
			return c.wire.WriteBytesPerSecond, s.Write.BytesPerSecond
		}
		return c.wire.ReadBytesPerSecond, 0
	}
	return c.wire.ReadBytesPerSecond, s.Read.BytesPerSecond
}

func (c *facts) whyUnknown() string {
	for _, cl := range c.Clients {
		if cl.Observed == nil {
			return "no interfaces were collected"
		}
		carriers := c.carriersOf(cl)
		if len(carriers) == 0 {
			return "no interface could be matched with the paths"
		}
		for _, i := range carriers {
			if i.Virtual || i.SpeedBitsPerSecond == nil {
				return i.Name + " is a virtual interface, or reports no speed"
			}
		}
	}
	return "no client reported an interface"
}

// fullSteps names the levels of load that filled the line, where there are
// several; else it is empty.
func (c *facts) fullSteps() string {
	var full []string
	for _, s := range c.steps {
		if atLeastPermille(s.WirePermille, wireSaturated) {
			full = append(full, level(s.Kind, s.Users))
		}
	}
	const most = 3
	switch {
	case len(c.steps) < 2:
		return ""
	case len(full) > most:
		return fmt.Sprintf("%s, and %d more steps", strings.Join(full[:most], ", "), len(full)-most)
	default:
		return strings.Join(full, ", ")
	}
}

// shouldFillTheWire reports loads that should: sequential ones without a pace, and large random ones.
func (c *facts) shouldFillTheWire() bool {
	if s := c.Plan.Workload.SLOB; s != nil {
		return s.Access == bench.SLOBFullTableScan && s.Think == nil && s.Capacity == nil
	}
	if c.Plan.Workload.Calibrate != nil {
		return false // what it looks for is IOPS
	}
	r := c.raw()
	if bench.OrZero(r.OperationsPerSecond) > 0 || r.Capacity != nil {
		return false
	}
	switch r.Pattern {
	case bench.PatternRead, bench.PatternOverwrite, bench.PatternCopy, bench.PatternMixed:
		return true
	default:
		return r.BlockBytes() >= smallBlockBytes
	}
}

// suspects lists what looks ill-configured: first what was measured to be
// wrong, then what the plan makes likely.
func (c *facts) suspects() string {
	var list []string
	suspect := func(ok bool, format string, args ...any) {
		if ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	s, r := c.overall, c.raw()
	idle, _ := idlePaths(dataPaths(s.Paths))
	suspect(len(idle) > 0, "path %s carries nothing", strings.Join(idle, ", "))
	for _, p := range s.Paths {
		suspect(noticeable(p, s.Summary) && !slices.Contains(idle, label(p)), "path %s was down for %s", label(p),
			human.Seconds(p.DownMilliseconds))
	}
	list = append(list, c.busyClient(s.ClientCPU)...)
	for _, i := range c.indirect {
		suspect(true, "path %s is indirect: node %s owns the volume", listed(i.paths), i.owner)
	}
	list = append(list, busyStorage(s)...)
	xfer, block := c.transfer[reads], c.block
	if s.Read == nil {
		xfer = c.transfer[writes]
	}
	suspect(xfer < min(block, defaultXfer), "the server cuts blocks of %s into transfers of %s", human.Size(block),
		human.Size(xfer))
	for _, t := range c.segmentTroubles() {
		suspect(true, "%s: look for %s", t.what, t.look)
	}
	suspect(block < smallBlockBytes, "blocks of %s are small: Oracle scans with 1Mi (db_file_multiblock_read_count)",
		human.Size(block))
	outstanding, raise := c.outstanding()
	paths := int64(max(len(dataPaths(s.Paths)), 1))
	suspect(outstanding < paths*fewOutstandingPerPath, "%d outstanding I/Os for %d paths are few: raise %s", outstanding,
		paths, raise)
	suspect(r.Pattern == bench.PatternCopy && r.Depth == 1,
		"a copy of depth 1 is serial and uses one direction at a time")
	if len(list) == 0 {
		return "Nothing that was measured here explains it: look at the negotiated speed and the MTU along the whole " +
			"path, at bonding (70 to 100 %), at other users of the links, and at the storage's own limits."
	}
	return "Most likely first: " + strings.Join(list, "; ") + "."
}

func atLeastPermille[T ~int32](v *T, limit T) bool { return v != nil && *v >= limit }

func permilleText[T ~int32](v *T) string {
	if v == nil {
		return "?"
	}
	return human.Share(*v)
}
