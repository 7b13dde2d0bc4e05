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
	port := uint32(0)
	err := call(ctx, conn, request{PortmapProgram, PortmapVersion, PortmapProcGetport, rpc.Auth{}}, m.Append,
		func(d *xdr.Decoder) { port = d.Uint32() })
	if err != nil {
		return 0, fmt.Errorf("ask the portmapper: %w", err)
	}
	if port > 65535 {
		return 0, fmt.Errorf("ask the portmapper: it answers with port %d", port)
	}
	return int(port), nil
}

// Mnt asks the mount daemon behind conn for the root of an export.
func Mnt(ctx context.Context, conn *rpc.Conn, cred rpc.Auth, path string) (MntRes, error) {
	args, res := PathArgs{Path: path}, MntRes{}
	err := call(ctx, conn, request{Program, Version, ProcMnt, cred}, args.Append, res.Decode)
	if err != nil {
		return MntRes{}, err
	}
	if res.Status != OK {
		return MntRes{}, res.Status
	}
	return res, nil
}

// Umnt tells the mount daemon that the export is no longer used.
func Umnt(ctx context.Context, conn *rpc.Conn, cred rpc.Auth, path string) error {
	args := PathArgs{Path: path}
	return call(ctx, conn, request{Program, Version, ProcUmnt, cred}, args.Append, func(*xdr.Decoder) {})
}

// Exports returns the export list of the mount daemon.
func Exports(ctx context.Context, conn *rpc.Conn) ([]Export, error) {
	var res ExportRes
	err := call(ctx, conn, request{Program, Version, ProcExport, rpc.Auth{}},
		func(b []byte) []byte { return b }, res.Decode)
	return res.Exports, err
}

type request struct {
	program, version, procedure uint32
	cred                        rpc.Auth
}

func call(
	ctx context.Context, conn *rpc.Conn, r request,
	args func([]byte) []byte, results func(*xdr.Decoder),
) error {
	var c rpc.Call
	c.Reset()
	c.Request = args(rpc.AppendCall(nil, r.program, r.version, r.procedure, r.cred))
	if err := conn.Do(ctx, &c); err != nil {
		return err
	}
	d := xdr.NewDecoder(c.Results)
	results(&d)
	if err := d.Err(); err != nil {
		return &rpc.ProtocolError{Err: err}
	}
	return nil
}
