package nfs

import (
	"github.com/nfsbench/nfsbench/internal/nfs/session"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// dataV4 is the stream.Protocol of NFSv4.0 and NFSv4.1: [SEQUENCE,] PUTFH, READ or WRITE.
type dataV4 struct {
	lanes []laneV4
}

// laneV4 is where a lane leads to.
type laneV4 struct {
	server *serverV4
	table  *session.Table // nil with NFSv4.0
	opens  int            // which of the opens of a file is good there
}

// fileV4 is the state of an open File: an open at each server that has its own.
type fileV4 struct {
	opens []*openV4
}

// Append implements stream.Protocol.
func (v *dataV4) Append(b []byte, p *stream.Part) ([]byte, error) {
	to := &v.lanes[p.Lane]
	f := p.IO.State.(*fileV4) //nolint:errcheck,forcetypeassert // Prepare has put it there
	o := f.opens[to.opens]
	id := o.state.Load()
	if id == nil {
		if broken := o.broken.Load(); broken != nil {
			return b, *broken
		}
		return b, stream.ErrNotReady
	}
	generation := o.generation.Load()
	out := append(b, to.server.head...)
	var mark uint64
	if to.table != nil {
		var err error
		out = v4.AppendCompoundHead(out, to.server.minor, 3)
		if out, mark, err = to.table.Append(out, p.ID, p.Serial, false); err != nil {
			return b, err
		}
	} else {
		out = v4.AppendCompoundHead(out, 0, 2)
	}
	p.Mark = mark<<32 | uint64(generation)
	out = v4.AppendPutFH(out, o.handle)
	if p.IO.Write {
		return v4.AppendWriteHead(out, id, p.Offset(), v4.Stable(p.IO.Stable), p.Bytes()), nil
	}
	return v4.AppendRead(out, id, p.Offset(), uint32(p.Bytes())), nil
}

// Decode implements stream.Protocol.
func (v *dataV4) Decode(d *xdr.Decoder, p *stream.Part) (r stream.Results) {
	to := &v.lanes[p.Lane]
	var sequence v4.SequenceHead
	var op v4.Op
	var status v4.Status
	if p.IO.Write {
		var h v4.WriteHead
		v4.DecodeWriteHead(d, to.table != nil, &h)
		op, status, sequence = h.Op, h.Status, h.Sequence
		r.Count, r.Committed, r.Verifier = int(h.Count), stream.Stability(h.Committed), h.Verifier
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
	if to.table != nil {
		if sequence.Flags != 0 {
			s.look(sequence.Flags)
		}
		if next := s.session(to.table, p.ID, p.Mark>>32, op, status); next != stream.Finish {
			return stream.Results{Next: next, Err: status}
		}
	}
	if status == v4.OK {
		return r
	}
	r = stream.Results{Err: status}
	f := p.IO.State.(*fileV4)                                                  //nolint:errcheck,forcetypeassert // Prepare has put it there
	if next, ours := f.opens[to.opens].refused(uint32(p.Mark), status); ours { //nolint:gosec // the lower half
		r.Next = next
		return r
	}
	r.Next = s.next(status)
	return r
}
