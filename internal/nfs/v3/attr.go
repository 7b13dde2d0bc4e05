package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// FileType is ftype3.
type FileType uint32

// File types.
const (
	TypeRegular   FileType = 1
	TypeDirectory FileType = 2
	TypeBlock     FileType = 3
	TypeCharacter FileType = 4
	TypeSymlink   FileType = 5
	TypeSocket    FileType = 6
	TypeFIFO      FileType = 7
)

// Time is nfstime3: seconds and nanoseconds since 1970.
type Time struct{ Seconds, Nanoseconds uint32 }

func (t *Time) Code(c *xdr.Coder) { c.Uint32(&t.Seconds, &t.Nanoseconds) }

// Attr is fattr3, the attributes of a file. Size and Used are bytes.
type Attr struct {
	Type                 FileType
	Mode, Nlink          uint32
	UID, GID             uint32
	Size, Used           uint64
	RdevMajor, RdevMinor uint32
	FSID, FileID         uint64
	Atime, Mtime, Ctime  Time
}

// attrBytes is the encoded size of an Attr.
const attrBytes = 84

func (a *Attr) Code(c *xdr.Coder) {
	c.Uint32((*uint32)(&a.Type), &a.Mode, &a.Nlink, &a.UID, &a.GID)
	c.Uint64(&a.Size, &a.Used)
	c.Uint32(&a.RdevMajor, &a.RdevMinor)
	c.Uint64(&a.FSID, &a.FileID)
	a.Atime.Code(c)
	a.Mtime.Code(c)
	a.Ctime.Code(c)
}

// OptAttr is post_op_attr: attributes that the server may leave out.
type OptAttr struct {
	Present bool
	Attr    Attr
}

func (a *OptAttr) Code(c *xdr.Coder) {
	if c.Bool(&a.Present); a.Present {
		a.Attr.Code(c)
	}
}

// Wcc is wcc_data: some attributes before and all attributes after a change.
type Wcc struct {
	BeforePresent bool
	BeforeSize    uint64
	BeforeMtime   Time
	BeforeCtime   Time
	After         OptAttr
}

// wccAttrBytes is the encoded size of the attributes before the change.
const wccAttrBytes = 24

func (w *Wcc) Code(c *xdr.Coder) {
	if c.Bool(&w.BeforePresent); w.BeforePresent {
		c.Uint64(&w.BeforeSize)
		w.BeforeMtime.Code(c)
		w.BeforeCtime.Code(c)
	}
	w.After.Code(c)
}

// WccRes are the results of SETATTR, REMOVE and RMDIR.
type WccRes struct {
	Status Status
	Wcc    Wcc // of the file, or of the directory that held it
}

func (r *WccRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	r.Wcc.Code(c)
}

// GetattrRes are the results of GETATTR.
type GetattrRes struct {
	Status Status
	Attr   Attr // only with OK
}

func (r *GetattrRes) Code(c *xdr.Coder) {
	if r.Status.Code(c); r.Status == OK {
		r.Attr.Code(c)
	}
}

// Opt32 is a number that is set or left alone.
type Opt32 struct {
	Set   bool
	Value uint32
}

func (o *Opt32) code(c *xdr.Coder) {
	if c.Bool(&o.Set); o.Set {
		c.Uint32(&o.Value)
	}
}

// Or returns the number, or fallback if it is not set.
func (o Opt32) Or(fallback uint32) uint32 {
	if o.Set {
		return o.Value
	}
	return fallback
}

// Opt64 is a number that is set or left alone.
type Opt64 struct {
	Set   bool
	Value uint64
}

// TimeHow is time_how: the source of a new time.
type TimeHow uint32

// Sources of a new time.
const (
	TimeKeep   TimeHow = 0
	TimeServer TimeHow = 1
	TimeClient TimeHow = 2
)

// NewTime is a time that is set from the server, from Time, or left alone.
type NewTime struct {
	How  TimeHow
	Time Time
}

func (t *NewTime) code(c *xdr.Coder) {
	switch c.Uint32((*uint32)(&t.How)); t.How {
	case TimeKeep, TimeServer:
	case TimeClient:
		t.Time.Code(c)
	default:
		c.Refuse(xdr.ErrBadValue)
	}
}

// NewAttr is sattr3: the attributes to set. The zero NewAttr changes nothing.
type NewAttr struct {
	Mode, UID, GID Opt32
	Size           Opt64 // bytes
	Atime, Mtime   NewTime
}

func (a *NewAttr) Code(c *xdr.Coder) {
	a.Mode.code(c)
	a.UID.code(c)
	a.GID.code(c)
	if c.Bool(&a.Size.Set); a.Size.Set {
		c.Uint64(&a.Size.Value)
	}
	a.Atime.code(c)
	a.Mtime.code(c)
}

// SetattrArgs are the arguments of SETATTR.
type SetattrArgs struct {
	Handle []byte
	Attr   NewAttr
	// GuardSet makes the server refuse with ErrNotSync unless the file's ctime
	// is GuardCtime.
	GuardSet   bool
	GuardCtime Time
}

func (a *SetattrArgs) Code(c *xdr.Coder) {
	c.Opaque(&a.Handle, MaxHandleBytes)
	a.Attr.Code(c)
	if c.Bool(&a.GuardSet); a.GuardSet {
		a.GuardCtime.Code(c)
	}
}

// Bits of ACCESS.
const (
	AccessRead    = 0x01
	AccessLookup  = 0x02
	AccessModify  = 0x04
	AccessExtend  = 0x08
	AccessDelete  = 0x10
	AccessExecute = 0x20
)

// AccessArgs are the arguments of ACCESS.
type AccessArgs struct {
	Handle []byte
	Access uint32 // requested Access bits
}

func (a *AccessArgs) Code(c *xdr.Coder) {
	c.Opaque(&a.Handle, MaxHandleBytes)
	c.Uint32(&a.Access)
}

// AccessRes are the results of ACCESS.
type AccessRes struct {
	Status Status
	Attr   OptAttr
	Access uint32 // granted Access bits; only with OK
}

func (r *AccessRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Attr.Code(c); r.Status == OK {
		c.Uint32(&r.Access)
	}
}
