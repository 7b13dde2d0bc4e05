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

// serversOf adds up the NFS servers of all clients in a repetition. Clients that see the same
// server, by its owner and its addresses, are one row, whose sessions are those of all.
func serversOf(parts []clientRep) []runfile.NFSServer {
	var all []runfile.NFSServer
	for _, p := range parts {
		for _, s := range p.rep.Servers[:min(len(p.rep.Servers), runfile.MaxServers)] {
			i := slices.IndexFunc(all, func(o runfile.NFSServer) bool { return sameServer(o, s) })
			switch {
			case i >= 0:
				all[i] = mergedServers(all[i], s)
			case len(all) < runfile.MaxServers:
				all = append(all, s)
			}
		}
	}
	return all
}

func sameServer(a, b runfile.NFSServer) bool {
	return a.Role == b.Role && a.NFSVersion == b.NFSVersion && a.Owner == b.Owner && a.OwnerMinor == b.OwnerMinor &&
		a.Scope == b.Scope && a.Trunking == b.Trunking && a.LayoutType == b.LayoutType &&
		slices.Equal(a.Addresses, b.Addresses)
}

// mergedServers is one server as two clients saw it. Clients wait at the same time, so the
// longest wait counts.
func mergedServers(a, b runfile.NFSServer) runfile.NFSServer {
	a.Slots, a.Sessions = min(a.Slots, b.Slots), a.Sessions+b.Sessions
	a = mergedWaits(a, b)
	a.LeaseSeconds = min(a.LeaseSeconds, b.LeaseSeconds)
	a.Recoveries += b.Recoveries
	a.RecoveryMilliseconds = max(a.RecoveryMilliseconds, b.RecoveryMilliseconds)
	a.Callbacks += b.Callbacks
	a.LayoutsGranted += b.LayoutsGranted
	a.LayoutsRecalled += b.LayoutsRecalled
	a.LayoutFallbacks += b.LayoutFallbacks
	a.LayoutFallbackBytes += b.LayoutFallbackBytes
	return a
}

// mergedWaits adds what two rows say of waits for slots.
func mergedWaits(a, b runfile.NFSServer) runfile.NFSServer {
	a.SlotsUsed = max(a.SlotsUsed, b.SlotsUsed)
	a.SlotsWanted = min(cmp.Or(a.SlotsWanted, b.SlotsWanted), cmp.Or(b.SlotsWanted, a.SlotsWanted))
	a.SlotRequests += b.SlotRequests
	a.SlotWaits += b.SlotWaits
	a.SlotWaitMilliseconds += b.SlotWaitMilliseconds
	return a
}

// metadataServers are those that the paths of the plan lead to.
func metadataServers(all []runfile.NFSServer) []runfile.NFSServer {
	return filtered(all, func(s runfile.NFSServer) bool { return s.Role != bench.PathDataServer })
}

// serverVersion is the version that the replies of the servers show; it joins different ones,
// and is empty without servers.
func serverVersion(servers []runfile.NFSServer) string {
	version := func(s runfile.NFSServer) string { return s.NFSVersion }
	return strings.Join(distinct(metadataServers(servers), version), " and ")
}

// trunkingWords say how the paths are joined; empty with one path, and with NFSv3.
func trunkingWords(servers []runfile.NFSServer) string {
	words := map[bench.Trunking]string{
		bench.TrunkingSession: "session trunking", bench.TrunkingClientID: "client ID trunking",
		bench.TrunkingSeparate: "separate servers",
	}
	joint := func(s runfile.NFSServer) string { return words[s.Trunking] }
	return strings.Join(distinct(metadataServers(servers), joint), ", ")
}

// byLayout are the paths to data servers that moved data.
func byLayout(shares []PathShare) []PathShare {
	return filtered(byRole(shares, bench.PathDataServer), PathShare.carried)
}

// dataPaths are the paths that should carry the data: with layouts those to data servers, for
// the declared ones carry metadata.
func dataPaths(shares []PathShare) []PathShare {
	if found := byLayout(shares); len(found) > 0 {
		return found
	}
	return shares
}

