package nfs

import (
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// maxReturns bounds the concurrent returns of delegations because of recalls.
const maxReturns = 16

// serve answers a call of the server over the back channel (RFC 8881 section 20). It runs in the receiving goroutine,
// so slow work is done elsewhere.
func (s *serverV4) serve(message []byte) []byte {
	d := xdr.NewDecoder(message)
	var h rpc.CallHeader
	xdr.Decode(&d, &h)
	if d.Err() != nil {
		return nil
	}
	reply := rpc.ReplyHeader{XID: h.XID}
	switch {
	case h.Program != v4.CallbackProgram:
		reply.Accept = rpc.AcceptProgramUnavail
	case h.Procedure > v4.CallbackProcCompound:
		reply.Accept = rpc.AcceptProcUnavail
	}
	room := make([]byte, rpc.RecordMarkBytes)
	if reply.Accept != rpc.AcceptSuccess || h.Procedure == v4.CallbackProcNull {
		return reply.Append(room)
	}
	var call v4.CBCompound
	if err := call.DecodeCall(&d); err != nil {
		reply.Accept = rpc.AcceptGarbageArgs
		return reply.Append(room)
	}
	s.calledBack.Add(1)
	status, done := s.answer(&call)
	return call.AppendReply(reply.Append(room), status, done)
}

// answer executes a callback and returns the status of the operation after the first done ones.
func (s *serverV4) answer(call *v4.CBCompound) (status v4.Status, done int) {
	if call.Minor != 1 {
		return v4.ErrMinorVersMismatch, 0
	}
	for i, o := range call.Ops {
		if sequence, ok := o.(*v4.CBSequence); (i == 0) != ok {
			return v4.ErrSequencePos, i
		} else if ok {
			sequence.Reply = v4.CBSequenceHead{
				Session: sequence.Session, Seq: sequence.Seq, Slot: sequence.Slot,
				HighestSlot: sequence.HighestSlot, TargetSlot: sequence.HighestSlot,
			}
			continue
		}
		if status := s.callback(o); status != v4.OK {
			return status, i
		}
	}
	return v4.OK, len(call.Ops)
}

func (s *serverV4) callback(o v4.Operation) v4.Status {
	switch o := o.(type) {
	case *v4.Unsupported:
		return o.Status
	case *v4.CBRecall:
		// If a recall names a delegation that we never had, the server refuses its return.
		if s.returns.Load() >= maxReturns {
			return v4.ErrDelay
		}
		s.giveBack(append([]byte(nil), o.Handle...), o.StateID)
		return v4.OK
	case *v4.CBRecallAny:
		return v4.OK // following it is optional
	case *v4.CBRecallSlot:
		// Control calls use the session with the back channel: no I/O uses its slots, and the next reply in it has the same
		// target.
		return v4.OK
	case *v4.CBNotifyDeviceID:
		if s.changeDevices != nil {
			s.changeDevices(o.Changes)
		}
		return v4.OK
	case *v4.CBLayoutRecall:
		if s.recallLayouts == nil {
			return v4.ErrNoMatchingLayout
		}
		return s.recallLayouts(o)
	default:
		return v4.ErrNotSupp
	}
}
