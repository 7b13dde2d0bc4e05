package measure

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// Overhead of the layers below the data, in bytes. docs/wire-limit.md shows the
// arithmetic.
const (
	ethernetBytes  = 38 // each frame: preamble 8, header 14, check sum 4, gap 12
	ipv4Bytes      = 20 // each packet
	ipv6Bytes      = 40
	tcpBytes       = 32  // each segment: header 20, timestamps 12
	readCallBytes  = 132 // READ reply: record mark 4, RPC reply 24, READ3res 104
	writeCallBytes = 140 // WRITE call: record mark 4, RPC call with AUTH_SYS 80, WRITE3args 56
	defaultMTU     = 1500
	DefaultXfer    = 1 << 20
)

// Source names the origin of a link speed.
type Source string

// The origins of a link speed.
const (
	Declared   Source = "Declared"   // in the plan
	Discovered Source = "Discovered" // from the client's interface
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

// WireLink is one link of the limit.
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

// wireLimit finds the links of a run and their capacity; nil if the speed of a
// link is unknown.
func (c *Facts) wireLimit() *WireLimit {
	w := &WireLimit{Source: Declared}
	if c.Plan.Link != nil {
		w.Links = c.declaredLinks()
	} else {
		w.Source, w.Links = Discovered, c.discoveredLinks()
	}
	rd, wr := 0.0, 0.0
	for _, l := range w.Links {
		rd += l.Payload(c.Transfer[Reads], readCallBytes)
		wr += l.Payload(c.Transfer[Writes], writeCallBytes)
	}
	w.ReadBytesPerSecond, w.WriteBytesPerSecond = int64(rd), int64(wr)
	if w.ReadBytesPerSecond <= 0 || w.WriteBytesPerSecond <= 0 {
		return nil // no link is known, or nothing can be compared with it
	}
	w.Arithmetic = arithmetic(w.Links, c.Transfer[Reads], rd)
	return w
}

// declaredLinks counts the declared link once for each path of each machine: clients on one machine share its
// links, and each instance of an external database has the links of its host. With pNFS, the native engine's
// paths are the addresses of data servers that moved data: the data does not cross the link of a metadata path.
func (c *Facts) declaredLinks() (links []WireLink) {
	for _, cl := range c.result.Clients {
		for _, p := range c.pathsOf(cl) {
			for _, node := range c.loadedNodes(cl) {
				links = WithNew(links, WireLink{
					Label: p.String(), Node: node, IPv6: isIPv6(p.Path),
					BitsPerSecond: c.Plan.Link.BitsPerSecond.Value(), MTUBytes: mtuOr(c.Plan.Link.MTUBytes()),
				})
			}
		}
	}
	return links
}

// discoveredLinks returns the interfaces that carry the load, each once. One
// interface of unknown speed makes the whole limit unknown: a sum without it
// would make every result look too fast.
func (c *Facts) discoveredLinks() []WireLink {
	var links []WireLink
	for _, cl := range c.result.Clients {
		carriers := c.carriersOf(cl)
		if len(carriers) == 0 {
			return nil
		}
		ipv6 := slices.ContainsFunc(c.pathsOf(cl), func(p PathPair) bool { return isIPv6(p.Path) })
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
	if mtu < 576 { // absent, or below the minimum of IPv4
		return defaultMTU
	}
	return mtu
}

// transferBytes returns the number of bytes that one READ or WRITE moves: the block, unless the mount, or the
// server's limit that Direct NFS reports, divides it.
func (c *Facts) transferBytes(kind OpKind) int64 {
	n := cmp.Or(c.Block, DefaultXfer)
	limit := func(read, written int64) {
		if most := [2]int64{Reads: read, Writes: written}[kind]; most > 0 {
			n = min(n, most)
		}
	}
	if bench.OrZero(c.Plan.Database).DirectNFS {
		for _, w := range c.Databases {
			for _, row := range c.OwnServers(w.DirectNFS.Servers) {
				limit(row.ReadMaxBytes, row.WriteMaxBytes)
			}
		}
		return n // the kernel's mount carries no load
	}
	for _, cl := range c.result.Clients {
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
				names = append(names, l.Label+" "+BitRate(l.BitsPerSecond))
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
		len(links), BitRate(l.BitsPerSecond), int(l.MTUBytes)-ip-tcpBytes, int(l.MTUBytes)+ethernetBytes, l.MTUBytes,
		transfer, transfer+readCallBytes, human.Throughput(total))
}

// BitRate formats a link speed in its usual unit.
func BitRate(bits int64) string {
	if bits >= 1e9 && bits%1e8 == 0 {
		return fmt.Sprintf("%g Gbit/s", float64(bits)/1e9)
	}
	return fmt.Sprintf("%g Mbit/s", float64(bits)/1e6)
}

// isIPv6 reports whether an address, or the source of a mount such as [fd00::1]:/export, is IPv6.
func isIPv6(addr string) bool {
	if rest, ok := strings.CutPrefix(addr, "["); ok {
		addr, _, _ = strings.Cut(rest, "]")
	}
	a, err := netip.ParseAddr(addr)
	return err == nil && a.Is6() && !a.Is4In6()
}
