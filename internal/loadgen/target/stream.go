package target

import (
	"context"
	"time"
)

// Streamer is implemented by targets that keep many I/Os outstanding by
// themselves, which costs less than a goroutine for each of them. What they do
// is what the same calls of their Files would do.
type Streamer interface {
	// NewStream connects one more stream. It is closed with the Target, or before.
	NewStream(ctx context.Context, opt StreamOptions) (Stream, error)
}

// StreamOptions say what a stream is for.
type StreamOptions struct {
	// Slots is how many I/Os may be outstanding, each of at most BlockBytes.
	Slots      int
	BlockBytes int64
	// Streams is how many of them the caller uses at the same time, this one
	// included: one alone may be worth more connections than one of many.
	Streams int
}

// Stream carries the I/O of one job.
type Stream interface {
	// Lanes is how many goroutines Run calls the Driver from.
	Lanes() int
	// Run asks d for the I/O of every slot, in the order of the slots, and
	// again whenever one is done, until d has no more for any slot and nothing
	// is outstanding. Soon after ctx is done no further I/O is asked for, what is
	// outstanding ends with an error that wraps the cause of ctx, and Run
	// returns. It may be called again afterwards, never twice at once.
	Run(ctx context.Context, d Driver)
	// Close ends the connections; not during Run. A second Close does nothing.
	Close() error
}

// Driver says what a Stream does, and is called with the outcome. Different lanes call
// it at the same time, but never for the same slot.
type Driver interface {
	// Next fills in the next I/O of a slot. With Wait above zero nothing is
	// started, and Next is called again that much later at the earliest. False
	// means that the slot has no more to do in this Run.
	Next(io *IO) bool
	// Done is called when the I/O is done, or failed as io.Err says. Next of the
	// slot is best called right after it, on the same lane.
	Done(io *IO)
}

// IO is one I/O of one slot. The buffer belongs to the stream from Next to Done.
// The File is one of the Target's.
type IO struct {
	// Slot counts from 0; Lane is who calls, from 0. Both are set by the stream.
	Slot, Lane int

	Write  bool
	File   File
	Buf    []byte
	Offset int64
	Wait   time.Duration

	// Err is nil when all of Buf was read or written; io.EOF when the file
	// ended before.
	Err error
}
