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

// Code implements xdr.Coded.
func (m *Mapping) Code(c *xdr.Coder) { c.Uint32(&m.Program, &m.Version, &m.Protocol, &m.Port) }

// PathArgs are the arguments of MNT and UMNT.
type PathArgs struct{ Path string }

// Code implements xdr.Coded.
func (a *PathArgs) Code(c *xdr.Coder) { c.String(&a.Path, MaxPathBytes) }

// MntRes are the results of MNT.
type MntRes struct {
	Status  Status
	Handle  []byte   // of the export's root; only with OK; aliases the input
	Flavors []uint32 // accepted credentials in the server's order; only with OK
}

// Code implements xdr.Coded.
func (r *MntRes) Code(c *xdr.Coder) {
	if c.Uint32((*uint32)(&r.Status)); r.Status != OK {
		return
	}
	c.Opaque(&r.Handle, maxHandleBytes)
	n := uint32(len(r.Flavors))
	if c.Uint32(&n); n > maxFlavors {
		c.Refuse(xdr.ErrTooLong)
		return
	}
	if !c.Encoding() {
		r.Flavors = make([]uint32, n)
	}
	for i := range r.Flavors {
		c.Uint32(&r.Flavors[i])
	}
}

// Export is one entry of the export list.
type Export struct {
	Path   string
	Groups []string // clients that may mount it; none means everybody
}

// ExportRes is the export list, the results of EXPORT.
type ExportRes struct{ Exports []Export }

// Code implements xdr.Coded.
func (r *ExportRes) Code(c *xdr.Coder) {
	if !c.Encoding() {
		r.Exports = nil
	}
	// Every round of decoding consumes input, so hostile bytes cannot keep us here.
	for i := 0; c.More(i < len(r.Exports)); i++ {
		if !c.Encoding() {
			r.Exports = append(r.Exports, Export{})
		}
		if r.Exports[i].code(c); c.Failed() {
			r.Exports = r.Exports[:i]
			return
		}
	}
}

func (e *Export) code(c *xdr.Coder) {
	c.String(&e.Path, MaxPathBytes)
	for i := 0; c.More(i < len(e.Groups)); i++ {
		if !c.Encoding() {
			e.Groups = append(e.Groups, "")
		}
		c.String(&e.Groups[i], MaxNameBytes)
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
