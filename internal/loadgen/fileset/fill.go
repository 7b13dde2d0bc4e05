package fileset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

const (
	fillChunkBytes = 1 << 20
	fillSlots      = 16
)

// carry runs d over its own stream until d has no more I/Os, and returns the first error of d. d gets the
// buffers of its slots.
func (s *Set) carry(ctx context.Context, slots int, block int64, d *task) error {
	arena, err := target.NewArena(slots, block)
	if err != nil {
		return err
	}
	defer func() { _ = arena.Release() }()
	stream, err := s.target.NewStream(ctx, target.StreamOptions{Slots: slots, BlockBytes: block, Streams: 1})
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	defer target.ProvideThreads(stream.Threads())()
	d.arena, d.items = arena, make([]int64, slots)
	stream.Run(ctx, d)
	if err := d.failed.Load(); err != nil {
		return errors.Join(*err, stream.Close())
	}
	return errors.Join(context.Cause(ctx), stream.Close())
}

// task is a Driver that does count I/Os, each once.
type task struct {
	count int64
	begin func(i int64, io *target.IO) bool  // fills in I/O i except its buffer, which it may shorten; false = none
	end   func(i int64, io *target.IO) error // an error ends the task

	arena  *target.Arena
	items  []int64 // by slot
	next   atomic.Int64
	failed atomic.Pointer[error]
}

// Next implements target.Driver.
func (d *task) Next(io *target.IO) bool {
	i := d.next.Add(1) - 1
	if i >= d.count || d.failed.Load() != nil {
		return false
	}
	d.items[io.Slot], io.Buf = i, d.arena.Buffer(io.Slot)
	return d.begin(i, io)
}

// Done implements target.Driver.
func (d *task) Done(io *target.IO) {
	if err := d.end(d.items[io.Slot], io); err != nil {
		d.failed.CompareAndSwap(nil, &err)
	}
}

// filling is one file during the fill.
type filling struct {
	file *File
	open target.File
	left atomic.Int64  // bytes not written yet
	lost []target.Span // in a restart of the server, before the commit

	mu sync.Mutex // of File.doubted
}

// doubt records that the server may write a chunk once more, late, and undo a write of the load.
func (f *filling) doubt(off, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file.doubted = append(f.file.doubted, [2]int64{off, off + bytes - 1})
}

// chunk is the range of one I/O.
type chunk struct {
	of       *filling
	from, to int64
}

// Fill writes the missing files, several chunks at once and in order, so that the storage can lay them out in
// order. It commits each file before the marker lists it as complete. Several goroutines call progress with
// the number of bytes of each step.
func (s *Set) Fill(ctx context.Context, progress func(bytes int64)) error {
	files, err := s.makeFiles(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	written := make(chan *filling, len(files))
	chunks := (s.spec.FileSizeBytes + fillChunkBytes - 1) / fillChunkBytes // of each file
	group, within := errgroup.WithContext(ctx)
	group.Go(func() error { return s.complete(within, written, len(files)) })
	group.Go(func() error {
		at := func(i int64) chunk {
			from := i % chunks * fillChunkBytes
			return chunk{files[i/chunks], from, min(from+fillChunkBytes, s.spec.FileSizeBytes)}
		}
		return s.write(within, chunks*int64(len(files)), at, func(f *filling, n int64) {
			if f.left.Add(-n) == 0 {
				written <- f
			}
			progress(n)
		})
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return s.rewrite(ctx, slices.DeleteFunc(files, func(f *filling) bool { return len(f.lost) == 0 }))
}

// write writes count chunks; at returns each of them.
func (s *Set) write(ctx context.Context, count int64, at func(i int64) chunk, wrote func(f *filling, n int64)) error {
	return s.carry(ctx, fillSlots, min(fillChunkBytes, s.spec.FileSizeBytes), &task{
		count: count,
		begin: func(i int64, io *target.IO) bool {
			c := at(i)
			io.Write, io.File, io.Offset, io.Buf = true, c.of.open, c.from, io.Buf[:c.to-c.from]
			c.of.file.Data.Write(io.Buf, c.from, s.generation())
			return true
		},
		end: func(i int64, io *target.IO) error {
			f := at(i).of
			if io.Err != nil {
				return fmt.Errorf("fill %q at %d: %w", f.file.Name, io.Offset, io.Err)
			}
			if io.SentAgain {
				f.doubt(io.Offset, int64(len(io.Buf)))
			}
			wrote(f, int64(len(io.Buf)))
			return nil
		},
	})
}

// rewrite writes the lost ranges of files again, with stable writes, so that nothing can be lost twice.
func (s *Set) rewrite(ctx context.Context, files []*filling) (err error) {
	if len(files) == 0 {
		return nil
	}
	var chunks []chunk
	for _, f := range files {
		if f.open, err = s.dir.Open(ctx, f.file.Name, target.OpenOptions{Stable: true}); err != nil {
			return fmt.Errorf("open %q: %w", f.file.Name, err)
		}
		defer func() { _ = f.open.Close() }()
		for _, l := range f.lost {
			for from := l.From; from < l.To; from += fillChunkBytes {
				chunks = append(chunks, chunk{f, from, min(from+fillChunkBytes, l.To)})
			}
		}
		s.marker.Complete = append(s.marker.Complete, f.file.Name)
	}
	at := func(i int64) chunk { return chunks[i] }
	if err := s.write(ctx, int64(len(chunks)), at, func(*filling, int64) {}); err != nil {
		return err
	}
	return s.writeMarker(ctx)
}

// makeFiles creates the missing files. It removes an old file instead of truncating it: the old file may have
// another size, and its remains must not be mistaken for new data.
func (s *Set) makeFiles(ctx context.Context) (files []*filling, err error) {
	for _, f := range s.files {
		if f.reused {
			continue
		}
		if err := s.dir.Remove(ctx, f.Name); err != nil && !target.IsNotExist(err) {
			return nil, fmt.Errorf("remove old %q: %w", f.Name, err)
		}
		opened, err := s.dir.Open(ctx, f.Name, target.OpenOptions{Create: true})
		if err != nil {
			return nil, fmt.Errorf("create %q: %w", f.Name, err)
		}
		filling := &filling{file: f, open: opened}
		filling.left.Store(s.spec.FileSizeBytes)
		files = append(files, filling)
	}
	return files, nil
}

// complete commits each written file, and adds its name to the marker unless the server lost a part of it.
func (s *Set) complete(ctx context.Context, written <-chan *filling, count int) (err error) {
	for range count {
		select {
		case f := <-written:
			if f.lost, err = f.open.Commit(ctx); err != nil {
				return fmt.Errorf("commit %q: %w", f.file.Name, err)
			}
			_ = f.open.Close()
			if len(f.lost) > 0 {
				continue
			}
			s.marker.Complete = append(s.marker.Complete, f.file.Name)
			if err := s.writeMarker(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
