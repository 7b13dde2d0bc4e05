package stream

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
)

const (
	// quiet is the time without received bytes after which the path is checked.
	quiet = 400 * time.Millisecond
	// stoodStill is longer than any turn of a thread.
	stoodStill = 3 * time.Second
	// alone bounds the time that one path may leave calls unanswered while others have answers. Then the path is broken,
	// not the server. It equals timeo of the kernel's client, after which that client reconnects.
	alone = time.Minute
	// connectTimeout bounds one attempt to reconnect.
	connectTimeout = time.Second
	backoffFirst   = 50 * time.Millisecond
	backoffMax     = time.Second
	// garbageTries bounds the successive protocol violations of a server.
	garbageTries = 3
)

// Reasons for giving up a connection that TCP still considers open.
var (
	ErrSilent  = errors.New("the path does not carry anything: nothing is acknowledged")
	ErrStalled = errors.New("no answer to a call for too long")
)

// forgive subtracts time in which this process itself was stopped, for instance
// during the migration of a virtual machine, from the waiting times for server
// and path.
func (l *thread) forgive(gap int64) {
	l.heard += gap
	l.answered += gap
	if l.unproven > 0 {
		l.unproven += gap
	}
	for _, sl := range l.owned {
		sl.started += gap
		for i := range sl.fragments[:sl.used] {
			sl.fragments[i].sentAt += gap
		}
	}
}

// check checks the health of the path every tick.
func (l *thread) check() error {
	l.nextLook = l.now + int64(tick)
	if l.now-l.heard > int64(quiet) && PathSilent(l.sock.fd) {
		return ErrSilent
	}
	// One I/O may be slow while others have answers, but not all. A stopped server still acknowledges data: its
	// connections are healthy, and a new one would not get an answer either.
	half := int64(l.s.cfg.Timeout / 2)
	if l.group != 0 || l.standsAlone() {
		half = min(half, int64(alone))
	}
	limit := l.now - int64(l.s.cfg.Timeout)
	if l.group != 0 || l.now-l.answered > half { // the rest of the timeout of a group belongs to group 0
		limit = l.now - half
	}
	for _, sl := range l.owned {
		for i := range sl.fragments[:sl.used] {
			if f := &sl.fragments[i]; f.state == fragmentSent && f.sentAt < limit {
				return ErrStalled
			}
		}
	}
	return nil
}

// standsAlone reports whether another thread had an answer since the last answer of this thread, or has no outstanding
// calls.
func (l *thread) standsAlone() bool {
	replies := l.elsewhere()
	if l.lastSeen != l.answered {
		l.lastSeen, l.lastOthers = l.answered, replies
	}
	return replies > l.lastOthers || slices.ContainsFunc(l.s.threads, func(other *thread) bool {
		return other != l && other.group == l.group && !other.isDown.Load() && other.InFlight.Load() == 0
	})
}

// lose gives up the connection, and hands its outstanding requests to other threads.
func (l *thread) lose(err error) {
	l.lost(err)
	l.noteSent()
	l.disconnect()
	if rpc.IsProtocolError(err) {
		l.garbage++
	}
	hopeless := l.garbage >= garbageTries
	for _, sl := range append([]*slot(nil), l.owned...) {
		completed := l.completed
		for i := range sl.fragments[:sl.used] {
			f := &sl.fragments[i]
			if sl.state != slotActive || f.state != fragmentSent {
				continue
			}
			switch {
			case !hopeless:
				f.state = fragmentQueued
			case l.group != 0:
				f.state = fragmentParked // handOver gives it to group 0
			default:
				l.finished(f, fmt.Errorf("%s: %w", l.s.cfg.Describe(l.index), err))
			}
			if l.completed != completed {
				break // the slot has another I/O, or belongs to another thread
			}
		}
	}
	l.rebuild()
	// The first attempt is immediate, unless the connection was short-lived.
	if l.now-l.connected > int64(backoffMax) {
		l.backoff = 0
	}
	l.tryLater()
}

// noteSent marks the unanswered calls that were sent completely. A server does not execute an incomplete call.
func (l *thread) noteSent() {
	for _, sl := range l.owned {
		for i := range sl.fragments[:sl.used] {
			if f := &sl.fragments[i]; f.state == fragmentSent && f.end <= l.send.sent {
				f.lostBy = l
			}
		}
	}
}

// lost records the loss of the connection. It began at the last answer if one is outstanding.
func (l *thread) lost(err error) {
	l.NoteError(err)
	since := l.now
	if l.inFlight > 0 {
		since = l.answered
		if l.unproven > 0 && since-l.unproven < int64(l.s.cfg.Timeout) {
			since = l.unproven // the previous loss had not ended
		}
	}
	l.unproven = 0
	l.NoteLoss(since, l.now)
	l.s.cfg.Logger.Warn("Channel is lost", "channel", l.s.cfg.Describe(l.index), "error", err)
}

// disconnect closes the connection and forgets the requests in flight on it.
func (l *thread) disconnect() {
	if l.sock == nil {
		return
	}
	if l.inFlight > 0 {
		l.sock.reset()
	} else {
		l.sock.close()
	}
	l.sock = nil
	l.isDown.Store(true)
	l.s.live[l.group].Add(-1)
	if l.s.router != nil {
		for i, xid := range l.mine {
			if xid != 0 {
				l.s.router.Lost(&l.s.fragments[i].Part, nil)
			}
		}
	}
	clear(l.mine)
	clear(l.past)
	l.inFlight = 0
	l.InFlight.Store(0)
	l.send.restart()
	l.recv.restart()
}

