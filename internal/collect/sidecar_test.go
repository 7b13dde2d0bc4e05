package collect

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

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
	r.end()
}

func TestACrashOfTheLoaderIsTold(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, nil)
	r.load(runfile.Load{Partial: true, FilledBytes: 77})
	r.measure()
	at := time.Now().Round(0)
	r.event(runfile.Event{Time: at, Span: runfile.SpanMeasure, Repetition: 1, Percent: 48})
	r.end()
	progress, result := r.recorder.last(t)
	want := "the loader ended without a final event, last seen in Measure of repetition 1 with 48 percent of the run done at " +
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
	r.end()
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

func TestADatabaseThatIsNoOracleMarksTheResult(t *testing.T) {
	for banner, simulated := range map[string]bool{"Oracle Database 19c": false, "Oracle stand-in 19": true} {
		r := startRig(t, t.TempDir(), 1, nil)
		r.load(done(runfile.Load{Oracle: &runfile.Oracle{Banner: banner, StandIn: simulated}}))
		r.event(runfile.Event{Time: time.Now(), Span: runfile.SpanDone, Percent: 100})
		waitFor(t, "the final result", r.recorder.any(final))
		if _, result := r.recorder.last(t); result.Simulated != simulated {
			t.Errorf("%s: simulated is %t", banner, result.Simulated)
		}
		r.end()
	}
}

func TestTheLastWordMayComeWithTheRequestToStop(t *testing.T) {
	r := startRig(t, t.TempDir(), 1, func(o *RunOptions) {
		o.Times.LoadFile, o.Times.Poll = time.Hour, time.Hour // not seen until the end
	})
	r.load(runfile.Load{FilledBytes: 9})
	r.end()
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
	waitFor(t, "questions", r.recorder.when(func(p *recorder) bool { return p.asked > 2 }))
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
	waitFor(t, "attempts", r.recorder.when(func(p *recorder) bool { return p.failed > 5 }))
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
	r.end()

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
	box := &outbox{publisher: r, log: slog.New(slog.DiscardHandler), retry: time.Millisecond, wake: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go box.run(ctx)
	box.put(&runfile.Progress{Ready: true}, nil)
	waitFor(t, "attempts", r.when(func(p *recorder) bool { return p.failed > 2 }))
	r.set(func(r *recorder) { r.err = nil })
	waitFor(t, "progress", r.any(func(u publish.Update) bool { return u.Progress != nil && u.Progress.Ready }))
}

// farRecorder is a recorder whose readers have another clock.
type farRecorder struct{ *recorder }

func (farRecorder) ClockOffset() (time.Duration, bool) { return -time.Minute, true }

func TestTheResultTellsHowFarTheClockOfItsReadersIsAway(t *testing.T) {
	for name, tc := range map[string]struct {
		publisher func(*recorder) publish.Publisher
		want      *int64
	}{
		"known":   {func(r *recorder) publish.Publisher { return farRecorder{r} }, new(int64(-60_000))},
		"unknown": {func(r *recorder) publish.Publisher { return r }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kept := &recorder{}
			r := startRig(t, t.TempDir(), 1, func(o *RunOptions) { o.Publisher = tc.publisher(kept) })
			r.load(done(runfile.Load{}))
			waitFor(t, "the final result", kept.any(final))
			_, result := kept.last(t)
			if diff := cmp.Diff(tc.want, result.Clients[0].Observed.ClockOffsetMilliseconds); diff != "" {
				t.Error(diff)
			}
		})
	}
}
