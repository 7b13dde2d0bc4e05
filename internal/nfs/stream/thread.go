package stream

import (
	"context"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/internal/nanosleep"
	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/xdr"
)

const (
	// tick is the maximum time that a thread sleeps without looking at the clock.
	tick = 100 * time.Millisecond
	// never is a due time that never comes.
	never = int64(math.MaxInt64)
)

// thread is a thread of the operating system and its connection, which it makes again after a loss. During Run only
// the thread itself touches the fields, except inbox, ready and the atomic ones.
type thread struct {
	s     *Stream
	index int
	group int
	inbox chan *slot // slots from other threads
	ready chan int   // fragments that need no longer be held
	rpc.Counters
	load   atomic.Int32 // slots that are here or on their way here
	isDown atomic.Bool  // no connection

	// With several groups a slot may arrive at any moment, also from a thread that lost its connection. Writing to the
	// eventfd ends the wait for replies or for due slots.
	event     int // -1 = none
	listening atomic.Bool
	pieces    []routed
	completed int // number of slots whose last fragment ended here

	sock     *socket
	owned    []*slot
	unsent   queue
	waiting  []*slot     // slots in state slotWaiting
	delayed  []*fragment // fragments in state fragmentDelayed
	nextDue  int64       // earliest due time in waiting and delayed
	held     []bool      // by fragment: it is in state fragmentHeld, in one of our slots
	holding  int         // number of held fragments
	mine     []uint32    // by fragment: the xid in flight here, or 0
	past     []uint32    // by fragment: the xid answered last on this connection
	inFlight int

	send    sender
	recv    receiver
	decoder xdr.Decoder // a field, because a call through an interface would move it to the heap

	now       int64 // since Stream.start, at the last look at the clock
	heard     int64 // last receive
	answered  int64 // last answer to an I/O, or start of one while none was under way
	connected int64
	away      bool  // connected after a loss, but without an answer so far
	others    int64 // replies to other threads when this one was connected
	still     int64 // last look at which others had no more replies
	// lastOthers is the number of replies to others at the first look after the answer at lastSeen.
	lastOthers, lastSeen int64

	unproven int64 // end of a loss that had no answer, until there is one; 0 = none
	nextLook int64
	nextTry  int64 // next attempt to connect
	backoff  time.Duration
	garbage  int // successive losses because of invalid replies
	timer    *time.Timer
}

func newThread(s *Stream, index int) *thread {
	l := &thread{
		s: s, index: index, event: -1,
		mine: make([]uint32, len(s.fragments)), past: make([]uint32, len(s.fragments)), timer: time.NewTimer(time.Hour),
		held: make([]bool, len(s.fragments)), ready: make(chan int, len(s.fragments)),
	}
	if s.cfg.Groups != nil {
		l.group = s.cfg.Groups[index]
	}
	room := len(s.slots)
	if l.group == 0 {
		room *= len(s.live) // the shares of all slots may end up here; give must not block
	}
	l.inbox = make(chan *slot, room)
	if s.cfg.Threads > 1 {
		// Without an eventfd a slot waits for the next reply, or for a tick.
		if fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
			l.event = fd
		}
	}
	l.recv.buf = make([]byte, receiveBytes)
	l.isDown.Store(true)
	return l
}

// look reads the clock.
func (l *thread) look() {
	before := l.now
	l.now = int64(l.s.cfg.Now().Sub(l.s.start))
	if gap := l.now - before; gap > int64(stoodStill) {
		l.forgive(gap)
	}
}

// begin prepares the thread for a Run.
func (l *thread) begin() {
	l.look()
	l.owned, l.waiting, l.delayed = l.owned[:0], l.waiting[:0], l.delayed[:0]
	l.unsent.reset()
	l.holdNone()
	l.nextDue, l.nextTry, l.backoff, l.garbage = never, l.now, 0, 0
	l.heard, l.answered, l.unproven, l.nextLook = l.now, l.now, 0, l.now+int64(tick)
	l.lastSeen = never
	l.load.Store(0)
}

