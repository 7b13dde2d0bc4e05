package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/internal/shareddir"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// The files of the run directory that only the collector uses.
const (
	ReadyFile = "collector-ready" // the collector samples: the loader may start
	FinalFile = "collector-final" // the last result was published
	// JournalFile holds the samples so far.
	JournalFile = "collector-samples.jsonl"
)

const (
	// finalPoll is the interval at which the loader checks for the final result.
	finalPoll = 100 * time.Millisecond
	// FinalPatience is how long a loader waits until the final result is published: longer than the API server
	// of a cluster is unavailable when its control plane is replaced.
	FinalPatience = 5 * time.Minute
)

// RunOptions configures a sidecar. All fields except Times and Started must be set.
type RunOptions struct {
	Options
	RunDir    string
	Host      runfile.Host
	Publisher publish.Publisher
	Times     Times
	Started   func(*Session) // called once when sampling has begun; may be nil
}

// Times holds the intervals of a sidecar's periodic work. Zero means the default in brackets.
type Times struct {
	Poll     time.Duration // look at the run directory [200ms]
	Progress time.Duration // publish progress; also published at each change of the span [2s]
	Partial  time.Duration // publish a partial result while measuring [15s]
	LoadFile time.Duration // read a load file that was replaced [2s]
	Release  time.Duration // check for the signal to start or to go to another level [500ms]
	Retry    time.Duration // try again to publish [2s]
	Grace    time.Duration // from the request to stop to the end [20s]
}

func (t Times) withDefaults() Times {
	or := func(d, value time.Duration) time.Duration { return cmp.Or(max(d, 0), value) }
	return Times{
		Poll:     or(t.Poll, 200*time.Millisecond),
		Progress: or(t.Progress, 2*time.Second),
		Partial:  or(t.Partial, 15*time.Second),
		LoadFile: or(t.LoadFile, 2*time.Second),
		Release:  or(t.Release, 500*time.Millisecond),
		Retry:    or(t.Retry, 2*time.Second),
		Grace:    or(t.Grace, 20*time.Second),
	}
}

// Run runs the sidecar: it samples and publishes until the loader's load file ends with a Done span,
// publishes the final result, and waits until ctx ends. If ctx ends first, Run publishes the present result
// within Times.Grace; if the load file is then partial and has no reason, the loader has crashed. The error
// means that the final result was not published, or that the sidecar could not start.
func Run(ctx context.Context, o RunOptions) error {
	o.Times = o.Times.withDefaults()
	if exists(o.RunDir, FinalFile) {
		// A restart after the end: the better result is already published.
		o.Log.Info("The final result was published before a restart, waiting for the end")
		if err := touch(o.RunDir, ReadyFile); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	// The file of another collector means that this container was restarted.
	restarted := exists(o.RunDir, ReadyFile)
	err := shareddir.Remove(o.RunDir, ReadyFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("use run directory: %w", err)
	}
	o.Journal = filepath.Join(o.RunDir, JournalFile)
	session := Start(context.WithoutCancel(ctx), o.Options)
	if restarted {
		session.problem(problemRestart, session.gap())
	}
	if o.Started != nil {
		o.Started(session)
	}
	s := &sidecar{
		opt: o, session: session, loader: newFollower(o.RunDir), restarted: restarted,
		search: o.Plan.Clients > 1 && o.Plan.Workload.Capacity() != nil,
		outbox: &outbox{publisher: o.Publisher, log: o.Log, retry: o.Times.Retry, wake: make(chan struct{}, 1)},
	}
	defer s.session.Finish(context.WithoutCancel(ctx), runfile.Load{}) // ends the goroutines on every way out
	if err := touch(o.RunDir, ReadyFile); err != nil {
		return fmt.Errorf("say that the collector has started: %w", err)
	}
	s.follow(ctx)
	return s.finish(ctx)
}

// finish publishes the final result, and then waits until ctx ends.
func (s *sidecar) finish(ctx context.Context) error {
	// After the request to stop, everything must end within Grace.
	graceful, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if sleep(graceful, s.opt.Times.Grace) {
			cancel()
		}
	})()

	update := s.finalUpdate(graceful)
	for {
		err := s.opt.Publisher.Publish(graceful, update)
		if err == nil {
			break
		}
		s.opt.Log.Warn("The final result is not published yet", slog.Any("error", err))
		if !sleep(graceful, s.opt.Times.Retry) || (storage.IsPermanent(err) && ctx.Err() != nil) {
			return fmt.Errorf("publish final result: %w", err)
		}
	}
	s.opt.Log.Info("Published the final result", slog.Int("bytes", len(update.Result)))
	if err := touch(s.opt.RunDir, FinalFile); err != nil {
		s.opt.Log.Warn("A restart would publish the result again", slog.Any("error", err))
	}
	<-ctx.Done()
	return nil
}

