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

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

// ErrTimeout reports that an I/O got no answer within Config.Timeout.
var ErrTimeout = errors.New("no answer from the server in time")

// IO is one I/O of one slot.
type IO struct {
	// Slot counts from 0. Thread is the thread that calls the Driver. The stream sets both.
	Slot, Thread int

	Write  bool
	Handle []byte    // of the file
	State  any       // other state for the Protocol: opens and layouts of NFSv4
	Stable Stability // of a write
	Buf    []byte    // belongs to the stream from Next to Done
	Offset int64
	// Wait, if positive, asks to call Next again after this time.
	Wait time.Duration

	// Unstable reports that some of the written data waits for a COMMIT. Verifiers are then the server's: two different
	// ones if it restarted in the meantime, or if another server continued.
	Unstable  bool
	Verifiers [2]Verifier

	// SentAgain reports that a part was sent again, because its connection was lost before the answer. The server may
	// execute both calls, and the first one late.
	SentAgain bool

	// Err is nil if all of Buf was read or written. Otherwise it is io.EOF if the file ended before, ErrTimeout, a
	// status of the Protocol, *rpc.RefusedError or *rpc.ProtocolError.
	Err error
}

// Driver supplies the I/Os. The threads call it concurrently, but never two of
// them for the same slot.
type Driver interface {
	// Next sets the next I/O of a slot; false ends the slot for this Run.
	Next(io *IO) bool
	// Done is called at the end of an I/O. Next for the same slot follows, unless another thread takes over the slot.
	Done(io *IO)
}

// Config configures a Stream. All fields except Logger, Groups and PieceBytes are required.
type Config struct {
	// Protocol encodes and decodes the calls.
	Protocol Protocol

	// Dial connects thread i within ctx. Several threads may call it concurrently
	// during Run.
	Dial func(ctx context.Context, thread int) (net.Conn, error)
	// Describe returns the name of thread i for messages.
	Describe func(thread int) string
	Threads  int
	Slots    int
	// Groups has the group of each thread; nil = all threads are in group 0. Threads of group 0 can carry every I/O. With
	// more groups the Protocol must be a Router.
	Groups []int
	// PieceBytes is the smallest piece that the Router sends to one group; 0 without a Router.
	PieceBytes int64
	// BlockBytes is the maximum length of Buf.
	BlockBytes int64
	// ReadBytes and WriteBytes are the largest READ and WRITE.
	ReadBytes, WriteBytes uint32
	// Timeout bounds an I/O with all its retries.
	Timeout time.Duration
	// Patience replaces Timeout while the server reports that state is lost or being reclaimed; at least Timeout.
	Patience time.Duration
	Now      func() time.Time
	Logger   *slog.Logger
}

// Stream keeps up to Config.Slots I/Os outstanding over all its threads. One
// goroutine at a time may call Run and Close; Traffic may be called at any time.
type Stream struct {
	cfg       Config
	threads   []*thread
	slots     []slot
	fragments []fragment
	perSlot   int
	indexMask uint32
	base      uint32 // of the xid generations
	maxReply  int
	start     time.Time

	router    Router  // nil with one group
	slotted   Slotted // nil if parts never wait for their turn
	driver    Driver
	live      []atomic.Int32 // by group: connected threads
	active    atomic.Int32   // slots that have not ended
	done      chan struct{}
	cancelled atomic.Bool
	cause     func() error
}

