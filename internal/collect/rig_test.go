package collect

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/test/storagetest"
)

var errAway = errors.New("away")

// recorder is a Publisher that keeps what it gets.
type recorder struct {
	mu       sync.Mutex
	err      error
	failed   int
	released bool
	levels   []byte
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

func (r *recorder) Signal(context.Context) (publish.Signal, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	return publish.Signal{Released: r.released, Levels: r.levels}, nil
}

func (r *recorder) set(change func(*recorder)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(r)
}

// when returns a condition of the recorder for waitFor.
func (r *recorder) when(holds func(*recorder) bool) func() bool {
	return func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return holds(r)
	}
}

// any reports whether an update is such.
func (r *recorder) any(is func(publish.Update) bool) func() bool {
	return r.when(func(r *recorder) bool { return slices.ContainsFunc(r.updates, is) })
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
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
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
			Now: time.Now, Log: slog.New(slog.DiscardHandler), Sources: []storage.Source{}, Client: 3,
		},
		RunDir: dir, Host: runfile.Host{Name: "pod"},
		Times: Times{
			Poll: 2 * time.Millisecond, Progress: 10 * time.Millisecond, Partial: 20 * time.Millisecond,
			LoadFile: time.Millisecond, Release: 2 * time.Millisecond, Retry: 2 * time.Millisecond, Grace: time.Minute,
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

// end tells the sidecar to stop, which it must do well.
func (r *rig) end() {
	r.t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		r.t.Fatal(err)
	}
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
