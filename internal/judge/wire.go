package judge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
)

func checkWire(c *facts, found *findings) {
	if c.Wire == nil && c.Plan.Link != nil {
		found.info(WireLimitUnknown, "The wire limit is not known, because no path of the load is known.")
		return
	}
	if c.Wire == nil {
		found.info(WireLimitUnknown, "The speed of the links is not known: %s. Declare it (link: bitsPerSecond and mtu "+
			"of each path) to see what share of the wire was reached.", c.whyUnknown())
		return
	}
	share, full, limited := *c.Overall.WirePermille, c.fullSteps(), c.limitedBy(measure.LimitWire)
	limit, got := c.busier()
	numbers := fmt.Sprintf("%s of %s (%s)", human.Throughput(got), human.Throughput(limit), human.Share(int64(share)))
	const more = "; add paths or faster links to find out."
	switch {
	case share > wireExceeded && c.Wire.Source == measure.Declared:
		found.fail(AboveWireLimit, "%s: more than the declared links can carry. The declaration is wrong, or the load "+
			"did not cross these links. Correct link.bitsPerSecond and link.mtu.", numbers)
	case share > wireExceeded:
		found.fail(AboveWireLimit, "%s: more than the discovered links can carry. The load did not cross them, or the "+
			"interface reports a wrong speed. Declare the link.", numbers)
	case share >= wireSaturated:
		if full != "" {
			full = " with " + full
		}
		found.info(LineSaturated, "%s: the line is full%s. The storage may be faster than this"+more, numbers, full)
	case limited != "":
		found.info(LineSaturated, "%s The line limits the capacity, and the storage may be faster: add paths or faster "+
			"links to find out.", limited)
	case full != "":
		found.info(LineSaturated, "The line is full with %s. The storage may be faster than that"+more, full)
	case share < wireGood && c.shouldFillTheWire():
		found.warn(BelowWireSpeed, "%s. Oracle gets line speed over NFS unless something is ill-configured. %s", numbers,
			c.suspects())
	}
}

// busier returns the limit and the rate of the direction that is nearer to its limit.
func (c *facts) busier() (limit, got int64) {
	s := c.Overall
	if s.Read == nil || s.Write != nil && *s.Write.WirePermille > *s.Read.WirePermille {
		if s.Write != nil {
			return c.Wire.WriteBytesPerSecond, s.Write.BytesPerSecond
		}
		return c.Wire.ReadBytesPerSecond, 0
	}
	return c.Wire.ReadBytesPerSecond, s.Read.BytesPerSecond
}

func (c *facts) whyUnknown() string {
	for _, cl := range c.Clients {
		if !cl.Collected {
			return "no interfaces were collected"
		}
		if len(cl.Carriers) == 0 {
			return "no interface could be matched with the paths"
		}
		for _, i := range cl.Carriers {
			if i.Virtual || i.SpeedBitsPerSecond == nil {
				return i.Name + " is a virtual interface, or reports no speed"
			}
		}
	}
	return "no client reported an interface"
}

// LineFullPercent is the share of the wire limit from which a line is full. TCP on an idle path stays within a few
// percent of the limit, and steps of a ramp just below it still respond to changes.
const LineFullPercent = wireSaturated / 10

// LineFull reports whether a share of the wire limit, in percent, shows that the line was full. A share that no line
// can carry shows that the limit is wrong, and nothing about the line.
func LineFull(percent float64) bool {
	return percent >= LineFullPercent && percent <= float64(wireExceeded)/10
}

// lineFull reports whether the load filled the line.
func (c *facts) lineFull() bool {
	return c.Overall.WirePermille != nil && LineFull(c.Overall.WirePermille.Percent())
}

// fullSteps names the levels of load that filled the line; empty with fewer
// than two levels.
func (c *facts) fullSteps() string {
	var full []string
	for _, s := range c.Steps {
		if measure.AtLeastPermille(s.WirePermille, wireSaturated) {
			full = append(full, level(s.Kind, s.Users))
		}
	}
	const most = 3
	switch {
	case len(c.Steps) < 2:
		return ""
	case len(full) > most:
		return fmt.Sprintf("%s, and %d more steps", strings.Join(full[:most], ", "), len(full)-most)
	default:
		return strings.Join(full, ", ")
	}
}

// shouldFillTheWire reports whether the load should fill the wire: sequential loads without a pace, and large random
// ones.
func (c *facts) shouldFillTheWire() bool {
	if s := c.Plan.Workload.SLOB; s != nil {
		return s.Access == bench.SLOBFullTableScan && s.Think == nil && s.Capacity == nil
	}
	if c.Plan.Workload.Calibrate != nil {
		return false // it measures IOPS
	}
	r := c.Raw()
	if bench.OrZero(r.OperationsPerSecond) > 0 || r.Capacity != nil {
		return false
	}
	switch r.Pattern {
	case bench.PatternRead, bench.PatternOverwrite, bench.PatternCopy, bench.PatternMixed:
		return true
	default:
		return r.BlockBytes() >= smallBlockBytes
	}
}

// suspects lists possible misconfigurations: first those that the measurement
// shows, then those that the plan makes likely.
func (c *facts) suspects() string {
	var list []string
	suspect := func(ok bool, format string, args ...any) {
		if ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	s, r := c.Overall, c.Raw()
	idle, _ := idlePaths(dataPaths(s.Paths))
	suspect(len(idle) > 0, "path %s carries nothing", strings.Join(idle, ", "))
	for _, p := range s.Paths {
		suspect(noticeable(p, s.Summary) && !slices.Contains(idle, p.Name()), "path %s was down for %s", p.Name(),
			human.Seconds(p.DownMilliseconds))
	}
	list = append(list, c.busyClient(s.ClientCPU)...)
	for _, i := range c.Indirect {
		suspect(true, "path %s is indirect: node %s owns the volume", listed(i.Paths), i.Owner)
	}
	list = append(list, busyStorage(s)...)
	xfer, block := c.Transfer[measure.Reads], c.Block
	if s.Read == nil {
		xfer = c.Transfer[measure.Writes]
	}
	who := "the server"
	if asked := c.Plan.Engine.TransferSizeBytes; asked > 0 && asked <= xfer {
		who = "protocol.transferSize"
	}
	suspect(xfer < min(block, measure.DefaultXfer), "%s cuts blocks of %s into transfers of %s", who, human.Size(block),
		human.Size(xfer))
	for _, t := range c.segmentTroubles() {
		suspect(true, "%s: look for %s", t.what, t.look)
	}
	suspect(block < smallBlockBytes, "blocks of %s are small: Oracle scans with 1Mi (db_file_multiblock_read_count)",
		human.Size(block))
	outstanding, raise := c.Outstanding()
	paths := int64(max(len(dataPaths(s.Paths)), 1))
	suspect(outstanding < paths*fewOutstandingPerPath, "%d outstanding I/Os for %d paths are few: raise %s", outstanding,
		paths, raise)
	suspect(r.Pattern == bench.PatternCopy && r.Depth == 1,
		"a copy of depth 1 is serial and uses one direction at a time")
	if len(list) == 0 {
		return "Nothing that was measured here explains it: look at the negotiated speed and the MTU along the whole " +
			"path, at bonding (70 to 100 %), at other users of the links, and at the storage's own limits."
	}
	return "Most likely first: " + strings.Join(list, "; ") + "."
}

func permilleText[T ~int32](v *T) string {
	if v == nil {
		return "?"
	}
	return human.Share(*v)
}
