package rpc

import (
	"encoding/binary"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Call is one remote procedure call. The fields of the request are set before
// Conn.Do and belong to the connection until the call is done. A Call may be
// used again after it is done; its memory is reused.
type Call struct {
	// Request is the record mark, the call header and the arguments, as
	// AppendCall begins it. Mark and xid are filled in there.
	Request []byte
	// Since is the caller's clock when it made the call, for Conn.Oldest.
	Since int64

	// Results are valid when Err is nil.
	Results []byte
	// Err is why there are no results: *RefusedError, *LostError or
	// *ProtocolError.
	Err error

	xid    uint32
	hasXID bool
	done   chan struct{}
}

// Reset makes c ready for a new call with a new xid. A call that is started
// again without Reset is a retransmission and keeps its xid.
func (c *Call) Reset() {
	c.Request, c.Results = c.Request[:0], c.Results[:0]
	c.Err, c.Since, c.hasXID = nil, 0, false
}

func (c *Call) finish() { c.done <- struct{}{} }

const (
	xidOffset = RecordMarkBytes
	// procOffset is where the procedure number is in a request.
	procOffset = RecordMarkBytes + 20
)

// AppendCall appends what every Request begins with: room for mark and xid, the
// call header, the credential, an empty verifier. The arguments follow.
func AppendCall(b []byte, program, version, procedure uint32, cred Auth) []byte {
	h := CallHeader{Program: program, Version: version, Procedure: procedure, Credential: cred}
	return xdr.Append(append(b, 0, 0, 0, 0), &h)
}

// PutProcedure changes the procedure of a request that AppendCall began.
func PutProcedure(request []byte, procedure uint32) {
	binary.BigEndian.PutUint32(request[procOffset:], procedure)
}

// seal fills in record mark and xid.
func (c *Call) seal() {
	PutRecordMark(c.Request, len(c.Request)-RecordMarkBytes)
	binary.BigEndian.PutUint32(c.Request[xidOffset:], c.xid)
}
