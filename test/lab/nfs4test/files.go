package nfs4test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
)

// content is bytes, and what of them a crash leaves.
type content struct {
	data   []byte
	stable []byte // once something unstable was written
	risky  bool
	file   *file // at a data server: whose bytes these are
}

func (c *content) write(off uint64, p []byte, stable bool) {
	if !stable && !c.risky {
		c.stable, c.risky = bytes.Clone(c.data), true
	}
	c.data = extend(c.data, off, p)
	if stable && c.risky {
		c.stable = extend(c.stable, off, p)
	}
}

func (c *content) crash() { c.data, c.stable, c.risky = c.stable, nil, false }

func extend(data []byte, off uint64, p []byte) []byte {
	if need := int(off) + len(p); need > len(data) {
		data = append(data, make([]byte, need-len(data))...)
	}
	copy(data[off:], p)
	return data
}

// file is a file or a directory.
type file struct {
	content
	id      uint64
	name    string
	parent  *file
	dir     bool
	fs      uint64 // 0: the pseudo file system
	size    uint64
	change  uint64
	mode    uint32
	created v4.Verifier // of an exclusive OPEN
	removed bool

	segments []layout.Segment
	layout   *layout.Layout // nil: all bytes are in content
}

// storeKey names bytes at a data server: by so_major_id and handle.
type storeKey struct{ server, handle string }

func (f *file) handle() []byte { return binary.BigEndian.AppendUint64([]byte("file"), f.id) }

// makePseudo makes the pseudo file system and the exports.
func (s *Server) makePseudo() {
	s.files = nil
	root := s.add(nil, "", true, 0)
	for i, path := range s.Exports {
		at := root
		names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
		for _, name := range names {
			next := s.find(at, name)
			if next == nil {
				next = s.add(at, name, true, at.fs)
			}
			at = next
		}
		at.fs = uint64(i + 1)
	}
}

func (s *Server) add(parent *file, name string, dir bool, fs uint64) *file {
	f := &file{id: uint64(len(s.files) + 1), name: name, parent: parent, dir: dir, fs: fs, mode: 0o755, change: 1}
	if !dir {
		f.mode = 0o644
	}
	s.files = append(s.files, f)
	if parent != nil {
		parent.change++
	}
	if s.layoutOf != nil && !dir {
		s.lay(f, s.layoutOf(name))
	}
	return f
}

func (s *Server) find(dir *file, name string) *file {
	for _, f := range s.files {
		if !f.removed && f.parent == dir && f.name == name {
			return f
		}
	}
	return nil
}

// AddFile makes a file in the first export.
func (s *Server) AddFile(name string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.add(s.walk(s.Exports[0]), name, false, 1)
	s.writeFile(f, 0, data, true)
}

// Content returns a copy of the file at a path below the first export, as the metadata
// server sees it; nil where there is none.
func (s *Server) Content(path string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.walk(s.Exports[0] + "/" + path)
	if f == nil || f.dir {
		return nil
	}
	return append([]byte{}, s.readFile(f, 0, f.size)...)
}

// walk returns what a path of the pseudo file system names, or nil.
func (s *Server) walk(path string) *file {
	at := s.files[0]
	for name := range strings.SplitSeq(path, "/") {
		if name == "" || at == nil {
			continue
		}
		at = s.find(at, name)
	}
	return at
}

// crash undoes what was not stable at a server.
func (s *Server) crash(d *domain, id Identity) {
	d.verifier[0]++
	for key, c := range s.stores {
		if key.server == id.Major && c.risky {
			c.crash()
		}
	}
	for _, f := range s.files {
		switch {
		case id.Data && f.committedThrough():
			// One verifier for all (RFC 8881 13.7).
			for _, other := range s.domains {
				other.verifier = d.verifier
			}
		case !id.Data && f.risky:
			f.crash()
			f.size = uint64(len(f.data))
		}
	}
}

// span calls do for each piece of the bytes of a file, with the content that holds it.
func (s *Server) span(f *file, off, n uint64, do func(c *content, at, from, to uint64)) {
	for from := uint64(0); from < n; {
		c, at, to := &f.content, off+from, n
		if f.layout != nil {
			if p, ok := f.layout.Find(off+from, false); ok {
				c, at, to = s.store(f, p), p.Offset, min(n, from+p.Bytes)
			} else {
				to = from + 1
			}
		}
		do(c, at, from, to)
		from = to
	}
}

// readFile returns bytes of a file, which must not be changed.
func (s *Server) readFile(f *file, off, n uint64) []byte {
	off = min(off, f.size)
	if f.layout == nil {
		return f.data[off:min(off+n, f.size)]
	}
	out := make([]byte, min(n, f.size-off))
	s.span(f, off, uint64(len(out)), func(c *content, at, from, to uint64) {
		copy(out[from:to], c.data[min(at, uint64(len(c.data))):])
	})
	return out
}

func (s *Server) writeFile(f *file, off uint64, p []byte, stable bool) {
	s.span(f, off, uint64(len(p)), func(c *content, at, from, to uint64) { c.write(at, p[from:to], stable) })
	f.size = max(f.size, off+uint64(len(p)))
	f.change++
}

// lastAttrOf40 is the highest attribute of NFSv4.0, mounted_on_fileid.
const lastAttrOf40 = 55

