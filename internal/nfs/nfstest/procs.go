package nfstest

import (
	"encoding/binary"

	"github.com/nfsbench/nfsbench/internal/nfs/mount"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// memFile is a file or the root directory.
type memFile struct {
	name   string
	dir    bool
	data   []byte
	stable []byte // what a crash leaves, once something unstable was written
	risky  bool
}

func (f *memFile) crash() {
	if f.risky {
		f.data, f.risky = f.stable, false
	}
}

func (f *memFile) write(off uint64, p []byte, stable bool) {
	if !stable && !f.risky {
		f.stable, f.risky = append([]byte(nil), f.data...), true
	}
	f.data = extend(f.data, off, p)
	if stable && f.risky {
		f.stable = extend(f.stable, off, p)
	}
}

func extend(data []byte, off uint64, p []byte) []byte {
	if need := int(off) + len(p); need > len(data) {
		data = append(data, make([]byte, need-len(data))...)
	}
	copy(data[off:], p)
	return data
}

func handleOf(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

func (s *Server) find(name string) (int, *memFile) {
	for i, f := range s.files {
		if f != nil && f.name == name && !f.dir {
			return i, f
		}
	}
	return 0, nil
}

func (s *Server) byHandle(h []byte) *memFile {
	if len(h) != 4 {
		return nil
	}
	i := int(binary.BigEndian.Uint32(h))
	if i >= len(s.files) {
		return nil
	}
	return s.files[i]
}

// answer appends the reply to the call in to out.
func (s *Server) answer(out, in []byte, address string) ([]byte, Action) {
	d := xdr.NewDecoder(in)
	var h rpc.CallHeader
	h.Decode(&d)
	action := Answer
	if s.Hook != nil {
		action = s.Hook(Call{Program: h.Program, Procedure: h.Procedure, XID: h.XID, Address: address})
	}
	if action == Drop || action == Disconnect {
		return out, action
	}
	reply := rpc.ReplyHeader{XID: h.XID}
	out = reply.Append(out)
	switch action {
	case TryLater:
		return (&v3.WccRes{Status: v3.ErrJukebox}).Append(out), action
	case NoSpace:
		return (&v3.WccRes{Status: v3.ErrNoSpc}).Append(out), action
	case Deny:
		return (&v3.WccRes{Status: v3.ErrAcces}).Append(out), action
	case Answer, Drop, Disconnect, Truncate, Garbage, Oversize:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.Program == mount.Program {
		return s.mount(out, h.Procedure, &d), action
	}
	return s.nfs(out, h.Procedure, &d), action
}

func (s *Server) mount(out []byte, procedure uint32, d *xdr.Decoder) []byte {
	if procedure != mount.ProcMnt {
		return out
	}
	var args mount.PathArgs
	args.Decode(d)
	res := mount.MntRes{Handle: handleOf(0), Flavors: []uint32{1}}
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
	return res.Append(out)
}

func (s *Server) nfs(out []byte, procedure uint32, d *xdr.Decoder) []byte {
	switch procedure {
	case v3.ProcRead:
		return s.read(out, d)
	case v3.ProcWrite:
		return s.write(out, d)
	case v3.ProcCommit:
		return s.commit(out, d)
	case v3.ProcFsinfo:
		return (&v3.FsinfoRes{ReadMax: s.MaxTransfer, WriteMax: s.MaxTransfer}).Append(out)
	case v3.ProcGetattr:
		return s.getattr(out, d)
	case v3.ProcLookup:
		return s.lookup(out, d)
	case v3.ProcCreate:
		return s.create(out, d)
	case v3.ProcRemove:
		return s.remove(out, d)
	case v3.ProcReaddirplus:
		return s.readdir(out)
	}
	return (&v3.WccRes{Status: v3.ErrNotSupp}).Append(out)
}

func (s *Server) read(out []byte, d *xdr.Decoder) []byte {
	var args v3.ReadArgs
	args.Decode(d)
	f := s.byHandle(args.Handle)
	if f == nil {
		return (&v3.ReadRes{Status: v3.ErrStale}).Append(out)
	}
	if s.ShortRead != 0 {
		args.Count = min(args.Count, s.ShortRead)
	}
	from := min(args.Offset, uint64(len(f.data)))
	to := min(from+uint64(args.Count), uint64(len(f.data)))
	res := v3.ReadRes{
		Attr: v3.OptAttr{Present: true}, Count: uint32(to - from), EOF: to == uint64(len(f.data)), Data: f.data[from:to],
	}
	return res.Append(out)
}

func (s *Server) write(out []byte, d *xdr.Decoder) []byte {
	var args v3.WriteArgs
	args.Decode(d)
	f := s.byHandle(args.Handle)
	if f == nil || d.Err() != nil {
		return (&v3.WriteRes{Status: v3.ErrStale}).Append(out)
	}
	p := args.Data
	if s.ShortRead != 0 && len(p) > int(s.ShortRead) {
		p = p[:s.ShortRead]
	}
	f.write(args.Offset, p, args.Stable != v3.Unstable)
	res := v3.WriteRes{Count: uint32(len(p)), Committed: args.Stable, Verifier: s.verifier}
	return res.Append(out)
}

func (s *Server) commit(out []byte, d *xdr.Decoder) []byte {
	var args v3.CommitArgs
	args.Decode(d)
	f := s.byHandle(args.Handle)
	if f == nil {
		return (&v3.CommitRes{Status: v3.ErrStale}).Append(out)
	}
	f.risky = false
	return (&v3.CommitRes{Verifier: s.verifier}).Append(out)
}

func (s *Server) getattr(out []byte, d *xdr.Decoder) []byte {
	var args v3.HandleArgs
	args.Decode(d)
	f := s.byHandle(args.Handle)
	if f == nil {
		return (&v3.GetattrRes{Status: v3.ErrStale}).Append(out)
	}
	return (&v3.GetattrRes{Attr: v3.Attr{Type: v3.TypeRegular, Size: uint64(len(f.data))}}).Append(out)
}

func (s *Server) lookup(out []byte, d *xdr.Decoder) []byte {
	var args v3.NameArgs
	args.Decode(d)
	i, f := s.find(args.Name)
	if f == nil {
		return (&v3.LookupRes{Status: v3.ErrNoEnt}).Append(out)
	}
	return (&v3.LookupRes{Handle: handleOf(i)}).Append(out)
}

func (s *Server) create(out []byte, d *xdr.Decoder) []byte {
	var args v3.CreateArgs
	args.Decode(d)
	i, f := s.find(args.Where.Name)
	if f != nil && args.How != v3.CreateUnchecked {
		return (&v3.CreateRes{Status: v3.ErrExist}).Append(out)
	}
	if f == nil {
		s.files = append(s.files, &memFile{name: args.Where.Name})
		i = len(s.files) - 1
	}
	return (&v3.CreateRes{HandlePresent: true, Handle: handleOf(i)}).Append(out)
}

func (s *Server) remove(out []byte, d *xdr.Decoder) []byte {
	var args v3.NameArgs
	args.Decode(d)
	i, f := s.find(args.Name)
	if f == nil {
		return (&v3.WccRes{Status: v3.ErrNoEnt}).Append(out)
	}
	s.files[i] = nil
	return (&v3.WccRes{}).Append(out)
}

func (s *Server) readdir(out []byte) []byte {
	res := v3.ReaddirRes{EOF: true}
	for i, f := range s.files {
		if f != nil && !f.dir {
			res.Entries = append(res.Entries, v3.DirEntry{Name: f.name, Cookie: uint64(i + 1)})
		}
	}
	return res.AppendPlus(out)
}
