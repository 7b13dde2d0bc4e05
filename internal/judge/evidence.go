package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// evidence looks at what carried the load: the channels of Direct NFS, the mount
// of the kernel, or all that a database has seen (d). s is nil when nothing was
// measured.
func evidence(r runfile.Result, s *Summary, d *DatabaseSummary) Evidence {
	switch {
	case s != nil && d != nil && len(databaseWindows(r, 0)) > 0:
		return databaseEvidence(r, s, d)
	case s == nil || s.Total.Bytes == 0:
		return Evidence{Message: "Nothing was measured, so no protocol was seen under load."}
	case d != nil:
		return Evidence{Message: "The database's own counters were not read, so no protocol was seen under load."}
	}
	if r.Plan.Engine.Client == bench.ClientDirectNFS {
		return directEvidence(r, s)
	}
	return kernelEvidence(r, s)
}

func directEvidence(r runfile.Result, s *Summary) Evidence {
	bytes, layouts, paths, up, missing := int64(0), int64(0), 0, 0, []string(nil)
	for _, p := range s.Paths {
		bytes += p.Bytes()
		if p.Role == bench.PathDataServer {
			layouts += p.Bytes() // one that is down is a ChannelLost
			continue
		}
		paths++
		if p.State == "Up" {
			up++
			continue
		}
		missing = append(missing, pathPair{Local: p.Local, Path: p.Path}.String()+" ("+p.State+")")
	}
	declared, version := r.Plan.Engine.NFSVersion, cmp.Or(serverVersion(s.Servers), seenVersion(r))
	e := Evidence{Observed: observedPaths(s, version, up, paths)}
	share := float64(bytes) / float64(s.Total.Bytes)
	switch {
	case len(s.Paths) == 0:
		e.Message = "The loader reported no channels, so the protocol cannot be seen."
		return e
	case share*1000 < protocolShare-edgePermille(s):
		return e.no(true, "Only %.1f %% of the load went over Direct NFS channels (%d of %d bytes).", share*100, bytes,
			s.Total.Bytes)
	case differs(declared, version) && (declared != bench.PNFS || version != string(bench.NFSv41)):
		return e.no(true, "%s was declared and %s carried the load.", declared, version)
	case declared == bench.PNFS && layouts == 0:
		return e.no(true, "pNFS was declared and the client used no layout: all I/O went through the metadata server.")
	case share*1000 < protocolShare-windowEdge(s):
		e.Message = fmt.Sprintf("%.1f %% of the load was counted on Direct NFS channels (%d of %d bytes). The loader waited "+
			"%d ms for a processor at the edges of the window, which explains the rest, so this proves nothing. Give the "+
			"client more CPU.", share*100, bytes, s.Total.Bytes, s.EdgeMilliseconds)
		return e
	case len(missing) > 0:
		return e.no(false, "%d of %d declared paths are not connected: %s.", len(missing), paths,
			strings.Join(missing, ", "))
	case layouts > 0:
		return e.yes("%.1f %% of the load went over Direct NFS channels with %s, and %.1f %% of that by layouts to %s.%s",
			share*100, orUnknown(version), float64(layouts)/float64(bytes)*100, quantity(dataServers(s), "data server"),
			redirection(s.Paths))
	}
	joined := ""
	if words := trunkingWords(s.Servers); words != "" {
		joined = " (" + words + ")"
	}
	return e.yes("%.1f %% of the load went over %d Direct NFS channels with %s%s.", share*100, paths, orUnknown(version),
		joined)
}

// redirection says on which nodes of the array metadata and data went, where that is known.
func redirection(shares []PathShare) string {
	nodes := func(of []PathShare) string {
		var names []string
		for _, p := range of {
			if p.Node != "" && !slices.Contains(names, p.Node) {
				names = append(names, p.Node)
			}
		}
		return listed(names)
	}
	metadata, data := nodes(byRole(shares, "")), nodes(byLayout(shares))
	if metadata == "" || data == "" {
		return ""
	}
	return fmt.Sprintf(" Metadata went to node %s, and data to node %s.", metadata, data)
}

// observedPaths says in words what carried the load.
func observedPaths(s *Summary, version string, up, paths int) string {
	servers := dataServers(s)
	if servers > 0 {
		version = string(bench.PNFS)
	}
	if len(s.Servers) == 0 && servers == 0 {
		return fmt.Sprintf("DirectNFS %s over %d of %d paths", orUnknown(version), up, paths)
	}
	over := quantity(paths, "path")
	if up < paths {
		over = fmt.Sprintf("%d of %s", up, over)
	}
	if words := trunkingWords(s.Servers); words != "" {
		over += " (" + words + ")"
	}
	if servers > 0 {
		over += " and " + quantity(servers, "data server")
	}
	return fmt.Sprintf("DirectNFS %s over %s", orUnknown(version), over)
}

