package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// READ and WRITE are the hot path. The client encodes with Append and AppendHead, decodes
// with DecodeHead and DecodeBrief, and allocates nothing.

// Stable is stable_how: when written data must be on stable storage.
type Stable uint32

// Degrees of stability.
const (
	Unstable Stable = 0
	DataSync Stable = 1
	FileSync Stable = 2
)

func (s *Stable) code(c *xdr.Coder) {
	if c.Uint32((*uint32)(s)); *s > FileSync {
		c.Refuse(xdr.ErrBadValue)
	}
}

// ReadArgs are the arguments of READ. Offset and Count are bytes.
type ReadArgs struct {
	Handle []byte
	Offset uint64
	Count  uint32
}

func (a *ReadArgs) Code(c *xdr.Coder) {
	c.Opaque(&a.Handle, MaxHandleBytes)
	c.Uint64(&a.Offset)
	c.Uint32(&a.Count)
}

// Append appends a to b.
func (a *ReadArgs) Append(b []byte) []byte {
	c := xdr.NewEncoder(b)
	a.Code(&c)
	return c.Bytes()
}

// ReadRes are the results of READ.
type ReadRes struct {
	Status Status
	Attr   OptAttr
	Count  uint32 // only with OK, like all that follow
	EOF    bool
	Data   []byte
}

func (r *ReadRes) Code(c *xdr.Coder) {
	if r.codeHead(c); r.Status == OK {
		c.Opaque(&r.Data, MaxDataBytes)
	}
}

// codeHead codes the part before the length of the data.
func (r *ReadRes) codeHead(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Attr.Code(c); r.Status == OK {
		c.Uint32(&r.Count)
		c.Bool(&r.EOF)
	}
}

// Append appends r with its data to b.
func (r *ReadRes) Append(b []byte) []byte {
	c := xdr.NewEncoder(b)
	r.Code(&c)
	return c.Bytes()
}

// AppendHead appends everything up to the data. The caller must append
// dataBytes of data, with their padding (xdr.Padding). A server can thus send
// the data without copying them. With a Status other than OK no data follow.
func (r *ReadRes) AppendHead(b []byte, dataBytes int) []byte {
	c := xdr.NewEncoder(b)
	if r.codeHead(&c); r.Status != OK {
		return c.Bytes()
	}
	return xdr.AppendUint32(c.Bytes(), uint32(dataBytes))
}

// DecodeHead reads everything up to the data and returns their length. It skips
// attributes.
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

func (a *WriteArgs) Code(c *xdr.Coder) {
	a.codeHead(c)
	c.Opaque(&a.Data, MaxDataBytes)
}

// codeHead codes the part before the length of the data.
func (a *WriteArgs) codeHead(c *xdr.Coder) {
	c.Opaque(&a.Handle, MaxHandleBytes)
	c.Uint64(&a.Offset)
	c.Uint32(&a.Count)
	a.Stable.code(c)
}

// AppendHead appends everything up to the data. The caller must append
// dataBytes of data, with their padding.
func (a *WriteArgs) AppendHead(b []byte, dataBytes int) []byte {
	c := xdr.NewEncoder(b)
	a.codeHead(&c)
	return xdr.AppendUint32(c.Bytes(), uint32(dataBytes))
}

// WriteRes are the results of WRITE.
type WriteRes struct {
	Status    Status
	Wcc       Wcc
	Count     uint32 // only with OK, like all that follow
	Committed Stable
	Verifier  [8]byte
}

func (r *WriteRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Wcc.Code(c); r.Status == OK {
		c.Uint32(&r.Count)
		r.Committed.code(c)
		c.Fixed(r.Verifier[:])
	}
}

// Append appends r to b.
func (r *WriteRes) Append(b []byte) []byte {
	c := xdr.NewEncoder(b)
	r.Code(&c)
	return c.Bytes()
}

// DecodeBrief reads r from d without Wcc.
func (r *WriteRes) DecodeBrief(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	skipWcc(d)
	if r.Status != OK {
		return
	}
	r.Count = d.Uint32()
	if r.Committed = Stable(d.Uint32()); r.Committed > FileSync {
		d.Fail(xdr.ErrBadValue)
	}
	copy(r.Verifier[:], d.Fixed(len(r.Verifier)))
}

// skipOptAttr passes over a post_op_attr.
func skipOptAttr(d *xdr.Decoder) {
	if d.Bool() {
		d.Skip(attrBytes)
	}
}

// skipWcc passes over a wcc_data.
func skipWcc(d *xdr.Decoder) {
	if d.Bool() {
		d.Skip(wccAttrBytes)
	}
	skipOptAttr(d)
}

// CommitArgs are the arguments of COMMIT; Count 0 means to the end of the file.
type CommitArgs struct {
	Handle []byte
	Offset uint64
	Count  uint32
}

func (a *CommitArgs) Code(c *xdr.Coder) {
	c.Opaque(&a.Handle, MaxHandleBytes)
	c.Uint64(&a.Offset)
	c.Uint32(&a.Count)
}

// CommitRes are the results of COMMIT.
type CommitRes struct {
	Status   Status
	Wcc      Wcc
	Verifier [8]byte // only with OK
}

func (r *CommitRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Wcc.Code(c); r.Status == OK {
		c.Fixed(r.Verifier[:])
	}
}
