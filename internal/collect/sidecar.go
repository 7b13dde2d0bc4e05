package collect

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
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

func newSidecar(o RunOptions, session *Session) *sidecar {
	return &sidecar{
		opt:     o,
		session: session,
		loader:  newFollower(o.RunDir),
		outbox:  newOutbox(o.Publisher, o.Log, o.Times.Retry),
	}
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
			s.look() // the last words, written since
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
		s.outbox.putProgress(s.progress())
		s.lastProgress, s.dirty = now, false
	}
	repetitions, measuring := s.loader.repetitions(), s.loader.last.Span == runfile.SpanMeasure
	if repetitions != s.told || (measuring && now.Sub(s.lastPartial) >= s.opt.Times.Partial) {
		s.lastPartial, s.told = now, repetitions
		s.outbox.putResult(s.partialResult())
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

func (s *sidecar) progress() runfile.Progress {
	return runfile.Progress{Event: *s.loader.last, Ready: s.waiting()}
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
	return publish.Update{Progress: s.finalProgress(load), Result: packed}
}

func (s *sidecar) finalProgress(load runfile.Load) *runfile.Progress {
	p := runfile.Progress{Event: runfile.Event{Time: s.session.wallTime()}, Final: true}
	if s.loader.last != nil {
		p.Event = *s.loader.last
	}
	if load.Failure != nil {
		p.Failed, p.Message = true, load.Failure.Message
	}
	return &p
}

// releaseWhen lets the loader start once asked says so.
func (s *sidecar) releaseWhen(ctx context.Context, asked func(context.Context) (bool, error)) {
	for {
		yes, err := asked(ctx)
		if err == nil && yes {
			err = release(s.opt.RunDir)
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