// sleep reports whether d has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool { return runloop.Wait(ctx, d) == nil }

// AwaitFinal waits until the collector of a run directory has published the final result, patience has
// passed, or ctx ends. It reports whether the result is published.
//
// A loader calls it before it ends, because Kubernetes stops the sidecars of a pod after its containers have
// ended, and does not start them again. The result would be lost if the collector were then killed, or if the
// API server were unavailable for longer than a pod may take to stop.
func AwaitFinal(ctx context.Context, dir string, patience time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !exists(dir, FinalFile) {
		if !sleep(ctx, finalPoll) {
			return exists(dir, FinalFile)
		}
	}
	return true
}

// Check is the startup probe. It returns nil if the collector of the run directory has started to sample.
func Check(dir string) error {
	if exists(dir, ReadyFile) {
		return nil
	}
	return fmt.Errorf("the collector has not started: there is no %q", filepath.Join(dir, ReadyFile))
}

func touch(dir, name string) error { return shareddir.Replace(dir, name, nil, shareddir.ForAll) }

// exists reports whether a file exists and can be opened.
func exists(dir, name string) bool {
	there, err := shareddir.Exists(dir, name)
	return there && err == nil
}

// publishTimeout bounds the attempt to publish one update. Afterwards a newer update may replace it.
const publishTimeout = 10 * time.Second

// partialSamples bounds the raw samples of a partial result, because packing them takes CPU time from the
// measured client.
const partialSamples = 300

// sidecar follows one loader. Its fields belong to the goroutine of follow.
type sidecar struct {
	opt          RunOptions
	session      *Session
	loader       *follower
	outbox       *outbox
	restarted    bool         // another collector was killed before this one started
	search       bool         // several clients search and go to each level together
	measured     atomic.Int32 // index of the last level that the loader reported
	releasing    bool
	lastProgress time.Time
	lastPartial  time.Time
	told         int  // repetitions in the last partial result
	dirty        bool // something was reported since the last progress
}

// follow reads the run directory until the loader is done or ctx ends.
func (s *sidecar) follow(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var helpers sync.WaitGroup
	defer helpers.Wait()
	defer cancel()
	helpers.Go(func() { s.outbox.run(ctx) })
	if s.opt.Plan.Clients <= 1 {
		s.releasing = true
		helpers.Go(func() {
			s.releaseWhen(ctx, func(context.Context) (publish.Signal, error) { return publish.Signal{Released: true}, nil })
		})
	}
	poll := time.NewTicker(s.opt.Times.Poll)
	defer poll.Stop()
	for {
		moved := s.look()
		if s.loader.done() {
			return
		}
		// A loader that was released before a restart still needs its levels.
		if (s.waiting() || s.search && s.restarted) && !s.releasing {
			s.releasing = true
			helpers.Go(func() { s.releaseWhen(ctx, s.opt.Publisher.Signal) })
		}
		s.tell(moved)
		select {
		case <-ctx.Done():
			s.look() // the last events before the end
			return
		case <-poll.C:
		}
	}
}

