package judge

// checkTransferSize compares what one READ or WRITE moves with what was asked
// for, or with the block.
func (c *judging) checkTransferSize() {
	wanted := c.result.Plan.Engine.TransferSizeBytes
	block := c.raw().BlockSizeBytes
	directions := []struct {
		name        string
		write, used bool
	}{{"READ", false, c.overall.Read != nil}, {"WRITE", true, c.overall.Write != nil}}
	for _, d := range directions {
		xfer := transferBytes(c.result, d.write)
		switch {
		case !d.used:
		case wanted > 0 && xfer < min(wanted, block):
			c.add(TransferSizeReduced, Warning, "A %s moves %s where %s were asked for: the server's limit is lower. Raise it there (ONTAP: tcp-max-xfer-size), then mount again.", d.name, size(xfer), size(wanted))
		case wanted == 0 && xfer < min(block, defaultXfer):
			c.add(TransferSizeReduced, Warning, "A %s moves %s, so each block of %s takes several. Raise the server's limit (ONTAP: tcp-max-xfer-size), then mount again.", d.name, size(xfer), size(block))
		}
	}
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
