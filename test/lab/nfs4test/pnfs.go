package nfs4test

import (
	"encoding/binary"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// lay gives a new file its layout, and makes room for its bytes at the data servers.
func (s *Server) lay(f *file, segments []layout.Segment) {
	if segments == nil {
		return
	}
	l, err := layout.New(segments)
	if err != nil {
		panic(err) // of the test
	}
	f.segments, f.layout = segments, l
	for i := range segments {
		g := &segments[i]
		for at, server := range g.Device.StripeIndices {
			p := layout.Place{Segment: i, Server: int(server)}
			switch {
			case g.Body.Dense:
				p.Handle = g.Body.Handles[at]
			case len(g.Body.Handles) == 1:
				p.Handle = g.Body.Handles[0]
			case len(g.Body.Handles) > 1:
				p.Handle = g.Body.Handles[server]
			}
			key := s.storeKey(f, p)
			if s.stores[key] == nil {
				s.stores[key] = &content{file: f}
			}
		}
	}
}

// storeKey names the bytes of a place. All addresses of a data server are one server.
func (s *Server) storeKey(f *file, p layout.Place) storeKey {
	ap, err := f.segments[p.Segment].Device.Servers[p.Server][0].AddrPort()
	if err != nil {
		panic(err) // of the test
	}
	if p.Handle == nil {
		p.Handle = f.handle()
	}
	return storeKey{s.identity(ap.Addr().String()).Major, string(p.Handle)}
}

func (s *Server) store(f *file, p layout.Place) *content { return s.stores[s.storeKey(f, p)] }

// commitThrough commits at the data servers what the layout says the metadata server commits.
func (s *Server) commitThrough(f *file) {
	if !f.committedThrough() {
		return
	}
	for _, c := range s.stores {
		if c.file == f {
			c.risky = false
		}
	}
}

func (f *file) committedThrough() bool {
	return slices.ContainsFunc(f.segments, func(g layout.Segment) bool { return g.Body.CommitThroughMDS })
}

func (s *Server) layoutTypes() []uint32 {
	if s.LayoutTypes == nil && s.layoutOf != nil {
		return []uint32{v4.LayoutFiles}
	}
	return s.LayoutTypes
}

// allowedAtDataServer is RFC 8881 13.6.
func (x *compound) allowedAtDataServer(op v4.Op) v4.Status {
	switch op {
	case v4.OpExchangeID, v4.OpCreateSession, v4.OpDestroySession, v4.OpDestroyClientID, v4.OpBindConnToSession,
		v4.OpSequence, v4.OpPutFH, v4.OpRead, v4.OpWrite, v4.OpCommit, v4.OpReclaimComplete:
		return v4.OK
	default:
		x.s.violate("%s at a data server", op)
		return v4.ErrNotSupp
	}
}

// dataServerIO checks a READ or WRITE at a data server: the state ID is that of an open at
// the metadata server, whose client has a layout.
func (x *compound) dataServerIO(id v4.StateID, off, n uint64, write bool) v4.Status {
	var open *state
	for _, d := range x.s.domains {
		if st := d.states[id.Other]; st != nil && st.kind == openState {
			open = st
		}
	}
	access := uint32(v4.ShareRead)
	if write {
		access = v4.ShareWrite
	}
	switch {
	case open == nil && !x.s.took(id):
		x.s.violate("I/O at a data server with a state ID that was closed or never given")
		return v4.ErrBadStateID
	case open == nil || open.revoked:
		return v4.ErrStaleStateID
	case id.Seq != 0 && id.Seq != open.id.Seq:
		return v4.ErrOldStateID
	case open.file != x.store.file || open.client.owner != x.client.owner:
		x.s.violate("I/O at a data server with the state ID of another file or client")
		return v4.ErrBadStateID
	case open.access&access == 0:
		x.s.violate("I/O at a data server with an open for access %d", open.access)
		return v4.ErrOpenMode
	case layoutHeld(open) == nil:
		return v4.ErrPNFSNoLayout
	}
	if x.inHole(off, n) {
		x.s.violate("I/O of %d bytes at %d of a data server, where it has a hole", n, off)
		return v4.ErrPNFSIOHole
	}
	return v4.OK
}

// took reports whether a server has taken the state away, or has restarted since. A server
// that restarted began with the boot number that its states have.
func (s *Server) took(id v4.StateID) bool {
	boot := binary.BigEndian.Uint32(id.Other[:])
	for _, d := range s.domains {
		if d.taken[id.Other] || boot > 0 && boot < d.boot {
			return true
		}
	}
	return false
}

// inHole reports whether a sparsely packed layout has bytes of the range elsewhere.
func (x *compound) inHole(off, n uint64) bool {
	f := x.store.file
	for from := off; from < off+n; {
		p, ok := f.layout.Find(from, false)
		if !ok || f.segments[p.Segment].Body.Dense {
			return false
		}
		if x.s.store(f, p) != x.store {
			return true
		}
		from += p.Bytes
	}
	return false
}

func layoutHeld(open *state) *state {
	for _, st := range open.client.states {
		if st.kind == layoutState && st.file == open.file {
			return st
		}
	}
	return nil
}

func (x *compound) layoutGet(o *v4.LayoutGet) v4.Status {
	st, status := x.stateOf(o.StateID, o.Op(), openState, layoutState)
	switch {
	case status != v4.OK:
		return status
	case o.Type != v4.LayoutFiles:
		return v4.ErrUnknownLayoutType
	case x.file.segments == nil:
		return v4.ErrLayoutUnavailable
	case o.IOMode != v4.IOModeRead && o.IOMode != v4.IOModeReadWrite || o.Length == 0 || o.MaxCount == 0:
		x.s.violate("LAYOUTGET of I/O mode %d, length %d, maxcount %d", o.IOMode, o.Length, o.MaxCount)
		return v4.ErrInval
	}
	for i := range x.file.segments {
		g := &x.file.segments[i]
		ends := g.Length != v4.ToEnd && g.Offset+g.Length <= o.Offset
		begins := o.Length != v4.ToEnd && g.Offset >= o.Offset+o.Length
		if ends || begins || o.IOMode == v4.IOModeReadWrite && g.IOMode == v4.IOModeRead {
			continue
		}
		o.Segments = append(o.Segments, v4.Segment{
			Offset: g.Offset, Length: g.Length, IOMode: g.IOMode, Type: v4.LayoutFiles, Body: xdr.Append(nil, &g.Body),
		})
	}
	if o.Segments == nil {
		return v4.ErrLayoutUnavailable
	}
	held := layoutHeld(st)
	if held == nil {
		held = x.newState(layoutState, st.client, "", x.file)
	} else {
		held.id.Seq++
	}
	o.Granted, o.ReturnOnClose = held.id, x.s.ReturnOnClose
	return v4.OK
}

func (x *compound) getDeviceInfo(o *v4.GetDeviceInfo) v4.Status {
	if o.Type != v4.LayoutFiles {
		return v4.ErrUnknownLayoutType
	}
	for _, f := range x.s.files {
		for i := range f.segments {
			if g := &f.segments[i]; g.Body.Device == o.Device {
				o.AddressType, o.Address, o.Notified = o.Type, xdr.Append(nil, g.Device), o.Notify
				if need := uint32(len(o.Address)) + 8; o.MaxCount != 0 && o.MaxCount < need {
					o.MinCount = need
					return v4.ErrTooSmall
				}
				return v4.OK
			}
		}
	}
	return v4.ErrNoEnt
}

func (x *compound) layoutCommit(o *v4.LayoutCommit) v4.Status {
	st, status := x.stateOf(o.StateID, o.Op(), layoutState)
	if status != v4.OK {
		return status
	}
	if o.HasLastWrite {
		st.file.size = max(st.file.size, o.LastWrite+1)
	}
	st.file.change++
	o.SizeChanged, o.Size = true, st.file.size
	return v4.OK
}

func (x *compound) layoutReturn(o *v4.LayoutReturn) v4.Status {
	x.s.counters[x.c.address].LayoutReturns++
	if o.Extent != v4.LayoutOfFile {
		for _, st := range x.client.states {
			if st.kind == layoutState {
				x.d.drop(st)
			}
		}
		return v4.OK
	}
	if x.file == nil {
		x.s.violate("LAYOUTRETURN of a file without a current file handle")
		return v4.ErrNoFileHandle
	}
	st, status := x.stateOf(o.StateID, o.Op(), layoutState)
	if status != v4.OK {
		return status
	}
	if o.Offset == 0 && o.Length == v4.ToEnd && o.IOMode != v4.IOModeRead {
		x.d.drop(st)
		return v4.OK
	}
	st.id.Seq++
	o.HasLeft, o.Left = true, st.id
	return v4.OK
}

// closeLayouts gives layouts back with the last CLOSE of a file, where the server said so.
func (x *compound) closeLayouts(closing *state) {
	if !x.s.ReturnOnClose {
		return
	}
	for _, st := range closing.client.states {
		if st != closing && st.kind == openState && st.file == closing.file {
			return
		}
	}
	if held := layoutHeld(closing); held != nil {
		x.d.drop(held)
	}
}
