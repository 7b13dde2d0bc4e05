package nfstest

import (
	"encoding/binary"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/v3"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// memFile is a file or a directory.
type memFile struct {
	name   string
	parent int // index of the directory; -1 of the root
	dir    bool
	data   []byte
	stable []byte // what a crash leaves, once something unstable was written
	risky  bool
}

// crash undoes what was not stable and returns how many bytes that changes.
func (f *memFile) crash() (forgotten int64) {
	if !f.risky {
		return 0
	}
	forgotten = int64(len(f.data) - len(f.stable))
	for i, b := range f.stable {
		if f.data[i] != b {
			forgotten++
		}
	}
	f.data, f.risky = f.stable, false
	return forgotten
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

// index returns which file a handle names, or -1.
func (s *Server) index(h []byte) int {
	if len(h) != 4 {
		return -1
	}
	i := int(binary.BigEndian.Uint32(h))
	if i >= len(s.files) || s.files[i] == nil {
		return -1
	}
	return i
}

func (s *Server) byHandle(h []byte) *memFile {
	if i := s.index(h); i >= 0 {
		return s.files[i]
	}
	return nil
}

// find returns the file of that name in a directory, or -1.
func (s *Server) find(dir int, name string) int {
	for i, f := range s.files {
		if f != nil && f.parent == dir && f.name == name {
			return i
		}
	}
	return -1
}

func (s *Server) lookup(out []byte, d *xdr.Decoder) []byte {
	var args v3.NameArgs
	xdr.Decode(d, &args)
	dir := s.index(args.Dir)
	if dir < 0 {
		return xdr.Append(out, &v3.LookupRes{Status: v3.ErrStale})
	}
	i := s.find(dir, args.Name)
	if i < 0 {
		return xdr.Append(out, &v3.LookupRes{Status: v3.ErrNoEnt})
	}
	return xdr.Append(out, &v3.LookupRes{Handle: handleOf(i)})
}

// create makes a file, or a directory, which nobody can have made before.
func (s *Server) create(out []byte, d *xdr.Decoder, isDir bool) []byte {
	var args v3.CreateArgs
	if isDir {
		var m v3.MkdirArgs
		xdr.Decode(d, &m)
		args.Where, args.How = m.Where, v3.CreateGuarded
	} else {
		xdr.Decode(d, &args)
	}
	dir := s.index(args.Where.Dir)
	if dir < 0 {
		return xdr.Append(out, &v3.CreateRes{Status: v3.ErrStale})
	}
	i := s.find(dir, args.Where.Name)
	if i >= 0 && args.How != v3.CreateUnchecked {
		return xdr.Append(out, &v3.CreateRes{Status: v3.ErrExist})
	}
	if i < 0 {
		i = len(s.files)
		s.files = append(s.files, &memFile{name: args.Where.Name, parent: dir, dir: isDir})
	}
	return xdr.Append(out, &v3.CreateRes{HandlePresent: true, Handle: handleOf(i)})
}

func (s *Server) remove(out []byte, d *xdr.Decoder, wantDir bool) []byte {
	var args v3.NameArgs
	xdr.Decode(d, &args)
	dir := s.index(args.Dir)
	if dir < 0 {
		return xdr.Append(out, &v3.WccRes{Status: v3.ErrStale})
	}
	i := s.find(dir, args.Name)
	status := v3.OK
	switch {
	case i < 0:
		status = v3.ErrNoEnt
	case s.files[i].dir && !wantDir:
		status = v3.ErrIsDir
	case !s.files[i].dir && wantDir:
		status = v3.ErrNotDir
	case wantDir && len(s.names(i)) > 0:
		status = v3.ErrNotEmpty
	default:
		s.files[i] = nil
	}
	return xdr.Append(out, &v3.WccRes{Status: status})
}

func (s *Server) names(dir int) []v3.DirEntry {
	var all []v3.DirEntry
	for i, f := range s.files {
		if f != nil && f.parent == dir && i != 0 {
			all = append(all, v3.DirEntry{FileID: uint64(i), Name: f.name, Cookie: uint64(i + 1)})
		}
	}
	return all
}

// EntriesPerReply is how many names a READDIR or READDIRPLUS brings at most.
const EntriesPerReply = 16

func (s *Server) readdir(out []byte, d *xdr.Decoder, plus bool) []byte {
	args := v3.ReaddirArgs{Plus: plus}
	xdr.Decode(d, &args)
	dir := s.index(args.Handle)
	if dir < 0 {
		return xdr.Append(out, &v3.ReaddirRes{Plus: plus, Status: v3.ErrStale})
	}
	all := s.names(dir)
	from := slices.IndexFunc(all, func(e v3.DirEntry) bool { return e.Cookie > args.Cookie })
	if from < 0 {
		from = len(all)
	}
	to := min(from+EntriesPerReply, len(all))
	return xdr.Append(out, &v3.ReaddirRes{Plus: plus, Entries: all[from:to], EOF: to == len(all)})
}
