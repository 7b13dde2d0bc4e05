package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func (c *judging) checkWire() {
	if c.wire == nil {
		c.add(WireLimitUnknown, Info, "The speed of the links is not known: %s. Declare it (link: bitsPerSecond and mtu of each path) to see what share of the wire was reached.", c.whyUnknown())
		return
	}
	s := c.overall
	share := *s.WirePermille
	limit, got := c.busier()
	numbers := fmt.Sprintf("%s of %s (%s)", megabytes(got), megabytes(limit), percent(int64(share)))
	switch {
	case share > wireExceeded && c.wire.Source == Declared:
		c.add(AboveWireLimit, Error, "%s: more than the declared links can carry. The declaration is wrong, or the load did not cross these links. Correct link.bitsPerSecond and link.mtu.", numbers)
	case share > wireExceeded:
		c.add(AboveWireLimit, Error, "%s: more than the discovered links can carry. The load did not cross them, or the interface reports a wrong speed. Declare the link.", numbers)
	case share >= wireSaturated:
		c.add(LineSaturated, Info, "%s: the line is full%s. The storage may be faster than this; add paths or faster links to find out.", numbers, c.fullSteps(" with "))
	case c.fullSteps("") != "":
		c.add(LineSaturated, Info, "The line is full with %s. The storage may be faster than that; add paths or faster links to find out.", c.fullSteps(""))
	case share < wireGood && c.shouldFillTheWire():
		c.add(BelowWireSpeed, Warning, "%s. Oracle gets line speed over NFS unless something is ill-configured. %s", numbers, c.suspects())
	}
}

// busier is the limit and the rate of the direction that is nearer to its limit.
func (c *judging) busier() (limit, got int64) {
	s := c.overall
	if s.Read == nil || s.Write != nil && *s.Write.WirePermille > *s.Read.WirePermille {
		if s.Write != nil {
			return c.wire.WriteBytesPerSecond, s.Write.BytesPerSecond
		}
		return c.wire.ReadBytesPerSecond, 0
	}
	return c.wire.ReadBytesPerSecond, s.Read.BytesPerSecond
}

func (c *judging) whyUnknown() string {
	for _, cl := range c.result.Clients {
		if cl.Observed == nil {
			return "no interfaces were collected"
		}
		carriers := carriersOf(c.result.Plan, cl)
		if len(carriers) == 0 {
			return "no interface could be matched with the paths"
		}
		for _, i := range carriers {
			if i.Virtual || i.SpeedBitsPerSecond == nil {
				return fmt.Sprintf("%s is a virtual interface, or reports no speed", i.Name)
			}
		}
	}
	return "no client reported an interface"
}

// fullSteps names the levels of load that filled the line, where there are
// several; else it is empty.
func (c *judging) fullSteps(before string) string {
	var full []string
	for _, s := range c.steps {
		if atLeastPermille(s.WirePermille, wireSaturated) {
			full = append(full, level(s.Kind, s.Users))
		}
	}
	const most = 3
	switch {
	case len(full) == 0 || len(c.steps) < 2:
		return ""
	case len(full) > most:
		return fmt.Sprintf("%s%s, and %d more steps", before, strings.Join(full[:most], ", "), len(full)-most)
	default:
		return before + strings.Join(full, ", ")
	}
}

// shouldFillTheWire: sequential, unpaced loads should; random and paced ones
// have no such duty.
func (c *judging) shouldFillTheWire() bool {
	if s := c.result.Plan.Workload.SLOB; s != nil {
		return s.Access == runfile.AccessFullTableScan && s.Think == nil
	}
	if c.result.Plan.Workload.Calibrate != nil {
		return false // what it looks for is IOPS
	}
	r := c.raw()
	if r.OperationsPerSecond > 0 {
		return false
	}
	switch r.Pattern {
	case runfile.PatternRead, runfile.PatternOverwrite, runfile.PatternCopy:
		return true
	default:
		return r.BlockSizeBytes >= smallBlockBytes
	}
}

