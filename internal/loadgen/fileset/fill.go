package fileset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

const (
	fillChunkBytes = 1 << 20
	fillSlots      = 16
)

// carry runs d over a stream of its own until d has no more, and returns the first error of d.
// d gets the buffers of its slots.
func (s *Set) carry(ctx context.Context, slots int, block int64, d *task) error {
	arena, err := target.NewArena(slots, block)
	if err != nil {
		return err
	}
	defer func() { _ = arena.Release() }()
	stream, err := s.target.NewStream(ctx, target.StreamOptions{Slots: slots, BlockBytes: block, Streams: 1})
	if err != nil {
		return err
	}
	defer target.ProvideThreads(stream.Lanes())()
	d.arena, d.items = arena, make([]int64, slots)
	stream.Run(ctx, d)
	if err := d.failed.Load(); err != nil {
		return errors.Join(*err, stream.Close())
	}
	return errors.Join(context.Cause(ctx), stream.Close())
}

// task is a Driver that does so many I/Os, each once.
type task struct {
	count int64
	begin func(i int64, io *target.IO) bool  // fills in I/O i but for its buffer, which it may shorten; false = none
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

// filling is one file that is being filled.
type filling struct {
	file *File
	open target.File
	left atomic.Int64 // bytes not written yet

	mu sync.Mutex // of File.doubted
}

// doubt notes that a chunk may be written once more, late: it may undo a write of the load.
func (f *filling) doubt(off, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.file.doubted = append(f.file.doubted, [2]int64{off, off + bytes - 1})
}

// Fill writes the missing files, several chunks at once and in order, so that the storage can
// lay them out in order, and commits each file before the marker calls it complete. progress
// gets how many bytes each step added; it is called from several goroutines.
func (s *Set) Fill(ctx context.Context, progress func(bytes int64)) error {
	files, err := s.makeFiles(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	written := make(chan *filling, len(files))
	chunks := (s.spec.FileSizeBytes + fillChunkBytes - 1) / fillChunkBytes // of each file
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.complete(ctx, written, len(files)) })
	group.Go(func() error {
		return s.carry(ctx, fillSlots, min(fillChunkBytes, s.spec.FileSizeBytes), &task{
			count: chunks * int64(len(files)),
			begin: func(i int64, io *target.IO) bool {
				f, off := files[i/chunks], i%chunks*fillChunkBytes
				io.Write, io.File, io.Offset = true, f.open, off
				io.Buf = io.Buf[:min(int64(len(io.Buf)), s.spec.FileSizeBytes-off)]
				f.file.Data.Write(io.Buf, off, s.generation())
				return true
			},
			end: func(i int64, io *target.IO) error {
				f, n := files[i/chunks], int64(len(io.Buf))
				if io.Err != nil {
					return fmt.Errorf("fill %q at %d: %w", f.file.Name, io.Offset, io.Err)
				}
				if io.SentAgain {
					f.doubt(io.Offset, n)
				}
				if f.left.Add(-n) == 0 {
					written <- f
				}
				progress(n)
				return nil
			},
		})
	})
	return group.Wait()
}

// makeFiles makes the missing files anew. An old one is removed and not truncated: it may
// have another size, and what is left of it must not be mistaken for new data.
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
		if r, ok := opened.(target.Resender); ok {
			r.SetSource(content.ReaderAt{Data: f.Data, Generation: s.generation()})
		}
		filling := &filling{file: f, open: opened}
		filling.left.Store(s.spec.FileSizeBytes)
		files = append(files, filling)
	}
	return files, nil
}

// complete commits each file that is written, and writes its name into the marker.
func (s *Set) complete(ctx context.Context, written <-chan *filling, count int) error {
	for range count {
		select {
		case f := <-written:
			if err := f.open.Commit(ctx); err != nil {
				return fmt.Errorf("commit %q: %w", f.file.Name, err)
			}
			_ = f.open.Close()
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