// run works until all slots of the stream have ended or were cancelled.
func (l *thread) run(ctx context.Context) {
	for {
		l.look()
		switch {
		case l.s.cancelled.Load():
			l.cancel()
			return
		case l.s.active.Load() == 0:
			l.returned()
			return
		}
		for len(l.inbox) > 0 {
			l.take(<-l.inbox)
		}
		for len(l.ready) > 0 {
			l.unhold(<-l.ready)
		}
		if l.sock == nil {
			l.recover(ctx)
			continue
		}
		if l.nextDue <= l.now {
			l.wake()
		}
		if err := l.step(); err != nil {
			l.lose(err)
		}
	}
}

// step sends what can be sent and waits for an event.
func (l *thread) step() error {
	if err := l.flush(); err != nil {
		return err
	}
	if l.inFlight == 0 {
		if l.idle(tick); len(l.owned) == 0 {
			l.look()
			l.unowed()
		}
		return nil
	}
	if err := l.receive(); err != nil {
		return err
	}
	if l.now >= l.nextLook {
		return l.check()
	}
	return nil
}

// idle waits for a slot, the end, or the next due time, but at most for limit.
func (l *thread) idle(limit time.Duration) {
	if l.nextDue != never {
		due := time.Duration(l.nextDue - l.now)
		if due <= nanosleep.Margin && l.sock != nil {
			l.await()
			return
		}
		limit = min(limit, max(due-nanosleep.Margin, 0))
	}
	l.timer.Reset(max(limit, 0))
	select {
	case sl := <-l.inbox:
		l.take(sl)
	case part := <-l.ready:
		l.unhold(part)
	case <-l.s.done:
	case <-l.timer.C:
	}
}

// give hands a slot to l. Any thread may call it.
func (l *thread) give(sl *slot) {
	l.load.Add(1)
	l.inbox <- sl
	l.interrupt()
}

// let releases a held fragment. Any goroutine may call it. It does not block: a thread takes released fragments before
// it holds the same fragment again.
func (l *thread) let(part int) {
	l.ready <- part
	l.interrupt()
}

// interrupt ends the wait of l.
func (l *thread) interrupt() {
	if l.listening.Load() && l.event >= 0 {
		one := [8]byte{1} // any nonzero number, so the byte order does not matter
		_, _ = unix.Write(l.event, one[:])
	}
}

// take takes over a slot and continues its I/O.
func (l *thread) take(sl *slot) {
	l.own(sl)
	if sl.state != slotActive {
		l.ask(sl)
		return
	}
	l.resume(sl)
	if l.group != 0 {
		l.leave(sl)
	}
}

// hold holds a fragment until the Protocol is ready for it.
func (l *thread) hold(f *fragment) {
	f.state, l.held[f.ID] = fragmentHeld, true
	l.holding++
}

// unhold queues a fragment that l holds. It does nothing for any other: another thread has the slot, and asks the
// Protocol again.
func (l *thread) unhold(part int) {
	if l.held[part] {
		l.held[part] = false
		l.holding--
		f := &l.s.fragments[part]
		f.state = fragmentQueued
		l.unsent.push(f)
	}
}

func (l *thread) holdNone() {
	clear(l.held)
	l.holding = 0
}

// own adds a slot to our own. From now on this thread calls the Driver for it,
// also for an I/O that another thread began.
func (l *thread) own(sl *slot) {
	sl.position, sl.io.Thread = len(l.owned), l.index
	l.owned = append(l.owned, sl)
}

// resume continues the fragments of an I/O that are not in flight.
func (l *thread) resume(sl *slot) {
	for i := range sl.fragments[:sl.used] {
		switch f := &sl.fragments[i]; f.state {
		case fragmentQueued:
			l.unsent.push(f)
		case fragmentHeld: // the Protocol must know which thread holds it
			f.state = fragmentQueued
			l.unsent.push(f)
		case fragmentDelayed:
			l.delay(f)
		case fragmentParked:
			if l.group == 0 {
				f.state = fragmentQueued
				l.unsent.push(f)
			}
		case fragmentNone, fragmentSent:
		}
	}
}

