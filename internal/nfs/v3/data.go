package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Stable is stable_how: when written data must be on stable storage.
type Stable uint32

// Degrees of stability.
const (
	Unstable Stable = 0
	DataSync Stable = 1
	FileSync Stable = 2
)

// ReadArgs are the arguments of READ. Offset and Count are bytes.
type ReadArgs struct {
	Handle []byte
	Offset uint64
	Count  uint32
}

// Append appends a to b.
func (a *ReadArgs) Append(b []byte) []byte {
	b = xdr.AppendOpaque(b, a.Handle)
	b = xdr.AppendUint64(b, a.Offset)
	return xdr.AppendUint32(b, a.Count)
}

// Decode reads a from d.
func (a *ReadArgs) Decode(d *xdr.Decoder) {
	a.Handle = d.Opaque(MaxHandleBytes)
	a.Offset = d.Uint64()
	a.Count = d.Uint32()
}

// ReadRes are the results of READ.
type ReadRes struct {
	Status Status
	Attr   OptAttr
	Count  uint32 // only with OK, like all that follow
	EOF    bool
	Data   []byte
}

// Append appends r with its data to b.
func (r *ReadRes) Append(b []byte) []byte {
	b = r.AppendHead(b, len(r.Data))
	if r.Status == OK {
		b = xdr.AppendFixed(b, r.Data)
	}
	return b
}

// AppendHead appends everything up to the data, of which dataBytes follow
// together with their padding (xdr.Padding). It lets a server send the data from
// where they are. With a Status other than OK no data follow.
func (r *ReadRes) AppendHead(b []byte, dataBytes int) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Attr.Append(b)
	if r.Status != OK {
		return b
	}
	b = xdr.AppendUint32(b, r.Count)
	b = xdr.AppendBool(b, r.EOF)
	return xdr.AppendUint32(b, uint32(dataBytes))
}

// Decode reads r from d. Data aliases the input of d.
func (r *ReadRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.Decode(d)
	if r.Status != OK {
		return
	}
	r.Count = d.Uint32()
	r.EOF = d.Bool()
	r.Data = d.Opaque(MaxDataBytes)
}

// DecodeHead reads everything up to the data and returns their length. Attributes
// are skipped: this is the hot path.
func (r *ReadRes) DecodeHead(d *xdr.Decoder) (dataBytes int) {
	r.Status = Status(d.Uint32())
	skipOptAttr(d)
	if r.Status != OK {
		return 0
	}
	r.Count = d.Uint32()
	r.EOF = d.Bool()
	n := d.Uint32()
	if n > MaxDataBytes {
		d.Fail(xdr.ErrTooLong)
		return 0
	}
	return int(n)
}

// WriteArgs are the arguments of WRITE. Offset and Count are bytes.
type WriteArgs struct {
	Handle []byte
	Offset uint64
	Count  uint32
	Stable Stable
	Data   []byte
}

// Append appends a with its data to b.
func (a *WriteArgs) Append(b []byte) []byte {
	b = a.AppendHead(b, len(a.Data))
	return xdr.AppendFixed(b, a.Data)
}

// AppendHead appends everything up to the data, of which dataBytes follow with
// their padding.
func (a *WriteArgs) AppendHead(b []byte, dataBytes int) []byte {
	b = xdr.AppendOpaque(b, a.Handle)
	b = xdr.AppendUint64(b, a.Offset)
	b = xdr.AppendUint32(b, a.Count)
	b = xdr.AppendUint32(b, uint32(a.Stable))
	return xdr.AppendUint32(b, uint32(dataBytes))
}

// Decode reads a from d. Data aliases the input of d.
func (a *WriteArgs) Decode(d *xdr.Decoder) {
	a.Handle = d.Opaque(MaxHandleBytes)
	a.Offset = d.Uint64()
	a.Count = d.Uint32()
	if a.Stable = Stable(d.Uint32()); a.Stable > FileSync {
		d.Fail(xdr.ErrBadValue)
	}
	a.Data = d.Opaque(MaxDataBytes)
}

// WriteRes are the results of WRITE.
type WriteRes struct {
	Status    Status
	Wcc       Wcc
	Count     uint32 // only with OK, like all that follow
	Committed Stable
	Verifier  [8]byte
}

// Append appends r to b.
func (r *WriteRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Wcc.Append(b)
	if r.Status != OK {
		return b
	}
	b = xdr.AppendUint32(b, r.Count)
	b = xdr.AppendUint32(b, uint32(r.Committed))
	return append(b, r.Verifier[:]...)
}

// Decode reads r from d.
func (r *WriteRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Wcc.Decode(d)
	r.decodeTail(d)
}

// DecodeBrief reads r from d without Wcc: this is the hot path.
func (r *WriteRes) DecodeBrief(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	skipWcc(d)
	r.decodeTail(d)
}

func (r *WriteRes) decodeTail(d *xdr.Decoder) {
	if r.Status != OK {
		return
	}
	r.Count = d.Uint32()
	if r.Committed = Stable(d.Uint32()); r.Committed > FileSync {
		d.Fail(xdr.ErrBadValue)
	}
	copy(r.Verifier[:], d.Fixed(len(r.Verifier)))
}

// CommitArgs are the arguments of COMMIT; Count 0 means to the end of the file.
type CommitArgs struct {
	Handle []byte
	Offset uint64
	Count  uint32
}

// Append appends a to b.
func (a *CommitArgs) Append(b []byte) []byte {
	b = xdr.AppendOpaque(b, a.Handle)
	b = xdr.AppendUint64(b, a.Offset)
	return xdr.AppendUint32(b, a.Count)
}

// Decode reads a from d.
func (a *CommitArgs) Decode(d *xdr.Decoder) {
	a.Handle = d.Opaque(MaxHandleBytes)
	a.Offset = d.Uint64()
	a.Count = d.Uint32()
}

// CommitRes are the results of COMMIT.
type CommitRes struct {
	Status   Status
	Wcc      Wcc
	Verifier [8]byte // only with OK
}

// Append appends r to b.
func (r *CommitRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Wcc.Append(b)
	if r.Status != OK {
		return b
	}
	return append(b, r.Verifier[:]...)
}

// Decode reads r from d.
func (r *CommitRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Wcc.Decode(d)
	if r.Status == OK {
		copy(r.Verifier[:], d.Fixed(len(r.Verifier)))
	}
}