func quantity(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// edgePermille is the part of a window that channels and mounts may miss, because their counters
// are not read exactly when it begins or ends. It is a larger share of a short window. If the
// loader had to wait for a processor, it measured the delay.
func edgePermille(s *Summary) float64 {
	waited := float64(s.EdgeMilliseconds) / float64(max(s.DurationMilliseconds, 1))
	return windowEdge(s) + min(waited, mostEdge)*1000
}

// windowEdge is the usual tolerance, in permille of the window.
func windowEdge(s *Summary) float64 {
	return min(edgeMilliseconds/float64(max(s.DurationMilliseconds, 1)), 0.1) * 1000
}

// leastMoved is the minimum permille of the load that a mount must move in the time of its counters. If
// that is not the whole window, the machine was busy, and the load may have been faster in the rest.
func leastMoved(s *Summary, coverage float64) float64 {
	return clientCacheShare - edgePermille(s) - (1-coverage)*1000
}

func kernelEvidence(r runfile.Result, s *Summary) Evidence {
	version := seenVersion(r)
	e := Evidence{Observed: "Kernel " + orUnknown(version)}
	m, seen, known := mountCounters(r, s.Repetition)
	if m.PNFSReads+m.PNFSWrites > 0 {
		e.Observed += " with pNFS layouts"
	}
	declared := r.Plan.Engine.NFSVersion
	if declared != bench.PNFS && differs(declared, version) {
		return e.no(true, "%s was declared and the volume is mounted with %s.", declared, version)
	}
	if declared == bench.PNFS && version != "" && !strings.HasPrefix(version, "NFSv4.") {
		return e.no(true, "pNFS was declared and the volume is mounted with %s, which has no layouts.", version)
	}
	if r.Plan.Engine.Transport == bench.TransportRDMA && known {
		switch protocols := transports(r, s.Repetition); {
		case slices.Contains(protocols, "tcp"):
			return e.no(true, "RDMA was declared and the mount uses TCP.")
		case len(protocols) == 0:
			e.Message = "RDMA was declared, and the mount's counters do not say which transport it uses."
			return e
		}
		e.Observed += " over RDMA"
	}
	if !known {
		e.Message = "The mount's counters were not collected for every client, or only with long delays, so the protocol " +
			"cannot be seen under load."
		return e
	}
	if declared == bench.PNFS && m.PNFSReads+m.PNFSWrites == 0 {
		return e.no(true, "pNFS was declared and the client used no layout: all I/O went through the metadata server.")
	}
	moved, wanted := m.ServerReadBytes+m.ServerWriteBytes, float64(s.Total.Bytes)*seen.least
	if float64(moved)*1000 < wanted*leastMoved(s, seen.least) {
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
	verified := false
	e.Verified, e.Mismatch, e.Message = &verified, mismatch, fmt.Sprintf(format, args...)
	return e
}

func (e Evidence) yes(format string, args ...any) Evidence {
	verified := true
	e.Verified, e.Message = &verified, fmt.Sprintf(format, args...)
	return e
}

// part is the share of a repetition that counters cover. A reading takes time, so least is the
// share that they surely cover, and most the share that they can cover.
type part struct{ least, most float64 }

// mountCounters adds up the mounts of all clients in a repetition's window. It returns false if a
// client has no counters, or if the counters may cover nothing. They cover the time between two
// samples inside the repetition. Clients that share a mount have the same counters, which count once.
func mountCounters(r runfile.Result, index int32) (sum runfile.MountCounters, seen part, known bool) {
	var least, most, lasted time.Duration
	mounts, shared := map[string]bool{}, false
	for _, cl := range r.Clients {
		w := windowOf(cl, windowMeasure, index)
		if w == nil || w.Mount == nil {
			return sum, part{}, false
		}
		mount := mountOf(cl)
		if mounts[mount] {
			shared = true
			continue
		}
		mounts[mount] = true
		length, edge := w.End.Sub(w.Start), time.Duration(max(0, w.EdgeMilliseconds))*time.Millisecond
		least += max(0, length-edge)
		most += length + edge
		for _, rep := range cl.Load.Repetitions {
			if rep.Index == index {
				lasted += rep.End.Sub(rep.Start)
			}
		}
		sum.ServerReadBytes += w.Mount.ServerReadBytes
		sum.ServerWriteBytes += w.Mount.ServerWriteBytes
		sum.NormalReadBytes += w.Mount.NormalReadBytes
		sum.NormalWriteBytes += w.Mount.NormalWriteBytes
		sum.PNFSReads += w.Mount.PNFSReads
		sum.PNFSWrites += w.Mount.PNFSWrites
		sum.Retransmits += w.Mount.Retransmits
	}
	if least <= 0 || lasted <= 0 {
		return sum, part{}, false
	}
	of := func(d time.Duration) float64 { return min(float64(d)/float64(lasted), 1) }
	seen = part{least: of(least), most: of(most)}
	if shared { // with clients that ran at another time
		seen.least *= together((&facts{result: r}).parts(index))
	}
	return sum, seen, true
}

// transports are the protocols of the connections of all mounts in a repetition, tcp or rdma.
func transports(r runfile.Result, index int32) (seen []string) {
	for _, cl := range r.Clients {
		w := windowOf(cl, windowMeasure, index)
		if w == nil || w.Mount == nil {
			continue
		}
		for _, t := range w.Mount.Transports {
			if t.Protocol != "" && !slices.Contains(seen, t.Protocol) {
				seen = append(seen, t.Protocol)
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

// seenVersion is the NFS version in use: what the loader says, or else the
// mount's options. It is empty when unknown and joins different ones.
func seenVersion(r runfile.Result) string {
	var seen []string
	for _, cl := range r.Clients {
		if v := versionOf(cl.Load.Mount); v != "" && (len(seen) == 0 || seen[len(seen)-1] != v) {
			seen = append(seen, v)
		}
	}
	return strings.Join(seen, " and ")
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

// differs compares what was declared with what was seen; what is not known
// does not differ. NFSv4 and NFSv4.0 are one version.
func differs(declared bench.NFSVersion, seen string) bool {
	if declared == "" || seen == "" {
		return false
	}
	norm := func(v string) string {
		if v == "NFSv4" {
			return "NFSv4.0"
		}
		return v
	}
	return norm(string(declared)) != norm(seen)
}

func orUnknown(version string) string {
	if version == "" {
		return "of unknown version"
	}
	return version
}
