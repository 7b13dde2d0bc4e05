package collect

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/nfsbench/nfsbench/internal/collect/publish"
	"github.com/nfsbench/nfsbench/internal/runfile"
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
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&t.Poll, 200 * time.Millisecond},
		{&t.Progress, 2 * time.Second},
		{&t.Partial, 15 * time.Second},
		{&t.LoadFile, 2 * time.Second},
		{&t.Release, 500 * time.Millisecond},
		{&t.Retry, 2 * time.Second},
		{&t.Grace, 20 * time.Second},
	} {
		if *d.field <= 0 {
			*d.field = d.value
		}
	}
	return t
}

// Run is the life of the sidecar: it samples and publishes until the loader's
// load file ends with a Done span, publishes the final result, and stays until
// ctx ends. When ctx ends first, Run publishes what is known within Times.Grace;
// a loader whose load file then is partial and gives no reason has crashed. The error says that the final result could not be
// published, or that nothing could be started.
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
	restarted, err := takeRunDir(o.RunDir)
	if err != nil {
		return err
	}
	o.Journal = filepath.Join(o.RunDir, JournalFile)
	session := Start(context.WithoutCancel(ctx), o.Options)
	if restarted {
		session.problem(problemRestart, session.gap())
	}
	if o.Started != nil {
		o.Started(session)
	}
	s := newSidecar(o, session)
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
		if !sleep(graceful, s.opt.Times.Retry) || (publish.IsPermanent(err) && ctx.Err() != nil) {
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
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
