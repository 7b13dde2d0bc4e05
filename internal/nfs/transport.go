package nfs

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/nfs/rpc"
	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// ErrTimeout reports that a call got no answer within Config.CallTimeout.
var ErrTimeout = stream.ErrTimeout

// protocolTries bounds the retries after the server sent something that is not RPC: once may be bad luck with a dying
// server, always is a bad server.
const protocolTries = 3

// answerless bounds the time without an answer to a call without data before its connection is replaced. Such calls
// can be retried, and mounting must not wait for long.
const answerless = 15 * time.Second

// maxTick bounds the resolution of the transport's clock.
const maxTick = 250 * time.Millisecond

// transport carries calls over all channels of a client.
type transport struct {
	channels []*channel
	timeout  time.Duration
	// patience replaces the timeout while the server reports that state is lost or being reclaimed.
	patience atomic.Int64 // ns
	now      func() time.Time
	// tickets limits the outstanding calls; nil = no limit. A call that gets stream.ErrNoSlot waits for the slot of its
	// ticket, and calls forget if it ends without an answer.
	tickets chan int
	slots   []chan struct{}
	forget  func(ticket int)
	// giveBack is called for a call that is not sent now, although it may hold a slot.
	giveBack func(ticket int)
	turn     atomic.Uint32 // start of the search for a channel
	serial   atomic.Uint32 // of requests
	clock    atomic.Int64  // coarse time in ns, cheap to read for each call

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a channel comes up

	stop context.CancelFunc
	ctx  context.Context // ends with the transport; for background goroutines
	wg   sync.WaitGroup
}

// op is one call with the state needed to retry it.
type op struct {
	call rpc.Call
	// part is the data of a READ or WRITE. For every call it identifies the request: its ID is a ticket of the
	// transport, and its Serial changes with each new request.
	part stream.Part
	// encode encodes the request, and decode reads the results and returns the next step.
	encode func(o *op) error
	decode func(o *op) stream.Results

	results  stream.Results
	conn     *rpc.Conn
	ch       *channel
	started  int64 // coarse time of the first attempt
	attempts int   // connections tried
	garbage  int   // attempts that ended with a protocol violation
	free     bool  // it needs no ticket
}

func newTransport(channels []*channel, timeout time.Duration, now func() time.Time) *transport {
	t := &transport{
		channels: channels, timeout: timeout, now: now, changed: make(chan struct{}),
	}
	t.patience.Store(int64(timeout))
	t.ctx, t.stop = context.WithCancel(context.Background())
	t.clock.Store(now().UnixNano())
	for _, ch := range channels {
		t.wg.Go(func() { ch.run(t.ctx, t.announce) })
	}
	t.wg.Go(t.monitor)
	return t
}

// close ends all channels; outstanding calls end with rpc.ErrClosed.
func (t *transport) close() {
	for _, ch := range t.channels {
		ch.closed.Store(true)
	}
	t.stop()
	t.wg.Wait()
}

// announce wakes all callers that wait for a live channel.
func (t *transport) announce() {
	t.mu.Lock()
	close(t.changed)
	t.changed = make(chan struct{})
	t.mu.Unlock()
}

// monitor updates the coarse clock and ends stalled connections.
func (t *transport) monitor() {
	tick := time.NewTicker(max(min(maxTick, t.timeout/16), time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-tick.C:
		}
		now := t.now().UnixNano()
		t.clock.Store(now)
		for _, ch := range t.channels {
			conn := ch.live()
			if conn == nil {
				continue
			}
			if since, ok := conn.Oldest(); ok && now-since > int64(min(t.timeout/2, answerless)) {
				conn.Fail(stream.ErrStalled)
			} else if ok && ch.silent() {
				conn.Fail(stream.ErrSilent)
			}
		}
	}
}

