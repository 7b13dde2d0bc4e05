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

// indirection is a node of the storage that a path ends on although another node
// owns the data.
type indirection struct {
	node  StorageNode // that passes on
	owner string
	paths []string // as address (LIF)
}

// indirections are where the load of the repetition that stands for all entered by
// another node. With pNFS the declared address is where layouts come from, and not where
// data must go: the kernel does not tell where it went, and the channels of the native
// engine do.
func (c *facts) indirections() []indirection {
	if c.overall == nil || c.overall.owner == "" {
		return nil
	}
	used := c.overall.used
	if c.isPNFS() {
		used = nil
		for _, p := range byLayout(c.overall.Paths) {
			used = append(used, p.Path)
		}
	}
	var found []indirection
	for _, address := range used {
		name, lif := c.endOf(address, c.overall.storage)
		if name == "" || name == c.overall.owner {
			continue
		}
		i := slices.IndexFunc(found, func(f indirection) bool { return f.node.Name == name })
		if i < 0 {
			i = len(found)
			seen := filtered(c.overall.StorageNodes, func(n StorageNode) bool { return n.Name == name })
			node := append(seen, StorageNode{Name: name})[0]
			found = append(found, indirection{node: node, owner: c.overall.owner})
		}
		if lif != "" {
			address += " (" + lif + ")"
		}
		found[i].paths = append(found[i].paths, address)
	}
	return found
}

// checkLocality reports paths that end on the wrong node. A user who asked for that is
// told what it cost.
func checkLocality(c *facts, found *findings) {
	for _, i := range c.indirect {
		first := i.sentence(c.volume)
		if c.Plan.Engine.PathSelection == bench.PathsRemote {
			found.info(IndirectPath, "%s. protocol.paths.select: Remote asks for that; compare with Local.", first)
			continue
		}
		found.warn(IndirectPath, "%s. %s", first, c.directly(i.owner))
	}
}

// sentence says which paths are indirect, without a full stop.
func (i indirection) sentence(v runfile.SurveyVolume) string {
	what, verb := "Path", "is"
	if len(i.paths) > 1 {
		what, verb = "Paths", "are"
	}
	n, busy, idle := i.node, permilleText(i.node.CPUPermille), permilleText(i.node.BaselineCPUPermille)
	work := fmt.Sprintf("the load enters at node %s (busy %s, %s while idle)", n.Name, busy, idle)
	switch {
	case n.CPUPermille == nil:
		work = fmt.Sprintf("the load enters at node %s (its CPU is not known)", n.Name)
	case n.BaselineCPUPermille == nil:
		work = fmt.Sprintf("node %s is busy %s", n.Name, busy)
	case int64(*n.CPUPermille)-int64(*n.BaselineCPUPermille) >= cpuRise:
		work = fmt.Sprintf("node %s is busy %s (%s while idle)", n.Name, busy, idle)
	}
	return fmt.Sprintf("%s %s %s indirect: node %s owns %s, and %s", what, listed(i.paths), verb, i.owner, volumeName(v),
		work)
}

func volumeName(v runfile.SurveyVolume) string {
	if v.Name == "" {
		return "the volume"
	}
	return "volume " + v.Name
}

// directly says how to reach the owner itself.
func (c *facts) directly(owner string) string {
	var there []string
	lifs := c.survey.LIFs
	for _, l := range lifs {
		if l.Node == owner && (l.Up == nil || *l.Up) {
			there = append(there, fmt.Sprintf("%s (%s)", l.Address, l.Name))
		}
	}
	if len(there) == 0 && len(lifs) > 0 {
		return fmt.Sprintf("No LIF on node %s is up: bring one up, or create one (network interface create -vserver %s "+
			"-home-node %s ...), or move the volume.", owner, c.svm(), owner)
	}
	if len(there) == 0 {
		return "Use protocol.paths.select: Local."
	}
	return fmt.Sprintf("Use protocol.paths.select: Local. Node %s has %s.", owner, listed(there))
}

