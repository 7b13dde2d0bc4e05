package layout

import (
	"bytes"

	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Limits of decoded values. RFC 8881 sets none.
const (
	MaxStripeIndices = 4096
	MaxServers       = 256 // data servers of one device
	MaxAddresses     = 16  // addresses of one data server
	MaxHandles       = 4096
)

// Bits of nfl_util4 (RFC 8881 13.3). Bits 0x3C are reserved and ignored.
const (
	utilDense            = 0x1
	utilCommitThroughMDS = 0x2
	utilStripeUnit       = 0xFFFFFFC0
)

// Body is the body of a segment with the files layout type: nfsv4_1_file_layout4 of RFC 8881 13.3. Decoded values do
// not alias the input.
type Body struct {
	Device           v4.DeviceID
	StripeUnit       uint32 // bytes, a multiple of 64
	Dense            bool   // NFL4_UFLG_DENSE; otherwise sparse
	CommitThroughMDS bool   // NFL4_UFLG_COMMIT_THRU_MDS: COMMIT goes to the metadata server
	FirstStripeIndex uint32
	PatternOffset    uint64 // offset in the file at which the striping pattern starts
	Handles          [][]byte
}

func (b *Body) Code(c *xdr.Coder) {
	b.Device.Code(c)
	util := b.StripeUnit & utilStripeUnit
	if b.Dense {
		util |= utilDense
	}
	if b.CommitThroughMDS {
		util |= utilCommitThroughMDS
	}
	c.Uint32(&util, &b.FirstStripeIndex)
	c.Uint64(&b.PatternOffset)
	if !c.Encoding() {
		b.StripeUnit = util & utilStripeUnit
		b.Dense = util&utilDense != 0
		b.CommitThroughMDS = util&utilCommitThroughMDS != 0
	}
	xdr.Bounded(c, &b.Handles, MaxHandles, 4, func(h *[]byte) {
		c.Opaque(h, v4.MaxHandleBytes)
		if !c.Encoding() {
			*h = bytes.Clone(*h)
		}
	})
}

// Device is the address of a device with the files layout type:
// nfsv4_1_file_layout_ds_addr4 of RFC 8881 13.2.1.
type Device struct {
	StripeIndices []uint32    // the pattern: indices of Servers
	Servers       [][]NetAddr // the addresses of each data server
}

func (v *Device) Code(c *xdr.Coder) {
	xdr.Bounded(c, &v.StripeIndices, MaxStripeIndices, 4, func(i *uint32) { c.Uint32(i) })
	xdr.Bounded(c, &v.Servers, MaxServers, 4, func(s *[]NetAddr) {
		xdr.Bounded(c, s, MaxAddresses, 4, func(a *NetAddr) { a.Code(c) })
	})
}
