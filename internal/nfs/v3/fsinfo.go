package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// HandleArgs are the arguments of GETATTR, READLINK, FSSTAT, FSINFO and PATHCONF.
type HandleArgs struct{ Handle []byte }

func (a *HandleArgs) Code(c *xdr.Coder) { c.Opaque(&a.Handle, MaxHandleBytes) }

// FsstatRes are the results of FSSTAT: space and files of the file system.
type FsstatRes struct {
	Status          Status
	Attr            OptAttr
	TotalBytes      uint64 // only with OK, like all that follow
	FreeBytes       uint64
	AvailBytes      uint64 // what the calling user can still write
	TotalFiles      uint64
	FreeFiles       uint64
	AvailFiles      uint64
	UnchangeSeconds uint32 // invarsec: how long the values are not expected to change
}

func (r *FsstatRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Attr.Code(c); r.Status == OK {
		c.Uint64(&r.TotalBytes, &r.FreeBytes, &r.AvailBytes, &r.TotalFiles, &r.FreeFiles, &r.AvailFiles)
		c.Uint32(&r.UnchangeSeconds)
	}
}

// Properties of a file system in FSINFO.
const (
	PropertyHomogeneous = 0x08
	PropertyCanSetTime  = 0x10
)

// FsinfoRes are the results of FSINFO: static limits of the server, in bytes.
type FsinfoRes struct {
	Status       Status
	Attr         OptAttr
	ReadMax      uint32 // only with OK, like all that follow
	ReadPref     uint32
	ReadMult     uint32
	WriteMax     uint32
	WritePref    uint32
	WriteMult    uint32
	DirPref      uint32
	MaxFileBytes uint64
	TimeDelta    Time
	Properties   uint32
}

func (r *FsinfoRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Attr.Code(c); r.Status != OK {
		return
	}
	c.Uint32(&r.ReadMax, &r.ReadPref, &r.ReadMult, &r.WriteMax, &r.WritePref, &r.WriteMult, &r.DirPref)
	c.Uint64(&r.MaxFileBytes)
	r.TimeDelta.Code(c)
	c.Uint32(&r.Properties)
}

// PathconfRes are the results of PATHCONF.
type PathconfRes struct {
	Status          Status
	Attr            OptAttr
	LinkMax         uint32 // only with OK, like all that follow
	NameMax         uint32
	NoTrunc         bool
	ChownRestricted bool
	CaseInsensitive bool
	CasePreserving  bool
}

func (r *PathconfRes) Code(c *xdr.Coder) {
	r.Status.Code(c)
	if r.Attr.Code(c); r.Status == OK {
		c.Uint32(&r.LinkMax, &r.NameMax)
		c.Bool(&r.NoTrunc, &r.ChownRestricted, &r.CaseInsensitive, &r.CasePreserving)
	}
}
