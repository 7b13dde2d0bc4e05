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

// Append appends t to b.
func (t *Time) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, t.Seconds)
	return xdr.AppendUint32(b, t.Nanoseconds)
}

// Decode reads t from d.
func (t *Time) Decode(d *xdr.Decoder) { t.Seconds, t.Nanoseconds = d.Uint32(), d.Uint32() }

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

// Append appends a to b.
func (a *Attr) Append(b []byte) []byte {
	for _, v := range [...]uint32{uint32(a.Type), a.Mode, a.Nlink, a.UID, a.GID} {
		b = xdr.AppendUint32(b, v)
	}
	b = xdr.AppendUint64(b, a.Size)
	b = xdr.AppendUint64(b, a.Used)
	b = xdr.AppendUint32(b, a.RdevMajor)
	b = xdr.AppendUint32(b, a.RdevMinor)
	b = xdr.AppendUint64(b, a.FSID)
	b = xdr.AppendUint64(b, a.FileID)
	b = a.Atime.Append(b)
	b = a.Mtime.Append(b)
	return a.Ctime.Append(b)
}

// Decode reads a from d.
func (a *Attr) Decode(d *xdr.Decoder) {
	a.Type = FileType(d.Uint32())
	a.Mode, a.Nlink = d.Uint32(), d.Uint32()
	a.UID, a.GID = d.Uint32(), d.Uint32()
	a.Size, a.Used = d.Uint64(), d.Uint64()
	a.RdevMajor, a.RdevMinor = d.Uint32(), d.Uint32()
	a.FSID, a.FileID = d.Uint64(), d.Uint64()
	a.Atime.Decode(d)
	a.Mtime.Decode(d)
	a.Ctime.Decode(d)
}

// OptAttr is post_op_attr: attributes that the server may leave out.
type OptAttr struct {
	Present bool
	Attr    Attr
}

// Append appends a to b.
func (a *OptAttr) Append(b []byte) []byte {
	b = xdr.AppendBool(b, a.Present)
	if a.Present {
		b = a.Attr.Append(b)
	}
	return b
}

// Decode reads a from d.
func (a *OptAttr) Decode(d *xdr.Decoder) {
	if a.Present = d.Bool(); a.Present {
		a.Attr.Decode(d)
	}
}

// skipOptAttr passes over a post_op_attr without storing it.
func skipOptAttr(d *xdr.Decoder) {
	if d.Bool() {
		d.Skip(attrBytes)
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

// Append appends w to b.
func (w *Wcc) Append(b []byte) []byte {
	b = xdr.AppendBool(b, w.BeforePresent)
	if w.BeforePresent {
		b = xdr.AppendUint64(b, w.BeforeSize)
		b = w.BeforeMtime.Append(b)
		b = w.BeforeCtime.Append(b)
	}
	return w.After.Append(b)
}

// Decode reads w from d.
func (w *Wcc) Decode(d *xdr.Decoder) {
	if w.BeforePresent = d.Bool(); w.BeforePresent {
		w.BeforeSize = d.Uint64()
		w.BeforeMtime.Decode(d)
		w.BeforeCtime.Decode(d)
	}
	w.After.Decode(d)
}

// skipWcc passes over a wcc_data without storing it.
func skipWcc(d *xdr.Decoder) {
	if d.Bool() {
		d.Skip(wccAttrBytes)
	}
	skipOptAttr(d)
}
