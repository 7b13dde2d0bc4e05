package judge

import (
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// metadataServers returns the servers at the paths of the plan.
func metadataServers(all []runfile.NFSServer) []runfile.NFSServer {
	return measure.Filtered(all, func(s runfile.NFSServer) bool { return s.Role != bench.PathDataServer })
}

// serverVersion returns the version in the servers' replies. It joins different versions, and is empty without
// servers.
func serverVersion(servers []runfile.NFSServer) string {
	version := func(s runfile.NFSServer) string { return s.NFSVersion }
	return strings.Join(measure.Distinct(metadataServers(servers), version), " and ")
}

// trunkingWords describes how the paths are joined; empty with one path, and with NFSv3.
func trunkingWords(servers []runfile.NFSServer) string {
	words := map[bench.Trunking]string{
		bench.TrunkingSession: "session trunking", bench.TrunkingClientID: "client ID trunking",
		bench.TrunkingSeparate: "separate servers",
	}
	joint := func(s runfile.NFSServer) string { return words[s.Trunking] }
	return strings.Join(measure.Distinct(metadataServers(servers), joint), ", ")
}

// dataPaths returns the paths that should carry the data: with layouts the paths to data servers, because the
// declared ones carry metadata.
func dataPaths(shares []measure.PathShare) []measure.PathShare {
	if found := measure.ByLayout(shares); len(found) > 0 {
		return found
	}
	return shares
}

// dataServers counts the servers that the data went to. An address of an unknown server counts as one server.
func dataServers(s measure.Summary) int {
	seen := map[string]bool{}
	for _, p := range measure.ByLayout(s.Paths) {
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
	for _, s := range c.Repetitions {
		here := int64(0)
		for _, server := range s.Servers {
			ios += server.LayoutFallbacks
			here += server.LayoutFallbackBytes
			if server.LayoutFallbacks > 0 {
				where = measure.WithNew(where, fmt.Sprint(s.Repetition))
			}
		}
		bytes, all = bytes+here, all+s.Total.Bytes
		worst = max(worst, shareOf(here, s.Total.Bytes))
	}
	if ios <= 0 || !c.IsPNFS() || !c.Native() {
		return
	}
	found.add(LayoutFallback, warningIf(worst >= layoutFallbackShare), "%d I/Os with %s (%s) went through the metadata "+
		"server although pNFS was declared, in repetition %s. The server gave no layout, a data server did not answer, or "+
		"a layout was recalled. Check that a firewall lets the client connect to port 2049 of each data server, and that "+
		"the data servers and their LIFs are up.", ios, human.Bytes(bytes), human.Share(shareOf(bytes, all)), listed(where))
}

// checkLayoutType reports layouts that the client cannot read.
func checkLayoutType(c *facts, found *findings) {
	if !c.IsPNFS() || !c.Native() {
		return
	}
	var types []string
	for _, s := range c.Overall.Servers {
		if t := s.LayoutType; t != "" && t != runfile.LayoutTypeFiles {
			types = measure.WithNew(types, t)
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
	return int64(*measure.PermilleOf(float64(part) / float64(all)))
}

// checkRecovery reports that the client had to recover state under load, while I/O waited.
func checkRecovery(c *facts, found *findings) {
	times, waited, worst, where := int64(0), int64(0), int64(0), []string(nil)
	for _, s := range c.Repetitions {
		for _, server := range s.Servers {
			if server.Recoveries > 0 {
				times += server.Recoveries
				waited += server.RecoveryMilliseconds
				worst = max(worst, shareOf(server.RecoveryMilliseconds, s.DurationMilliseconds))
				where = measure.WithNew(where, fmt.Sprint(s.Repetition))
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

// checkServerPaths reports several paths that the server did not join in one session.
func checkServerPaths(c *facts, found *findings) {
	var separate, byClientID []string
	for _, s := range metadataServers(c.Overall.Servers) {
		switch {
		case s.NFSVersion == string(bench.NFSv40):
			// NFSv4.0 has no sessions: at best, one client ID is shared by several connections.
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
			"enabled).", listed(separate), c.SVM())
	}
	if len(byClientID) > 0 {
		found.info(PathsNotTrunked, "The paths %s have one client ID and a session each (client ID trunking): the server "+
			"does not let one session use all of them. A call whose reply is lost may be executed once more over another "+
			"path.", listed(byClientID))
	}
}

// kernelSlots is the default of Linux's nfs.max_session_slots: the most slots that a mount requests.
const kernelSlots = 64

// checkSlotWaits reports I/O that waited because the session had no free slot.
func checkSlotWaits(c *facts, found *findings) {
	var sum runfile.NFSServer
	worst, where := int64(0), []string(nil)
	for _, s := range c.Repetitions {
		for _, server := range s.Servers {
			share := shareOf(server.SlotWaits, server.SlotRequests)
			if share < slotWaitShare {
				continue
			}
			if share > worst {
				sum.Slots, worst = server.Slots, share
			}
			sum = measure.MergedWaits(sum, server)
			where = measure.WithNew(where, fmt.Sprint(s.Repetition))
		}
	}
	if worst == 0 || !c.Native() {
		return
	}
	wanted := ""
	if sum.SlotsWanted > 0 {
		wanted = fmt.Sprintf(", and wanted no more than %d used at times", sum.SlotsWanted)
	}
	_, product := c.MostOutstanding(1)
	found.warn(SlotsLimited, "%d of %d READs and WRITEs (%s) waited for a free slot of their session, %d us each on "+
		"average, in repetition %s: the server grants %d slots a session%s, and a job has %d, where a mount of the kernel "+
		"has one. The wait is a part of the latency. Raise the slots of the server (ONTAP: vserver nfs modify "+
		"-v4.x-session-num-slots), or lower %s. protocol.sessions asks for more sessions, which a mount does not have.",
		sum.SlotWaits, sum.SlotRequests,
		human.Share(shareOf(sum.SlotWaits, sum.SlotRequests)), sum.SlotWaitMilliseconds*1000/max(sum.SlotWaits, 1),
		listed(where), sum.Slots, wanted, max(c.Plan.Engine.Sessions, 1), product)
}

// checkSlots reports more outstanding I/Os than a kernel mount over NFSv4.1 could have. The engine uses a session for
// each job, and a mount has one for each server.
func checkSlots(c *facts, found *findings) {
	if !c.Native() || c.IsPNFS() {
		return
	}
	ios, product := c.MostOutstanding(1)
	slots, sessions, most, clients := int64(0), int64(0), int64(0), int64(max(c.Overall.Clients, 1))
	granted := ""
	for _, s := range c.Overall.Servers {
		if s.Sessions == 0 {
			continue
		}
		mount, of := int64(kernelSlots), int64(s.Sessions)/clients
		if s.Slots < s.SlotsAsked { // otherwise the server may grant more than requested
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
