package collect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/storagetest"
)

// recorder is a Publisher that keeps what it gets.
type recorder struct {
	mu       sync.Mutex
	err      error
	failed   int
	released bool
	asked    int
	updates  []publish.Update
}

func (r *recorder) Publish(_ context.Context, u publish.Update) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		r.failed++
		return r.err
	}
	r.updates = append(r.updates, u)
	return nil
}

func (r *recorder) Released(context.Context) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return r.released, nil
}

func (r *recorder) set(change func(*recorder)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// any reports whether an update is such.
func (r *recorder) any(is func(publish.Update) bool) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, u := range r.updates {
			if is(u) {
				return true
			}
		}
		return false
	}
}

func final(u publish.Update) bool { return u.Progress != nil && u.Progress.Final }

// last returns the last progress and the last result.
func (r *recorder) last(t *testing.T) (runfile.Progress, runfile.Result) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	var (
		progress runfile.Progress
		result   runfile.Result
	)
	for _, u := range r.updates {
		if u.Progress != nil {
			progress = *u.Progress
		}
		if u.Result == nil {
			continue
		}
		read, err := runfile.ReadResult(bytes.NewReader(u.Result))
		if err != nil {
			t.Fatal(err)
		}
		result = read
	}
	return progress, result
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// rig is a sidecar with everything around it.
type rig struct {
	loaderStub
	recorder *recorder
	source   *storagetest.Fake
	session  *Session
	stop     context.CancelFunc
	ended    chan error
}

func options(dir string, clients int32) RunOptions {
	return RunOptions{
		Options: Options{
			Plan: runfile.Plan{
				Clients: clients, Run: runfile.Identity{Name: "demo"},
				Collect: runfile.Collect{IntervalMilliseconds: 10},
			},
			Now: time.Now, Log: slog.New(slog.DiscardHandler), Sources: []storage.Source{},
		},
		RunDir: dir, Index: 3, Host: runfile.Host{Name: "pod"},
		Times: Times{
			Poll: 2 * time.Millisecond, Progress: 10 * time.Millisecond, Partial: 20 * time.Millisecond,
			LoadFile: time.Millisecond, Release: 2 * time.Millisecond, Retry: 2 * time.Millisecond, Grace: 2 * time.Second,
		},
	}
}

func startRig(t *testing.T, dir string, clients int32, change func(*RunOptions)) *rig {
	t.Helper()
	r := &rig{
		loaderStub: loaderStub{t, dir}, recorder: &recorder{}, source: &storagetest.Fake{},
		ended: make(chan error, 1),
	}
	r.source.Set(storage.Snapshot{Epoch: "e"})
	o := options(dir, clients)
	o.Publisher, o.Sources = r.recorder, []storage.Source{r.source}
	started := make(chan *Session, 1)
	o.Started = func(s *Session) { started <- s }
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r.stop = cancel
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		r.ended <- Run(ctx, o)
	}()
	t.Cleanup(func() {
		cancel()
		<-gone // it writes into the test's directory until then
	})
	r.session = <-started
	waitFor(t, "the ready file", func() bool { return Check(dir) == nil })
	return r
}

// samples waits for so many more samples of the client.
func (r *rig) samples(n int) {
	r.t.Helper()
	count := func() int {
		r.session.mu.Lock()
		defer r.session.mu.Unlock()
		return len(r.session.hosts.items)
	}
	goal := count() + n
	waitFor(r.t, "samples", func() bool { return count() >= goal })
}

// measure goes through a baseline and a measured window and returns them.
func (r *rig) measure() []runfile.Span {
	r.t.Helper()
	var spans []runfile.Span
	for _, kind := range []string{runfile.SpanBaseline, runfile.SpanMeasure} {
		s := runfile.Span{Kind: kind, Repetition: 1, Start: time.Now().Round(0)}
		r.event(runfile.Event{Time: s.Start, Span: kind, Repetition: 1, Percent: 47})
		r.samples(8)
		s.End = time.Now().Round(0)
		spans = append(spans, s)
	}
	return spans
}

// done adds the span that ends a load.
func done(load runfile.Load) runfile.Load {
	load.Spans = append(load.Spans, runfile.Span{Kind: runfile.SpanDone, Start: time.Now().Round(0)})
	return load
}

