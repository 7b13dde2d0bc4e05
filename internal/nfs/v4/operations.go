package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// Close is CLOSE.
type Close struct {
	Seq     uint32 // of the open owner; NFSv4.0 only
	StateID StateID

	After StateID // result
}

// Op returns OpClose.
func (o *Close) Op() Op { return OpClose }

// Args codes the arguments.
func (o *Close) Args(c *xdr.Coder) {
	c.Uint32(&o.Seq)
	o.StateID.Code(c)
}

// Results codes the results.
func (o *Close) Results(c *xdr.Coder) { o.After.Code(c) }

// Commit is COMMIT. Offset and Count are bytes; Count 0 means to the end of the file.
type Commit struct {
	Offset uint64
	Count  uint32

	Verifier Verifier // result
}

// Op returns OpCommit.
func (o *Commit) Op() Op { return OpCommit }

// Args codes the arguments.
func (o *Commit) Args(c *xdr.Coder) {
	c.Uint64(&o.Offset)
	c.Uint32(&o.Count)
}

// Results codes the results.
func (o *Commit) Results(c *xdr.Coder) { o.Verifier.Code(c) }

// Create is CREATE of a directory. Other types are refused when they are decoded.
type Create struct {
	Name  string
	Attrs Attrs

	Change  ChangeInfo // result
	AttrSet Bitmap     // result: the attributes that were set
}

// Op returns OpCreate.
func (o *Create) Op() Op { return OpCreate }

// Args codes the arguments.
func (o *Create) Args(c *xdr.Coder) {
	kind := uint32(TypeDirectory)
	enum(c, &kind, uint32(TypeDirectory), uint32(TypeDirectory))
	c.String(&o.Name, MaxNameBytes)
	o.Attrs.Code(c)
}

// Results codes the results.
func (o *Create) Results(c *xdr.Coder) {
	o.Change.Code(c)
	o.AttrSet.Code(c)
}

// DelegReturn is DELEGRETURN.
type DelegReturn struct{ StateID StateID }

// Op returns OpDelegReturn.
func (o *DelegReturn) Op() Op { return OpDelegReturn }

// Args codes the arguments.
func (o *DelegReturn) Args(c *xdr.Coder) { o.StateID.Code(c) }

// GetAttr is GETATTR. Ask only for attributes that Attrs has: others cannot be decoded.
type GetAttr struct {
	Request Bitmap

	Attrs Attrs // result
}

// Op returns OpGetAttr.
func (o *GetAttr) Op() Op { return OpGetAttr }

// Args codes the arguments.
func (o *GetAttr) Args(c *xdr.Coder) { o.Request.Code(c) }

// Results codes the results.
func (o *GetAttr) Results(c *xdr.Coder) { o.Attrs.Code(c) }

// GetFH is GETFH.
type GetFH struct {
	Handle []byte // result
}

// Op returns OpGetFH.
func (o *GetFH) Op() Op { return OpGetFH }

// Args codes nothing.
func (o *GetFH) Args(*xdr.Coder) {}

// Results codes the results.
func (o *GetFH) Results(c *xdr.Coder) { c.Opaque(&o.Handle, MaxHandleBytes) }

// Lookup is LOOKUP.
type Lookup struct{ Name string }

// Op returns OpLookup.
func (o *Lookup) Op() Op { return OpLookup }

// Args codes the arguments.
func (o *Lookup) Args(c *xdr.Coder) { c.String(&o.Name, MaxNameBytes) }

// PutFH is PUTFH.
type PutFH struct{ Handle []byte }

// Op returns OpPutFH.
func (o *PutFH) Op() Op { return OpPutFH }

// Args codes the arguments.
func (o *PutFH) Args(c *xdr.Coder) { c.Opaque(&o.Handle, MaxHandleBytes) }

// PutRootFH is PUTROOTFH.
type PutRootFH struct{}

// Op returns OpPutRootFH.
func (o *PutRootFH) Op() Op { return OpPutRootFH }

// Args codes nothing.
func (o *PutRootFH) Args(*xdr.Coder) {}

// DirEntry is one name of a directory. Its attributes stay encoded.
type DirEntry struct {
	Cookie     uint64 // where to continue after this entry
	Name       string
	AttrMask   Bitmap
	AttrValues []byte // in the encoding of Attrs.Values and Attrs.DecodeValues
}

func (e *DirEntry) code(c *xdr.Coder) {
	c.Uint64(&e.Cookie)
	c.String(&e.Name, MaxNameBytes)
	e.AttrMask.Code(c)
	c.Opaque(&e.AttrValues, MaxAttrBytes)
}

// ReadDir is READDIR.
type ReadDir struct {
	Cookie         uint64
	CookieVerifier Verifier
	DirCount       uint32 // bytes of names and cookies, a hint
	MaxCount       uint32 // bytes of the results
	Request        Bitmap

	Verifier Verifier   // result: the CookieVerifier of the next call
	Entries  []DirEntry // result
	EOF      bool       // result
}

