package rpc

import (
	"encoding/binary"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// Call is one remote procedure call. The fields of the request are set before
// Conn.Do and belong to the connection until the call is done. A Call may be
// used again after it is done; its memory is reused.
type Call struct {
	// Request is the record mark, the call header and the arguments, beginning
	// with the output of AppendCall. Do sets mark and xid.
	Request []byte
	// Since is the caller's time of the call, for Conn.Oldest.
	Since int64

	// Results are valid when Err is nil.
	Results []byte
	// Err is the reason for missing results: *RefusedError, *LostError or
	// *ProtocolError.
	Err error

	xid    uint32
	hasXID bool
	done   chan struct{}
}

// Reset makes c ready for a new call with a new xid. Without Reset, starting a
// call again is a retransmission with the same xid.
func (c *Call) Reset() {
	c.Request, c.Results = c.Request[:0], c.Results[:0]
	c.Err, c.Since, c.hasXID = nil, 0, false
}

func (c *Call) finish() { c.done <- struct{}{} }

const (
	xidOffset = RecordMarkBytes
	// procOffset is the offset of the procedure number in a request.
	procOffset = RecordMarkBytes + 20
)

// AppendCall appends the head of a Request: room for mark and xid, the call
// header, the credential, an empty verifier. The arguments follow.
func AppendCall(b []byte, program, version, procedure uint32, cred Auth) []byte {
	h := CallHeader{Program: program, Version: version, Procedure: procedure, Credential: cred}
	return xdr.Append(append(b, 0, 0, 0, 0), &h)
}

// PutProcedure changes the procedure of a request from AppendCall.
func PutProcedure(request []byte, procedure uint32) {
	binary.BigEndian.PutUint32(request[procOffset:], procedure)
}

// seal sets record mark and xid.
func (c *Call) seal() {
	PutRecordMark(c.Request, len(c.Request)-RecordMarkBytes)
	binary.BigEndian.PutUint32(c.Request[xidOffset:], c.xid)
}
