package judge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkLocality reports paths that end on the wrong node. If the user asked for such paths, it reports their cost.
func checkLocality(c *facts, found *findings) {
	for _, i := range c.Indirect {
		first := indirectWords(i, c.Volume)
		if c.Plan.Engine.PathSelection == bench.PathsRemote {
			found.info(IndirectPath, "%s. protocol.paths.select: Remote asks for that; compare with Local.", first)
			continue
		}
		found.warn(IndirectPath, "%s. %s", first, c.directly(i.Owner))
	}
}

// indirectWords names the indirect paths, without a full stop.
func indirectWords(i measure.Indirection, v runfile.SurveyVolume) string {
	what, verb := "Path", "is"
	if len(i.Paths) > 1 {
		what, verb = "Paths", "are"
	}
	n, busy, idle := i.Node, permilleText(i.Node.CPUPermille), permilleText(i.Node.BaselineCPUPermille)
	work := fmt.Sprintf("the load enters at node %s (busy %s, %s while idle)", n.Name, busy, idle)
	switch {
	case n.CPUPermille == nil:
		work = fmt.Sprintf("the load enters at node %s (its CPU is not known)", n.Name)
	case n.BaselineCPUPermille == nil:
		work = fmt.Sprintf("node %s is busy %s", n.Name, busy)
	case int64(*n.CPUPermille)-int64(*n.BaselineCPUPermille) >= cpuRise:
		work = fmt.Sprintf("node %s is busy %s (%s while idle)", n.Name, busy, idle)
	}
	return fmt.Sprintf("%s %s %s indirect: node %s owns %s, and %s", what, listed(i.Paths), verb, i.Owner, volumeName(v),
		work)
}

func volumeName(v runfile.SurveyVolume) string {
	if v.Name == "" {
		return "the volume"
	}
	return "volume " + v.Name
}

// directly returns the advice how to reach the owner of the volume by a path of its own node.
func (c *facts) directly(owner string) string {
	var there []string
	lifs := c.Survey.LIFs
	for _, l := range lifs {
		if l.Node == owner && (l.Up == nil || *l.Up) {
			there = append(there, fmt.Sprintf("%s (%s)", l.Address, l.Name))
		}
	}
	if len(there) == 0 && len(lifs) > 0 {
		return fmt.Sprintf("No LIF on node %s is up: bring one up, or create one (network interface create -vserver %s "+
			"-home-node %s ...), or move the volume.", owner, c.SVM(), owner)
	}
	if len(there) == 0 {
		return "Use protocol.paths.select: Local."
	}
	return fmt.Sprintf("Use protocol.paths.select: Local. Node %s has %s.", owner, listed(there))
}

// checkHomes looks for LIFs in use that are not at home. With pNFS it checks all LIFs.
func checkHomes(c *facts, found *findings) {
	used := c.EverUsed()
	for _, l := range c.Survey.LIFs {
		if l.AtHome == nil || *l.AtHome || !c.IsPNFS() && !hasAddress(used, l.Address) {
			continue
		}
		where := fmt.Sprintf("is on node %s and belongs on %s", cmp.Or(l.Node, "?"), cmp.Or(l.HomeNode, "another"))
		if l.Node == l.HomeNode {
			where = fmt.Sprintf("is on node %s, but not on its home port", cmp.Or(l.Node, "?"))
		}
		found.warn(LIFNotHome, "LIF %s (%s) %s: usually after a failover that was not reverted. Revert it: network "+
			"interface revert -vserver %s -lif %s.", l.Name, l.Address, where, c.SVM(), l.Name)
	}
}

// checkRedirection looks for load that pNFS did not redirect to the node of the
// data. Missing layouts are a ProtocolMismatch, too; this finding adds the
// remedy.
func checkRedirection(c *facts, found *findings) {
	if !c.IsPNFS() {
		return
	}
	what := ""
	lif, share, stuck := c.stuck()
	switch m := c.Overall.Mount; {
	case c.Kernel() && m.Known && m.PNFSReads+m.PNFSWrites == 0:
		what = "No I/O was redirected: the client did not read or write through a layout."
	case c.Native() && len(measure.ByLayout(c.Overall.Paths)) == 0:
		granted := int64(0)
		for _, s := range c.Overall.Servers {
			granted += s.LayoutsGranted
		}
		what = fmt.Sprintf("No I/O was redirected: no data server moved a byte, and the server granted %d layouts.", granted)
	case stuck:
		what = fmt.Sprintf("pNFS did not redirect the load: %s of the bytes still went through %s, which is not on the node "+
			"that owns %s.", human.Share(share), lif, volumeName(c.Volume))
	default:
		return
	}
	found.warn(PNFSNotRedirected, "%s Check that pNFS is on (vserver nfs modify -vserver %s -v4.1-pnfs enabled), NFSv4.0 "+
		"and referrals are off, and that clients reach every data LIF of the SVM.", what, c.SVM())
}

// stuck returns the mounted LIF if it carried nearly all of the load on another node than that of the data.
func (c *facts) stuck() (lif string, permille int64, ok bool) {
	mounted, all := 0.0, 0.0
	var names []string
	used := slices.Clone(c.Overall.Used)
	for _, p := range measure.ByLayout(c.Overall.Paths) {
		used = slices.DeleteFunc(used, func(a string) bool { return runfile.SameAddress(a, p.Path) })
	}
	for _, p := range c.Overall.StoragePaths {
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
	// If the mounted LIFs moved little, or nothing was counted, there is no proof.
	if len(names) == 0 || all == 0 || all*2 < float64(c.Overall.Total.Bytes) || mounted*1000 < all*lifAll {
		return "", 0, false
	}
	return listed(names), int64(mounted / all * 1000), true
}
