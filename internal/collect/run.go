package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// The files of the run directory that only the collector uses.
const (
	ReadyFile = "collector-ready" // the collector samples: the loader may start
	FinalFile = "collector-final" // the last result was published
	// JournalFile holds what was sampled until now.
	JournalFile = "collector-samples.jsonl"
)

const (
	// finalPoll is how often the loader looks whether it may go.
	finalPoll = 100 * time.Millisecond
	// FinalPatience is how long a loader waits for the final result to be
	// published: longer than the API server of a cluster is away when its
	// control plane is replaced.
	FinalPatience = 5 * time.Minute
)

// RunOptions says what a sidecar needs beside what it samples. All but Times
// and Started must be set.
type RunOptions struct {
	Options
	RunDir    string
	Index     int32 // of this client
	Host      runfile.Host
	Publisher publish.Publisher
	Times     Times
	Started   func(*Session) // called once when sampling has begun; may be nil
}

// Times are the distances of what a sidecar does again and again. Zero is the
// default in brackets.
type Times struct {
	Poll     time.Duration // look at the run directory [200ms]
	Progress time.Duration // publish progress, beside each change of the span [2s]
	Partial  time.Duration // publish a partial result while measuring [15s]
	LoadFile time.Duration // read a load file that was replaced [2s]
	Release  time.Duration // look whether all clients may start [500ms]
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

// Run is the life of the sidecar: it samples and publishes until the loader's
// load file ends with a Done span, publishes the final result, and stays until
// ctx ends. When ctx ends first, Run publishes what is known within Times.Grace;
// a loader whose load file then is partial and gives no reason has crashed. The
// error says that the final result could not be published, or that nothing could
// be started.
func Run(ctx context.Context, o RunOptions) error {
	o.Times = o.Times.withDefaults()
	if exists(o.RunDir, FinalFile) {
		// A restart after the end: the better result is published already.
		o.Log.Info("The final result was published before a restart, waiting for the end")
		if err := touch(o.RunDir, ReadyFile); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	}
	// A collector that finds the file of another one comes after a restart of its container.
	restarted := exists(o.RunDir, ReadyFile)
	err := os.Remove(filepath.Join(o.RunDir, ReadyFile))
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
		opt: o, session: session, loader: newFollower(o.RunDir),
		outbox: &outbox{publisher: o.Publisher, log: o.Log, retry: o.Times.Retry, wake: make(chan struct{}, 1)},
	}
	defer s.session.Finish(context.WithoutCancel(ctx), runfile.Load{}) // ends the goroutines on every way out
	if err := touch(o.RunDir, ReadyFile); err != nil {
		return fmt.Errorf("say that the collector has started: %w", err)
	}
	s.follow(ctx)
	return s.finish(ctx)
}

// finish publishes the final result, and then waits for the end.
func (s *sidecar) finish(ctx context.Context) error {
	// From the request to stop on, Grace is left for everything.
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

// sleep reports whether the time has passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool { return course.Wait(ctx, d) == nil }

// AwaitFinal waits until the collector of a run directory has published the
// final result, patience is over, or ctx ends. It reports whether it has.
//
// A loader calls it before it ends, because Kubernetes stops the sidecars of a
// pod whose containers have ended and starts none again: a collector that is
// killed then, or cannot reach the API server for longer than a pod may take to
// stop, would take the result with it.
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

// Check is the startup probe: nil when the collector with that run directory
// has begun to sample.
func Check(dir string) error {
	if exists(dir, ReadyFile) {
		return nil
	}
	return fmt.Errorf("the collector has not started: there is no %q", filepath.Join(dir, ReadyFile))
}

func touch(dir, name string) error { return publish.WriteFile(filepath.Join(dir, name), nil) }

func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}
