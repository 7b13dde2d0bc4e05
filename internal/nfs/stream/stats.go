package stream

import (
	"sync/atomic"
	"time"
)

// Traffic is what a lane or a channel has carried. It never goes down.
type Traffic struct {
	// Sends and Receives are calls and replies.
	Sends, Receives int64
	// BytesRead and BytesWritten are file data. A Stream counts those that were answered
	// for, each byte once; calls besides count what is sent again as well. The Wire counts
	// are everything sent and received.
	BytesRead, BytesWritten         int64
	WireBytesRead, WireBytesWritten int64
	InFlight                        int64
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

// counts are written by the lane's thread and read by anybody.
type counts struct {
	sends, receives         atomic.Int64
	bytesRead, bytesWritten atomic.Int64
	wireReceived, wireSent  atomic.Int64
	inFlightNow             atomic.Int64
	reconnects, retransmits atomic.Int64
	downFor                 atomic.Int64 // ns, of losses that are over
	downSince               atomic.Int64 // of the present one, or 0
	load                    atomic.Int32 // slots that are here or on their way
	isDown                  atomic.Bool  // there is no connection
	lastError               atomic.Pointer[string]
}

func (l *lane) traffic() Traffic {
	out := Traffic{
		Sends: l.sends.Load(), Receives: l.receives.Load(),
		BytesRead: l.bytesRead.Load(), BytesWritten: l.bytesWritten.Load(),
		WireBytesRead: l.wireReceived.Load(), WireBytesWritten: l.wireSent.Load(),
		InFlight: l.inFlightNow.Load(), Reconnects: l.reconnects.Load(),
		Retransmits: l.retransmits.Load(), Down: time.Duration(l.downFor.Load()),
	}
	if since := l.downSince.Load(); since > 0 {
		out.Down += max(0, l.s.cfg.Now().Sub(l.s.start)-time.Duration(since))
	}
	if text := l.lastError.Load(); text != nil {
		out.LastError = *text
	}
	return out
}

func (l *lane) noteError(err error) {
	text := err.Error()
	l.lastError.Store(&text)
}

// noteLoss begins the time that is lost.
func (l *lane) noteLoss(err error) {
	l.noteError(err)
	since := l.now
	if l.inFlight > 0 {
		since = l.heard
	}
	l.downSince.Store(max(since, 1))
	l.s.cfg.Logger.Warn("Channel is lost", "channel", l.s.cfg.Describe(l.index), "error", err)
}

// noteReturn ends it.
func (l *lane) noteReturn() {
	since := l.downSince.Swap(0)
	if since == 0 {
		return // it was never lost, or between two runs
	}
	l.downFor.Add(l.now - since)
	l.reconnects.Add(1)
	l.s.cfg.Logger.Info("Channel is connected again", "channel", l.s.cfg.Describe(l.index))
}
