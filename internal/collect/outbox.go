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

func newOutbox(p publish.Publisher, log *slog.Logger, retry time.Duration) *outbox {
	return &outbox{publisher: p, log: log, retry: retry, wake: make(chan struct{}, 1)}
}

func (o *outbox) putProgress(p runfile.Progress) {
	o.mu.Lock()
	o.progress = &p
	o.mu.Unlock()
	o.ring()
}

// putResult keeps pack until it is its turn to be called.
func (o *outbox) putResult(pack func() ([]byte, error)) {
	o.mu.Lock()
	o.pack = pack
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
	progress, pack := o.take()
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
	o.putBack(progress, pack)
	return false
}

func (o *outbox) take() (*runfile.Progress, func() ([]byte, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	progress, pack := o.progress, o.pack
	o.progress, o.pack = nil, nil
	return progress, pack
}

func (o *outbox) putBack(progress *runfile.Progress, pack func() ([]byte, error)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.progress == nil {
		o.progress = progress
	}
	if o.pack == nil {
		o.pack = pack
	}
}
