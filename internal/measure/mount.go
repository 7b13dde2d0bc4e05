package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// MountLoad holds the bytes and operations that the mounts of all clients moved in a repetition. Reading the counters
// takes time: Least is the share of the repetition that they surely cover, and Most the largest share that they can
// cover.
type MountLoad struct {
	runfile.MountCounters

	Least, Most float64
	Known       bool
}

// mountLoad returns the load of the mounts. It is unknown if a client has no counters, or if the counters may cover
// nothing. Counters cover the time between two samples inside the repetition. Clients that share a mount have the
// same counters, which count once.
func (c *Facts) mountLoad(s RepetitionFacts) (sum MountLoad) {
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
	if len(mounts) < len(s.parts) { // with clients that ran at other times
		sum.Least *= s.Together
	}
	return sum
}

// Transports returns the protocols of the connections of all mounts in a repetition: tcp or rdma.
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

// SeenVersion returns the NFS version in use, from the loader or else from the
// mount options. It joins different versions and is empty if unknown.
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
