package mount

import (
	"context"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Getport asks the portmapper behind conn for the TCP port of a program. Port 0
// means that the program is not registered.
func Getport(ctx context.Context, conn *rpc.Conn, program, version uint32) (int, error) {
	m := Mapping{Program: program, Version: version, Protocol: ProtocolTCP}
	var port portRes
	head := rpc.AppendCall(nil, PortmapProgram, PortmapVersion, PortmapProcGetport, rpc.Auth{})
	if err := call(ctx, conn, xdr.Append(head, &m), &port); err != nil {
		return 0, fmt.Errorf("ask the portmapper: %w", err)
	}
	if port > 65535 {
		return 0, fmt.Errorf("ask the portmapper: it answers with port %d", port)
	}
	return int(port), nil
}

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

// Umnt tells the mount daemon that the export is no longer used.
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