// do makes the call of o and returns its error. It retries as long as the server asks for it and time remains.
func (t *transport) do(ctx context.Context, o *op) error {
	o.started = t.clock.Load()
	if t.tickets == nil {
		return t.repeat(ctx, o)
	}
	if !o.free {
		select {
		case o.part.ID = <-t.tickets:
			defer func() { t.tickets <- o.part.ID }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	err := t.repeat(ctx, o)
	if err != nil {
		t.forget(o.part.ID)
	}
	return err
}

func (t *transport) repeat(ctx context.Context, o *op) error {
	err := t.start(ctx, o)
	for wait := time.Duration(0); ; {
		next := stream.Recover
		switch {
		case err == nil:
			o.results = o.decode(o)
			next, err = o.results.Next, o.results.Err
		case !errors.Is(err, stream.ErrNotReady) || o.free:
			return err // recovery does not wait for itself
		}
		limit := int64(t.timeout)
		switch next {
		case stream.Finish, stream.Elsewhere:
			return err
		case stream.Repeat:
			wait = 0
		case stream.Delay:
			wait = min(max(2*wait, stream.DelayFirst), stream.DelayMax)
		case stream.Recover:
			wait, limit = min(max(2*wait, stream.RecoverFirst), stream.RecoverMax), t.patience.Load()
		case stream.Disconnect:
			o.conn.Fail(err)
			if t.clock.Load()-o.started > limit {
				return err
			}
			err = t.send(ctx, o) // retransmit the same request on another connection
			continue
		}
		if t.clock.Load()-o.started+int64(wait) > limit || !sleep(ctx, wait) {
			return err
		}
		err = t.start(ctx, o) // the server would repeat its reply to the old request
	}
}

// start encodes o as a new request and sends it.
func (t *transport) start(ctx context.Context, o *op) error {
	o.call.Reset()
	o.part.Serial = t.serial.Add(1)
	err := o.encode(o)
	for errors.Is(err, stream.ErrNoSlot) {
		if err = t.awaitSlot(ctx, o); err == nil {
			err = o.encode(o)
		}
	}
	if err == nil {
		return t.send(ctx, o)
	}
	if t.tickets != nil {
		t.giveBack(o.part.ID)
	}
	if t.ctx.Err() != nil {
		return rpc.ErrClosed
	}
	return err
}

// awaitSlot waits until a call without a slot may be encoded. Its error is never stream.ErrNoSlot.
func (t *transport) awaitSlot(ctx context.Context, o *op) error {
	timer := time.NewTimer(t.timeout - time.Duration(t.clock.Load()-o.started))
	defer timer.Stop()
	select {
	case <-t.slots[o.part.ID]:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.ctx.Done():
		return rpc.ErrClosed
	case <-timer.C:
		return fmt.Errorf("%w: no slot of the session became free", ErrTimeout)
	}
}

// sleep returns false if ctx ends first. It adds up to a tenth at random, so that many waiting calls do not return
// together.
func sleep(ctx context.Context, d time.Duration) bool {
	if d > 0 {
		d += rand.N(d/10 + 1)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// send sends the request of o and waits for its results, and retries as long as that can help. The connection times
// each attempt separately.
func (t *transport) send(ctx context.Context, o *op) (err error) {
	for lostBy := (*channel)(nil); ; lostBy = o.ch {
		o.attempts++
		o.call.Since = t.clock.Load()
		if o.ch, o.conn, err = t.pick(ctx, o.started); err == nil {
			if lostBy != nil {
				lostBy.counters.Retransmits.Add(1)
			}
			err = o.conn.Do(ctx, &o.call)
		}
		if err == nil {
			return nil
		}
		if err = t.mayRepeat(o, err); err != nil {
			return err
		}
	}
}

// mayRepeat returns nil if the call may be retried, or else the final error.
func (t *transport) mayRepeat(o *op, err error) error {
	switch {
	case t.ctx.Err() != nil:
		return rpc.ErrClosed
	case rpc.IsProtocolError(err):
		if o.garbage++; o.garbage >= protocolTries {
			return fmt.Errorf("%s: %w", o.ch.describe(), err)
		}
	case !rpc.IsLost(err):
		return err
	}
	if elapsed := t.clock.Load() - o.started; elapsed >= int64(t.timeout) {
		return fmt.Errorf("%w: %d attempts within %v, last on %s: %w",
			ErrTimeout, o.attempts, t.timeout, o.ch.describe(), err)
	}
	return nil
}

// pick returns the live channel with the fewest calls in flight, in turn among
// equals. It waits if there is none.
func (t *transport) pick(ctx context.Context, started int64) (*channel, *rpc.Conn, error) {
	for {
		// Take the signal before looking, so as not to miss a channel that comes up
		// in between.
		t.mu.Lock()
		changed := t.changed
		t.mu.Unlock()
		if ch, conn := t.leastBusy(); conn != nil {
			return ch, conn, nil
		}
		timer := time.NewTimer(time.Duration(started + int64(t.timeout) - t.now().UnixNano()))
		var err error
		select {
		case <-changed:
		case <-ctx.Done():
			err = ctx.Err()
		case <-t.ctx.Done():
			err = rpc.ErrClosed
		case <-timer.C:
			err = fmt.Errorf("%w: no channel is up: %w", ErrTimeout, t.channelErrors())
		}
		if timer.Stop(); err != nil {
			return nil, nil, err
		}
	}
}

func (t *transport) leastBusy() (best *channel, conn *rpc.Conn) {
	if len(t.channels) == 1 {
		return t.channels[0], t.channels[0].live()
	}
	least := int64(0)
	turn := int(t.turn.Add(1))
	for i := range t.channels {
		ch := t.channels[(turn+i)%len(t.channels)]
		n := ch.counters.InFlight.Load()
		if best != nil && n >= least {
			continue
		}
		if c := ch.live(); c != nil {
			best, conn, least = ch, c, n
		}
	}
	return best, conn
}

// channelErrors joins the reasons why the channels are down.
func (t *transport) channelErrors() error {
	var all []error
	for _, ch := range t.channels {
		if text := ch.counters.LastError(); text != "" {
			all = append(all, fmt.Errorf("%s: %s", ch.describe(), text))
		}
	}
	return errors.Join(all...)
}
