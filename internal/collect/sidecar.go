package collect

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	// publishTimeout bounds the attempts to publish one update before a newer
	// one may take its place.
	publishTimeout = 10 * time.Second
	// lastTimeout is what an attempt still has when the outbox is stopped. It
	// is not broken off: a server could carry it out after the final result,
	// and the reader would take the run for unfinished.
	lastTimeout = 3 * time.Second
)

// partialSamples bounds the raw samples of a partial result: packing them
// takes CPU time from the client that is being measured.
const partialSamples = 300

const (
	problemEvents = "loader events"
	problemLoad   = "loader result"
)

// sidecar follows one loader. Its fields belong to the goroutine of follow.
type sidecar struct {
	opt          RunOptions
	session      *Session
	loader       *follower
	outbox       *outbox
	releasing    bool
	lastProgress time.Time
	lastPartial  time.Time
	told         int  // repetitions in the last partial result
	dirty        bool // something was reported since the last progress
}

// follow looks at the run directory until the loader is done or ctx ends.
func (s *sidecar) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { s.outbox.run(ctx) })
	if s.opt.Plan.Clients <= 1 {
		s.releasing = true
		helpers.Go(func() { s.releaseWhen(ctx, func(context.Context) (bool, error) { return true, nil }) })
	}
	poll := time.NewTicker(s.opt.Times.Poll)
	defer poll.Stop()
	for {
		moved := s.look()
		if s.loader.done() {
			return
		}
		if s.waiting() && !s.releasing {
			s.releasing = true
			helpers.Go(func() { s.releaseWhen(ctx, s.opt.Publisher.Released) })
		}
		s.tell(moved)
		select {
		case <-ctx.Done():
			s.look() // the last events, written since
			return
		case <-poll.C:
		}
	}
}

// look reads what the loader has written. It reports whether the span changed.
func (s *sidecar) look() bool {
	news, moved, err := s.loader.readEvents()
	if err != nil {
		s.session.problem(problemEvents, err)
	}
	if moved {
		s.session.Mark()
	}
	if news {
		s.session.latest.setEvent(*s.loader.last)
	}
	s.dirty = s.dirty || news
	return moved
}

func (s *sidecar) waiting() bool {
	return s.loader.last != nil && s.loader.last.Span == runfile.SpanWait
}

// tell hands to the outbox what is due.
func (s *sidecar) tell(moved bool) {
	now := s.session.wallTime()
	s.readLoad(now, false)
	if s.loader.last == nil {
		return
	}
	if moved || (s.dirty && now.Sub(s.lastProgress) >= s.opt.Times.Progress) {
		s.outbox.put(&runfile.Progress{Event: *s.loader.last, Ready: s.waiting()}, nil)
		s.lastProgress, s.dirty = now, false
	}
	repetitions, measuring := 0, s.loader.last.Span == runfile.SpanMeasure
	if s.loader.load != nil {
		repetitions = len(s.loader.load.Repetitions)
	}
	if repetitions != s.told || (measuring && now.Sub(s.lastPartial) >= s.opt.Times.Partial) {
		s.lastPartial, s.told = now, repetitions
		s.outbox.put(nil, s.partialResult())
	}
}

// readLoad reads the load file, which may be large, not more often than needed.
func (s *sidecar) readLoad(now time.Time, last bool) {
	done := s.loader.last != nil && s.loader.last.Span == runfile.SpanDone
	if !last && !done && now.Sub(s.loader.loadRead) < s.opt.Times.LoadFile {
		return
	}
	if err := s.loader.readLoad(now); err != nil {
		s.session.problem(problemLoad, err)
	}
	if s.loader.load != nil {
		s.session.latest.setLoad(s.loader.load)
	}
}

// partialResult returns a function that packs what is known now; it is called
// where packing does not keep the loader's events waiting.
func (s *sidecar) partialResult() func() ([]byte, error) {
	load := s.loader.partialLoad()
	return func() ([]byte, error) {
		result := s.result(load, s.session.Observe(load.Spans))
		return publish.Encode(result, publish.Limits{Bytes: publish.Budget(s.opt.Plan.Clients), Samples: partialSamples})
	}
}

// offsetClock is a Publisher that knows the clock of those who read the result.
type offsetClock interface {
	// ClockOffset is how far that clock is ahead of this client's.
	ClockOffset() (time.Duration, bool)
}