// look reads new reports of the loader. It reports whether the span changed.
func (s *sidecar) look() bool {
	news, moved, err := s.loader.readEvents()
	if err != nil {
		s.session.problem("loader events", err)
	}
	if moved {
		s.session.Mark()
	}
	if news {
		s.session.setEvent(*s.loader.last)
	}
	s.dirty = s.dirty || news
	return moved
}

func (s *sidecar) waiting() bool {
	return s.loader.last != nil && s.loader.last.Span == runfile.SpanWait
}

// tell passes progress and partial results to the outbox when they are due.
func (s *sidecar) tell(moved bool) {
	now := s.session.wallTime()
	s.readLoad(now, false)
	if s.loader.last == nil {
		return
	}
	level := s.level()
	if level != nil && level.Index != s.measured.Load() {
		s.measured.Store(level.Index)
		moved = true
	}
	if moved || (s.dirty && now.Sub(s.lastProgress) >= s.opt.Times.Progress) {
		s.outbox.put(&runfile.Progress{Event: *s.loader.last, Ready: s.waiting(), Level: level}, nil)
		s.lastProgress, s.dirty = now, false
	}
	repetitions, measuring := 0, s.loader.last.Span == runfile.SpanMeasure
	if s.loader.load != nil {
		repetitions = len(s.loader.load.Repetitions)
	}
	if repetitions != s.told || (measuring && now.Sub(s.lastPartial) >= s.opt.Times.Partial) {
		s.lastPartial, s.told = now, repetitions
		load := s.loader.partialLoad()
		s.outbox.put(nil, func() ([]byte, error) { // in a goroutine in which packing does not delay the loader's events
			limits := publish.Share(s.opt.Plan)
			limits.Samples = partialSamples
			return publish.Encode(s.result(load, s.session.Observe(load)), limits)
		})
	}
}

// level returns the last level of a search that the loader has reported; nil if there is none, or if no other
// client waits for it.
func (s *sidecar) level() *runfile.LevelReport {
	if !s.search || s.loader.load == nil || len(s.loader.load.Repetitions) == 0 {
		return nil
	}
	last := s.loader.load.Repetitions[len(s.loader.load.Repetitions)-1].Level
	if last == nil {
		return nil
	}
	out := last.InParts(s.opt.Plan.ReportParts())
	out.Slow, out.Histogram = out.Slow[:min(len(out.Slow), runfile.MaxLatencyBounds)], ""
	return &out
}

// readLoad reads the load file, which may be large, no more often than needed. In a search the other clients
// wait for the level report in it.
func (s *sidecar) readLoad(now time.Time, last bool) {
	done := s.loader.last != nil && s.loader.last.Span == runfile.SpanDone
	if !last && !done && !s.search && now.Sub(s.loader.loadRead) < s.opt.Times.LoadFile {
		return
	}
	if err := s.loader.readLoad(now); err != nil {
		s.session.problem("loader result", err)
	}
	if s.loader.load != nil {
		s.session.setLoad(s.loader.load)
	}
}

// offsetClock is a Publisher that knows the offset of the API server's clock.
type offsetClock interface {
	// ClockOffset returns how far that clock is ahead of this client's.
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
		Clients:   []runfile.ClientResult{{Index: s.opt.Client, Host: s.opt.Host, Load: load, Observed: observed}},
	}
}

// finalUpdate takes the last samples and packs the final result.
func (s *sidecar) finalUpdate(ctx context.Context) publish.Update {
	s.look()
	s.readLoad(s.session.wallTime(), true)
	load := s.loader.partialLoad()
	if !s.loader.ended() {
		load = crashedLoad(load, s.loader.last)
	}
	closed := load
	closed.Spans = closedAt(load.Spans, s.loader.last)
	last, cancel := context.WithTimeout(ctx, s.opt.Times.Grace/2)
	defer cancel()
	s.session.Finish(last, load)
	packed, err := publish.Encode(s.result(load, s.session.Observe(closed)), publish.Share(s.opt.Plan))
	if err != nil {
		s.opt.Log.Error("The final result is not as it should be", slog.Any("error", err))
	}
	progress := runfile.Progress{Event: runfile.Event{Time: s.session.wallTime()}, Final: true, Level: s.level()}
	if s.loader.last != nil {
		progress.Event = *s.loader.last
	}
	if load.Failure != nil {
		progress.Failed, progress.Message = true, load.Failure.Message
	}
	return publish.Update{Progress: &progress, Result: packed}
}

