package kernel

import (
	"context"
	"sync"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

// threads is a stream of blocking calls, with a thread for each slot.
type threads struct {
	t     *Target
	slots []target.IO
}

func newThreads(t *Target, slots int) *threads {
	s := &threads{t: t, slots: make([]target.IO, slots)}
	for i := range s.slots {
		s.slots[i].Slot, s.slots[i].Thread = i, i
	}
	return s
}

// Threads implements target.Stream.
func (s *threads) Threads() int { return len(s.slots) }

// Run implements target.Stream.
func (s *threads) Run(ctx context.Context, d target.Driver) {
	var running sync.WaitGroup
	for i := range s.slots {
		running.Go(func() { s.serve(ctx, d, &s.slots[i]) })
	}
	running.Wait()
}

func (s *threads) serve(ctx context.Context, d target.Driver, io *target.IO) {
	for ctx.Err() == nil {
		if io.Wait, io.Err = 0, nil; !d.Next(io) {
			return
		}
		if io.Wait == 0 {
			plain(ctx, io, 0)
			d.Done(io)
			continue
		}
		due := s.t.now().Add(io.Wait)
		for left := io.Wait; left > 0 && ctx.Err() == nil; left = due.Sub(s.t.now()) {
			pause(ctx, left)
		}
	}
}

// Close implements target.Stream.
func (s *threads) Close() error { return nil }
