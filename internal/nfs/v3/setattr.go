package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Opt32 is a number that is set or left alone.
type Opt32 struct {
	Set   bool
	Value uint32
}

// Opt64 is a number that is set or left alone.
type Opt64 struct {
	Set   bool
	Value uint64
}

// TimeHow is time_how: where a new time comes from.
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

// NewAttr is sattr3: the attributes to set. The zero NewAttr changes nothing.
type NewAttr struct {
	Mode, UID, GID Opt32
	Size           Opt64 // bytes
	Atime, Mtime   NewTime
}

// Append appends a to b.
func (a *NewAttr) Append(b []byte) []byte {
	b = a.Mode.append(b)
	b = a.UID.append(b)
	b = a.GID.append(b)
	b = xdr.AppendBool(b, a.Size.Set)
	if a.Size.Set {
		b = xdr.AppendUint64(b, a.Size.Value)
	}
	b = a.Atime.append(b)
	return a.Mtime.append(b)
}

// Decode reads a from d.
func (a *NewAttr) Decode(d *xdr.Decoder) {
	a.Mode.decode(d)
	a.UID.decode(d)
	a.GID.decode(d)
	a.Size = Opt64{}
	if a.Size.Set = d.Bool(); a.Size.Set {
		a.Size.Value = d.Uint64()
	}
	a.Atime.decode(d)
	a.Mtime.decode(d)
}

func (o *Opt32) append(b []byte) []byte {
	b = xdr.AppendBool(b, o.Set)
	if o.Set {
		b = xdr.AppendUint32(b, o.Value)
	}
	return b
}

func (o *Opt32) decode(d *xdr.Decoder) {
	*o = Opt32{}
	if o.Set = d.Bool(); o.Set {
		o.Value = d.Uint32()
	}
}

func (t *NewTime) append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(t.How))
	if t.How == TimeClient {
		b = t.Time.Append(b)
	}
	return b
}

func (t *NewTime) decode(d *xdr.Decoder) {
	*t = NewTime{How: TimeHow(d.Uint32())}
	switch t.How {
	case TimeKeep, TimeServer:
	case TimeClient:
		t.Time.Decode(d)
	default:
		d.Fail(xdr.ErrBadValue)
	}
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

// Append appends a to b.
func (a *SetattrArgs) Append(b []byte) []byte {
	b = xdr.AppendOpaque(b, a.Handle)
	b = a.Attr.Append(b)
	b = xdr.AppendBool(b, a.GuardSet)
	if a.GuardSet {
		b = a.GuardCtime.Append(b)
	}
	return b
}

// Decode reads a from d.
func (a *SetattrArgs) Decode(d *xdr.Decoder) {
	a.Handle = d.Opaque(MaxHandleBytes)
	a.Attr.Decode(d)
	if a.GuardSet = d.Bool(); a.GuardSet {
		a.GuardCtime.Decode(d)
	}
}

// WccRes are the results of SETATTR, REMOVE and RMDIR.
type WccRes struct {
	Status Status
	Wcc    Wcc // of the file, or of the directory that held it
}

// Append appends r to b.
func (r *WccRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	return r.Wcc.Append(b)
}

// Decode reads r from d.
func (r *WccRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Wcc.Decode(d)
}