// dataServers is how many servers, and not addresses, the data went to. What no server is
// known of counts by its address.
func dataServers(s Summary) int {
	seen := map[string]bool{}
	for _, p := range byLayout(s.Paths) {
		name := p.Path
		for i, server := range s.Servers {
			if server.Role == bench.PathDataServer && hasAddress(server.Addresses, p.Path) {
				name = fmt.Sprint("server ", i)
				break
			}
		}
		seen[name] = true
	}
	return len(seen)
}

// checkFallback reports I/O that went through the metadata server although pNFS was declared.
func checkFallback(c *facts, found *findings) {
	ios, bytes, all, worst, where := int64(0), int64(0), int64(0), int64(0), []string(nil)
	for _, s := range c.repetitions {
		here := int64(0)
		for _, server := range s.Servers {
			ios += server.LayoutFallbacks
			here += server.LayoutFallbackBytes
			if server.LayoutFallbacks > 0 {
				where = withNew(where, fmt.Sprint(s.Repetition))
			}
		}
		bytes, all = bytes+here, all+s.Total.Bytes
		worst = max(worst, shareOf(here, s.Total.Bytes))
	}
	if ios <= 0 || !c.isPNFS() || !c.native() {
		return
	}
	found.add(LayoutFallback, warningIf(worst >= layoutFallbackShare), "%d I/Os with %s (%s) went through the metadata "+
		"server although pNFS was declared, in repetition %s. A data server did not answer, or its layout was recalled. "+
		"Check that a firewall lets the client connect to port 2049 of each data server, and that the data servers and "+
		"their LIFs are up.", ios, human.Bytes(bytes), human.Share(shareOf(bytes, all)), listed(where))
}

// checkLayoutType reports layouts that the client cannot read.
func checkLayoutType(c *facts, found *findings) {
	if !c.isPNFS() || !c.native() {
		return
	}
	var types []string
	for _, s := range c.overall.Servers {
		if t := s.LayoutType; t != "" && t != runfile.LayoutTypeFiles {
			types = withNew(types, t)
		}
	}
	if len(types) > 0 {
		found.warn(LayoutTypeUnsupported, "The server offers layouts of the type %s, and this client speaks files "+
			"layouts only (RFC 8881, chapter 13). Choose a server or a file system with files layouts, or use "+
			"protocol.client: Kernel.", listed(types))
	}
}

func shareOf(part, all int64) int64 {
	if part <= 0 || all <= 0 {
		return 0
	}
	return int64(*permille(float64(part) / float64(all)))
}

// checkRecovery reports state that the client had to make again under load: I/O waited for it.
func checkRecovery(c *facts, found *findings) {
	times, waited, worst, where := int64(0), int64(0), int64(0), []string(nil)
	for _, s := range c.repetitions {
		for _, server := range s.Servers {
			if server.Recoveries > 0 {
				times += server.Recoveries
				waited += server.RecoveryMilliseconds
				worst = max(worst, shareOf(server.RecoveryMilliseconds, s.DurationMilliseconds))
				where = withNew(where, fmt.Sprint(s.Repetition))
			}
		}
	}
	if times > 0 {
		found.add(StateRecovered, warningIf(worst >= channelLostShare), "The client had to make its state at the server "+
			"(client ID, session, opens) again %d times under load, in repetition %s: the server was restarted, a lease "+
			"expired, or a session was lost. I/O waited %d ms for that, which is a gap in the numbers. Look at the server's "+
			"log for that time, and measure again.", times, listed(where), waited)
	}
}