// drop removes a slot from our own.
func (l *thread) drop(sl *slot) {
	last := l.owned[len(l.owned)-1]
	l.owned[sl.position], last.position = last, sl.position
	l.owned = l.owned[:len(l.owned)-1]
	l.load.Add(-1)
}

// ask gets the next I/O of a slot from the Driver.
func (l *thread) ask(sl *slot) {
	sl.state = slotIdle
	sl.io.Wait, sl.io.Err, sl.io.Unstable, sl.io.SentAgain = 0, nil, false, false
	if !l.s.driver.Next(&sl.io) {
		l.drop(sl)
		l.s.end()
		return
	}
	if sl.io.Wait > 0 {
		l.look()
		sl.state, sl.due = slotWaiting, l.now+int64(sl.io.Wait)
		l.waiting = append(l.waiting, sl)
		l.nextDue = min(l.nextDue, sl.due)
		return
	}
	sl.state, sl.started = slotActive, l.now
	if l.s.router != nil {
		l.route(sl)
		return
	}
	l.s.cut(sl)
	for i := range sl.fragments[:sl.used] {
		l.unsent.push(&sl.fragments[i])
	}
}

// wake continues all slots and fragments that are due.
func (l *thread) wake() {
	slots, fragments := l.waiting, l.delayed
	l.waiting, l.delayed, l.nextDue = l.waiting[:0], l.delayed[:0], never
	for _, sl := range slots {
		if sl.due <= l.now {
			l.ask(sl) // ask appends at most behind the current element
			continue
		}
		l.waiting = append(l.waiting, sl)
		l.nextDue = min(l.nextDue, sl.due)
	}
	for _, f := range fragments {
		if f.due <= l.now {
			f.state = fragmentQueued
			l.unsent.push(f)
			continue
		}
		l.delay(f)
	}
}

func (l *thread) delay(f *fragment) {
	f.state = fragmentDelayed
	l.delayed = append(l.delayed, f)
	l.nextDue = min(l.nextDue, f.due)
}

// finished ends a fragment, and with the last one the I/O.
func (l *thread) finished(f *fragment, err error) {
	f.state = fragmentNone
	if err != nil && l.s.slotted != nil {
		l.s.slotted.Forget(&f.Part)
	}
	sl := f.slot
	if sl.err == nil {
		sl.err = err
	}
	if sl.left--; sl.left > 0 {
		return
	}
	l.completed++
	if sl.whole != nil {
		if sl = l.joined(sl); sl == nil {
			return
		}
	}
	sl.state, sl.io.Err = slotIdle, sl.err
	l.s.driver.Done(&sl.io)
	if to := l.successor(); to != nil {
		l.drop(sl)
		to.give(sl)
		return
	}
	l.ask(sl)
}

// cancel ends all I/O of our own slots with the cause.
func (l *thread) cancel() {
	if l.inFlight > 0 || l.send.pending() {
		l.disconnect() // late replies would overwrite buffers that no longer belong to us
	}
	for len(l.inbox) > 0 {
		l.own(<-l.inbox)
	}
	for _, sl := range l.owned {
		l.s.abort(sl)
	}
	l.owned = l.owned[:0]
}

// abort informs the Driver of a cancelled I/O.
func (s *Stream) abort(sl *slot) {
	for i := range sl.fragments[:sl.used] {
		f := &sl.fragments[i]
		if f.state != fragmentNone && s.slotted != nil {
			s.slotted.Forget(&f.Part)
		}
		f.state = fragmentNone // nothing is in flight in the next Run
	}
	if whole := sl.whole; whole != nil {
		// Another share may be the last one, and must not end without an error.
		err := fmt.Errorf("cancelled: %w", s.cause())
		whole.failed.CompareAndSwap(nil, &err)
		if sl.state = slotIdle; whole.open.Add(-1) > 0 {
			return
		}
		sl = whole
		sl.failed.Store(nil)
	}
	if sl.state == slotActive {
		sl.io.Err = fmt.Errorf("cancelled: %w", s.cause())
		sl.state = slotIdle
		s.driver.Done(&sl.io)
	}
	s.end()
}
