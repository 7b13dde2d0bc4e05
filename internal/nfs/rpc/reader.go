package rpc

import (
	"encoding/binary"
	"errors"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

const (
	// replyStart is xid, message type and reply status.
	replyStart = 12
	// maxReplyHeader is the longest header of a reply.
	maxReplyHeader = replyStart + 8 + maxAuthBytes + 4 + 8
)

func (c *Conn) readLoop() {
	var err error
	for err == nil {
		if err = c.rec.Next(); err == nil {
			err = c.readReply()
		}
	}
	c.mu.Lock()
	c.failLocked(classify(err))
	c.readerDone = true
	c.drainLocked()
	c.mu.Unlock()
	c.wakeWriter()
}

// classify marks errors that are the server's fault.
func classify(err error) error {
	for _, violation := range []error{
		ErrNotReply, ErrRecordTooLarge, ErrRecordShort, ErrUnknownXID, ErrTooMuchData,
		xdr.ErrShort, xdr.ErrTooLong, xdr.ErrBadBool, xdr.ErrBadValue,
	} {
		if errors.Is(err, violation) {
			return &ProtocolError{Err: err}
		}
	}
	return err
}

// readReply receives one record and completes its call. An error means that the
// stream cannot be trusted any more.
func (c *Conn) readReply() error {
	head := c.scratch[:replyStart]
	if err := c.rec.ReadFull(head); err != nil {
		return err
	}
	if binary.BigEndian.Uint32(head[4:]) != typeReply {
		return ErrNotReply
	}
	c.mu.Lock()
	call, ok := c.table.take(binary.BigEndian.Uint32(head))
	c.mu.Unlock()
	if !ok {
		return ErrUnknownXID
	}
	c.counters.Receives.Add(1)
	if call == nil {
		return nil // abandoned; Next skips the record
	}
	c.counters.InFlight.Add(-1)
	err := c.receive(call)
	if err != nil {
		call.Err = lost(classify(err))
	}
	c.counters.DataReceived.Add(int64(call.Received))
	c.counters.BytesReceived.Add(int64(c.rec.Received()))
	c.complete(call)
	return err
}

// complete tells the caller, unless the writer still has the call's data.
func (c *Conn) complete(call *Call) {
	if len(call.Data) == 0 {
		call.finish()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if call.writing {
		call.replied = true
		return
	}
	call.finish()
}

// receive reads the rest of the header and the results of call.
func (c *Conn) receive(call *Call) error {
	call.Results = call.Results[:0]
	if err := c.readHeader(call); err != nil || call.Err != nil {
		return err
	}
	if call.Layout != nil {
		if err := c.receiveData(call); err != nil {
			return err
		}
	}
	var err error
	call.Results, err = c.rec.AppendRest(call.Results)
	return err
}

// readHeader reads the header of a reply, of which scratch has the start. If the
// server did not execute the call, the call gets that as its error.
func (c *Conn) readHeader(call *Call) error {
	n, err := replyStart, error(nil)
	accepted := binary.BigEndian.Uint32(c.scratch[8:]) == 0
	if accepted {
		if n, err = c.extend(n, 8); err != nil {
			return err
		}
		verifier := binary.BigEndian.Uint32(c.scratch[n-4:])
		if verifier > maxAuthBytes {
			return xdr.ErrTooLong
		}
		if n, err = c.extend(n, int(verifier)+xdr.Padding(int(verifier))); err != nil {
			return err
		}
	}
	if n, err = c.extend(n, 4); err != nil {
		return err
	}
	if accepted && binary.BigEndian.Uint32(c.scratch[n-4:]) == uint32(AcceptSuccess) {
		return nil
	}
	// A refusal is short: decode it from all that is left.
	rest, err := c.rec.AppendRest(c.scratch[:n])
	if err != nil {
		return err
	}
	d := xdr.NewDecoder(rest)
	var h ReplyHeader
	h.Decode(&d)
	call.Err = h.Err()
	return d.Err()
}

// extend reads k more bytes of the header behind the n that scratch has.
func (c *Conn) extend(n, k int) (int, error) {
	return n + k, c.rec.ReadFull(c.scratch[n : n+k])
}

// receiveData reads the results up to and including the bulk data, these straight
// into the buffer of the caller.
func (c *Conn) receiveData(call *Call) error {
	data := 0
	for {
		more, n := call.Layout(call.Results)
		if more <= 0 {
			data = n
			break
		}
		at := len(call.Results)
		if at+more > maxLayoutBytes {
			return xdr.ErrTooLong
		}
		call.Results = grow(call.Results, more)
		if err := c.rec.ReadFull(call.Results[at:]); err != nil {
			return err
		}
	}
	if data <= 0 {
		return nil
	}
	if data > len(call.Dst) {
		return ErrTooMuchData
	}
	if err := c.rec.ReadFull(call.Dst[:data]); err != nil {
		return err
	}
	call.Received = data
	return c.rec.ReadFull(c.scratch[:xdr.Padding(data)])
}