// Op returns OpReadDir.
func (o *ReadDir) Op() Op { return OpReadDir }

// Args codes the arguments.
func (o *ReadDir) Args(c *xdr.Coder) {
	c.Uint64(&o.Cookie)
	o.CookieVerifier.Code(c)
	c.Uint32(&o.DirCount, &o.MaxCount)
	o.Request.Code(c)
}

// Results codes the results.
func (o *ReadDir) Results(c *xdr.Coder) {
	o.Verifier.Code(c)
	xdr.List(c, &o.Entries, func(e *DirEntry) { e.code(c) })
	c.Bool(&o.EOF)
}

// Remove is REMOVE, of files and of directories.
type Remove struct {
	Name string

	Change ChangeInfo // result
}

// Op returns OpRemove.
func (o *Remove) Op() Op { return OpRemove }

// Args codes the arguments.
func (o *Remove) Args(c *xdr.Coder) { c.String(&o.Name, MaxNameBytes) }

// Results codes the results.
func (o *Remove) Results(c *xdr.Coder) { o.Change.Code(c) }

// Rename is RENAME, from the directory of the saved file handle to that of the current one.
type Rename struct {
	From, To string

	FromChange, ToChange ChangeInfo // result, of both directories
}

// Op returns OpRename.
func (o *Rename) Op() Op { return OpRename }

// Args codes the arguments.
func (o *Rename) Args(c *xdr.Coder) {
	c.String(&o.From, MaxNameBytes)
	c.String(&o.To, MaxNameBytes)
}

// Results codes the results.
func (o *Rename) Results(c *xdr.Coder) {
	o.FromChange.Code(c)
	o.ToChange.Code(c)
}

// Renew is RENEW; NFSv4.0 only.
type Renew struct{ ClientID uint64 }

// Op returns OpRenew.
func (o *Renew) Op() Op { return OpRenew }

// Args codes the arguments.
func (o *Renew) Args(c *xdr.Coder) { c.Uint64(&o.ClientID) }

// SaveFH is SAVEFH: it saves the current file handle.
type SaveFH struct{}

// Op returns OpSaveFH.
func (o *SaveFH) Op() Op { return OpSaveFH }

// Args codes nothing.
func (o *SaveFH) Args(*xdr.Coder) {}

// SetAttr is SETATTR. A new size needs the StateID of an open for writing, or the anonymous one.
type SetAttr struct {
	StateID StateID
	Attrs   Attrs

	AttrSet Bitmap // result with every status: the attributes that were set
}

// Op returns OpSetAttr.
func (o *SetAttr) Op() Op { return OpSetAttr }

// Args codes the arguments.
func (o *SetAttr) Args(c *xdr.Coder) {
	o.StateID.Code(c)
	o.Attrs.Code(c)
}

// Results codes the results.
func (o *SetAttr) Results(c *xdr.Coder) { o.AttrSet.Code(c) }

// Failure codes AttrSet, which follows every status.
func (o *SetAttr) Failure(c *xdr.Coder, _ Status) { o.AttrSet.Code(c) }

// SetClientID is SETCLIENTID; NFSv4.0 only.
type SetClientID struct {
	Verifier        Verifier // changes with every start of the client
	Owner           []byte
	CallbackProgram uint32 // 0 = no callbacks
	Callback        Address
	CallbackIdent   uint32

	ClientID uint64   // result
	Confirm  Verifier // result, for SetClientIDConfirm
	InUseBy  Address  // result with ErrClIDInUse
}

// Op returns OpSetClientID.
func (o *SetClientID) Op() Op { return OpSetClientID }

// Args codes the arguments.
func (o *SetClientID) Args(c *xdr.Coder) {
	o.Verifier.Code(c)
	c.Opaque(&o.Owner, MaxOwnerBytes)
	c.Uint32(&o.CallbackProgram)
	o.Callback.Code(c)
	c.Uint32(&o.CallbackIdent)
}

// Results codes the results.
func (o *SetClientID) Results(c *xdr.Coder) {
	c.Uint64(&o.ClientID)
	o.Confirm.Code(c)
}

// Failure codes InUseBy.
func (o *SetClientID) Failure(c *xdr.Coder, s Status) {
	if s == ErrClIDInUse {
		o.InUseBy.Code(c)
	}
}

// SetClientIDConfirm is SETCLIENTID_CONFIRM; NFSv4.0 only.
type SetClientIDConfirm struct {
	ClientID uint64
	Confirm  Verifier
}

// Op returns OpSetClientIDConfirm.
func (o *SetClientIDConfirm) Op() Op { return OpSetClientIDConfirm }

// Args codes the arguments.
func (o *SetClientIDConfirm) Args(c *xdr.Coder) {
	c.Uint64(&o.ClientID)
	o.Confirm.Code(c)
}