func (x *compound) attrs(f *file, request v4.Bitmap) v4.Attrs {
	s := x.s
	a := v4.Attrs{
		Mask: request, Type: v4.TypeRegular, Size: f.size, FSID: v4.FSID{Major: f.fs}, LeaseSeconds: s.LeaseSeconds,
		MaxRead: uint64(s.MaxTransfer), MaxWrite: uint64(s.MaxTransfer), Mode: f.mode, NumLinks: max(1, s.NumLinks), Owner: "1000", OwnerGroup: "1000",
		SpaceAvail: 1 << 40, SpaceTotal: 1 << 40, FSLayoutTypes: s.layoutTypes(), FSLocations: s.FSLocations,
	}
	if f.dir {
		a.Type = v4.TypeDirectory
	}
	if x.Minor == 0 {
		a.Mask = slices.Clone(request[:min(len(request), 2)])
		if len(a.Mask) == 2 {
			a.Mask[1] &= 1<<(lastAttrOf40-31) - 1
		}
	}
	return a
}

// entriesPerReply is how many names a READDIR brings at most.
const entriesPerReply = 16

// cookieBase keeps clear of the cookies 0, 1 and 2, which are reserved (RFC 8881 18.23.3).
const cookieBase = 3

func (x *compound) readDir(o *v4.ReadDir) v4.Status {
	if x.file == nil || !x.file.dir {
		return v4.ErrNotDir
	}
	verifier := v4.Verifier{'d', 'i', 'r'}
	if o.Cookie != 0 && o.CookieVerifier != verifier {
		x.s.violate("READDIR with a cookie and another verifier")
		return v4.ErrNotSame
	}
	o.Verifier, o.EOF = verifier, true
	for _, f := range x.s.files {
		if f.removed || f.parent != x.file || f.id+cookieBase <= o.Cookie {
			continue
		}
		if len(o.Entries) == entriesPerReply {
			o.EOF = false
			break
		}
		a := x.attrs(f, o.Request)
		e := v4.DirEntry{Cookie: f.id + cookieBase, Name: f.name}
		e.AttrMask, e.AttrValues = a.Values()
		o.Entries = append(o.Entries, e)
	}
	return v4.OK
}

func (x *compound) putFH(handle []byte) v4.Status {
	x.file, x.store = nil, nil
	if x.id.Data {
		x.store = x.s.stores[storeKey{x.id.Major, string(handle)}]
		if x.store == nil {
			return v4.ErrStale
		}
		return v4.OK
	}
	id, ok := bytes.CutPrefix(handle, []byte("file"))
	if !ok || len(id) != 8 {
		return v4.ErrBadHandle
	}
	i := binary.BigEndian.Uint64(id) - 1
	if i >= uint64(len(x.s.files)) || x.s.files[i].removed {
		return v4.ErrStale
	}
	x.file = x.s.files[i]
	return v4.OK
}

func (x *compound) lookup(name string) v4.Status {
	if !x.file.dir {
		return v4.ErrNotDir
	}
	f := x.s.find(x.file, name)
	if f == nil {
		return v4.ErrNoEnt
	}
	x.file = f
	return v4.OK
}

func (x *compound) create(o *v4.Create) v4.Status {
	switch {
	case !x.file.dir:
		return v4.ErrNotDir
	case x.file.fs == 0:
		return v4.ErrROFS
	case x.s.find(x.file, o.Name) != nil:
		return v4.ErrExist
	}
	o.Change.Before = x.file.change
	dir := x.file
	x.file = x.s.add(dir, o.Name, true, dir.fs)
	o.AttrSet = x.setAttrs(x.file, &o.Attrs)
	o.Change.After = dir.change
	return v4.OK
}

func (x *compound) remove(o *v4.Remove) v4.Status {
	if !x.file.dir {
		return v4.ErrNotDir
	}
	f := x.s.find(x.file, o.Name)
	switch {
	case f == nil:
		return v4.ErrNoEnt
	case f.fs == 0 || x.file.fs == 0:
		return v4.ErrROFS
	case slices.ContainsFunc(x.s.files, func(k *file) bool { return k.parent == f && !k.removed }):
		return v4.ErrNotEmpty
	}
	o.Change.Before = x.file.change
	f.removed = true
	x.file.change++
	o.Change.After = x.file.change
	return v4.OK
}

// rename replaces a file that has the new name.
func (x *compound) rename(o *v4.Rename) v4.Status {
	if x.saved == nil {
		x.s.violate("RENAME without a saved file handle")
		return v4.ErrNoFileHandle
	}
	if !x.saved.dir || !x.file.dir {
		return v4.ErrNotDir
	}
	f, old := x.s.find(x.saved, o.From), x.s.find(x.file, o.To)
	switch {
	case f == nil:
		return v4.ErrNoEnt
	case f.fs == 0 || x.file.fs == 0:
		return v4.ErrROFS
	case old != nil && (old.dir || f.dir):
		return v4.ErrExist
	}
	o.FromChange.Before, o.ToChange.Before = x.saved.change, x.file.change
	if old != nil && old != f {
		old.removed = true
	}
	f.name, f.parent = o.To, x.file
	x.saved.change++
	x.file.change++
	o.FromChange.After, o.ToChange.After = x.saved.change, x.file.change
	return v4.OK
}

// setAttrs sets mode and size, and returns which it did.
func (x *compound) setAttrs(f *file, a *v4.Attrs) v4.Bitmap {
	var set v4.Bitmap
	if a.Mask.Has(v4.AttrSize) && !f.dir {
		x.s.truncate(f, a.Size)
		set.Set(v4.AttrSize)
	}
	if a.Mask.Has(v4.AttrMode) {
		f.mode = a.Mode
		set.Set(v4.AttrMode)
	}
	f.change++
	return set
}

// truncate makes a file as long as size. What it loses is lost everywhere.
func (s *Server) truncate(f *file, size uint64) {
	if size < f.size {
		s.writeFile(f, size, make([]byte, f.size-size), true)
	}
	if f.layout == nil {
		f.data = append(f.data[:min(size, uint64(len(f.data)))], make([]byte, size-min(size, uint64(len(f.data))))...)
		f.risky = false
	}
	f.size = size
}
