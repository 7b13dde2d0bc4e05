package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
)

// Evidence describes the protocol that was observed under load.
type Evidence struct {
	Verified *bool  `json:"verified,omitempty"` // nil: no observation is possible
	Observed string `json:"observed,omitempty"` // such as "DirectNFS NFSv3 over 2 of 2 paths"
	Message  string `json:"message"`
	// Mismatch reports that something else than the declared protocol carried the load.
	Mismatch bool `json:"mismatch,omitempty"`
	// Doubted reports proof that something else carried a part of the load.
	Doubted bool `json:"doubted,omitempty"`
}

func (c *facts) directEvidence() Evidence {
	s := c.Overall
	bytes, layouts, paths, missing := int64(0), int64(0), 0, []string(nil)
	for _, p := range s.Paths {
		bytes += p.Bytes()
		if p.Role == bench.PathDataServer {
			layouts += p.Bytes() // ChannelLost covers a path that is down
			continue
		}
		paths++
		if p.State != bench.PathUp {
			missing = append(missing, p.Name()+" ("+p.State+")")
		}
	}
	declared, version := c.Plan.Engine.NFSVersion, cmp.Or(serverVersion(s.Servers), c.SeenVersion())
	e := Evidence{Observed: observedPaths(s.Summary, version, paths-len(missing), paths)}
	share := float64(bytes) / float64(s.Total.Bytes)
	switch {
	case len(s.Paths) == 0:
		e.Message = "The loader reported no channels, so the protocol cannot be seen."
		return e
	case share*1000 < protocolShare-edgePermille(s.Summary)-c.straddling():
		return e.no(true, "Only %.1f %% of the load went over Direct NFS channels (%d of %d bytes).", share*100, bytes,
			s.Total.Bytes)
	case differs(declared, version) && (declared != bench.PNFS || version != string(bench.NFSv41)):
		return e.no(true, "%s was declared and %s carried the load.", declared, version)
	case declared == bench.PNFS && layouts == 0:
		return e.no(true, "pNFS was declared and the client used no layout: all I/O went through the metadata server.")
	case share*1000 < protocolShare-windowEdge(s.Summary):
		ios, _ := c.Outstanding()
		e.Message = fmt.Sprintf("%.1f %% of the load was counted on Direct NFS channels (%d of %d bytes). The loader waited "+
			"%d ms for a processor at the edges of the window, and %d of its %d I/Os may have begun before it, which "+
			"explains the rest, so this proves nothing. Measure longer, or give the client more CPU.", share*100, bytes,
			s.Total.Bytes, s.EdgeMilliseconds, min(ios, s.Total.Ops), s.Total.Ops)
		return e
	case len(missing) > 0:
		return e.no(false, "%d of %d declared paths are not connected: %s.", len(missing), paths,
			strings.Join(missing, ", "))
	case layouts > 0:
		return e.yes("%.1f %% of the load went over Direct NFS channels with %s, and %.1f %% of that by layouts to %s.%s",
			share*100, orUnknown(version), float64(layouts)/float64(bytes)*100,
			human.Count(dataServers(s.Summary), "data server"), redirection(s.Paths))
	}
	joined := ""
	if words := trunkingWords(s.Servers); words != "" {
		joined = " (" + words + ")"
	}
	return e.yes("%.1f %% of the load went over %d Direct NFS channels with %s%s.", share*100, paths, orUnknown(version),
		joined)
}

// redirection names the array's nodes that metadata and data went to, if known.
func redirection(shares []measure.PathShare) string {
	node := func(p measure.PathShare) string { return p.Node }
	metadata := listed(measure.Distinct(measure.ByRole(shares, ""), node))
	data := listed(measure.Distinct(measure.ByLayout(shares), node))
	if metadata == "" || data == "" {
		return ""
	}
	return fmt.Sprintf(" Metadata went to node %s, and data to node %s.", metadata, data)
}

// observedPaths describes what carried the load.
func observedPaths(s measure.Summary, version string, up, paths int) string {
	servers := dataServers(s)
	if servers > 0 {
		version = string(bench.PNFS)
	}
	if len(s.Servers) == 0 && servers == 0 {
		return fmt.Sprintf("DirectNFS %s over %d of %d paths", orUnknown(version), up, paths)
	}
	over := human.Count(paths, "path")
	if up < paths {
		over = fmt.Sprintf("%d of %s", up, over)
	}
	if words := trunkingWords(s.Servers); words != "" {
		over += " (" + words + ")"
	}
	if servers > 0 {
		over += " and " + human.Count(servers, "data server")
	}
	return fmt.Sprintf("DirectNFS %s over %s", orUnknown(version), over)
}