// checkServerPaths reports several paths that the server did not join to one session.
func checkServerPaths(c *facts, found *findings) {
	var separate, byClientID []string
	for _, s := range metadataServers(c.overall.Servers) {
		switch {
		case s.NFSVersion == string(bench.NFSv40):
			// NFSv4.0 has no sessions: one client ID over several connections is all there is.
		case s.Trunking == bench.TrunkingSeparate:
			separate = append(separate, s.Addresses...)
		case s.Trunking == bench.TrunkingClientID:
			byClientID = append(byClientID, s.Addresses...)
		}
	}
	if len(separate) > 0 {
		found.warn(PathsNotTrunked, "The paths %s lead to servers that share no state: each has a client ID, a session "+
			"and opens of its own, and I/O of a lost path waits until the file is opened on another. Use addresses of one "+
			"server, and switch session trunking on (ONTAP 9.14.1 or newer: vserver nfs modify -vserver %s -v4.1-trunking "+
			"enabled).", listed(separate), c.svm())
	}
	if len(byClientID) > 0 {
		found.info(PathsNotTrunked, "The paths %s have one client ID and a session each (client ID trunking): the server "+
			"does not let one session use all of them. A call whose reply is lost may be executed once more over another "+
			"path.", listed(byClientID))
	}
}

// kernelSlots is nfs.max_session_slots of Linux as it comes: the most slots that a mount asks for.
const kernelSlots = 64

// checkSlotWaits reports I/O that waited because the session had no free slot.
func checkSlotWaits(c *facts, found *findings) {
	var sum runfile.NFSServer
	worst, where := int64(0), []string(nil)
	for _, s := range c.repetitions {
		for _, server := range s.Servers {
			share := shareOf(server.SlotWaits, server.SlotRequests)
			if share < slotWaitShare {
				continue
			}
			if share > worst {
				sum.Slots, worst = server.Slots, share
			}
			sum = mergedWaits(sum, server)
			where = withNew(where, fmt.Sprint(s.Repetition))
		}
	}
	if worst == 0 || !c.native() {
		return
	}
	wanted := ""
	if sum.SlotsWanted > 0 {
		wanted = fmt.Sprintf(", and wanted no more than %d used at times", sum.SlotsWanted)
	}
	_, product := c.mostOutstanding(1)
	found.warn(SlotsLimited, "%d of %d READs and WRITEs (%s) waited for a free slot of their session, %d us each on "+
		"average, in repetition %s: the server grants %d slots a session%s, and a job has %d, where a mount of the kernel "+
		"has one. The wait is a part of the latency. Raise the slots of the server (ONTAP: vserver nfs modify "+
		"-v4.x-session-num-slots), or lower %s. protocol.sessions asks for more sessions, which a mount does not have.",
		sum.SlotWaits, sum.SlotRequests,
		human.Share(shareOf(sum.SlotWaits, sum.SlotRequests)), sum.SlotWaitMilliseconds*1000/max(sum.SlotWaits, 1),
		listed(where), sum.Slots, wanted, max(c.Plan.Engine.Sessions, 1), product)
}

// checkSlots reports more outstanding I/Os than a kernel mount over NFSv4.1 could have. The engine takes
// a session for each job, and a mount has one for each server.
func checkSlots(c *facts, found *findings) {
	if !c.native() || c.isPNFS() {
		return
	}
	ios, product := c.mostOutstanding(1)
	slots, sessions, most, clients := int64(0), int64(0), int64(0), int64(max(c.overall.Clients, 1))
	granted := ""
	for _, s := range c.overall.Servers {
		if s.Sessions == 0 {
			continue
		}
		mount, of := int64(kernelSlots), int64(s.Sessions)/clients
		if s.Slots < s.SlotsAsked { // otherwise the server may grant more than were asked for
			mount = min(mount, int64(s.Slots))
			granted = fmt.Sprintf("The server granted %d slots a session where %d were asked for. ", s.Slots, s.SlotsAsked)
		}
		slots, sessions, most = slots+mount, sessions+of, most+int64(s.Slots)*(of-1) // one is for other calls
	}
	if ios = min(ios, most); slots == 0 || ios <= slots {
		return
	}
	found.info(SessionSlots,
		"%d I/Os (%s) may be outstanding from a client, in %d sessions of NFSv4.1. %sA mount of the Linux kernel has one "+
			"session, whatever nconnect is, and at most %d slots in it unless nfs.max_session_slots is raised, so it keeps at "+
			"most %d I/Os outstanding here. Do not compare the two at this load: lower %s; or raise the slots on both sides "+
			"(ONTAP: vserver nfs modify -v4.x-session-num-slots).", ios, product, sessions, granted, kernelSlots, slots, product)
}
