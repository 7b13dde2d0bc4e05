package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// NameArgs (diropargs3) name an entry of a directory. They are the arguments of
// LOOKUP, REMOVE and RMDIR.
type NameArgs struct {
	Dir  []byte
	Name string
}

func (a *NameArgs) Code(c *xdr.Coder) {
	c.Opaque(&a.Dir, MaxHandleBytes)
	c.String(&a.Name, MaxNameBytes)
}

// LookupRes are the results of LOOKUP.
type LookupRes struct {
	Status  Status
	Handle  []byte  // only with OK
	Attr    OptAttr // only with OK
	DirAttr OptAttr
}

func (r *LookupRes) Code(c *xdr.Coder) {
	if r.Status.Code(c); r.Status == OK {
		c.Opaque(&r.Handle, MaxHandleBytes)
		r.Attr.Code(c)
	}
	r.DirAttr.Code(c)
}

// CreateHow is createmode3.
type CreateHow uint32

// Ways to create a file.
const (
	// CreateUnchecked takes an existing file as success.
	CreateUnchecked CreateHow = 0
	// CreateGuarded fails with ErrExist when the name is taken.
	CreateGuarded CreateHow = 1
	// CreateExclusive is like CreateGuarded, but survives a retransmission.
	CreateExclusive CreateHow = 2
)

// CreateArgs are the arguments of CREATE.
type CreateArgs struct {
	Where    NameArgs
	How      CreateHow
	Attr     NewAttr // not with CreateExclusive
	Verifier [8]byte // only with CreateExclusive
}

func (a *CreateArgs) Code(c *xdr.Coder) {
	a.Where.Code(c)
	switch c.Uint32((*uint32)(&a.How)); a.How {
	case CreateUnchecked, CreateGuarded:
		a.Attr.Code(c)
	case CreateExclusive:
		c.Fixed(a.Verifier[:])
	default:
		c.Refuse(xdr.ErrBadValue)
	}
}

// MkdirArgs are the arguments of MKDIR.
type MkdirArgs struct {
	Where NameArgs
	Attr  NewAttr
}

func (a *MkdirArgs) Code(c *xdr.Coder) {
	a.Where.Code(c)
	a.Attr.Code(c)
}

// CreateRes are the results of CREATE, MKDIR, SYMLINK and MKNOD.
type CreateRes struct {
	Status        Status
	HandlePresent bool    // only with OK
	Handle        []byte  // only with HandlePresent
	Attr          OptAttr // only with OK
	Dir           Wcc
}

func (r *CreateRes) Code(c *xdr.Coder) {
	if r.Status.Code(c); r.Status == OK {
		if c.Bool(&r.HandlePresent); r.HandlePresent {
			c.Opaque(&r.Handle, MaxHandleBytes)
		}
		r.Attr.Code(c)
	}
	r.Dir.Code(c)
}

// RenameArgs are the arguments of RENAME.
type RenameArgs struct{ From, To NameArgs }

func (a *RenameArgs) Code(c *xdr.Coder) {
	a.From.Code(c)
	a.To.Code(c)
}

// RenameRes are the results of RENAME.
type RenameRes struct {
	Status   Status
	From, To Wcc // of the two directories
}

func (r *RenameRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	r.From.Code(c)
	r.To.Code(c)
}

// ReaddirArgs are the arguments of READDIR, or with Plus of READDIRPLUS.
type ReaddirArgs struct {
	Plus           bool // not on the wire: set it before decoding
	Handle         []byte
	Cookie         uint64
	CookieVerifier [8]byte
	DirCount       uint32 // bytes of names and cookies; only with Plus
	MaxCount       uint32 // bytes of the whole reply
}

func (a *ReaddirArgs) Code(c *xdr.Coder) {
	c.Opaque(&a.Handle, MaxHandleBytes)
	c.Uint64(&a.Cookie)
	c.Fixed(a.CookieVerifier[:])
	if a.Plus {
		c.Uint32(&a.DirCount)
	}
	c.Uint32(&a.MaxCount)
}

// DirEntry is one name of a directory.
type DirEntry struct {
	FileID uint64
	Name   string
	Cookie uint64 // where to continue after this entry
	// The other fields are only in READDIRPLUS.
	Attr          OptAttr
	HandlePresent bool
	Handle        []byte
}

// Append appends e to b in the form of READDIR or, with plus, of READDIRPLUS.
func (e *DirEntry) Append(b []byte, plus bool) []byte {
	c := xdr.NewEncoder(b)
	e.code(&c, plus)
	return c.Bytes()
}

func (e *DirEntry) code(c *xdr.Coder, plus bool) {
	c.Uint64(&e.FileID)
	c.String(&e.Name, MaxNameBytes)
	c.Uint64(&e.Cookie)
	if !plus {
		return
	}
	e.Attr.Code(c)
	if c.Bool(&e.HandlePresent); e.HandlePresent {
		c.Opaque(&e.Handle, MaxHandleBytes)
	}
}

// ReaddirRes are the results of READDIR, or with Plus of READDIRPLUS.
type ReaddirRes struct {
	Plus           bool // not on the wire: set it before decoding
	Status         Status
	DirAttr        OptAttr
	CookieVerifier [8]byte // only with OK, like all that follow
	Entries        []DirEntry
	EOF            bool
}

func (r *ReaddirRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	r.DirAttr.Code(c)
	if r.Status != OK {
		r.Entries = nil
		return
	}
	c.Fixed(r.CookieVerifier[:])
	xdr.List(c, &r.Entries, func(e *DirEntry) { e.code(c, r.Plus) })
	c.Bool(&r.EOF)
}
