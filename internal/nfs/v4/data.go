package v4

import "github.com/nfsbench/nfsbench/internal/nfs/xdr"

// READ and WRITE are the hot path: compounds of SEQUENCE (NFSv4.1 only), PUTFH and READ or WRITE. The functions in
// this file encode and decode them without allocations.

// AppendCompoundHead appends the start of a compound without tag. The caller must append ops operations.
func AppendCompoundHead(b []byte, minor, ops uint32) []byte {
	b = xdr.AppendUint32(b, 0)
	b = xdr.AppendUint32(b, minor)
	return xdr.AppendUint32(b, ops)
}

// AppendSequence appends SEQUENCE.
func AppendSequence(b []byte, session *SessionID, seq, slot, highest uint32, cacheThis bool) []byte {
	b = xdr.AppendUint32(b, uint32(OpSequence))
	b = append(b, session[:]...)
	b = xdr.AppendUint32(b, seq)
	b = xdr.AppendUint32(b, slot)
	b = xdr.AppendUint32(b, highest)
	return xdr.AppendBool(b, cacheThis)
}

// AppendPutFH appends PUTFH.
func AppendPutFH(b, handle []byte) []byte {
	b = xdr.AppendUint32(b, uint32(OpPutFH))
	return xdr.AppendOpaque(b, handle)
}

// AppendRead appends READ of count bytes at off.
func AppendRead(b []byte, s *StateID, off uint64, count uint32) []byte {
	b = xdr.AppendUint32(b, uint32(OpRead))
	b = appendStateID(b, s)
	b = xdr.AppendUint64(b, off)
	return xdr.AppendUint32(b, count)
}

// AppendWriteHead appends WRITE at off up to and including the length of the data. The caller must append size bytes
// of data, with their padding (xdr.AppendPadding).
func AppendWriteHead(b []byte, s *StateID, off uint64, stable Stable, size int) []byte {
	b = xdr.AppendUint32(b, uint32(OpWrite))
	b = appendStateID(b, s)
	b = xdr.AppendUint64(b, off)
	b = xdr.AppendUint32(b, stable)
	return xdr.AppendUint32(b, uint32(size))
}

func appendStateID(b []byte, s *StateID) []byte {
	b = xdr.AppendUint32(b, s.Seq)
	return append(b, s.Other[:]...)
}

// ReadHead is a reply to SEQUENCE (if sent), PUTFH and READ, up to the data.
type ReadHead struct {
	// Op and Status describe the first failed operation. With status OK none failed. OpCompound means that the whole
	// compound was refused.
	Op       Op
	Status   Status
	Sequence SequenceHead // unset if SEQUENCE was not sent or failed
	EOF      bool         // only with OK, like Data
	Data     int          // bytes of data, which follow with their padding
}

// DecodeReadHead decodes a reply up to the data into h. d.Err returns the error.
func DecodeReadHead(d *xdr.Decoder, sequenced bool, h *ReadHead) {
	*h = ReadHead{}
	h.Op, h.Status = decodeHead(d, sequenced, OpRead, &h.Sequence)
	if d.Err() != nil || h.Status != OK {
		return
	}
	h.EOF = d.Bool()
	n := d.Uint32()
	if n > MaxDataBytes {
		d.Fail(xdr.ErrTooLong)
		return
	}
	h.Data = int(n)
}

// WriteHead is a reply to SEQUENCE (if sent), PUTFH and WRITE.
type WriteHead struct {
	Op       Op // as in ReadHead, like the next two fields
	Status   Status
	Sequence SequenceHead

	Count     uint32 // written bytes; only with OK, like all that follow
	Committed Stable
	Verifier  Verifier
}

// DecodeWriteHead decodes a reply into h. d.Err returns the error.
func DecodeWriteHead(d *xdr.Decoder, sequenced bool, h *WriteHead) {
	*h = WriteHead{}
	h.Op, h.Status = decodeHead(d, sequenced, OpWrite, &h.Sequence)
	if d.Err() != nil || h.Status != OK {
		return
	}
	h.Count = d.Uint32()
	if h.Committed = d.Uint32(); h.Committed > FileSync {
		d.Fail(xdr.ErrBadValue)
	}
	copy(h.Verifier[:], d.Fixed(len(h.Verifier)))
	if d.Len() > 0 {
		d.Fail(ErrTrailing)
	}
}

// decodeHead decodes a reply up to the results of the last operation, and returns the operation that failed and its
// status. After OK the results of last follow.
func decodeHead(d *xdr.Decoder, sequenced bool, last Op, q *SequenceHead) (Op, Status) {
	ops := [3]Op{OpSequence, OpPutFH, last}
	all := ops[:]
	if !sequenced {
		all = ops[1:]
	}
	var h replyHead
	if h.decode(d, len(all)); d.Err() != nil {
		return OpCompound, h.status
	}
	failed := OpCompound
	for i := range h.results {
		s := h.result(d, i, all[i])
		if d.Err() != nil {
			return OpCompound, h.status
		}
		if s != OK {
			failed = all[i]
		} else if all[i] == OpSequence {
			q.decode(d)
		}
	}
	if h.status != OK && d.Len() > 0 {
		d.Fail(ErrTrailing)
	}
	return failed, h.status
}

// decode does the same as Code, without a Coder.
func (h *SequenceHead) decode(d *xdr.Decoder) {
	copy(h.Session[:], d.Fixed(len(h.Session)))
	h.Seq, h.Slot = d.Uint32(), d.Uint32()
	h.HighestSlot, h.TargetSlot, h.Flags = d.Uint32(), d.Uint32(), d.Uint32()
}
