package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// CreateHow is createmode3.
type CreateHow uint32

// Ways to create a file.
const (
	// CreateUnchecked takes an existing file as success.
	CreateUnchecked CreateHow = 0
	// CreateGuarded fails with ErrExist when the name is taken.
	CreateGuarded CreateHow = 1
	// CreateExclusive is CreateGuarded that survives a retransmission.
	CreateExclusive CreateHow = 2
)

// CreateArgs are the arguments of CREATE.
type CreateArgs struct {
	Where    NameArgs
	How      CreateHow
	Attr     NewAttr // not with CreateExclusive
	Verifier [8]byte // only with CreateExclusive
}

// Append appends a to b.
func (a *CreateArgs) Append(b []byte) []byte {
	b = a.Where.Append(b)
	b = xdr.AppendUint32(b, uint32(a.How))
	if a.How == CreateExclusive {
		return append(b, a.Verifier[:]...)
	}
	return a.Attr.Append(b)
}

// Decode reads a from d.
func (a *CreateArgs) Decode(d *xdr.Decoder) {
	a.Where.Decode(d)
	a.How = CreateHow(d.Uint32())
	switch a.How {
	case CreateUnchecked, CreateGuarded:
		a.Attr.Decode(d)
	case CreateExclusive:
		copy(a.Verifier[:], d.Fixed(len(a.Verifier)))
	default:
		d.Fail(xdr.ErrBadValue)
	}
}

// MkdirArgs are the arguments of MKDIR.
type MkdirArgs struct {
	Where NameArgs
	Attr  NewAttr
}

// Append appends a to b.
func (a *MkdirArgs) Append(b []byte) []byte {
	b = a.Where.Append(b)
	return a.Attr.Append(b)
}

// Decode reads a from d.
func (a *MkdirArgs) Decode(d *xdr.Decoder) {
	a.Where.Decode(d)
	a.Attr.Decode(d)
}

// CreateRes are the results of CREATE, MKDIR, SYMLINK and MKNOD.
type CreateRes struct {
	Status        Status
	HandlePresent bool    // only with OK
	Handle        []byte  // only with HandlePresent
	Attr          OptAttr // only with OK
	Dir           Wcc
}

// Append appends r to b.
func (r *CreateRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status == OK {
		b = appendOptHandle(b, r.HandlePresent, r.Handle)
		b = r.Attr.Append(b)
	}
	return r.Dir.Append(b)
}

// Decode reads r from d.
func (r *CreateRes) Decode(d *xdr.Decoder) {
	if r.Status = Status(d.Uint32()); r.Status == OK {
		r.HandlePresent, r.Handle = decodeOptHandle(d)
		r.Attr.Decode(d)
	}
	r.Dir.Decode(d)
}

func appendOptHandle(b []byte, present bool, handle []byte) []byte {
	b = xdr.AppendBool(b, present)
	if present {
		b = xdr.AppendOpaque(b, handle)
	}
	return b
}

func decodeOptHandle(d *xdr.Decoder) (present bool, handle []byte) {
	if !d.Bool() {
		return false, nil
	}
	return true, d.Opaque(MaxHandleBytes)
}

// RenameArgs are the arguments of RENAME.
type RenameArgs struct{ From, To NameArgs }

// Append appends a to b.
func (a *RenameArgs) Append(b []byte) []byte { return a.To.Append(a.From.Append(b)) }

// Decode reads a from d.
func (a *RenameArgs) Decode(d *xdr.Decoder) {
	a.From.Decode(d)
	a.To.Decode(d)
}

// RenameRes are the results of RENAME.
type RenameRes struct {
	Status   Status
	From, To Wcc // of the two directories
}

// Append appends r to b.
func (r *RenameRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	return r.To.Append(r.From.Append(b))
}

// Decode reads r from d.
func (r *RenameRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.From.Decode(d)
	r.To.Decode(d)
}