// New connects all threads concurrently. One connected thread is enough; Run
// retries the others.
func New(ctx context.Context, cfg Config) (*Stream, error) {
	s := prepare(cfg)
	errs := make([]error, len(s.threads))
	var wg sync.WaitGroup
	for i, l := range s.threads {
		wg.Go(func() { errs[i] = l.connect(ctx) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			s.threads[i].NoteLoss(0, 0) // since New
		}
	}
	if s.live[0].Load() == 0 {
		return nil, errors.Join(fmt.Errorf("connect for data: %w", errors.Join(errs...)), s.Close())
	}
	return s, nil
}

// prepare makes a Stream without connections.
func prepare(cfg Config) *Stream {
	cfg.Logger = cmp.Or(cfg.Logger, slog.New(slog.DiscardHandler))
	cfg.Patience = max(cfg.Patience, cfg.Timeout)
	s := &Stream{cfg: cfg, slots: make([]slot, cfg.Slots), start: cfg.Now()}
	groups := 1
	for _, g := range cfg.Groups {
		groups = max(groups, g+1)
	}
	s.live = make([]atomic.Int32, groups)
	s.perSlot = cfg.perSlot()
	if groups > 1 {
		s.router = cfg.Protocol.(Router) //nolint:errcheck,forcetypeassert // the contract of Config.Groups
	}
	s.slotted, _ = cfg.Protocol.(Slotted)
	s.fragments = make([]fragment, cfg.Slots*s.perSlot)
	s.indexMask = 1<<bits.Len(uint(len(s.fragments)-1)) - 1
	s.base = rand.Uint32()
	s.maxReply = int(max(cfg.ReadBytes, headBytes)) + headBytes
	for i := range s.slots {
		sl := &s.slots[i]
		sl.io.Slot = i
		sl.fragments = s.fragments[i*s.perSlot : (i+1)*s.perSlot]
		for k := range sl.fragments {
			sl.fragments[k] = fragment{slot: sl, Part: Part{ID: i*s.perSlot + k}}
		}
		if groups > 1 {
			sl.shares = make([]slot, groups)
		}
	}
	for i := range cfg.Threads {
		s.threads = append(s.threads, newThread(s, i))
	}
	if s.slotted != nil {
		s.slotted.Notify(func(thread, part int) { s.threads[thread].let(part) })
	}
	return s
}

// perSlot returns the maximum number of parts of an I/O.
func (cfg *Config) perSlot() int {
	smaller := int64(min(cfg.ReadBytes, cfg.WriteBytes))
	parts := max(1, (cfg.BlockBytes+smaller-1)/smaller)
	if cfg.PieceBytes > 0 {
		// Each boundary between two pieces adds a cut: the boundaries within an I/O that does not begin at one, and one
		// where pieces of two kinds meet.
		parts += (cfg.BlockBytes+cfg.PieceBytes-1)/cfg.PieceBytes + 1
	}
	return int(parts)
}

// Parts returns the maximum number of outstanding parts: Part.ID is below it.
func (cfg *Config) Parts() int { return cfg.Slots * cfg.perSlot() }

// Threads returns the number of threads.
func (s *Stream) Threads() int { return len(s.threads) }

// Traffic returns the traffic of thread i since New, and whether the thread is connected.
func (s *Stream) Traffic(i int) (t rpc.Traffic, up bool) {
	t = s.threads[i].Traffic(int64(s.cfg.Now().Sub(s.start)))
	start := s.start.UnixNano()
	for i := range t.Losses {
		for _, at := range []*int64{&t.Losses[i].Since, &t.Losses[i].Noticed, &t.Losses[i].Connected, &t.Losses[i].Answered} {
			if *at > 0 {
				*at += start
			}
		}
	}
	return t, !s.threads[i].isDown.Load()
}

// Run asks d for I/Os and carries them until no slot has any more. When ctx is
// done it asks for no more, and outstanding I/Os end within a tick with an
// error that wraps the cause. Run then closes their connections, and the next
// Run reconnects.
func (s *Stream) Run(ctx context.Context, d Driver) {
	s.driver, s.done = d, make(chan struct{})
	s.cause = func() error { return context.Cause(ctx) }
	s.cancelled.Store(ctx.Err() != nil) // AfterFunc alone would be too late for a context that is already done
	defer context.AfterFunc(ctx, func() { s.cancelled.Store(true) })()
	s.active.Store(int32(len(s.slots)))
	s.spread()
	// Other work of a thread, such as connecting, ends with the last slot.
	threadCtx, stop := context.WithCancel(ctx)
	defer stop()
	var wg sync.WaitGroup
	for _, l := range s.threads {
		wg.Go(func() { l.run(threadCtx) })
	}
	done := s.done
	go func() {
		<-done
		stop()
	}()
	wg.Wait()
	// Abort slots that were on their way to a cancelled thread.
	for _, l := range s.threads {
		for len(l.inbox) > 0 {
			s.abort(<-l.inbox)
		}
	}
}

// spread distributes the slots over the live threads of group 0, in turn.
func (s *Stream) spread() {
	var living, first []*thread
	for g := range s.live {
		s.live[g].Store(0)
	}
	for _, l := range s.threads {
		l.begin()
		if l.group == 0 {
			first = append(first, l)
		}
		if l.sock == nil {
			continue
		}
		s.live[l.group].Add(1)
		if l.group == 0 {
			living = append(living, l)
		}
	}
	if len(living) == 0 {
		living = first
	}
	for i := range s.slots {
		living[i%len(living)].give(&s.slots[i])
	}
}

// end records that a slot has no more I/O.
func (s *Stream) end() {
	if s.active.Add(-1) == 0 {
		close(s.done)
	}
}

// threadErrors joins the reasons why the threads are down.
func (s *Stream) threadErrors() error {
	var all []error
	for _, l := range s.threads {
		if text := l.LastError(); text != "" && l.isDown.Load() {
			all = append(all, fmt.Errorf("%s: %s", s.cfg.Describe(l.index), text))
		}
	}
	return errors.Join(all...)
}

// Close ends all connections.
func (s *Stream) Close() error {
	for _, l := range s.threads {
		l.disconnect()
		if l.event >= 0 {
			_ = unix.Close(l.event)
			l.event = -1
		}
	}
	return nil
}
