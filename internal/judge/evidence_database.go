package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// statement is the meaning of an observation for the protocol.
type statement int

const (
	silent     statement = iota // shows nothing
	agrees                      // the declared protocol carried the load
	doubts                      // something else carried a part of the load
	denies                      // something else carried the load
	incomplete                  // not all declared paths were used
)

// observation is the evidence of one source about the protocol under load.
type observation struct {
	says statement
	text string // the source and its evidence
	// proof reports that this source alone proves what carried the load, or that something else carried a part of it.
	// Other sources can agree although the load went elsewhere.
	proof bool
}

// databaseEvidence combines all observations of a database.
func (c *facts) databaseEvidence() Evidence {
	if !c.Plan.Database.DirectNFS {
		return c.databaseKernelEvidence()
	}
	e := Evidence{Observed: c.observedDirect()}
	return e.weigh([]observation{
		c.accessObservation(), c.serverObservation(), c.channelObservation(), c.statsObservation(),
		c.mountObservation(), c.connectionObservation(), c.alertObservation(), c.arrayObservation(),
	})
}

// weigh combines the observations. An observation that denies outweighs all others.
func (e Evidence) weigh(all []observation) Evidence {
	said, proven := map[statement][]string{}, map[statement]bool{}
	for _, o := range all {
		if o.text != "" {
			said[o.says] = append(said[o.says], o.text)
			proven[o.says] = proven[o.says] || o.proof
		}
	}
	agree, unseen := "", ""
	if texts := said[agrees]; len(texts) > 0 {
		agree = " Evidence for it: " + strings.Join(texts, ", ") + "."
	}
	if texts := said[silent]; len(texts) > 0 {
		unseen = " Not seen: " + strings.Join(texts, ", ") + "."
	}
	switch {
	case len(said[denies]) > 0:
		return e.no(true, "Direct NFS was declared, but %s.%s", strings.Join(said[denies], ", and "), agree)
	case len(said[doubts]) > 0:
		e.Doubted = proven[doubts]
		return e.no(false, "Not all of the load is known to have gone over Direct NFS: %s.%s",
			strings.Join(said[doubts], ", and "), agree)
	case len(said[incomplete]) > 0:
		return e.no(false, "%s.%s", strings.Join(said[incomplete], ", and "), agree)
	case proven[agrees]:
		return e.yes("Direct NFS carried the load. Evidence: %s.%s", strings.Join(said[agrees], ", "), unseen)
	}
	e.Message = fmt.Sprintf("Nothing proves that Direct NFS carried the load.%s%s", agree, unseen)
	return e
}

func (c *facts) accessObservation() observation {
	const view = "V$IOSTAT_FILE.ACCESS_METHOD"
	switch share, known := c.AccessShare(measure.MethodDirectNFS); {
	case !known:
		return observation{says: silent, text: view + " (no data file was read)"}
	case share >= protocolShare:
		return observation{says: agrees, text: fmt.Sprintf("%s (%s)", view, measure.MethodDirectNFS), proof: true}
	default:
		return observation{says: denies, text: fmt.Sprintf("%s is %s for %s of the reads of data files", view,
			c.OtherMethods(measure.MethodDirectNFS), human.Share(1000-share))}
	}
}

// oracleVersion translates Oracle's name of the protocol into ours; empty if it does not show the version.
func oracleVersion(text string) string {
	t := strings.ToLower(text)
	switch {
	case strings.HasPrefix(t, "parallel"), strings.HasPrefix(t, "pnfs"):
		return "pNFS"
	case strings.HasPrefix(t, "nfsv3"):
		return "NFSv3"
	case strings.HasPrefix(t, "nfsv4.0"):
		return "NFSv4.0"
	case strings.HasPrefix(t, "nfsv4.1"):
		return "NFSv4.1"
	default:
		return ""
	}
}

func (c *facts) serverObservation() observation {
	const view = "V$DNFS_SERVERS"
	rows := c.OwnServers(c.Database.Servers)
	if len(rows) == 0 {
		return observation{says: silent, text: view + " (no row)"}
	}
	declared := c.Plan.Engine.NFSVersion
	for _, row := range rows {
		switch seen := oracleVersion(row.Version); {
		case seen == "":
			return observation{says: silent, text: fmt.Sprintf("the protocol in %s (%q)", view, row.Version)}
		case differs(declared, seen):
			return observation{says: denies, text: fmt.Sprintf("%s was declared and %s says %s of %s", declared, view,
				row.Version, row.Server)}
		}
	}
	return observation{says: agrees, text: fmt.Sprintf("%s (%s)", view, rows[0].Version)}
}