// recover makes one attempt to reconnect when it is due.
func (l *thread) recover(ctx context.Context) {
	l.expire()
	if l.s.live[l.group].Load() > 0 || l.group != 0 {
		l.handOver()
	}
	if wait := time.Duration(l.nextTry - l.now); wait > 0 {
		l.idle(min(wait, tick))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	err := l.connect(ctx)
	l.look()
	if err == nil {
		l.reconnected()
		return
	}
	l.tryLater()
}

// reconnected records a new connection after a loss. The loss continues until an answer: a stopped server also
// accepts connections.
func (l *thread) reconnected() {
	l.others, l.still = l.elsewhere(), l.now
	if l.away = l.NoteReconnect(l.now); l.away {
		l.s.cfg.Logger.Info("Channel is connected again", "channel", l.s.cfg.Describe(l.index))
	}
}

// unowed ends a loss for a thread without outstanding I/O, once another thread has had an answer since this thread was
// connected. If this thread then gets no answer, the loss had not ended.
func (l *thread) unowed() {
	switch {
	case !l.away:
	case l.elsewhere() > l.others:
		l.NoteReturn(l.still)
		l.away, l.unproven = false, l.still
	default:
		l.still = l.now
	}
}

// elsewhere returns the number of replies to the other threads.
func (l *thread) elsewhere() (replies int64) {
	for _, other := range l.s.threads {
		if other != l {
			replies += other.Receives.Load()
		}
	}
	return replies
}

// returned ends a loss: with the first answer on the new connection, or with the run.
func (l *thread) returned() {
	if l.away {
		l.away = false
		l.NoteReturn(l.now)
	}
}

// tryLater sets the time of the next attempt to connect, with increasing delays.
func (l *thread) tryLater() {
	l.nextTry = l.now + int64(l.backoff)
	l.backoff = min(max(2*l.backoff, backoffFirst), backoffMax)
}

// connect makes one attempt to connect.
func (l *thread) connect(ctx context.Context) error {
	nc, err := l.s.cfg.Dial(ctx, l.index)
	if err == nil {
		l.sock, err = newSocket(nc, tick)
	}
	if err != nil {
		l.NoteError(err)
		return err
	}
	l.look()
	l.heard, l.answered, l.connected = l.now, l.now, l.now
	l.isDown.Store(false)
	l.s.live[l.group].Add(1)
	return nil
}

// expire fails the I/Os that have exceeded the timeout. Nothing is in flight
// here then, so that no late reply can touch their buffers.
func (l *thread) expire() {
	limit := l.now - int64(l.s.cfg.Timeout)
	for _, sl := range append([]*slot(nil), l.owned...) {
		if sl.state != slotActive || sl.started > limit {
			continue
		}
		err := fmt.Errorf("%w: none within %v: %w", ErrTimeout, l.s.cfg.Timeout, l.s.threadErrors())
		completed := l.completed
		for i := range sl.fragments[:sl.used] {
			if f := &sl.fragments[i]; f.state != fragmentNone {
				l.finished(f, err)
			}
			if l.completed != completed {
				break // the slot has another I/O, or belongs to another thread
			}
		}
	}
	l.rebuild()
}

// rebuild rebuilds the work lists from our own slots: they must not contain a
// slot that another thread has now.
func (l *thread) rebuild() {
	l.unsent.reset()
	l.holdNone()
	l.waiting, l.delayed, l.nextDue = l.waiting[:0], l.delayed[:0], never
	for _, sl := range l.owned {
		switch sl.state {
		case slotWaiting:
			l.waiting = append(l.waiting, sl)
			l.nextDue = min(l.nextDue, sl.due)
		case slotActive:
			l.resume(sl)
		case slotIdle:
		}
	}
}

// handOver gives all slots to live threads of the group, the least loaded first, or else to group 0.
func (l *thread) handOver() {
	for len(l.owned) > 0 {
		to := l.s.idlest(l.group)
		if to == nil && l.group != 0 {
			to = l.s.last()
		}
		if to == nil {
			break
		}
		sl := l.owned[len(l.owned)-1]
		l.drop(sl)
		to.give(sl)
	}
	l.rebuild()
}

// idlest returns the live thread of a group with the fewest slots, or nil.
func (s *Stream) idlest(group int) *thread {
	var best *thread
	for _, l := range s.threads {
		if l.group == group && !l.isDown.Load() && (best == nil || l.load.Load() < best.load.Load()) {
			best = l
		}
	}
	return best
}

// last returns the thread of group 0 that takes what no other group carries. It may be down.
func (s *Stream) last() *thread {
	if l := s.idlest(0); l != nil {
		return l
	}
	return s.threads[0]
}

// successor returns the thread that takes over a slot after its I/O, or nil. With several groups, route decides this
// for the next I/O.
func (l *thread) successor() *thread {
	living := int(l.s.live[0].Load())
	if living <= 1 || l.s.router != nil {
		return nil
	}
	slots := len(l.s.slots)
	if slots < living {
		// The next live thread in turn, so that all threads are used.
		for i := 1; i < len(l.s.threads); i++ {
			if to := l.s.threads[(l.index+i)%len(l.s.threads)]; !to.isDown.Load() {
				return to
			}
		}
		return nil
	}
	if len(l.owned) <= (slots+living-1)/living {
		return nil
	}
	if to := l.s.idlest(0); to != l && to != nil && int(to.load.Load()) < slots/living {
		return to
	}
	return nil
}
