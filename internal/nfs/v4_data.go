package nfs

import (
	"errors"

	"github.com/nfsbench/nfsbench/internal/nfs/layout"
	"github.com/nfsbench/nfsbench/internal/nfs/session"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// dataV4 is the stream.Protocol of NFSv4.0 and NFSv4.1: [SEQUENCE,] PUTFH, READ or WRITE.
type dataV4 struct {
	threads []threadV4
	layouts *layoutsV4 // of measured I/O with pNFS; otherwise nil
}

// threadV4 is the destination of a thread.
type threadV4 struct {
	server *serverV4
	table  *session.Table // nil with NFSv4.0
	group  int            // above 0 for a data server
	ds     *dataServer
	opens  int // index in the opens of a file
}

// fileV4 is the state of an open File: one open at each server with opens of its own.
type fileV4 struct {
	opens  []*openV4
	layout *layoutV4 // nil without pNFS
}

// inFlight is the bit of Part.Mark of a request that a data server has not answered.
const inFlight = 1 << 63

// Append implements stream.Protocol.
func (v *dataV4) Append(b []byte, p *stream.Part) ([]byte, error) {
	to := &v.threads[p.Thread]
	f := p.IO.State.(*fileV4) //nolint:errcheck,forcetypeassert // Prepare has put it there
	out, err := f.append(b, p, to)
	if err != nil && to.group > 0 {
		f.countInFlight(p, false)
		if !errors.Is(err, stream.ErrNoSlot) {
			// For any missing state, the metadata server decides whether to wait for it.
			err = stream.ErrElsewhere
		}
	}
	return out, err
}

// append appends the call of p for the destination of a thread.
func (f *fileV4) append(b []byte, p *stream.Part, to *threadV4) ([]byte, error) {
	o := f.opens[to.opens]
	state := o.state.Load()
	if state == nil {
		if broken := o.broken.Load(); broken != nil {
			return b, *broken
		}
		return b, o.server.notReady()
	}
	handle, offset := o.handle, p.Offset()
	if to.group > 0 {
		// A recall removes the layout and then waits for requests in flight.
		f.countInFlight(p, true)
		place, err := f.at(to.group, p)
		if err != nil {
			return b, err
		}
		offset = place.Offset
		if place.Handle != nil {
			handle = place.Handle
		}
	}
	out := append(b, to.server.head...)
	var mark uint64
	if to.table != nil {
		var err error
		out = v4.AppendCompoundHead(out, to.server.minor, 3)
		if out, mark, err = to.table.Append(out, p, state.generation, false); err != nil {
			return b, err
		}
	} else {
		out = v4.AppendCompoundHead(out, 0, 2)
	}
	p.Mark = p.Mark&inFlight | mark<<32&^inFlight | uint64(state.generation)
	out = v4.AppendPutFH(out, handle)
	if p.IO.Write {
		return v4.AppendWriteHead(out, &state.id, offset, v4.Stable(p.IO.Stable), p.Bytes()), nil
	}
	return v4.AppendRead(out, &state.id, offset, uint32(p.Bytes())), nil
}

// Notify implements stream.Slotted.
func (v *dataV4) Notify(ready func(thread, part int)) {
	for i := range v.threads {
		if t := v.threads[i].table; t != nil {
			t.Notify(ready)
		}
	}
}

// Forget implements stream.Slotted.
func (v *dataV4) Forget(p *stream.Part) {
	if t := v.threads[p.Thread].table; t != nil {
		t.Forget(p.ID)
	}
}

// Move implements stream.Slotted. A session that the other thread does not use drops the part.
func (v *dataV4) Move(p *stream.Part, thread int) {
	if v.threads[p.Thread].table != v.threads[thread].table {
		v.Forget(p)
	}
}

// at returns the place of a part at a data server, and an error if it is not there.
func (f *fileV4) at(group int, p *stream.Part) (layout.Place, error) {
	use := f.layout.use.Load()
	if use == nil {
		return layout.Place{}, stream.ErrElsewhere
	}
	place, ok := use.Find(p.Offset(), p.IO.Write)
	if !ok || use.groups[place.Segment][place.Server] != group || place.Bytes < uint64(p.Bytes()) {
		return layout.Place{}, stream.ErrElsewhere
	}
	return place, nil
}

// countInFlight counts the unanswered requests at data servers.
func (f *fileV4) countInFlight(p *stream.Part, begins bool) {
	if counted := p.Mark&inFlight != 0; counted != begins {
		p.Mark ^= inFlight
		if begins {
			f.layout.flight.Add(1)
		} else {
			f.layout.flight.Add(-1)
		}
	}
}

// isUnstable reports whether the metadata server must write the data, because COMMIT goes to it.
func isUnstable(io *stream.IO) bool { return io.Write && io.Stable == stream.Unstable }

// Lost implements stream.Router.
func (v *dataV4) Lost(p *stream.Part, err error) {
	if v.threads[p.Thread].group == 0 {
		return
	}
	f := p.IO.State.(*fileV4) //nolint:errcheck,forcetypeassert // Prepare has put it there
	f.countInFlight(p, false)
	if err != nil {
		f.layout.drop()
	}
}

// Route implements stream.Router.
func (v *dataV4) Route(io *stream.IO, at int) (group, bytes int) {
	f := io.State.(*fileV4) //nolint:errcheck,forcetypeassert // Prepare has put it there
	left := len(io.Buf) - at
	use := f.layout.use.Load()
	if use == nil || isUnstable(io) {
		return 0, left
	}
	offset := uint64(io.Offset) + uint64(at)
	place, ok := use.Find(offset, io.Write)
	if !ok {
		return 0, int(min(use.Gap(offset, io.Write), uint64(left))) //nolint:gosec // at most left
	}
	return use.groups[place.Segment][place.Server], int(min(place.Bytes, uint64(left))) //nolint:gosec // at most left
}

// Decode implements stream.Protocol.
func (v *dataV4) Decode(d *xdr.Decoder, p *stream.Part) (r stream.Results) {
	to := &v.threads[p.Thread]
	var sequence v4.SequenceHead
	var op v4.Op
	var status v4.Status
	if p.IO.Write {
		var h v4.WriteHead
		v4.DecodeWriteHead(d, to.table != nil, &h)
		op, status, sequence = h.Op, h.Status, h.Sequence
		r.Count, r.Committed = int(h.Count), stream.Stability(h.Committed)
		r.Verifier = stream.Verifier{Server: to.opens, Value: h.Verifier}
	} else {
		var h v4.ReadHead
		v4.DecodeReadHead(d, to.table != nil, &h)
		op, status, sequence = h.Op, h.Status, h.Sequence
		r.Data, r.Count, r.EOF = h.Data, h.Data, h.EOF
	}
	if d.Err() != nil {
		return r
	}
	s := to.server
	f := p.IO.State.(*fileV4) //nolint:errcheck,forcetypeassert // Prepare has put it there
	if to.group > 0 {
		f.countInFlight(p, false)
	}
	if to.table != nil {
		if sequence.Flags != 0 {
			s.look(sequence.Flags)
		}
		switch next, err := s.session(to.table, p.ID, p.Mark&^inFlight>>32, op, status, &sequence); {
		case err != nil:
			return stream.Results{Next: next, Err: err}
		case next != stream.Finish:
			return stream.Results{Next: to.instead(next), Err: status}
		}
	}
	switch {
	case to.group > 0:
		return f.fromDataServer(r, p, status)
	case status == v4.OK:
		if !isUnstable(p.IO) {
			v.layouts.count(r.Count)
		}
		return r
	}
	r = stream.Results{Err: status}
	if next, ours := f.opens[to.opens].refused(uint32(p.Mark), status); ours { //nolint:gosec // the lower half
		r.Next = next
		return r
	}
	r.Next = s.next(status, s.era.Load())
	return r
}

// instead returns the replacement for next: I/O need not wait for the session of a data server.
func (to *threadV4) instead(next stream.Next) stream.Next {
	if next == stream.Recover && to.group > 0 {
		return stream.Elsewhere
	}
	return next
}

// count counts an I/O through the metadata server. The receiver may be nil.
func (l *layoutsV4) count(bytes int) {
	if l != nil {
		l.fallbacks.Add(1)
		l.fallbackBytes.Add(int64(bytes))
	}
}

// fromDataServer returns the next step after the answer of a data server. A refusal is no error of the I/O: the I/O
// then goes to the metadata server, and the client requests another layout.
func (f *fileV4) fromDataServer(r stream.Results, p *stream.Part, status v4.Status) stream.Results {
	switch {
	case status == v4.ErrDelay:
		return stream.Results{Next: stream.Delay, Err: status}
	case status == v4.ErrGrace:
		return stream.Results{Next: stream.Elsewhere, Err: status}
	case status != v4.OK, p.Check(&r) != nil:
		f.layout.drop()
		return stream.Results{Next: stream.Elsewhere, Err: status}
	case p.IO.Write:
		f.layout.wrote(int64(p.Offset()) + int64(r.Count)) //nolint:gosec // offsets of files are below 2^63
	case r.Count < p.Bytes():
		// The data server's data ends here or has a hole; the metadata server knows the end of the file (RFC 8881 section
		// 13.10).
		r.Next = stream.Elsewhere
	}
	return r
}

// wrote records how far the file was written through the layout.
func (f *layoutV4) wrote(end int64) {
	for {
		old := f.written.Load()
		if end <= old || f.written.CompareAndSwap(old, end) {
			return
		}
	}
}