func (c *facts) channelObservation() observation {
	const view = "V$DNFS_CHANNELS"
	s := c.Overall.Summary
	if len(s.Paths) == 0 {
		return observation{says: silent, text: view + " (no row)"}
	}
	var missing []string
	for _, p := range s.Paths {
		if !p.Carried() {
			missing = append(missing, p.Name())
		}
	}
	if len(missing) > 0 {
		return observation{says: incomplete, text: fmt.Sprintf("%d of %d paths sent nothing in %s: %s", len(missing),
			len(s.Paths), view, strings.Join(missing, ", "))}
	}
	if unused := c.unusedByInstance(); len(unused) > 0 {
		return observation{says: incomplete, text: "not each instance used all paths in " + view + ": " +
			strings.Join(unused, ", ")}
	}
	return observation{says: agrees, text: fmt.Sprintf("%s (%d of %d paths sent and received)", view, len(s.Paths),
		len(s.Paths)), proof: true}
}

// statsObservation compares the bytes of the client with those of the database.
// The counters of a process disappear when it ends, so fewer bytes say nothing.
func (c *facts) statsObservation() observation {
	const view = "V$DNFS_STATS"
	carried, all, known := 0.0, 0.0, false
	for _, w := range c.Databases {
		n := w.DirectNFS
		if n.ReadBytes == nil || n.WriteBytes == nil {
			continue
		}
		known = true
		carried += float64(*n.ReadBytes) + float64(*n.WriteBytes)
		all += float64(w.Statistics[measure.StatReadBytes]) + float64(w.Statistics[measure.StatWriteBytes])
	}
	switch {
	case !known || all <= 0:
		return observation{says: silent, text: view}
	case carried <= 0 && c.Plan.Workload.Calibrate != nil:
		// CALIBRATE_IO starts processes of its own, which may end before they are looked at again.
		return observation{says: silent, text: view + " (the processes that read may have ended)"}
	case carried <= 0:
		return observation{says: doubts, text: view + " counted no byte"}
	case carried*1000 < all*dnfsBytesShare:
		return observation{says: silent, text: fmt.Sprintf(
			"%s (%.1f %% of the bytes; the counters of processes that ended are lost)", view, carried/all*100)}
	default:
		return observation{says: agrees, text: view + " (bytes)", proof: true}
	}
}

// mountObservation checks that the kernel's mount of the same volume is idle, as it is with Direct NFS.
func (c *facts) mountObservation() observation {
	m, wanted := c.Overall.Mount, float64(c.Overall.Total.Bytes)*c.Overall.Mount.Most
	if !m.Known || wanted <= 0 {
		return observation{says: silent, text: "mountstats"}
	}
	moved := float64(m.ServerReadBytes) + float64(m.ServerWriteBytes)
	share := moved / wanted * 1000
	switch {
	case share <= mountFlat:
		return observation{says: agrees, text: "mountstats (flat)"}
	case moved*1000 <= foreignBytesPerSecond*m.Most*float64(c.Overall.DurationMilliseconds):
		// Trace files reach this size whatever the load is.
		return observation{says: silent, text: fmt.Sprintf("mountstats (%.1f %% of a small load)", share/10)}
	}
	says := denies
	if share <= mountCarried {
		says = doubts
	}
	text := fmt.Sprintf("the kernel's mount moved %.1f %% of the bytes", share/10)
	return observation{says: says, text: text, proof: true}
}

// connectionObservation looks for a connection of the pod to each path. The kernel's connections belong to the node.
func (c *facts) connectionObservation() observation {
	var remotes []string
	for _, w := range c.Databases {
		for _, connection := range w.Connections {
			if i := strings.LastIndexByte(connection.Remote, ':'); i >= 0 {
				remotes = append(remotes, strings.Trim(connection.Remote[:i], "[]"))
			}
		}
	}
	if len(remotes) == 0 || len(c.Overall.Paths) == 0 {
		return observation{says: silent, text: "TCP connections of the pod"}
	}
	for _, p := range c.Overall.Paths {
		if !hasAddress(remotes, p.Path) {
			return observation{says: silent, text: "a TCP connection of the pod to " + p.Path}
		}
	}
	return observation{says: agrees, text: "TCP connections of the pod"}
}

