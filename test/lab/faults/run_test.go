package faults

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// blocks is how many blocks each job's file has: few enough that the engine
// reads every one of them back at the end.
const blocks = 64

// site is where a server is to be found.
type site struct {
	paths  []string
	port   int // of NFS and MOUNT; 0 asks the portmapper
	export string
}

// plan is a run of 8 KiB random writes in a window of that many seconds, with
// every block verified at its end.
func plan(at site, seconds int32, change ...func(*runfile.Plan)) runfile.Plan {
	if at.export == "" {
		at.export = "/export"
	}
	p := runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: 7, Run: runfile.Identity{Name: "fault"},
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, MountTimeoutSeconds: 60, CallTimeoutSeconds: 120,
			Server: "lab", Export: at.export, Channels: runfile.ChannelsTo(at.paths...),
			Ports: runfile.Ports{NFS: at.port, Mount: at.port},
		},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRandomWrite, BlockSize: bench.Bytes(8192), FileSize: *bench.Bytes(blocks * 8192), Jobs: 2, Depth: 8,
			Directory: "faults", Verify: bench.VerifyAll,
		}},
		Schedule: runfile.Schedule{DurationSeconds: seconds, Repetitions: 1},
		Collect:  runfile.Collect{IntervalMilliseconds: 1000},
	}
	for _, c := range change {
		c(&p)
	}
	return p
}

func pattern(name bench.RawPattern) func(*runfile.Plan) {
	return func(p *runfile.Plan) { p.Workload.Raw.Pattern = name }
}

func callTimeout(seconds int32) func(*runfile.Plan) {
	return func(p *runfile.Plan) { p.Engine.CallTimeoutSeconds = seconds }
}

// load sets block size, depth and number of jobs.
func load(block int64, depth, jobs int32) func(*runfile.Plan) {
	return func(p *runfile.Plan) {
		r := p.Workload.Raw
		r.BlockSize, r.FileSize, r.Depth, r.Jobs = bench.Bytes(block), *bench.Bytes(blocks * block), depth, jobs
	}
}

func keepFiles(p *runfile.Plan) { p.Keep = true }

// patience is for a machine that has much else to do: no outcome depends on it.
const patience = 5 * time.Minute

// running is a run under way. It is the Sink of its Runner.
//
// Its measured window stands still from its beginning until the test calls goOn: the load
// goes on, and no time passes on the clock of the Runner. So a fault that the test
// makes meets the window on a machine of any speed.
type running struct {
	t      *testing.T
	began  time.Time
	paths  int
	result chan *runfile.Load
	watch  *watch

	mu      sync.Mutex
	changed chan struct{}
	span    string
	seen    map[string]bool // spans
	stopped time.Time       // when the clock of the Runner was stopped; zero while it goes
	behind  time.Duration   // by which it is behind

	released chan struct{}
	once     sync.Once
}

// start begins a run; finish must follow.
func start(t *testing.T, p runfile.Plan) *running {
	t.Helper()
	r := &running{
		t: t, began: time.Now(), paths: len(p.Engine.Channels), result: make(chan *runfile.Load, 1), watch: newWatch(),
		changed: make(chan struct{}), seen: map[string]bool{}, released: make(chan struct{}),
	}
	t.Cleanup(r.goOn)
	runner, err := loadgen.New(loadgen.Options{
		Plan: p, Now: r.now, Sink: r, Usage: func() (time.Duration, int64) { return 0, 0 },
		Open: func(ctx context.Context) (target.Target, error) {
			logger := slog.New(slog.NewTextHandler(t.Output(), nil))
			tgt, err := loadgen.OpenTarget(ctx, p.Engine, time.Now, logger)
			if err == nil {
				r.watch.follow(tgt)
			}
			return tgt, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		l, err := runner.Run(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Error(err)
		}
		r.watch.stop()
		r.result <- l
	}()
	return r
}

// Event implements loadgen.Sink.
func (r *running) Event(e runfile.Event) {
	r.enter(e.Span)
	if e.Span == runfile.SpanMeasure {
		<-r.released
	}
}

func (r *running) enter(span string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.span == span {
		return
	}
	r.span, r.seen[span] = span, true
	close(r.changed)
	r.changed = make(chan struct{})
	select {
	case <-r.released:
	default:
		if span == runfile.SpanMeasure {
			r.stopped = time.Now()
		}
	}
}

// goOn lets the window go on.
func (r *running) goOn() {
	r.once.Do(func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if !r.stopped.IsZero() {
			r.behind, r.stopped = time.Since(r.stopped), time.Time{}
		}
		close(r.released)
	})
}

// now is the clock of the Runner.
func (r *running) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopped.IsZero() {
		return r.stopped
	}
	return time.Now().Add(-r.behind)
}

