package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Layout types (RFC 8881 section 3.3.13, RFC 5664, RFC 5663, RFC 8435, RFC 8154).
const (
	LayoutFiles     = 1
	LayoutObjects   = 2
	LayoutBlock     = 3
	LayoutFlexFiles = 4
	LayoutSCSI      = 5
)

// I/O modes of layouts. IOModeAny is for returns and recalls only.
const (
	IOModeRead      = 1
	IOModeReadWrite = 2
	IOModeAny       = 3
)

// ToEnd is the length that extends to the end of the file, even if the file grows.
const ToEnd = ^uint64(0)

// Bits of GetDeviceInfo.Notify and of changes of devices.
const (
	NotifyDeviceChange = 1
	NotifyDeviceDelete = 2
)

// GetDeviceInfo is GETDEVICEINFO.
type GetDeviceInfo struct {
	Device   DeviceID
	Type     uint32 // a Layout type
	MaxCount uint32 // bytes of the address; 0 asks for Notified only
	Notify   Bitmap

	AddressType uint32 // result: a Layout type
	Address     []byte // result: the address, as the layout type defines it
	Notified    Bitmap // result: the notifications that the server will send
	MinCount    uint32 // result with ErrTooSmall: the required MaxCount
}

// Op returns OpGetDeviceInfo.
func (o *GetDeviceInfo) Op() Op { return OpGetDeviceInfo }

// Args codes the arguments.
func (o *GetDeviceInfo) Args(c *xdr.Coder) {
	o.Device.Code(c)
	c.Uint32(&o.Type, &o.MaxCount)
	o.Notify.Code(c)
}

// Results codes the results.
func (o *GetDeviceInfo) Results(c *xdr.Coder) {
	c.Uint32(&o.AddressType)
	c.Opaque(&o.Address, MaxLayoutBytes)
	o.Notified.Code(c)
}

// Failure codes MinCount.
func (o *GetDeviceInfo) Failure(c *xdr.Coder, s Status) {
	if s == ErrTooSmall {
		c.Uint32(&o.MinCount)
	}
}

// Segment is layout4: the layout of a part of a file. Offset and Length are bytes.
type Segment struct {
	Offset, Length uint64
	IOMode         uint32
	Type           uint32 // a Layout type
	Body           []byte // as the layout type defines it
}

func (s *Segment) code(c *xdr.Coder) {
	c.Uint64(&s.Offset, &s.Length)
	c.Uint32(&s.IOMode, &s.Type)
	c.Opaque(&s.Body, MaxLayoutBytes)
}

// LayoutGet is LAYOUTGET. Offset, Length and MinLength are bytes.
type LayoutGet struct {
	SignalAvail    bool
	Type           uint32 // a Layout type
	IOMode         uint32
	Offset, Length uint64
	MinLength      uint64
	StateID        StateID
	MaxCount       uint32 // bytes of the layout

	ReturnOnClose bool      // result: Close returns the layout
	Granted       StateID   // result: of the layout
	Segments      []Segment // result
	WillSignal    bool      // result with ErrLayoutTryLater
}

// Op returns OpLayoutGet.
func (o *LayoutGet) Op() Op { return OpLayoutGet }

// Args codes the arguments.
func (o *LayoutGet) Args(c *xdr.Coder) {
	c.Bool(&o.SignalAvail)
	c.Uint32(&o.Type, &o.IOMode)
	c.Uint64(&o.Offset, &o.Length, &o.MinLength)
	o.StateID.Code(c)
	c.Uint32(&o.MaxCount)
}

// Results codes the results.
func (o *LayoutGet) Results(c *xdr.Coder) {
	c.Bool(&o.ReturnOnClose)
	o.Granted.Code(c)
	xdr.Bounded(c, &o.Segments, MaxSegments, 28, func(s *Segment) { s.code(c) })
}

// Failure codes WillSignal.
func (o *LayoutGet) Failure(c *xdr.Coder, s Status) {
	if s == ErrLayoutTryLater {
		c.Bool(&o.WillSignal)
	}
}

// LayoutCommit is LAYOUTCOMMIT. Offset, Length and LastWrite are bytes.
type LayoutCommit struct {
	Offset, Length uint64
	Reclaim        bool
	StateID        StateID
	HasLastWrite   bool
	LastWrite      uint64 // offset of the last byte that was written, with HasLastWrite
	HasTime        bool
	Time           Time   // of the modification, with HasTime
	Type           uint32 // a Layout type
	Update         []byte // as the layout type defines it; nothing with LayoutFiles

	SizeChanged bool   // result
	Size        uint64 // result, with SizeChanged
}

// Op returns OpLayoutCommit.
func (o *LayoutCommit) Op() Op { return OpLayoutCommit }

// Args codes the arguments.
func (o *LayoutCommit) Args(c *xdr.Coder) {
	c.Uint64(&o.Offset, &o.Length)
	c.Bool(&o.Reclaim)
	o.StateID.Code(c)
	if c.Bool(&o.HasLastWrite); o.HasLastWrite {
		c.Uint64(&o.LastWrite)
	}
	if c.Bool(&o.HasTime); o.HasTime {
		o.Time.Code(c)
	}
	c.Uint32(&o.Type)
	c.Opaque(&o.Update, MaxLayoutBytes)
}

// Results codes the results.
func (o *LayoutCommit) Results(c *xdr.Coder) {
	if c.Bool(&o.SizeChanged); o.SizeChanged {
		c.Uint64(&o.Size)
	}
}

// Extents of LayoutReturn and CBLayoutRecall: of one file, of a file system, of the client.
const (
	LayoutOfFile = 1
	LayoutOfFSID = 2
	LayoutOfAll  = 3
)

// LayoutReturn is LAYOUTRETURN. Offset and Length are bytes.
type LayoutReturn struct {
	Reclaim        bool
	Type           uint32 // a Layout type
	IOMode         uint32
	Extent         uint32  // LayoutOfFile and so on
	Offset, Length uint64  // with LayoutOfFile, as all that follows
	StateID        StateID // of the layout
	Body           []byte  // as the layout type defines it; nothing with LayoutFiles

	HasLeft bool    // result: the client still has layouts of the file
	Left    StateID // result, with HasLeft
}

// Op returns OpLayoutReturn.
func (o *LayoutReturn) Op() Op { return OpLayoutReturn }

// Args codes the arguments.
func (o *LayoutReturn) Args(c *xdr.Coder) {
	c.Bool(&o.Reclaim)
	c.Uint32(&o.Type, &o.IOMode)
	if enum(c, &o.Extent, LayoutOfFile, LayoutOfAll); o.Extent == LayoutOfFile {
		c.Uint64(&o.Offset, &o.Length)
		o.StateID.Code(c)
		c.Opaque(&o.Body, MaxLayoutBytes)
	}
}

// Results codes the results.
func (o *LayoutReturn) Results(c *xdr.Coder) {
	if c.Bool(&o.HasLeft); o.HasLeft {
		o.Left.Code(c)
	}
}
