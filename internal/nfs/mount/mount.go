// Package mount implements the two small protocols for mounting an NFSv3 export: the portmapper, version 2 for IPv4
// and versions 3 and 4 for IPv6 (RFC 1833), and MOUNT, version 3 (RFC 1813 appendix I). Codecs work in both
// directions; the client half runs over an rpc.Conn.
package mount

import (
	"context"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
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
	PortmapVersion = 2 // knows IPv4 only
	RPCBindVersion = 4 // version 3 is the same for the procedures used here
	PortmapPort    = 111

	PortmapProcNull    = 0
	PortmapProcGetport = 3
	RPCBindProcGetaddr = 3

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

func (m *Mapping) Code(c *xdr.Coder) { c.Uint32(&m.Program, &m.Version, &m.Protocol, &m.Port) }

// Binding asks versions 3 and 4 of the portmapper for the address of a program. The results
// of GETADDR are a universal address (RFC 5665), which is empty if the program is not
// registered.
type Binding struct {
	Program, Version      uint32
	NetID, Address, Owner string
}

func (b *Binding) Code(c *xdr.Coder) {
	c.Uint32(&b.Program, &b.Version)
	c.String(&b.NetID, MaxNameBytes)
	c.String(&b.Address, MaxNameBytes)
	c.String(&b.Owner, MaxNameBytes)
}

// PathArgs are the arguments of MNT and UMNT.
type PathArgs struct{ Path string }

func (a *PathArgs) Code(c *xdr.Coder) { c.String(&a.Path, MaxPathBytes) }

// MntRes are the results of MNT.
type MntRes struct {
	Status  Status
	Handle  []byte   // of the export's root; only with OK; aliases the input
	Flavors []uint32 // accepted credentials in the server's order; only with OK
}

func (r *MntRes) Code(c *xdr.Coder) {
	if c.Uint32((*uint32)(&r.Status)); r.Status != OK {
		return
	}
	c.Opaque(&r.Handle, maxHandleBytes)
	xdr.Bounded(c, &r.Flavors, maxFlavors, 4, func(f *uint32) { c.Uint32(f) })
}

// Export is one entry of the export list.
type Export struct {
	Path   string
	Groups []string // clients that may mount it; empty means everybody
}

// ExportRes is the export list, the results of EXPORT.
type ExportRes struct{ Exports []Export }

func (r *ExportRes) Code(c *xdr.Coder) {
	xdr.List(c, &r.Exports, func(e *Export) {
		c.String(&e.Path, MaxPathBytes)
		xdr.List(c, &e.Groups, func(group *string) { c.String(group, MaxNameBytes) })
	})
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
	if text, ok := statusTexts[s]; ok {
		return text
	}
	return fmt.Sprintf("unknown MOUNT status %d", uint32(s))
}

//nolint:gochecknoglobals // a constant table
var statusTexts = map[Status]string{
	OK:             "MNT3_OK: success",
	ErrPerm:        "MNT3ERR_PERM: not the owner",
	ErrNoEnt:       "MNT3ERR_NOENT: no such export",
	ErrIO:          "MNT3ERR_IO: I/O error on the server",
	ErrAcces:       "MNT3ERR_ACCES: the export policy does not admit this client",
	ErrNotDir:      "MNT3ERR_NOTDIR: the export path is not a directory",
	ErrInval:       "MNT3ERR_INVAL: invalid argument",
	ErrNameTooLong: "MNT3ERR_NAMETOOLONG: the export path is too long",
	ErrNotSupp:     "MNT3ERR_NOTSUPP: operation not supported",
	ErrServerFault: "MNT3ERR_SERVERFAULT: fault on the server",
}

// Getport asks the portmapper behind conn for the TCP port of a program, for the IP version
// of conn. Port 0 means that the program is not registered.
func Getport(ctx context.Context, conn *rpc.Conn, program, version uint32) (port int, err error) {
	versions := []uint32{PortmapVersion}
	if conn.IsIPv6() {
		// If the server only knows version 2, it has one port for both IP versions.
		versions = []uint32{RPCBindVersion, RPCBindVersion - 1, PortmapVersion}
	}
	for _, asked := range versions {
		if asked == PortmapVersion {
			port, err = getport(ctx, conn, program, version)
		} else {
			port, err = getaddr(ctx, conn, asked, program, version)
		}
		if !rpc.IsVersionError(err) {
			break
		}
	}
	if err != nil {
		return 0, fmt.Errorf("ask the portmapper: %w", err)
	}
	return port, nil
}

func getport(ctx context.Context, conn *rpc.Conn, program, version uint32) (int, error) {
	m := Mapping{Program: program, Version: version, Protocol: ProtocolTCP}
	var port portRes
	head := rpc.AppendCall(nil, PortmapProgram, PortmapVersion, PortmapProcGetport, rpc.Auth{})
	if err := call(ctx, conn, xdr.Append(head, &m), &port); err != nil {
		return 0, err
	}
	if port > 65535 {
		return 0, fmt.Errorf("it answers with port %d", port)
	}
	return int(port), nil
}

func getaddr(ctx context.Context, conn *rpc.Conn, asked, program, version uint32) (int, error) {
	b := Binding{Program: program, Version: version, NetID: layout.NetIDTCP6}
	var address addressRes
	head := rpc.AppendCall(nil, PortmapProgram, asked, RPCBindProcGetaddr, rpc.Auth{})
	if err := call(ctx, conn, xdr.Append(head, &b), &address); err != nil || address == "" {
		return 0, err
	}
	// The host is the portmapper's, and may be unspecified.
	port, err := layout.NetAddr{NetID: layout.NetIDTCP6, Address: string(address)}.Port()
	return int(port), err
}

// addressRes are the results of GETADDR.
type addressRes string

func (a *addressRes) Code(c *xdr.Coder) { c.String((*string)(a), MaxNameBytes) }

// portRes are the results of GETPORT.
type portRes uint32

func (p *portRes) Code(c *xdr.Coder) { c.Uint32((*uint32)(p)) }

// Mnt asks the mount daemon behind conn for the root of an export.
func Mnt(ctx context.Context, conn *rpc.Conn, cred rpc.Auth, path string) (MntRes, error) {
	var res MntRes
	head := rpc.AppendCall(nil, Program, Version, ProcMnt, cred)
	if err := call(ctx, conn, xdr.AppendString(head, path), &res); err != nil {
		return MntRes{}, err
	}
	if res.Status != OK {
		return MntRes{}, res.Status
	}
	return res, nil
}

// Umnt tells the mount daemon that the client no longer uses the export.
func Umnt(ctx context.Context, conn *rpc.Conn, cred rpc.Auth, path string) error {
	head := rpc.AppendCall(nil, Program, Version, ProcUmnt, cred)
	return call(ctx, conn, xdr.AppendString(head, path), nil)
}

// Exports returns the export list of the mount daemon.
func Exports(ctx context.Context, conn *rpc.Conn) ([]Export, error) {
	var res ExportRes
	err := call(ctx, conn, rpc.AppendCall(nil, Program, Version, ProcExport, rpc.Auth{}), &res)
	return res.Exports, err
}

// call makes a call and decodes its results, unless they are nil.
func call(ctx context.Context, conn *rpc.Conn, request []byte, results xdr.Coded) error {
	var c rpc.Call
	c.Reset()
	c.Request = request
	if err := conn.Do(ctx, &c); err != nil || results == nil {
		return err
	}
	d := xdr.NewDecoder(c.Results)
	if xdr.Decode(&d, results); d.Err() != nil {
		return &rpc.ProtocolError{Err: d.Err()}
	}
	return nil
}
