package nfs4test

import (
	"encoding/binary"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
	"github.com/nfsbench/nfsbench/test/nfs4wire"
)

// fast is the memory of a connection for READ and WRITE, so that tests can count what the
// client allocates in the same process.
type fast struct {
	x        compound
	sequence v4.Sequence
	put      v4.PutFH
	read     nfs4wire.Read
	write    nfs4wire.Write
	out      []byte
}

// takeFast handles a compound of SEQUENCE (NFSv4.1 only, not to be cached), PUTFH and READ or
// WRITE without allocating. It does not take any other call, nor one that a Hook looks at.
func (s *Server) takeFast(c *conn, in []byte) (taken bool) {
	if s.Hook != nil {
		return false
	}
	f := &c.fast
	d := xdr.NewDecoder(in)
	coder := d.Coder()
	var h rpc.CallHeader
	h.Code(&coder)
	args := coder.Decoder()
	f.x = compound{s: s, c: c, bytes: len(in), args: in[args.Offset():]}
	last, ok := f.decode(&args)
	if !ok || h.Program != v4.Program || h.Version != v4.Version || h.Procedure != v4.ProcCompound {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &f.x
	if x.id, x.d = s.identity(c.address), s.domain(c.address); c.dead || !f.isNext() {
		return false
	}
	s.counters[c.address].Compounds++
	head := rpc.ReplyHeader{XID: h.XID}
	f.out = head.Append(append(f.out[:0], 0, 0, 0, 0))
	f.run(last)
	return true
}

// decode reads the compound, and returns its last operation.
func (f *fast) decode(d *xdr.Decoder) (last v4.Op, ok bool) {
	tag, minor, ops := d.Uint32(), d.Uint32(), d.Uint32()
	if f.x.Minor = minor; tag != 0 || minor > 1 || ops != 2+minor {
		return 0, false
	}
	c := d.Coder()
	var op uint32
	if minor == 1 {
		if c.Uint32(&op); v4.Op(op) != v4.OpSequence {
			return 0, false
		}
		f.sequence.Args(&c)
	}
	if c.Uint32(&op); v4.Op(op) != v4.OpPutFH {
		return 0, false
	}
	f.put.Args(&c)
	switch c.Uint32(&op); v4.Op(op) {
	case v4.OpRead:
		f.read.Args(&c)
	case v4.OpWrite:
		f.write.Args(&c)
	default:
		return 0, false
	}
	rest := c.Decoder()
	return v4.Op(op), rest.Err() == nil && rest.Len() == 0
}

// isNext reports whether the request is the next one of its slot, and thus no retry.
func (f *fast) isNext() bool {
	x, q := &f.x, &f.sequence
	if x.Minor == 0 || !slices.Contains(x.s.Minors, x.Minor) {
		return x.Minor == 0 && slices.Contains(x.s.Minors, 0)
	}
	ss := x.d.sessions[q.Session]
	return ss != nil && !q.CacheThis && int(q.Slot) < len(ss.slots) && ss.slots[q.Slot].seq+1 == q.Seq
}

// run executes the compound and appends its results to out.
func (f *fast) run(last v4.Op) {
	x, status, results, at := &f.x, v4.OK, uint32(0), len(f.out)
	c := xdr.NewEncoder(append(f.out, make([]byte, 12)...)) // status, tag, number of results
	if x.Minor > 0 {
		status, _ = x.sequence(&f.sequence, Action{})
		results++
		begin(&c, v4.OpSequence, status)
		if status == v4.OK {
			f.sequence.Results(&c)
		}
	}
	if status == v4.OK {
		status = x.run1(&f.put)
		results++
		begin(&c, v4.OpPutFH, status)
	}
	if status == v4.OK && last == v4.OpRead {
		status = x.run1(&f.read)
		results++
		begin(&c, last, status)
		if status == v4.OK {
			f.read.Results(&c)
		}
	} else if status == v4.OK {
		status = x.run1(&f.write)
		results++
		begin(&c, last, status)
		if status == v4.OK {
			f.write.Results(&c)
		}
	}
	f.out = c.Bytes()
	if x.slot != nil {
		x.slot.reply, x.slot.unanswered = nil, false
		x.checkReply(len(f.out) - at)
	}
	binary.BigEndian.PutUint32(f.out[at:], uint32(status))
	binary.BigEndian.PutUint32(f.out[at+8:], results)
}

func begin(c *xdr.Coder, op v4.Op, status v4.Status) {
	number := op.Number()
	c.Uint32(&number, (*uint32)(&status))
}