// suspects lists what looks ill-configured: first what was measured to be
// wrong, then what the plan makes likely.
func (c *judging) suspects() string {
	var list []string
	suspect := func(ok bool, format string, args ...any) {
		if ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	s, r := c.overall, c.raw()
	idle, _ := idlePaths(s.Paths)
	suspect(len(idle) > 0, "path %s carries nothing", strings.Join(idle, ", "))
	for _, p := range s.Paths {
		suspect(noticeable(p, *s) && !slices.Contains(idle, label(p)), "path %s was down for %s", label(p), seconds(p.DownMilliseconds))
	}
	cpu := s.ClientCPU
	suspect(atLeastPermille(cpu.BusiestNodePermille, cpuBusy), "the client's CPU is at %s", permilleText(cpu.BusiestNodePermille))
	suspect(atLeastPermille(cpu.BusiestLimitPermille, cpuBusy), "the loader is at %s of its CPU limit", permilleText(cpu.BusiestLimitPermille))
	for _, i := range c.indirect() {
		suspect(true, "path %s is indirect: node %s owns the volume", listed(i.paths), i.owner)
	}
	for _, n := range s.StorageNodes {
		suspect(c.bindsLoad(n), "the CPU of storage node %s is at %s", n.Name, permilleText(n.CPUPermille))
	}
	xfer := transferBytes(c.result, s.Read == nil)
	block := blockBytes(c.result.Plan)
	suspect(xfer < min(block, defaultXfer), "the server cuts blocks of %s into transfers of %s", size(block), size(xfer))
	rate, known := c.retransmitPermille()
	suspect(known && rate > retransmitRate, "%.1f of 1000 TCP segments were sent again: look for a bad cable, a duplex or MTU mismatch, drops in a switch", rate)
	suspect(block < smallBlockBytes, "blocks of %s are small: Oracle scans with 1Mi (db_file_multiblock_read_count)", size(block))
	outstanding, raise := c.outstanding()
	paths := int64(max(len(s.Paths), 1))
	suspect(outstanding < paths*fewOutstandingPerPath, "%d outstanding I/Os for %d paths are few: raise %s", outstanding, paths, raise)
	suspect(r.Pattern == runfile.PatternCopy && r.Depth == 1, "a copy of depth 1 is serial and uses one direction at a time")
	if len(list) == 0 {
		return "Nothing that was measured here explains it: look at the negotiated speed and the MTU along the whole path, at bonding (70 to 100 %), at other users of the links, and at the storage's own limits."
	}
	return "Most likely first: " + strings.Join(list, "; ") + "."
}

func atLeastPermille(v *int32, limit int32) bool { return v != nil && *v >= limit }

func permilleText(v *int32) string {
	if v == nil {
		return "?"
	}
	return percent(int64(*v))
}

// size writes bytes as people write block sizes.
func size(b int64) string {
	switch {
	case b >= 1<<30 && b%(1<<30) == 0:
		return fmt.Sprintf("%dGi", b>>30)
	case b >= 1<<20 && b%(1<<20) == 0:
		return fmt.Sprintf("%dMi", b>>20)
	case b >= 1<<10 && b%(1<<10) == 0:
		return fmt.Sprintf("%dKi", b>>10)
	default:
		return fmt.Sprintf("%d bytes", b)
	}
}

func (c *judging) checkCopy() {
	s, r := c.overall, c.raw()
	if r.Pattern != runfile.PatternCopy || r.Depth != 1 || s.Read == nil || s.Write == nil {
		return
	}
	both := s.Read.bytesPerSec + s.Write.bytesPerSec
	compare := ""
	if c.wire != nil {
		compare = fmt.Sprintf(" That is %.1f %% of what one direction carries.", both/float64(c.wire.ReadBytesPerSecond)*100)
	}
	c.add(HalfDuplexCopy, Info, "The copy is serial, half duplex: with depth 1 each job reads a block, then writes it. Read %s and write %s make %s together.%s Use depth 2 or more to fill both directions.",
		megabytes(s.Read.BytesPerSecond), megabytes(s.Write.BytesPerSecond), megabytes(int64(both)), compare)
}
