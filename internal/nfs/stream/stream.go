package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/v3"
)

// ErrTimeout says that an I/O got no answer within Config.Timeout.
var ErrTimeout = errors.New("no answer from the server in time")

// IO is one I/O of one slot.
type IO struct {
	// Slot counts from 0; Lane is who calls the Driver. Both are set here.
	Slot, Lane int

	Write  bool
	Handle []byte    // of the file
	Stable v3.Stable // of a write
	Buf    []byte    // belongs to the stream from Next to Done
	Offset int64
	// Wait above zero asks to call Next again that much later.
	Wait time.Duration

	// Err is nil when all of Buf was read or written; io.EOF when the file ended
	// before; ErrTimeout; a v3.Status; *rpc.RefusedError; *rpc.ProtocolError.
	Err error
}

// Driver says what to do. The lanes call it at the same time, never two of them
// for the same slot.
type Driver interface {
	// Next fills in the next I/O of a slot; false ends the slot for this Run.
	Next(io *IO) bool
	// Done is called at the end of an I/O. Next for the same slot follows, unless the
	// slot is handed to another lane.
	Done(io *IO)
}

// Config says what a Stream works with. All fields are required but Logger.
type Config struct {
	// Dial connects lane i within the life of ctx. It may be called at any time
	// during Run, by several lanes at once.
	Dial func(ctx context.Context, lane int) (net.Conn, error)
	// Describe names lane i in messages.
	Describe func(lane int) string
	Lanes    int
	Slots    int
	// BlockBytes is the longest Buf.
	BlockBytes int64
	// ReadBytes and WriteBytes are the largest READ and WRITE.
	ReadBytes, WriteBytes uint32
	// Head is what every request begins with, as rpc.AppendCall makes it.
	Head []byte
	// Timeout is how long an I/O may take, all repetitions included.
	Timeout time.Duration
	Now     func() time.Time
	Logger  *slog.Logger
}

// Stream keeps up to Config.Slots I/Os outstanding over all its lanes. One
// goroutine at a time may call Run and Close; Traffic may be called at any time.
type Stream struct {
	cfg       Config
	lanes     []*lane
	slots     []slot
	fragments []fragment
	perSlot   int
	indexMask uint32
	base      uint32 // of the generations
	maxReply  int
	start     time.Time

	driver    Driver
	live      atomic.Int32 // lanes that carry I/O
	active    atomic.Int32 // slots that have not ended
	done      chan struct{}
	cancelled atomic.Bool
	cause     func() error
}

// New connects all lanes at once. One that connects is enough, the others are
// tried again during Run.
func New(ctx context.Context, cfg Config) (*Stream, error) {
	s := prepare(cfg)
	errs := make([]error, len(s.lanes))
	var wg sync.WaitGroup
	for i, l := range s.lanes {
		wg.Go(func() { errs[i] = l.connect(ctx) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			s.lanes[i].NoteLoss(0) // since New
		}
	}
	if s.live.Load() == 0 {
		return nil, errors.Join(fmt.Errorf("connect for data: %w", errors.Join(errs...)), s.Close())
	}
	return s, nil
}

// prepare makes a Stream without connections.
func prepare(cfg Config) *Stream {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	s := &Stream{cfg: cfg, slots: make([]slot, cfg.Slots), start: cfg.Now()}
	smaller := int64(min(cfg.ReadBytes, cfg.WriteBytes))
	s.perSlot = int(max(1, (cfg.BlockBytes+smaller-1)/smaller))
	s.fragments = make([]fragment, cfg.Slots*s.perSlot)
	s.indexMask = 1<<bits.Len(uint(len(s.fragments)-1)) - 1
	s.base = rand.Uint32()
	s.maxReply = int(max(cfg.ReadBytes, headBytes)) + headBytes
	for i := range s.slots {
		sl := &s.slots[i]
		sl.io.Slot = i
		sl.fragments = s.fragments[i*s.perSlot : (i+1)*s.perSlot]
		for k := range sl.fragments {
			sl.fragments[k] = fragment{slot: sl, index: uint32(i*s.perSlot + k)}
		}
	}
	for i := range cfg.Lanes {
		s.lanes = append(s.lanes, newLane(s, i))
	}
	return s
}

// Lanes returns the number of lanes.
func (s *Stream) Lanes() int { return len(s.lanes) }

// Traffic returns what lane i has carried since New, and whether it is connected.
func (s *Stream) Traffic(i int) (t rpc.Traffic, up bool) {
	return s.lanes[i].Traffic(int64(s.cfg.Now().Sub(s.start))), !s.lanes[i].isDown.Load()
}

// Run asks d for I/O and carries it until no slot has any more. When ctx is done
// no more is asked for, and what is outstanding ends within a tick with an error
// that wraps the cause; the connections it was on are closed, and made again by
// the next Run.
func (s *Stream) Run(ctx context.Context, d Driver) {
	s.driver, s.done = d, make(chan struct{})
	s.cause = func() error { return context.Cause(ctx) }
	s.cancelled.Store(ctx.Err() != nil) // AfterFunc alone would come too late for what is over already
	defer context.AfterFunc(ctx, func() { s.cancelled.Store(true) })()
	s.active.Store(int32(len(s.slots)))
	s.spread()
	// What a lane does beside I/O, such as connecting, ends with the last slot.
	laneCtx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for _, l := range s.lanes {
		wg.Go(func() { l.run(laneCtx) })
	}
	done := s.done
	go func() {
		<-done
		stop()
	}()
	wg.Wait()
	// What was on its way to a lane that had been cancelled ends here.
	for _, l := range s.lanes {
		for len(l.inbox) > 0 {
			s.abort(<-l.inbox)
		}
	}
}

// spread gives the slots to the lanes that live, in turn.
func (s *Stream) spread() {
	var living []*lane
	for _, l := range s.lanes {
		l.begin()
		if l.sock != nil {
			living = append(living, l)
		}
	}
	s.live.Store(int32(len(living)))
	if len(living) == 0 {
		living = s.lanes
	}
	for i := range s.slots {
		living[i%len(living)].give(&s.slots[i])
	}
}

// end notes that a slot has nothing more to do.
func (s *Stream) end() {
	if s.active.Add(-1) == 0 {
		close(s.done)
	}
}

// laneErrors joins why each lane is down.
func (s *Stream) laneErrors() error {
	var all []error
	for _, l := range s.lanes {
		if text := l.LastError(); text != "" && l.isDown.Load() {
			all = append(all, fmt.Errorf("%s: %s", s.cfg.Describe(l.index), text))
		}
	}
	return errors.Join(all...)
}

// Close ends all connections.
func (s *Stream) Close() error {
	for _, l := range s.lanes {
		l.disconnect()
	}
	return nil
}
