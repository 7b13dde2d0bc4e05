package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// HandleArgs are the arguments of GETATTR, READLINK, FSSTAT, FSINFO and PATHCONF.
type HandleArgs struct{ Handle []byte }

// Append appends a to b.
func (a *HandleArgs) Append(b []byte) []byte { return xdr.AppendOpaque(b, a.Handle) }

// Decode reads a from d.
func (a *HandleArgs) Decode(d *xdr.Decoder) { a.Handle = d.Opaque(MaxHandleBytes) }

// NameArgs (diropargs3) name an entry of a directory. They are the arguments of
// LOOKUP, REMOVE and RMDIR.
type NameArgs struct {
	Dir  []byte
	Name string
}

// Append appends a to b.
func (a *NameArgs) Append(b []byte) []byte {
	b = xdr.AppendOpaque(b, a.Dir)
	return xdr.AppendString(b, a.Name)
}

// Decode reads a from d.
func (a *NameArgs) Decode(d *xdr.Decoder) {
	a.Dir = d.Opaque(MaxHandleBytes)
	a.Name = d.String(MaxNameBytes)
}

// GetattrRes are the results of GETATTR.
type GetattrRes struct {
	Status Status
	Attr   Attr // only with OK
}

// Append appends r to b.
func (r *GetattrRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status == OK {
		b = r.Attr.Append(b)
	}
	return b
}

// Decode reads r from d.
func (r *GetattrRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status == OK {
		r.Attr.Decode(d)
	}
}

// LookupRes are the results of LOOKUP.
type LookupRes struct {
	Status  Status
	Handle  []byte  // only with OK
	Attr    OptAttr // only with OK
	DirAttr OptAttr
}

// Append appends r to b.
func (r *LookupRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status == OK {
		b = xdr.AppendOpaque(b, r.Handle)
		b = r.Attr.Append(b)
	}
	return r.DirAttr.Append(b)
}

// Decode reads r from d.
func (r *LookupRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status == OK {
		r.Handle = d.Opaque(MaxHandleBytes)
		r.Attr.Decode(d)
	}
	r.DirAttr.Decode(d)
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
	Access uint32 // the Access bits asked for
}

// Append appends a to b.
func (a *AccessArgs) Append(b []byte) []byte {
	b = xdr.AppendOpaque(b, a.Handle)
	return xdr.AppendUint32(b, a.Access)
}

// Decode reads a from d.
func (a *AccessArgs) Decode(d *xdr.Decoder) {
	a.Handle = d.Opaque(MaxHandleBytes)
	a.Access = d.Uint32()
}

// AccessRes are the results of ACCESS.
type AccessRes struct {
	Status Status
	Attr   OptAttr
	Access uint32 // the Access bits granted, only with OK
}

// Append appends r to b.
func (r *AccessRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Attr.Append(b)
	if r.Status == OK {
		b = xdr.AppendUint32(b, r.Access)
	}
	return b
}

// Decode reads r from d.
func (r *AccessRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.Decode(d)
	if r.Status == OK {
		r.Access = d.Uint32()
	}
}
