package measure

import (
	"cmp"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// serversOf adds up the NFS servers of all clients in a repetition. Clients that see the same server, by its owner
// and its addresses, share one row, which adds up their sessions.
func serversOf(parts []part) []runfile.NFSServer {
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

// mergedServers merges two clients' rows of one server. Clients wait at the same time, so the longest wait counts.
func mergedServers(a, b runfile.NFSServer) runfile.NFSServer {
	a.Slots, a.Sessions = min(a.Slots, b.Slots), a.Sessions+b.Sessions
	a = MergedWaits(a, b)
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

// MergedWaits returns a with the slot waits of b merged into it.
func MergedWaits(a, b runfile.NFSServer) runfile.NFSServer {
	a.SlotsUsed = max(a.SlotsUsed, b.SlotsUsed)
	a.SlotsWanted = min(cmp.Or(a.SlotsWanted, b.SlotsWanted), cmp.Or(b.SlotsWanted, a.SlotsWanted))
	a.SlotRequests += b.SlotRequests
	a.SlotWaits += b.SlotWaits
	a.SlotWaitMilliseconds += b.SlotWaitMilliseconds
	return a
}

// ByLayout returns the paths to data servers that moved data.
func ByLayout(shares []PathShare) []PathShare {
	return Filtered(ByRole(shares, bench.PathDataServer), PathShare.Carried)
}
