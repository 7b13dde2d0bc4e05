package nfstest

import (
	"cmp"
	"math"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// answer executes a call and appends the reply to out.
func (s *Server) answer(out []byte, c *conn, call Call, args *xdr.Decoder, action Action) []byte {
	if action == Drop || action == Disconnect {
		return out
	}
	reply := rpc.ReplyHeader{XID: call.XID}
	out = reply.Append(out)
	if status, failed := action.status(); failed {
		return appendFailure(out, call.Procedure, status)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.dead {
		return out // what a dead connection brought must not change anything any more
	}
	if call.Program == mount.Program {
		return s.mount(out, call.Procedure, args)
	}
	switch call.Procedure {
	case v3.ProcRead, v3.ProcWrite:
		limit := uint32(math.MaxUint32)
		if s.Short != nil {
			limit = cmp.Or(s.Short(call), limit)
		}
		if call.Procedure == v3.ProcRead {
			return s.read(out, args, limit)
		}
		return s.write(out, args, limit)
	case v3.ProcCommit:
		return s.commit(out, args)
	case v3.ProcFsinfo:
		return xdr.Append(out, &v3.FsinfoRes{ReadMax: s.MaxTransfer, WriteMax: s.MaxTransfer})
	case v3.ProcFsstat:
		return xdr.Append(out, &v3.FsstatRes{TotalBytes: 1 << 40, FreeBytes: 1 << 40, AvailBytes: 1 << 40})
	case v3.ProcGetattr:
		return s.getattr(out, args)
	case v3.ProcLookup:
		return s.lookup(out, args)
	case v3.ProcCreate, v3.ProcMkdir:
		return s.create(out, args, call.Procedure == v3.ProcMkdir)
	case v3.ProcRemove, v3.ProcRmdir:
		return s.remove(out, args, call.Procedure == v3.ProcRmdir)
	case v3.ProcReaddir, v3.ProcReaddirplus:
		return s.readdir(out, args, call.Procedure == v3.ProcReaddirplus)
	}
	return appendFailure(out, call.Procedure, v3.ErrNotSupp)
}

// appendFailure appends results that say status and nothing else.
func appendFailure(out []byte, procedure uint32, status v3.Status) []byte {
	switch procedure {
	case v3.ProcRead:
		return (&v3.ReadRes{Status: status}).Append(out)
	case v3.ProcWrite:
		return (&v3.WriteRes{Status: status}).Append(out)
	case v3.ProcCommit:
		return xdr.Append(out, &v3.CommitRes{Status: status})
	case v3.ProcGetattr:
		return xdr.Append(out, &v3.GetattrRes{Status: status})
	case v3.ProcLookup:
		return xdr.Append(out, &v3.LookupRes{Status: status})
	case v3.ProcCreate, v3.ProcMkdir:
		return xdr.Append(out, &v3.CreateRes{Status: status})
	case v3.ProcReaddir, v3.ProcReaddirplus:
		return xdr.Append(out, &v3.ReaddirRes{Status: status})
	case v3.ProcFsinfo:
		return xdr.Append(out, &v3.FsinfoRes{Status: status})
	case v3.ProcFsstat:
		return xdr.Append(out, &v3.FsstatRes{Status: status})
	}
	return xdr.Append(out, &v3.WccRes{Status: status})
}

func (s *Server) mount(out []byte, procedure uint32, d *xdr.Decoder) []byte {
	if procedure != mount.ProcMnt {
		return out
	}
	var args mount.PathArgs
	xdr.Decode(d, &args)
	res := mount.MntRes{Handle: handleOf(0), Flavors: []uint32{uint32(rpc.FlavorSys)}}
	if s.Flavors != nil {
		res.Flavors = s.Flavors
	}
	switch args.Path {
	case s.Export:
	case "/denied":
		res.Status = mount.ErrAcces
	default:
		res.Status = mount.ErrNoEnt
	}
	return xdr.Append(out, &res)
}

func (s *Server) read(out []byte, d *xdr.Decoder, limit uint32) []byte {
	var args v3.ReadArgs
	c := d.Coder()
	args.Code(&c)
	f := s.byHandle(args.Handle)
	if f == nil {
		return (&v3.ReadRes{Status: v3.ErrStale}).Append(out)
	}
	args.Count = min(args.Count, limit)
	from := min(args.Offset, uint64(len(f.data)))
	to := min(from+uint64(args.Count), uint64(len(f.data)))
	res := v3.ReadRes{
		Attr: v3.OptAttr{Present: true}, Count: uint32(to - from), EOF: to == uint64(len(f.data)), Data: f.data[from:to],
	}
	return res.Append(out)
}

func (s *Server) write(out []byte, d *xdr.Decoder, limit uint32) []byte {
	var args v3.WriteArgs
	c := d.Coder()
	args.Code(&c)
	f := s.byHandle(args.Handle)
	if f == nil || c.Failed() {
		return (&v3.WriteRes{Status: v3.ErrStale}).Append(out)
	}
	p := args.Data[:min(len(args.Data), int(limit))]
	f.write(args.Offset, p, args.Stable != v3.Unstable)
	res := v3.WriteRes{Count: uint32(len(p)), Committed: args.Stable, Verifier: s.verifier}
	return res.Append(out)
}

func (s *Server) commit(out []byte, d *xdr.Decoder) []byte {
	var args v3.CommitArgs
	xdr.Decode(d, &args)
	f := s.byHandle(args.Handle)
	if f == nil {
		return xdr.Append(out, &v3.CommitRes{Status: v3.ErrStale})
	}
	f.risky = false
	return xdr.Append(out, &v3.CommitRes{Verifier: s.verifier})
}

func (s *Server) getattr(out []byte, d *xdr.Decoder) []byte {
	var args v3.HandleArgs
	xdr.Decode(d, &args)
	f := s.byHandle(args.Handle)
	if f == nil {
		return xdr.Append(out, &v3.GetattrRes{Status: v3.ErrStale})
	}
	attr := v3.Attr{Type: v3.TypeRegular, Mode: 0o644, Nlink: 1, Size: uint64(len(f.data))}
	if f.dir {
		attr.Type, attr.Mode = v3.TypeDirectory, 0o755
	}
	return xdr.Append(out, &v3.GetattrRes{Attr: attr})
}