// edgePermille returns the part of a window that channels and mounts may miss, because their counters are not read
// exactly at its beginning and end. In a short window the share is larger. If the loader had to wait for a processor,
// it measured the delay.
func edgePermille(s measure.Summary) float64 {
	waited := float64(s.EdgeMilliseconds) / float64(max(s.DurationMilliseconds, 1))
	return windowEdge(s) + min(waited, mostEdge)*1000
}

// windowEdge returns the usual tolerance, in permille of the window.
func windowEdge(s measure.Summary) float64 {
	return min(edgeMilliseconds/float64(max(s.DurationMilliseconds, 1)), 0.1) * 1000
}

// straddling returns the part of the load, in permille, whose bytes the channels may have counted before the window
// although the I/O ended in it: a reply is counted when it arrives, and the I/O ends when its worker gets a processor.
// Only the I/Os that were outstanding at the begin of the window can do so.
func (c *facts) straddling() float64 {
	ios, _ := c.Outstanding()
	return min(float64(ios)/float64(max(c.Overall.Total.Ops, 1)), mostEdge) * 1000
}

// leastMoved returns the minimum permille of the load that a mount must move in the time of its counters. If the
// counters cover less than the whole window, the machine was busy, and the load may have been faster in the rest.
func leastMoved(s measure.RepetitionFacts) float64 {
	return clientCacheShare - edgePermille(s.Summary) - (1-s.Mount.Least)*1000
}

func (c *facts) kernelEvidence() Evidence {
	s, m, declared, version := c.Overall, c.Overall.Mount, c.Plan.Engine.NFSVersion, c.SeenVersion()
	layouts := m.PNFSReads+m.PNFSWrites > 0
	e := Evidence{Observed: "Kernel " + orUnknown(version)}
	if layouts {
		e.Observed += " with pNFS layouts"
	}
	if declared != bench.PNFS && differs(declared, version) {
		return e.no(true, "%s was declared and the volume is mounted with %s.", declared, version)
	}
	if declared == bench.PNFS && version != "" && !strings.HasPrefix(version, "NFSv4.") {
		return e.no(true, "pNFS was declared and the volume is mounted with %s, which has no layouts.", version)
	}
	if c.Plan.Engine.Transport == bench.TransportRDMA && m.Known {
		switch protocols := s.Transports(); {
		case slices.Contains(protocols, "tcp"):
			return e.no(true, "RDMA was declared and the mount uses TCP.")
		case len(protocols) == 0:
			e.Message = "RDMA was declared, and the mount's counters do not say which transport it uses."
			return e
		}
		e.Observed += " over RDMA"
	}
	if !m.Known {
		e.Message = "The mount's counters were not collected for every client, or only with long delays, so the protocol " +
			"cannot be seen under load."
		return e
	}
	if declared == bench.PNFS && !layouts {
		return e.no(true, "pNFS was declared and the client used no layout: all I/O went through the metadata server.")
	}
	moved, wanted := m.ServerReadBytes+m.ServerWriteBytes, float64(s.Total.Bytes)*m.Least
	if float64(moved)*1000 < wanted*leastMoved(*s) {
		return e.no(false, "The mount moved %d bytes and the load %.0f: the rest came from a cache of the client or from "+
			"another file system.", moved, wanted)
	}
	if version == "" {
		e.Message = "The mount carried the load, but its NFS version is not known."
		return e
	}
	return e.yes("The mount moved %.1f %% of the load's bytes with %s.", float64(moved)/wanted*100, version)
}

func (e Evidence) no(mismatch bool, format string, args ...any) Evidence {
	e.Verified, e.Mismatch, e.Message = new(false), mismatch, fmt.Sprintf(format, args...)
	return e
}

func (e Evidence) yes(format string, args ...any) Evidence {
	e.Verified, e.Message = new(true), fmt.Sprintf(format, args...)
	return e
}

// differs reports whether the observed version differs from the declared one.
// An unknown version does not differ. NFSv4 and NFSv4.0 are the same version.
func differs(declared bench.NFSVersion, seen string) bool {
	if seen == "NFSv4" {
		seen = string(bench.NFSv40)
	}
	return declared != "" && seen != "" && string(declared) != seen
}

func orUnknown(version string) string { return cmp.Or(version, "of unknown version") }
