package mount

import (
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// MOUNT as an RPC program, and its procedures.
const (
	Program = 100005
	Version = 3

	ProcNull   = 0
	ProcMnt    = 1
	ProcDump   = 2
	ProcUmnt   = 3
	ProcExport = 5
)

// The portmapper as an RPC program, its port and its procedures.
const (
	PortmapProgram = 100000
	PortmapVersion = 2
	PortmapPort    = 111

	PortmapProcNull    = 0
	PortmapProcGetport = 3

	// ProtocolTCP is the value of Mapping.Protocol for TCP.
	ProtocolTCP = 6
)

// Limits of RFC 1813 appendix I.
const (
	MaxPathBytes   = 1024
	MaxNameBytes   = 255
	maxHandleBytes = 64
	maxFlavors     = 64
)

// Mapping asks the portmapper for the port of a program. The results of GETPORT
// are one uint32, 0 meaning that the program is not registered.
type Mapping struct{ Program, Version, Protocol, Port uint32 }

// Append appends m to b.
func (m *Mapping) Append(b []byte) []byte {
	for _, v := range [...]uint32{m.Program, m.Version, m.Protocol, m.Port} {
		b = xdr.AppendUint32(b, v)
	}
	return b
}

// Decode reads m from d.
func (m *Mapping) Decode(d *xdr.Decoder) {
	m.Program, m.Version = d.Uint32(), d.Uint32()
	m.Protocol, m.Port = d.Uint32(), d.Uint32()
}

// PathArgs are the arguments of MNT and UMNT.
type PathArgs struct{ Path string }

// Append appends a to b.
func (a *PathArgs) Append(b []byte) []byte { return xdr.AppendString(b, a.Path) }

// Decode reads a from d.
func (a *PathArgs) Decode(d *xdr.Decoder) { a.Path = d.String(MaxPathBytes) }

// MntRes are the results of MNT.
type MntRes struct {
	Status  Status
	Handle  []byte   // of the export's root; only with OK; aliases the input
	Flavors []uint32 // accepted credentials in the server's order; only with OK
}

// Append appends r to b.
func (r *MntRes) Append(b []byte) []byte {
	b = xdr.AppendUint32(b, uint32(r.Status))
	if r.Status != OK {
		return b
	}
	b = xdr.AppendOpaque(b, r.Handle)
	b = xdr.AppendUint32(b, uint32(len(r.Flavors)))
	for _, f := range r.Flavors {
		b = xdr.AppendUint32(b, f)
	}
	return b
}

// Decode reads r from d.
func (r *MntRes) Decode(d *xdr.Decoder) {
	*r = MntRes{Status: Status(d.Uint32())}
	if r.Status != OK {
		return
	}
	r.Handle = d.Opaque(maxHandleBytes)
	n := d.Uint32()
	if n > maxFlavors {
		d.Fail(xdr.ErrTooLong)
		return
	}
	for range n {
		r.Flavors = append(r.Flavors, d.Uint32())
	}
}

// Export is one entry of the export list.
type Export struct {
	Path   string
	Groups []string // clients that may mount it; none means everybody
}

// ExportRes is the export list, the results of EXPORT.
type ExportRes struct{ Exports []Export }

// Append appends r to b.
func (r *ExportRes) Append(b []byte) []byte {
	for i := range r.Exports {
		b = xdr.AppendBool(b, true)
		b = xdr.AppendString(b, r.Exports[i].Path)
		for _, g := range r.Exports[i].Groups {
			b = xdr.AppendBool(b, true)
			b = xdr.AppendString(b, g)
		}
		b = xdr.AppendBool(b, false)
	}
	return xdr.AppendBool(b, false)
}

// Decode reads r from d.
func (r *ExportRes) Decode(d *xdr.Decoder) {
	r.Exports = nil
	// Every round consumes input, so hostile bytes cannot keep us here.
	for d.Bool() {
		e := Export{Path: d.String(MaxPathBytes)}
		for d.Bool() {
			e.Groups = append(e.Groups, d.String(MaxNameBytes))
		}
		if d.Err() != nil {
			return
		}
		r.Exports = append(r.Exports, e)
	}
}

// Status is mountstat3. As an error it carries the name from RFC 1813.
type Status uint32

// Status values of RFC 1813 appendix I.
const (
	OK             Status = 0
	ErrPerm        Status = 1
	ErrNoEnt       Status = 2
	ErrIO          Status = 5
	ErrAcces       Status = 13
	ErrNotDir      Status = 20
	ErrInval       Status = 22
	ErrNameTooLong Status = 63
	ErrNotSupp     Status = 10004
	ErrServerFault Status = 10006
)

// Error returns the name from RFC 1813 and what it means.
func (s Status) Error() string {
	switch s {
	case OK:
		return "MNT3_OK: success"
	case ErrPerm:
		return "MNT3ERR_PERM: not the owner"
	case ErrNoEnt:
		return "MNT3ERR_NOENT: no such export"
	case ErrIO:
		return "MNT3ERR_IO: I/O error on the server"
	case ErrAcces:
		return "MNT3ERR_ACCES: the export policy does not admit this client"
	case ErrNotDir:
		return "MNT3ERR_NOTDIR: the export path is not a directory"
	case ErrInval:
		return "MNT3ERR_INVAL: invalid argument"
	case ErrNameTooLong:
		return "MNT3ERR_NAMETOOLONG: the export path is too long"
	case ErrNotSupp:
		return "MNT3ERR_NOTSUPP: operation not supported"
	case ErrServerFault:
		return "MNT3ERR_SERVERFAULT: fault on the server"
	}
	return fmt.Sprintf("unknown MOUNT status %d", uint32(s))
}
