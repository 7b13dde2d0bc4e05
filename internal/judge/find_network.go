package judge

import "fmt"

// checkTransferSize compares what one READ or WRITE moves with what was asked
// for, or with the block: where the array itself allows no more, with the setting
// that does.
func (c *judging) checkTransferSize() {
	wanted := c.result.Plan.Engine.TransferSizeBytes
	block := blockBytes(c.result.Plan)
	directions := []struct {
		name        string
		write, used bool
	}{{"READ", false, c.overall.Read != nil}, {"WRITE", true, c.overall.Write != nil}}
	for _, d := range directions {
		xfer := transferBytes(c.result, d.write)
		full, why := min(block, defaultXfer), fmt.Sprintf("so each block of %s takes several", size(block))
		if wanted > 0 {
			full, why = min(wanted, block), fmt.Sprintf("where %s were asked for", size(wanted))
		}
		limit := c.arrayTransferSize()
		switch {
		case !d.used || xfer >= full:
		case limit > 0 && limit < full && xfer <= limit:
			c.add(TransferSizeCapped, Warning, "A %s moves %s, %s: the array allows %s. Raise it (vserver nfs modify -vserver %s -tcp-max-xfer-size %d, privilege advanced), then mount again.", d.name, size(xfer), why, size(limit), c.svm(), full)
		case limit > 0:
			c.add(TransferSizeReduced, Warning, "A %s moves %s, %s, and the array allows %s: the limit is that of the mount. Look at its rsize and wsize.", d.name, size(xfer), why, size(limit))
		case wanted > 0:
			c.add(TransferSizeReduced, Warning, "A %s moves %s %s: the server's limit is lower. Raise it there (ONTAP: tcp-max-xfer-size), then mount again.", d.name, size(xfer), why)
		default:
			c.add(TransferSizeReduced, Warning, "A %s moves %s, %s. Raise the server's limit (ONTAP: tcp-max-xfer-size), then mount again.", d.name, size(xfer), why)
		}
	}
}

// arrayTransferSize is the most that the array moves in one READ or WRITE; 0 =
// it did not tell.
func (c *judging) arrayTransferSize() int64 {
	if n := c.survey().NFS; n != nil && n.TransferSizeBytes != nil {
		return *n.TransferSizeBytes
	}
	return 0
}

func (c *judging) checkRetransmits() {
	if rate, known := c.retransmitPermille(); known && rate > retransmitRate {
		c.add(Retransmits, Warning, "%.1f of 1000 TCP segments were sent again. Look for a bad cable, a duplex or MTU mismatch, and drops in a switch.", rate)
	}
	again := int64(0)
	for _, p := range c.overall.Paths {
		again += p.Retransmits
	}
	if m, _, known := mountCounters(c.result, c.overall.Repetition); known && c.kernel() {
		again += m.Retransmits
	}
	if again > 0 {
		c.add(Retransmits, Warning, "%d NFS calls were sent again because no reply came in time. Look at the server's log and at the network.", again)
	}
}

// retransmitPermille is TCP segments sent again for each 1000 that the load
// needs at least. The counter is that of the client's whole network namespace.
func (c *judging) retransmitPermille() (float64, bool) {
	again, known := int64(0), false
	for _, p := range c.parts(c.overall.Repetition) {
		if p.window != nil && p.window.TCPRetransmittedSegment != nil {
			again += *p.window.TCPRetransmittedSegment
			known = true
		}
	}
	mtu := int64(defaultMTU)
	if c.wire != nil {
		mtu = int64(c.wire.Links[0].MTUBytes)
	}
	segments := c.overall.Total.Bytes / (mtu - ipv4Bytes - tcpBytes)
	if segments == 0 {
		return 0, false
	}
	return float64(again) * 1000 / float64(segments), known
}