func TestALoadThatEndsIsPublishedAndTheCollectorStays(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanFill, Percent: 5})
	waitFor(t, "progress of the fill", r.recorder.any(func(u publish.Update) bool {
		return u.Progress != nil && u.Progress.Span == runfile.SpanFill && !u.Progress.Final
	}))
	spans := r.measure()
	waitFor(t, "a partial result while measuring", r.recorder.any(func(u publish.Update) bool { return u.Result != nil && !final(u) }))
	r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanDone, Percent: 100})
	r.load(done(runfile.Load{Spans: spans, Repetitions: []runfile.Repetition{{Index: 1}}}))
	waitFor(t, "the final result", r.recorder.any(final))

	progress, result := r.recorder.last(t)
	if progress.Failed || progress.Span != runfile.SpanDone || progress.Percent != 100 {
		t.Errorf("progress %+v", progress)
	}
	c := result.Clients[0]
	if c.Index != 3 || c.Host.Name != "pod" || result.Plan.Run.Name != "demo" || c.Load.Partial || c.Load.Failure != nil {
		t.Errorf("result %+v", c)
	}
	if len(c.Observed.Windows) != 2 || len(c.Observed.Windows[1].Storage) != 1 || c.Observed.Windows[1].NodeCPUPermille == nil {
		t.Errorf("windows %+v", c.Observed.Windows)
	}
	if w := c.Observed.Windows[0]; w.Start.Before(spans[0].Start) || w.End.After(spans[0].End) {
		t.Errorf("window %v to %v leaves its span %+v", w.Start, w.End, spans[0])
	}
	waitFor(t, "the final file", func() bool { return exists(r.dir, FinalFile) })
	select {
	case err := <-r.ended:
		t.Fatalf("the collector did not wait for the end: %v", err)
	default:
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
}

func TestACrashOfTheLoaderIsTold(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	r.load(runfile.Load{Partial: true, FilledBytes: 77})
	r.measure()
	at := time.Now().Round(0)
	r.event(runfile.Event{Time: at, Span: runfile.SpanMeasure, Repetition: 1, Percent: 48})
	r.stop()
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	progress, result := r.recorder.last(t)
	want := "the loader ended without a last word, last seen in Measure of repetition 1 with 48 percent of the run done at " +
		at.UTC().Format(time.RFC3339) + ": see the log of its container, and whether it was killed for its memory limit"
	if !progress.Final || !progress.Failed || progress.Message != want || progress.Percent != 48 {
		t.Errorf("progress %+v, want message %q", progress, want)
	}
	load := result.Clients[0].Load
	if !load.Partial || load.FilledBytes != 77 {
		t.Errorf("what was done is lost: %+v", load)
	}
	if diff := cmp.Diff(&runfile.Failure{Code: runfile.FailureLoaderCrashed, Message: want}, load.Failure); diff != "" {
		t.Error(diff)
	}
	if w := result.Clients[0].Observed.Windows; len(w) != 2 || w[1].Kind != runfile.SpanMeasure || w[1].NodeCPUPermille == nil {
		t.Errorf("windows %+v: what was seen of the open span is lost", w)
	}
	if s := load.Spans; len(s) != 2 || !s[1].End.IsZero() {
		t.Errorf("spans %+v: the loader did not end its last one", s)
	}
}

func TestALoaderThatSaysNothingAtAllHasCrashed(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	r.stop()
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	progress, result := r.recorder.last(t)
	if !progress.Failed || !strings.Contains(progress.Message, "before it reported anything") || len(result.Clients) != 1 {
		t.Errorf("progress %+v", progress)
	}
}

func TestTheLoadersOwnReasonIsKept(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	failure := &runfile.Failure{Code: runfile.FailureAccessDenied, Message: "the export refuses this client"}
	r.load(runfile.Load{Partial: true, Failure: &runfile.Failure{Code: failure.Code, Message: "not yet all"}})
	r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanClean})
	waitFor(t, "progress of the cleaning", r.recorder.any(func(u publish.Update) bool {
		return u.Progress != nil && u.Progress.Span == runfile.SpanClean
	}))
	r.samples(5)
	if r.recorder.any(final)() {
		t.Error("the result is final although the loader still cleans up")
	}
	r.load(done(runfile.Load{Partial: true, Failure: failure}))
	waitFor(t, "the final result", r.recorder.any(final))
	progress, result := r.recorder.last(t)
	if !progress.Failed || progress.Message != failure.Message {
		t.Errorf("progress %+v", progress)
	}
	if diff := cmp.Diff(failure, result.Clients[0].Load.Failure); diff != "" {
		t.Error(diff)
	}
}

func TestTheLastWordMayComeWithTheRequestToStop(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, func(o *RunOptions) {
		o.Times.LoadFile, o.Times.Poll = time.Hour, time.Hour // not seen until the end
	})
	r.load(runfile.Load{FilledBytes: 9})
	r.stop()
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	progress, result := r.recorder.last(t)
	if progress.Failed || result.Clients[0].Load.FilledBytes != 9 {
		t.Errorf("progress %+v, load %+v", progress, result.Clients[0].Load)
	}
}