// svm is the name to put into a command.
func (c *facts) svm() string {
	for _, s := range c.Plan.Collect.Sources {
		if s.SVM != "" {
			return s.SVM
		}
	}
	return "<svm>"
}

// checkHomes looks at the LIFs in use. With pNFS these are all.
func checkHomes(c *facts, found *findings) {
	used := c.everUsed()
	for _, l := range c.survey.LIFs {
		if l.AtHome == nil || *l.AtHome || !c.isPNFS() && !hasAddress(used, l.Address) {
			continue
		}
		where := fmt.Sprintf("is on node %s and belongs on %s", cmp.Or(l.Node, "?"), cmp.Or(l.HomeNode, "another"))
		if l.Node == l.HomeNode {
			where = fmt.Sprintf("is on node %s, but not on its home port", cmp.Or(l.Node, "?"))
		}
		found.warn(LIFNotHome, "LIF %s (%s) %s: usually after a failover that was not reverted. Revert it: network "+
			"interface revert -vserver %s -lif %s.", l.Name, l.Address, where, c.svm(), l.Name)
	}
}

// everUsed are the addresses that carried load in any repetition, or those that
// should have when there is none.
func (c *facts) everUsed() (used []string) {
	if len(c.repetitions) == 0 {
		return distinct(c.declared, func(p pathPair) string { return p.Path })
	}
	for _, s := range c.repetitions {
		for _, address := range s.used {
			used = withNew(used, address)
		}
	}
	return used
}

// checkRedirection: with pNFS the client should go to the node of the data by
// itself. That it had no layout is a ProtocolMismatch, too; here is what to do.
func checkRedirection(c *facts, found *findings) {
	if !c.isPNFS() {
		return
	}
	what := ""
	lif, share, stuck := c.stuck()
	switch m := c.overall.mount; {
	case c.kernel() && m.known && m.PNFSReads+m.PNFSWrites == 0:
		what = "No I/O was redirected: the client did not read or write through a layout."
	case c.native() && len(byLayout(c.overall.Paths)) == 0:
		granted := int64(0)
		for _, s := range c.overall.Servers {
			granted += s.LayoutsGranted
		}
		what = fmt.Sprintf("No I/O was redirected: no data server moved a byte, and the server granted %d layouts.", granted)
	case stuck:
		what = fmt.Sprintf("pNFS did not redirect the load: %s of the bytes still went through %s, which is not on the node "+
			"that owns %s.", human.Share(share), lif, volumeName(c.volume))
	default:
		return
	}
	found.warn(PNFSNotRedirected, "%s Check that pNFS is on (vserver nfs modify -vserver %s -v4.1-pnfs enabled), NFSv4.0 "+
		"and referrals are off, and that clients reach every data LIF of the SVM.", what, c.svm())
}

// stuck is the mounted LIF when it carried nearly all, away from the data.
func (c *facts) stuck() (lif string, permille int64, ok bool) {
	mounted, all := 0.0, 0.0
	var names []string
	used := slices.Clone(c.overall.used)
	for _, p := range byLayout(c.overall.Paths) {
		used = slices.DeleteFunc(used, func(a string) bool { return runfile.SameAddress(a, p.Path) })
	}
	for _, p := range c.overall.StoragePaths {
		if p.ReadBytes == nil || p.WriteBytes == nil {
			return "", 0, false
		}
		bytes := float64(*p.ReadBytes) + float64(*p.WriteBytes)
		all += bytes
		if hasAddress(used, p.Address) {
			if p.Local == nil || *p.Local {
				return "", 0, false
			}
			mounted += bytes
			names = append(names, strings.TrimSpace(p.Address+" "+p.LIF))
		}
	}
	// LIFs that moved little carried somebody else, or nothing was counted.
	if len(names) == 0 || all == 0 || all*2 < float64(c.overall.Total.Bytes) || mounted*1000 < all*lifAll {
		return "", 0, false
	}
	return listed(names), int64(mounted / all * 1000), true
}
