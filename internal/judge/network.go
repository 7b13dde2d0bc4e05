package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkTransferSize compares what one READ or WRITE moves with the requested size, or with the block.
// If the array allows no more, the finding names its setting.
func checkTransferSize(c *facts, found *findings) {
	full, why := min(c.Block, measure.DefaultXfer), fmt.Sprintf("so each block of %s takes several", human.Size(c.Block))
	wanted := c.Plan.Engine.TransferSizeBytes
	if wanted > 0 {
		full, why = min(wanted, c.Block), fmt.Sprintf("where %s were asked for", human.Size(wanted))
	}
	limit := bench.OrZero(bench.OrZero(c.Survey.NFS).TransferSizeBytes) // of the array; 0: not known
	for _, d := range []struct {
		name string
		xfer int64
		used bool
	}{
		{"READ", c.Transfer[measure.Reads], c.Overall.Read != nil},
		{"WRITE", c.Transfer[measure.Writes], c.Overall.Write != nil},
	} {
		moves := fmt.Sprintf("A %s moves %s, %s", d.name, human.Size(d.xfer), why)
		switch {
		case !d.used || d.xfer >= full:
		case limit > 0 && limit < full && d.xfer <= limit:
			found.warn(TransferSizeCapped, "%s: the array allows %s. Raise it (vserver nfs modify -vserver %s "+
				"-tcp-max-xfer-size %d, privilege advanced), then mount again.", moves, human.Size(limit), c.SVM(), full)
		case limit > 0:
			found.warn(TransferSizeReduced, "%s, and the array allows %s: the limit is that of the mount. Look at its rsize "+
				"and wsize.", moves, human.Size(limit))
		case wanted > 0:
			found.warn(TransferSizeReduced, "%s. Raise the server's limit (ONTAP: tcp-max-xfer-size), or the mount's rsize "+
				"and wsize, then mount again.", moves)
		default:
			found.warn(TransferSizeReduced, "%s. Raise the server's limit (ONTAP: tcp-max-xfer-size), then mount again.", moves)
		}
	}
}

func checkRetransmits(c *facts, found *findings) {
	for _, t := range c.segmentTroubles() {
		found.warn(Retransmits, "%s%s. Look for %s.", t.what, t.why, t.look)
	}
	again := int64(0)
	for _, p := range c.Overall.Paths {
		again += p.Retransmits
	}
	if m := c.Overall.Mount; m.Known && c.Kernel() {
		again += m.Retransmits
	}
	if again > 0 {
		found.warn(Retransmits, "%d NFS calls were sent again because no reply came in time. Look at the server's log "+
			"and at the network.", again)
	}
}

// segmentTrouble is a rate of TCP segments that is too high.
type segmentTrouble struct{ what, why, look string }

// segmentTroubles looks for lost or reordered packets: the client retransmits its own, and those of the server leave
// a gap.
func (c *facts) segmentTroubles() (troubles []segmentTrouble) {
	check := func(permille *float64, limit float64, t segmentTrouble) {
		if bench.OrZero(permille) > limit {
			t.what = fmt.Sprintf("%.1f of 1000 TCP segments %s", *permille, t.what)
			troubles = append(troubles, t)
		}
	}
	check(c.SegmentsSentAgain(), retransmitRate, segmentTrouble{
		"were sent again", "", "a bad cable, a duplex or MTU mismatch, and drops in a switch",
	})
	check(c.SegmentsOutOfOrder(), outOfOrderRate, segmentTrouble{
		"arrived out of order", ": packets from the server were lost or overtook others",
		"a bad cable, drops in a switch, and a bond that spreads one connection over its links",
	})
	return troubles
}

func checkCopy(c *facts, found *findings) {
	s, r := c.Overall, c.Raw()
	if r.Pattern != bench.PatternCopy || r.Depth != 1 || s.Read == nil || s.Write == nil {
		return
	}
	both := s.Read.ByteRate + s.Write.ByteRate
	compare := ""
	if c.Wire != nil {
		compare = fmt.Sprintf(" That is %.1f %% of what one direction carries.", both/float64(c.Wire.ReadBytesPerSecond)*100)
	}
	found.info(HalfDuplexCopy, "The copy is serial, half duplex: with depth 1 each job reads a block, then writes it. "+
		"Read %s and write %s make %s together.%s Use depth 2 or more to fill both directions.",
		human.Throughput(s.Read.BytesPerSecond), human.Throughput(s.Write.BytesPerSecond), human.Throughput(both), compare)
}

// hasAddress reports whether all contains an address, in any spelling.
func hasAddress(all []string, address string) bool {
	return slices.ContainsFunc(all, func(a string) bool { return runfile.SameAddress(a, address) })
}
