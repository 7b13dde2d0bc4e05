package direct

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/nfs"
	nfsstream "github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// stream is a target.Stream over one connection for each channel.
type stream struct {
	t      *Target
	s      *nfs.Stream
	driver target.Driver
	slots  []target.IO
}

// NewStream implements target.Target.
func (t *Target) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	s, err := t.client.NewStream(ctx, nfs.StreamConfig{
		Slots: opt.Slots, BlockBytes: opt.BlockBytes, Connections: connections(opt, len(t.client.Channels())),
	})
	if err != nil {
		return nil, t.explain(err)
	}
	out := &stream{t: t, s: s, slots: make([]target.IO, opt.Slots)}
	for i := range out.slots {
		out.slots[i].Slot = i
	}
	return out, nil
}

// connections returns how many connections each channel gets. A second one lets the server send on one while
// it reads from the other, if there are enough I/Os for both. Several streams that share a channel have the
// same effect with one connection each (docs/performance.md).
func connections(opt target.StreamOptions, channels int) int {
	const enough = 8 // I/Os for each channel
	if opt.Streams > 1 || opt.Slots < enough*channels {
		return 1
	}
	return 2
}

// Threads implements target.Stream.
func (s *stream) Threads() int { return s.s.Threads() }

// Path implements target.Paths.
func (s *stream) Path(thread int) string { return s.s.Path(thread) }

// Ceiling implements target.Ceiling.
func (s *stream) Ceiling(ctx context.Context, bufs [][]byte, write bool, warmup, window time.Duration) (int64, error) {
	return s.s.Ceiling(ctx, bufs, write, warmup, window)
}

// Run implements target.Stream.
func (s *stream) Run(ctx context.Context, d target.Driver) {
	s.driver = d
	s.s.Run(ctx, s)
}

// Next implements the Driver of package nfs/stream.
func (s *stream) Next(io *nfsstream.IO) bool {
	own := &s.slots[io.Slot]
	own.Thread, own.Wait, own.Err = io.Thread, 0, nil
	if !s.driver.Next(own) {
		return false
	}
	if own.Wait > 0 {
		io.Wait = own.Wait
		return true
	}
	f := own.File.(*file) //nolint:errcheck,forcetypeassert // files of another target are a bug of the caller
	io.Write, io.Buf, io.Offset, io.Stable = own.Write, own.Buf, own.Offset, f.stability
	f.f.Prepare(io)
	return true
}

// Done implements the Driver of package nfs/stream.
func (s *stream) Done(io *nfsstream.IO) {
	own := &s.slots[io.Slot]
	own.Thread, own.Err, own.SentAgain = io.Thread, nil, io.SentAgain
	own.File.(*file).f.Wrote(io) //nolint:errcheck,forcetypeassert // as in Next
	if io.Err != nil {
		own.Err = s.t.explain(io.Err)
	}
	s.driver.Done(own)
}

// Close implements target.Stream.
func (s *stream) Close() error { return s.s.Close() }
