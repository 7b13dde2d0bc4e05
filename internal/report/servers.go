package report

import (
	"cmp"
	"fmt"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/doc"
)

// shareName returns the name of a path in tables, with its role in pNFS, and with its LIF and node if a survey knows
// them.
func shareName(p measure.PathShare) string {
	name, where := channelName(p.Local, p.Path, p.Role), ""
	if p.Node != "" {
		where = cmp.Or(p.LIF, "LIF") + " on " + p.Node
	}
	if where == "" {
		return name
	}
	return name + ", " + where
}

// channelName returns the name of a channel. It distinguishes a connection to a data server from a connection to a
// metadata server at the same address.
func channelName(local, path string, role bench.PathRole) string {
	if role == bench.PathDataServer {
		return pathName(local, path) + " (data server)"
	}
	return pathName(local, path)
}

// nfsServerTable shows what the clients saw of each NFS server.
func nfsServerTable(s measure.Summary) *doc.Table {
	if len(s.Servers) == 0 {
		return nil
	}
	t := &doc.Table{
		Caption: "NFS servers (as V$DNFS_SERVERS of Oracle)",
		Note: fmt.Sprintf("As the replies of the servers show; counters of repetition %d, the median, over all clients. "+
			"Waited is the share of READs and WRITEs that had to wait for a free slot. Fallbacks are I/Os that went through "+
			"the metadata server although pNFS was declared.", s.Repetition),
		Columns: []doc.Column{
			{Head: "Server"},
			{Head: "Role"},
			{Head: "Version"},
			{Head: "Trunking"},
			{Head: "Owner", In: doc.HTMLOnly},
			{Head: "Scope", In: doc.HTMLOnly},
			{Head: "Sessions", Number: true, Width: 8},
			{Head: "Slots", Number: true, Width: 6},
			{Head: "Slots used", Number: true, In: doc.HTMLOnly},
			{Head: "Waited", Number: true, In: doc.HTMLOnly},
			{Head: "Lease, s", Number: true, In: doc.HTMLOnly},
			{Head: "Callbacks", Number: true, In: doc.HTMLOnly},
			{Head: "Layouts", Number: true, In: doc.HTMLOnly},
			{Head: "Recalled", Number: true, In: doc.HTMLOnly},
			{Head: "Fallbacks", Number: true, Width: 10},
			{Head: "Recovery", Number: true, Width: 10},
		},
	}
	for _, n := range s.Servers {
		recovery := doc.Unknown
		if n.Recoveries > 0 {
			recovery = fmt.Sprintf("%d, %d ms", n.Recoveries, n.RecoveryMilliseconds)
		}
		waited := doc.Unknown
		if n.SlotRequests > 0 {
			waited = human.Share(n.SlotWaits * 1000 / n.SlotRequests)
		}
		owner := n.Owner
		if owner != "" && n.OwnerMinor != "" {
			owner += " / " + n.OwnerMinor
		}
		row := t.Row(cmp.Or(firstLines(n.Addresses), doc.Unknown), cmp.Or(string(n.Role), doc.Unknown),
			cmp.Or(n.NFSVersion, doc.Unknown), cmp.Or(string(n.Trunking), doc.Unknown), cmp.Or(owner, doc.Unknown),
			cmp.Or(n.Scope, doc.Unknown), nonZero(int64(n.Sessions)), nonZero(int64(n.Slots)),
			nonZero(int64(n.SlotsUsed)), waited, nonZero(int64(n.LeaseSeconds)), fmt.Sprint(n.Callbacks),
			nonZero(n.LayoutsGranted), fmt.Sprint(n.LayoutsRecalled),
			fmt.Sprint(n.LayoutFallbacks), recovery)
		if len(n.Addresses) > 1 {
			row.Cells[0].Short = fmt.Sprintf("%s +%d", n.Addresses[0], len(n.Addresses)-1)
		}
		if n.Recoveries > 0 {
			row.Cells[15].Tone = doc.Warn
		}
		if n.LayoutFallbacks > 0 {
			row.Cells[14].Tone = doc.Warn
		}
	}
	return t
}