// release records which signals of the controller the loader has received.
type release struct {
	started bool
	levels  runfile.CapacitySearch // search with several clients
}

// releaseWhen lets the loader start when asked returns the signal. In a search it then passes on the levels.
// It calls asked only while the loader has no level to measure.
func (s *sidecar) releaseWhen(ctx context.Context, asked func(context.Context) (publish.Signal, error)) {
	var r release
	for {
		if !r.started || s.measured.Load() >= lastLevel(r.levels) {
			if err := s.heed(ctx, &r, asked); err != nil && ctx.Err() == nil {
				s.opt.Log.Warn("Waiting for the other clients", slog.Any("error", err))
			}
		}
		if r.started && (!s.search || r.levels.Ended) || !sleep(ctx, s.opt.Times.Release) {
			return
		}
	}
}

// heed reads the signal and passes it on to the loader. A loader gets its first level before its release.
func (s *sidecar) heed(
	ctx context.Context, r *release, asked func(context.Context) (publish.Signal, error),
) error {
	signal, err := asked(ctx)
	if err != nil || !signal.Released {
		return err
	}
	if s.search {
		if r.levels, err = s.passOn(r.levels, signal.Levels); err != nil {
			return err
		}
	}
	if r.started {
		return nil
	}
	if err := touch(s.opt.RunDir, runfile.ReleaseFile); err != nil {
		return err
	}
	r.started = true
	s.opt.Log.Info("All clients may start")
	return nil
}

// passOn writes the levels for the loader if they have changed.
func (s *sidecar) passOn(known runfile.CapacitySearch, text []byte) (runfile.CapacitySearch, error) {
	levels, err := runfile.ReadCapacitySearch(text)
	if err != nil {
		return known, err
	}
	if lastLevel(levels) == lastLevel(known) && levels.Ended == known.Ended {
		return known, nil
	}
	return levels, shareddir.Replace(s.opt.RunDir, runfile.LevelsFile, text, shareddir.ForAll)
}

// lastLevel returns the index of the current level of a search; 0 before the first.
func lastLevel(s runfile.CapacitySearch) int32 {
	if len(s.Levels) == 0 {
		return 0
	}
	return s.Levels[len(s.Levels)-1].Index
}

// outbox publishes the newest progress and the newest partial result. An update that arrives while it is busy
// replaces the pending one, because readers want the current state.
type outbox struct {
	publisher publish.Publisher
	log       *slog.Logger
	retry     time.Duration
	wake      chan struct{}

	mu       sync.Mutex
	progress *runfile.Progress
	pack     func() ([]byte, error)
}

// put adds an update; nil parts leave the pending ones unchanged. The outbox calls pack before it publishes
// the result.
func (o *outbox) put(progress *runfile.Progress, pack func() ([]byte, error)) {
	o.mu.Lock()
	o.progress = cmp.Or(progress, o.progress)
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

// send publishes the pending updates. After a failure they are pending again, unless newer ones have replaced
// them.
func (o *outbox) send(ctx context.Context) bool {
	o.mu.Lock()
	progress, pack := o.progress, o.pack
	o.progress, o.pack = nil, nil
	if progress != nil && pack != nil { // packing takes time, and the other clients may wait for the progress
		o.pack, pack = pack, nil
		o.ring()
	}
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
	attempt, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	err := o.publisher.Publish(attempt, update)
	if err == nil {
		return true
	}
	if ctx.Err() == nil {
		o.log.Warn("Progress is not published", slog.Any("error", err))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.progress = cmp.Or(o.progress, progress)
	if o.pack == nil {
		o.pack = pack
	}
	return false
}
