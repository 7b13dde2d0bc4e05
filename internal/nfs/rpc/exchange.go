package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// maxExchangeBytes is the longest reply of Exchange.
const maxExchangeBytes = 64 << 10

// Exchange makes one call on a connection without other outstanding calls, and returns its results. The request is
// like Call.Request. Exchange receives nothing but the reply, so that another reader can take over the connection.
// Without a deadline in ctx it may wait forever.
func Exchange(ctx context.Context, nc net.Conn, request []byte) (results []byte, err error) {
	if deadline, ok := ctx.Deadline(); ok {
		if err := nc.SetDeadline(deadline); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, nc.SetDeadline(time.Time{})) }()
	}
	const xid = 1 // the only call so far
	PutRecordMark(request, len(request)-RecordMarkBytes)
	binary.BigEndian.PutUint32(request[xidOffset:], xid)
	if _, err := nc.Write(request); err != nil {
		return nil, err
	}
	// A small buffer would be enough for the reply, but reading must not go beyond it.
	rec := NewRecordReader(exact{nc}, maxExchangeBytes)
	if err := rec.Next(); err != nil {
		return nil, classify(err)
	}
	reply, err := rec.AppendRest(nil)
	if err != nil {
		return nil, classify(err)
	}
	d := xdr.NewDecoder(reply)
	var h ReplyHeader
	h.Decode(&d)
	switch {
	case d.Err() != nil:
		return nil, &ProtocolError{Err: d.Err()}
	case h.XID != xid:
		return nil, &ProtocolError{Err: fmt.Errorf("%w: %d", ErrUnknownXID, h.XID)}
	case h.Err() != nil:
		return nil, h.Err()
	}
	return reply[d.Offset():], nil
}

// exact limits a RecordReader to the bytes that it asks for.
type exact struct{ net.Conn }

// Read receives at most one byte at a time. This is cheap enough: the replies of Exchange are short.
func (e exact) Read(p []byte) (int, error) { return e.Conn.Read(p[:min(len(p), 1)]) }