func TestClientsStartTogether(t *testing.T) {
	r := startRig(t, t.TempDir(), 2, nil)
	r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanFill})
	waitFor(t, "progress of the fill", r.recorder.any(func(u publish.Update) bool { return u.Progress != nil }))
	if r.recorder.any(func(u publish.Update) bool { return u.Progress.Ready })() {
		t.Error("a client that fills is not ready")
	}
	r.recorder.set(func(p *recorder) {
		if p.asked != 0 {
			t.Error("asked for the release while filling")
		}
	})
	r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanWait})
	waitFor(t, "that it is ready", r.recorder.any(func(u publish.Update) bool { return u.Progress.Ready }))
	waitFor(t, "questions", func() bool {
		r.recorder.mu.Lock()
		defer r.recorder.mu.Unlock()
		return r.recorder.asked > 2
	})
	if exists(r.dir, runfile.ReleaseFile) {
		t.Error("released before the others were ready")
	}
	r.recorder.set(func(p *recorder) { p.released = true })
	waitFor(t, "the release file", func() bool { return exists(r.dir, runfile.ReleaseFile) })
}

func TestOneClientWaitsForNobody(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	waitFor(t, "the release file", func() bool { return exists(r.dir, runfile.ReleaseFile) })
	r.recorder.mu.Lock()
	defer r.recorder.mu.Unlock()
	if r.recorder.asked != 0 {
		t.Error("asked for a release")
	}
}

func TestNothingIsLostWhileThePublisherIsAway(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	r.recorder.set(func(p *recorder) { p.err = errors.New("away") })
	spans := r.measure()
	r.load(done(runfile.Load{Spans: spans}))
	waitFor(t, "attempts", func() bool {
		r.recorder.mu.Lock()
		defer r.recorder.mu.Unlock()
		return r.recorder.failed > 5
	})
	r.stop()
	r.recorder.set(func(p *recorder) { p.err = nil })
	if err := <-r.ended; err != nil {
		t.Fatal(err)
	}
	progress, result := r.recorder.last(t)
	if !progress.Final || len(result.Clients[0].Observed.Windows) != 2 {
		t.Errorf("progress %+v, windows %+v", progress, result.Clients[0].Observed.Windows)
	}
}

func TestTheCollectorEndsWithAnErrorWhenItCannotPublishInTime(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, func(o *RunOptions) { o.Times.Grace = 50 * time.Millisecond })
	r.recorder.set(func(p *recorder) { p.err = errors.New("away") })
	r.stop()
	if err := <-r.ended; err == nil || err.Error() != "publish final result: away" {
		t.Errorf("error %v", err)
	}
	if exists(r.dir, FinalFile) {
		t.Error("the final file is there although nothing was published")
	}
}

func TestARestartedCollectorSaysSoAndKeepsABetterResult(t *testing.T) {
	dir := t.TempDir()
	r := startRig(t, dir, 1, nil)
	r.load(done(runfile.Load{}))
	waitFor(t, "the final file", func() bool { return exists(dir, FinalFile) })
	r.stop()
	<-r.ended

	// After the end there is nothing to do but to wait.
	again := &recorder{}
	o := options(dir, 1)
	o.Publisher = again
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o) }()
	cancel()
	if err := <-ended; err != nil || len(again.updates) != 0 {
		t.Errorf("error %v, %d updates", err, len(again.updates))
	}

	dir = t.TempDir()
	if err := touch(dir, ReadyFile); err != nil {
		t.Fatal(err)
	}
	r = startRig(t, dir, 1, nil)
	r.load(done(runfile.Load{}))
	waitFor(t, "the final result", r.recorder.any(final))
	_, result := r.recorder.last(t)
	problems := result.Clients[0].Observed.Problems
	if len(problems) != 1 || problems[0].Source != "collector" || !strings.Contains(problems[0].Message, "restarted") {
		t.Errorf("problems %+v", problems)
	}
}

func TestProgressThatCouldNotBePublishedIsPublishedLater(t *testing.T) {
	r := &recorder{err: errors.New("away")}
	box := newOutbox(r, slog.New(slog.DiscardHandler), time.Millisecond)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go box.run(ctx)
	box.putProgress(runfile.Progress{Ready: true})
	waitFor(t, "attempts", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.failed > 2
	})
	r.set(func(r *recorder) { r.err = nil })
	waitFor(t, "progress", r.any(func(u publish.Update) bool { return u.Progress != nil && u.Progress.Ready }))
}