func (s *sidecar) result(load runfile.Load, observed *runfile.Observed) runfile.Result {
	if c, ok := s.opt.Publisher.(offsetClock); ok {
		if ahead, known := c.ClockOffset(); known {
			observed.ClockOffsetMilliseconds = new(ahead.Milliseconds())
		}
	}
	return runfile.Result{
		Version:   runfile.ResultVersion,
		Plan:      s.opt.Plan,
		Simulated: s.opt.Plan.Survey.IsStandIn() || load.Oracle != nil && load.Oracle.StandIn,
		Clients:   []runfile.ClientResult{{Index: s.opt.Index, Host: s.opt.Host, Load: load, Observed: observed}},
	}
}

// finalUpdate takes the last samples and packs everything.
func (s *sidecar) finalUpdate(ctx context.Context) publish.Update {
	s.look()
	s.readLoad(s.session.wallTime(), true)
	load := s.loader.partialLoad()
	if !s.loader.ended() {
		load = crashedLoad(load, s.loader.last)
	}
	spans := closedAt(load.Spans, s.loader.last)
	last, cancel := context.WithTimeout(ctx, s.opt.Times.Grace/2)
	defer cancel()
	s.session.Finish(last, load)
	packed, err := publish.Encode(s.result(load, s.session.Observe(spans)),
		publish.Limits{Bytes: publish.Budget(s.opt.Plan.Clients)})
	if err != nil {
		s.opt.Log.Error("The final result is not as it should be", slog.Any("error", err))
	}
	progress := runfile.Progress{Event: runfile.Event{Time: s.session.wallTime()}, Final: true}
	if s.loader.last != nil {
		progress.Event = *s.loader.last
	}
	if load.Failure != nil {
		progress.Failed, progress.Message = true, load.Failure.Message
	}
	return publish.Update{Progress: &progress, Result: packed}
}

// releaseWhen lets the loader start once asked says so.
func (s *sidecar) releaseWhen(ctx context.Context, asked func(context.Context) (bool, error)) {
	for {
		yes, err := asked(ctx)
		if err == nil && yes {
			err = touch(s.opt.RunDir, runfile.ReleaseFile)
		}
		switch {
		case err == nil && yes:
			s.opt.Log.Info("All clients may start")
			return
		case err != nil && ctx.Err() == nil:
			s.opt.Log.Warn("Waiting for the other clients", slog.Any("error", err))
		}
		if !sleep(ctx, s.opt.Times.Release) {
			return
		}
	}
}

// outbox publishes the newest progress and the newest partial result. What is
// put while it is busy replaces what waits: readers want the present.
type outbox struct {
	publisher publish.Publisher
	log       *slog.Logger
	retry     time.Duration
	wake      chan struct{}

	mu       sync.Mutex
	progress *runfile.Progress
	pack     func() ([]byte, error)
}

// put hands over what is new; nil parts stay as they are. pack is called when it is
// its turn.
func (o *outbox) put(progress *runfile.Progress, pack func() ([]byte, error)) {
	o.mu.Lock()
	if progress != nil {
		o.progress = progress
	}
	if pack != nil {
		o.pack = pack
	}
	o.mu.Unlock()
	o.ring()
}

func (o *outbox) ring() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

func (o *outbox) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
		}
		if !o.send(ctx) {
			if !sleep(ctx, o.retry) {
				return
			}
			o.ring()
		}
	}
}

// send publishes what waits. When that fails, what nothing newer replaces
// waits again.
func (o *outbox) send(ctx context.Context) bool {
	o.mu.Lock()
	progress, pack := o.progress, o.pack
	o.progress, o.pack = nil, nil
	o.mu.Unlock()
	update := publish.Update{Progress: progress}
	if pack != nil {
		packed, err := pack()
		if err != nil {
			o.log.Warn("A partial result is not as it should be", slog.Any("error", err))
		}
		update.Result = packed
	}
	if update.Progress == nil && update.Result == nil {
		return true
	}
	attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishTimeout)
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if sleep(attempt, lastTimeout) {
			cancel()
		}
	})()
	err := o.publisher.Publish(attempt, update)
	if err == nil {
		return true
	}
	if ctx.Err() == nil {
		o.log.Warn("Progress is not published", slog.Any("error", err))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.progress == nil {
		o.progress = progress
	}
	if o.pack == nil {
		o.pack = pack
	}
	return false
}