// Load implements loadgen.Sink.
func (r *running) Load(*runfile.Load) error { return nil }

// await waits until the run has come to a span.
func (r *running) await(span string) {
	r.t.Helper()
	r.waitSpan("comes to "+span, func(string) bool { return r.seen[span] })
}

// underLoad waits until the run measures and every path carries bytes.
func (r *running) underLoad() {
	r.t.Helper()
	r.await(runfile.SpanMeasure)
	for i := range r.paths {
		r.watch.carries(r.t, i)
	}
}

// in returns the span that the run is in.
func (r *running) in() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.span
}

// awaitEnd lets the window go on, and waits until it is over or the run has failed in it.
func (r *running) awaitEnd() {
	r.t.Helper()
	r.goOn()
	r.waitSpan("has left the window", func(now string) bool { return now != runfile.SpanMeasure })
}

func (r *running) waitSpan(what string, ok func(string) bool) {
	r.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for {
		r.mu.Lock()
		now, changed := r.span, r.changed
		done := ok(now)
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			r.t.Fatalf("not within %v: the run %s; it is in %s", patience, what, now)
		}
	}
}

// finish lets the window go on, and waits for the end of the run.
func (r *running) finish() *runfile.Load {
	r.t.Helper()
	r.goOn()
	select {
	case l := <-r.result:
		for _, c := range channels(l) {
			r.t.Logf("%+v", c)
		}
		r.t.Logf("%v in all, verification %+v, failure %+v", time.Since(r.began).Round(time.Millisecond), l.Verification, l.Failure)
		return l
	case <-time.After(patience):
		r.t.Fatal("the run does not end")
		return nil
	}
}

// run makes a whole run.
func run(t *testing.T, p runfile.Plan) *runfile.Load {
	t.Helper()
	return start(t, p).finish()
}

func channels(l *runfile.Load) []runfile.Channel {
	if len(l.Repetitions) == 0 {
		return nil
	}
	return l.Repetitions[len(l.Repetitions)-1].Channels
}

// wantClean fails unless the run went as planned: no failure, no I/O error,
// something done, and every block as it was written.
func wantClean(t *testing.T, l *runfile.Load) {
	t.Helper()
	if l.Failure != nil {
		t.Fatalf("the run failed: %+v", *l.Failure)
	}
	var ops int64
	for _, rep := range l.Repetitions {
		for _, o := range []*runfile.Ops{rep.Read, rep.Write} {
			if o == nil {
				continue
			}
			ops += o.Count
			if o.Errors != 0 {
				t.Errorf("%d of %d I/Os of repetition %d failed", o.Errors, o.Count, rep.Index)
			}
		}
	}
	if ops == 0 {
		t.Error("nothing was measured")
	}
	if v := l.Verification; v == nil || v.BlocksChecked < blocks || v.BlocksWrong != 0 {
		t.Errorf("verification is %+v, want %d blocks or more and none wrong", v, blocks)
	}
}

// wantFailure fails unless the run ended with code, in words that contain all of says.
func wantFailure(t *testing.T, l *runfile.Load, code string, says ...string) {
	t.Helper()
	if l.Failure == nil {
		t.Fatalf("the run went as planned, want %s", code)
	}
	if l.Failure.Code != code {
		t.Errorf("the failure is %+v, want %s", *l.Failure, code)
	}
	for _, part := range says {
		if !strings.Contains(l.Failure.String(), part) {
			t.Errorf("the message lacks %q: %s", part, l.Failure)
		}
	}
	// What could not be cleaned up is told behind the reason.
	reason, _, _ := strings.Cut(l.Failure.Message, "; the files were not removed: ")
	if strings.Contains(reason, "\n") || len(reason) > 1000 {
		t.Errorf("the message is no sentence: %d bytes: %s", len(reason), reason)
	}
	if v := l.Verification; v != nil && v.BlocksWrong > 0 {
		t.Errorf("%d blocks are wrong", v.BlocksWrong)
	}
}
