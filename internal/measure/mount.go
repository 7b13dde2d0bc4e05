package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// mountLoad is what the mounts of all clients moved in a repetition. A reading takes time, so least is the share of
// the repetition that the counters surely cover, and most the share that they can cover.
type mountLoad struct {
	runfile.MountCounters

	Least, Most float64
	Known       bool
}

// mountLoad is not known if a client has no counters, or if the counters may cover nothing. They cover the time
// between two samples inside the repetition. Clients that share a mount have the same counters, which count once.
func (c *Facts) mountLoad(s RepetitionFacts) (sum mountLoad) {
	var least, most, lasted time.Duration
	mounts := map[string]bool{}
	for _, p := range s.parts {
		if p.window == nil || p.window.Mount == nil {
			return sum
		}
		mount := mountOf(p.client)
		if mounts[mount] {
			continue
		}
		mounts[mount] = true
		length := p.window.End.Sub(p.window.Start)
		edge := time.Duration(max(0, p.window.EdgeMilliseconds)) * time.Millisecond
		least += max(0, length-edge)
		most += length + edge
		lasted += p.rep.End.Sub(p.rep.Start)
		m := p.window.Mount
		sum.ServerReadBytes += m.ServerReadBytes
		sum.ServerWriteBytes += m.ServerWriteBytes
		sum.NormalReadBytes += m.NormalReadBytes
		sum.NormalWriteBytes += m.NormalWriteBytes
		sum.PNFSReads += m.PNFSReads
		sum.PNFSWrites += m.PNFSWrites
		sum.Retransmits += m.Retransmits
	}
	of := func(d time.Duration) float64 { return min(float64(d)/float64(lasted), 1) }
	if len(s.parts) < len(c.result.Clients) || least <= 0 {
		return sum
	}
	sum.Least, sum.Most, sum.Known = of(least), of(most), true
	if len(mounts) < len(s.parts) { // with clients that ran at another time
		sum.Least *= s.Together
	}
	return sum
}

// Transports are the protocols of the connections of all mounts in a repetition, tcp or rdma.
func (s RepetitionFacts) Transports() (seen []string) {
	for _, p := range s.parts {
		for _, t := range p.window.Mount.Transports {
			if t.Protocol != "" {
				seen = WithNew(seen, t.Protocol)
			}
		}
	}
	return seen
}

// mountOf identifies a mount. The kernel of a machine has one mount for all clients with the same
// source, and its counters cover all of them.
func mountOf(cl runfile.ClientResult) string {
	if m := cl.Load.Mount; m != nil && m.Source != "" && !slices.Contains(m.Options, "nosharecache") {
		return nodeOf(cl) + "|" + m.Source
	}
	return fmt.Sprint(cl.Index)
}

// SeenVersion is the NFS version in use: what the loader says, or else the
// mount's options. It is empty when unknown and joins different ones.
func (c *Facts) SeenVersion() string {
	version := func(cl runfile.ClientResult) string { return versionOf(cl.Load.Mount) }
	return strings.Join(Distinct(c.result.Clients, version), " and ")
}

func versionOf(m *runfile.MountFacts) string {
	if m == nil {
		return ""
	}
	if m.NFSVersion != "" {
		return m.NFSVersion
	}
	for _, o := range m.Options {
		for _, key := range []string{"vers=", "nfsvers="} {
			if v, ok := strings.CutPrefix(o, key); ok {
				return "NFSv" + v
			}
		}
	}
	return ""
}
