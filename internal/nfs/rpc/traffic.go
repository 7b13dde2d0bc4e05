package rpc

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Traffic counts what a connection, or a channel of several connections, has carried. The cumulative counts never
// decrease.
type Traffic struct {
	// Sends and Receives are calls and replies.
	Sends, Receives int64
	// BytesRead and BytesWritten are file data. A stream counts answered bytes, each once; other calls also count
	// retransmitted bytes. WireBytesRead and WireBytesWritten count all bytes sent and received.
	BytesRead, BytesWritten         int64
	WireBytesRead, WireBytesWritten int64
	InFlight                        int64 // calls without reply
	Reconnects                      int64 // connections made after the first
	Retransmits                     int64 // calls sent here without an answer, then again here or elsewhere
	// Down is the time during which the connection was unusable, from the last sign of life.
	Down      time.Duration
	LastError string // the last failure of a connection or connection attempt; empty if there was none
	Losses    []Loss // the last ones
}

// Loss is one time without an answer that ended a connection. Times are in nanoseconds of the clock of Counters.
type Loss struct {
	Since     int64 // the last answer
	Noticed   int64 // the client gave up the connection
	Connected int64 // the next connection; 0 = none yet
	Answered  int64 // first answer on the next connection; 0 = none yet
}

// maxLosses bounds the list of losses of a connection. It keeps the last ones.
const maxLosses = 16

// Add adds the traffic of another connection of the same channel. Time during which both were down counts once.
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
	t.Losses = slices.Concat(t.Losses, o.Losses)
}

// Counters counts Traffic. Successive connections share a Counters. It is safe for concurrent use. Times are
// nanoseconds of a clock of the caller.
type Counters struct {
	Sends, Receives                 atomic.Int64
	BytesRead, BytesWritten         atomic.Int64
	WireBytesRead, WireBytesWritten atomic.Int64
	InFlight, Retransmits           atomic.Int64

	reconnects atomic.Int64
	downFor    atomic.Int64 // total of past losses
	downSince  atomic.Int64 // start of the current loss; 0 = none
	lastError  atomic.Pointer[string]

	mu     sync.Mutex
	losses []Loss
}

// Traffic returns the counts so far.
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
	c.mu.Lock()
	defer c.mu.Unlock()
	t.Losses = slices.Clone(c.losses)
	return t
}

// NoteError records the last error.
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

// NoteLoss begins a time without an answer, unless one has begun.
func (c *Counters) NoteLoss(since, now int64) {
	if !c.downSince.CompareAndSwap(0, max(since, 1)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.losses = append(c.losses[max(0, len(c.losses)+1-maxLosses):], Loss{Since: max(since, 1), Noticed: max(now, 1)})
}

// NoteReconnect counts a new connection after a loss. It returns false without a loss.
func (c *Counters) NoteReconnect(now int64) bool {
	lost := c.downSince.Load() != 0
	if lost {
		c.reconnects.Add(1)
		c.last(func(l *Loss) { l.Connected = now })
	}
	return lost
}

// last changes the last loss.
func (c *Counters) last(change func(*Loss)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.losses); n > 0 {
		change(&c.losses[n-1])
	}
}

// NoteReturn ends the time that NoteLoss began.
func (c *Counters) NoteReturn(now int64) {
	if since := c.downSince.Swap(0); since != 0 {
		c.downFor.Add(now - since)
		c.last(func(l *Loss) { l.Answered = now })
	}
}
