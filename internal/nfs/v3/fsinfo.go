package v3

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// FsstatRes are the results of FSSTAT: space and files of the file system.
type FsstatRes struct {
	Status          Status
	Attr            OptAttr
	TotalBytes      uint64 // only with OK, like all that follow
	FreeBytes       uint64
	AvailBytes      uint64 // what the calling user may still write
	TotalFiles      uint64
	FreeFiles       uint64
	AvailFiles      uint64
	UnchangeSeconds uint32 // invarsec: how long the figures are not expected to change
}

// Append appends r to b.
func (r *FsstatRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Attr.Append(b)
	if r.Status != OK {
		return b
	}
	for _, v := range [...]uint64{
		r.TotalBytes, r.FreeBytes, r.AvailBytes, r.TotalFiles, r.FreeFiles, r.AvailFiles,
	} {
		b = xdr.AppendUint64(b, v)
	}
	return xdr.AppendUint32(b, r.UnchangeSeconds)
}

// Decode reads r from d.
func (r *FsstatRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.Decode(d)
	if r.Status != OK {
		return
	}
	r.TotalBytes, r.FreeBytes, r.AvailBytes = d.Uint64(), d.Uint64(), d.Uint64()
	r.TotalFiles, r.FreeFiles, r.AvailFiles = d.Uint64(), d.Uint64(), d.Uint64()
	r.UnchangeSeconds = d.Uint32()
}

// Properties of a file system in FSINFO.
const (
	PropertyLink        = 0x01
	PropertySymlink     = 0x02
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

// Append appends r to b.
func (r *FsinfoRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Attr.Append(b)
	if r.Status != OK {
		return b
	}
	for _, v := range [...]uint32{
		r.ReadMax, r.ReadPref, r.ReadMult, r.WriteMax, r.WritePref, r.WriteMult, r.DirPref,
	} {
		b = xdr.AppendUint32(b, v)
	}
	b = xdr.AppendUint64(b, r.MaxFileBytes)
	b = r.TimeDelta.Append(b)
	return xdr.AppendUint32(b, r.Properties)
}

// Decode reads r from d.
func (r *FsinfoRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.Decode(d)
	if r.Status != OK {
		return
	}
	r.ReadMax, r.ReadPref, r.ReadMult = d.Uint32(), d.Uint32(), d.Uint32()
	r.WriteMax, r.WritePref, r.WriteMult = d.Uint32(), d.Uint32(), d.Uint32()
	r.DirPref = d.Uint32()
	r.MaxFileBytes = d.Uint64()
	r.TimeDelta.Decode(d)
	r.Properties = d.Uint32()
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

// Append appends r to b.
func (r *PathconfRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	b = r.Attr.Append(b)
	if r.Status != OK {
		return b
	}
	b = xdr.AppendUint32(b, r.LinkMax)
	b = xdr.AppendUint32(b, r.NameMax)
	b = xdr.AppendBool(b, r.NoTrunc)
	b = xdr.AppendBool(b, r.ChownRestricted)
	b = xdr.AppendBool(b, r.CaseInsensitive)
	return xdr.AppendBool(b, r.CasePreserving)
}

// Decode reads r from d.
func (r *PathconfRes) Decode(d *xdr.Decoder) {
	r.Status = Status(d.Uint32())
	r.Attr.Decode(d)
	if r.Status != OK {
		return
	}
	r.LinkMax, r.NameMax = d.Uint32(), d.Uint32()
	r.NoTrunc, r.ChownRestricted = d.Bool(), d.Bool()
	r.CaseInsensitive, r.CasePreserving = d.Bool(), d.Bool()
}