// alertObservation reads the alert log. It shows that the library is loaded and which mounts it tries, but not that
// Direct NFS is used.
func (c *facts) alertObservation() observation {
	const file = "oranfstab"
	for _, o := range c.Oracles {
		if o.Library == nil || o.Library.AlertLine == "" {
			continue
		}
		own := func(m runfile.DNFSMount) bool { return m.DefinedIn == file && m.Server == c.Plan.Engine.Server }
		switch mounts := o.Library.Mounts; {
		case slices.ContainsFunc(mounts, own):
			return observation{says: agrees, text: "the alert log (ODM library, a mount of the oranfstab)"}
		case len(mounts) > 0 && len(c.Declared) > 0:
			return observation{says: silent, text: fmt.Sprintf("a mount of the oranfstab in the alert log (but of %s in %s)",
				mounts[0].Server, mounts[0].DefinedIn)}
		}
		return observation{says: agrees, text: "the alert log (ODM library)"}
	}
	return observation{says: silent, text: "the alert log"}
}

// observedDirect describes the protocol.
func (c *facts) observedDirect() string {
	if share, known := c.AccessShare(measure.MethodDirectNFS); known && share < protocolShare {
		return strings.TrimSpace("Kernel " + c.SeenVersion())
	}
	version := ""
	if rows := c.OwnServers(c.Database.Servers); len(rows) > 0 {
		version = oracleVersion(rows[0].Version)
	}
	text, paths := "DirectNFS "+orUnknown(version), c.Overall.Paths
	if len(paths) == 0 {
		return text
	}
	return fmt.Sprintf("%s over %d of %d paths", text, len(measure.Filtered(paths, measure.PathShare.Carried)), len(paths))
}

// databaseKernelEvidence uses the mount, unless the database reports that it
// used its own client.
func (c *facts) databaseKernelEvidence() Evidence {
	own, known := c.AccessShare(measure.MethodOS)
	others := c.OtherMethods(measure.MethodOS)
	switch {
	case known && own < protocolShare:
		e := Evidence{Observed: strings.Replace(others, measure.MethodDirectNFS, "DirectNFS", 1)}
		return e.no(true, "The kernel's client was declared, but V$IOSTAT_FILE.ACCESS_METHOD is %s for %s of the reads "+
			"of data files.", others, human.Share(1000-own))
	case !known && slices.ContainsFunc(c.Database.Channels, func(ch runfile.DNFSChannel) bool { return ch.Sends > 0 }):
		return Evidence{Observed: "DirectNFS"}.no(true,
			"The kernel's client was declared, but V$DNFS_CHANNELS has paths that sent calls.")
	}
	e := c.kernelEvidence()
	if known {
		e.Message = "V$IOSTAT_FILE.ACCESS_METHOD is " + measure.MethodOS + ". " + e.Message
	} else if bench.OrZero(e.Verified) {
		e.Message += " V$IOSTAT_FILE did not tell."
	}
	e.Message += c.asyncText()
	return e
}

// arrayObservation uses the array's list of connected clients, with their addresses and protocols. It proves nothing
// alone, because the kernel's mount beside Direct NFS is a client too. It never denies, because an array keeps idle
// clients in its list for long. It is empty if no array has such a list.
func (c *facts) arrayObservation() observation {
	if !slices.ContainsFunc(c.Plan.Collect.Sources, func(s runfile.Source) bool { return s.Kind == runfile.SourceONTAP }) {
		return observation{}
	}
	const list = "the array's list of clients"
	for _, seen := range c.ConnectedClients() {
		declared := slices.ContainsFunc(c.Declared, func(p measure.PathPair) bool { return p.Path == seen.Server })
		if declared && arrayProtocol(seen.Protocol, c.Plan.Engine.NFSVersion) {
			text := fmt.Sprintf("%s (%s by %s at %s)", list, seen.Address, seen.Protocol, seen.Server)
			return observation{says: agrees, text: text}
		}
	}
	return observation{says: silent, text: list}
}

// arrayProtocol reports whether ONTAP's nfs3, nfs4, nfs4.1 or nfs4.2 is the declared version. For ONTAP, pNFS is
// NFSv4.1 or later.
func arrayProtocol(seen string, declared bench.NFSVersion) bool {
	switch declared {
	case bench.PNFS:
		return strings.HasPrefix(seen, "nfs4.")
	case bench.NFSv3:
		return seen == "nfs3"
	case bench.NFSv40:
		return seen == "nfs4" || seen == "nfs4.0"
	default:
		return "NFSv"+strings.TrimPrefix(seen, "nfs") == string(declared)
	}
}
