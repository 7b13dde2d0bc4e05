package rpc

import (
	"sync/atomic"
	"time"
)

// Traffic is what a connection, or a channel of several, has carried. It never goes down.
type Traffic struct {
	// Sends and Receives are calls and replies.
	Sends, Receives int64
	// BytesRead and BytesWritten are file data. A stream counts those that were answered
	// for, each byte once; calls besides count what is sent again as well. The Wire counts
	// are everything sent and received.
	BytesRead, BytesWritten         int64
	WireBytesRead, WireBytesWritten int64
	InFlight                        int64 // calls without reply
	Reconnects                      int64 // connections made after the first
	Retransmits                     int64 // calls that were lost here and sent again, here or elsewhere
	// Down is how long it could not be used, from the last sign of life.
	Down      time.Duration
	LastError string // the last failure, of the connection or of connecting; empty if there was none
}

// Add adds what another connection of the same channel has carried. Time that they were
// down together is lost once.
func (t *Traffic) Add(o Traffic) {
	t.Sends += o.Sends
	t.Receives += o.Receives
	t.BytesRead += o.BytesRead
	t.BytesWritten += o.BytesWritten
	t.WireBytesRead += o.WireBytesRead
	t.WireBytesWritten += o.WireBytesWritten
	t.InFlight += o.InFlight
	t.Reconnects += o.Reconnects
	t.Retransmits += o.Retransmits
	t.Down = max(t.Down, o.Down)
	if o.LastError != "" {
		t.LastError = o.LastError
	}
}

// Counters count Traffic. Connections that follow each other share them. Everything may
// be read at any time. Times are nanoseconds of a clock of the caller.
type Counters struct {
	Sends, Receives                 atomic.Int64
	BytesRead, BytesWritten         atomic.Int64
	WireBytesRead, WireBytesWritten atomic.Int64
	InFlight, Retransmits           atomic.Int64

	reconnects atomic.Int64
	downFor    atomic.Int64 // of losses that are over
	downSince  atomic.Int64 // of the present one, or 0
	lastError  atomic.Pointer[string]
}

// Traffic returns what was counted until now.
func (c *Counters) Traffic(now int64) Traffic {
	t := Traffic{
		Sends: c.Sends.Load(), Receives: c.Receives.Load(),
		BytesRead: c.BytesRead.Load(), BytesWritten: c.BytesWritten.Load(),
		WireBytesRead: c.WireBytesRead.Load(), WireBytesWritten: c.WireBytesWritten.Load(),
		InFlight: c.InFlight.Load(), Reconnects: c.reconnects.Load(), Retransmits: c.Retransmits.Load(),
		Down: time.Duration(c.downFor.Load()), LastError: c.LastError(),
	}
	if since := c.downSince.Load(); since > 0 {
		t.Down += time.Duration(max(0, now-since))
	}
	return t
}

// NoteError notes the last error.
func (c *Counters) NoteError(err error) {
	text := err.Error()
	c.lastError.Store(&text)
}

// LastError returns the error of the last NoteError, or "".
func (c *Counters) LastError() string {
	if text := c.lastError.Load(); text != nil {
		return *text
	}
	return ""
}

// NoteLoss begins the time without an answer, unless it lasts already.
func (c *Counters) NoteLoss(since int64) { c.downSince.CompareAndSwap(0, max(since, 1)) }

// NoteReconnect counts a new connection, if one was lost.
func (c *Counters) NoteReconnect() bool {
	lost := c.downSince.Load() != 0
	if lost {
		c.reconnects.Add(1)
	}
	return lost
}

// NoteReturn ends the time that NoteLoss began.
func (c *Counters) NoteReturn(now int64) {
	if since := c.downSince.Swap(0); since != 0 {
		c.downFor.Add(now - since)
	}
}
