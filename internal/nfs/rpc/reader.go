package rpc

import (
	"errors"

	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

// headBytes is more than the longest header of a reply (432) and what results of READ have
// in front of their data.
const headBytes = 600

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
	n, err := c.rec.ReadFull(c.head[:])
	if err != nil && !errors.Is(err, ErrRecordShort) {
		return err
	}
	d := xdr.NewDecoder(c.head[:n])
	var h ReplyHeader
	if h.Decode(&d); d.Err() != nil {
		if errors.Is(d.Err(), xdr.ErrShort) {
			return ErrRecordShort
		}
		return d.Err()
	}
	c.mu.Lock()
	call, ok := c.table.take(h.XID)
	c.mu.Unlock()
	if !ok {
		return ErrUnknownXID
	}
	c.counters.Receives.Add(1)
	if call == nil {
		return nil // abandoned; Next skips the record
	}
	c.counters.InFlight.Add(-1)
	err = nil
	if call.Err = h.Err(); call.Err == nil {
		if err = c.receive(call, c.head[d.Offset():n]); err != nil {
			call.Err = lost(classify(err))
		}
	}
	c.counters.BytesRead.Add(int64(call.Received))
	c.counters.WireBytesRead.Add(int64(c.rec.Received()))
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

// receive reads the results of call, of which start are here: bulk data straight into the
// buffer of the caller.
func (c *Conn) receive(call *Call, start []byte) (err error) {
	at, data := len(start), 0
	if call.Layout != nil {
		if at, data, err = call.Layout(start); err != nil {
			return err
		}
	}
	if data > len(call.Dst) {
		return ErrTooMuchData
	}
	call.Results = append(call.Results[:0], start[:at]...)
	start = start[at:]
	if data > 0 {
		n := copy(call.Dst[:data], start)
		if _, err := c.rec.ReadFull(call.Dst[n:data]); err != nil {
			return err
		}
		call.Received = data
		padding := xdr.Padding(data)
		k := min(padding, len(start)-n)
		start = start[n+k:]
		if _, err := c.rec.ReadFull(c.head[:padding-k]); err != nil { // start is empty then
			return err
		}
	}
	call.Results, err = c.rec.AppendRest(append(call.Results, start...))
	return err
}
