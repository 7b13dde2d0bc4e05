package fileset

import (
	"context"
	"fmt"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

const (
	fillChunkBytes = 1 << 20
	fillWorkers    = 16
)

// filling is one file that is being filled.
type filling struct {
	file *File
	open target.File
	left atomic.Int64 // bytes not written yet
}

// Fill writes the missing files, several chunks at once, and commits each file
// before the marker calls it complete. progress gets how many bytes each
// step added; it is called from several goroutines.
func (s *Set) Fill(ctx context.Context, progress func(bytes int64)) error {
	if s.MissingBytes() == 0 {
		return nil
	}
	arena, err := target.NewArena(fillWorkers, min(fillChunkBytes, s.spec.FileSizeBytes))
	if err != nil {
		return err
	}
	defer func() { _ = arena.Release() }()
	group, ctx := errgroup.WithContext(ctx)
	chunks, complete := make(chan chunk), make(chan string)
	group.Go(func() error { return s.produceChunks(ctx, chunks) })
	group.Go(func() error { return s.markComplete(ctx, complete) })
	for w := range fillWorkers {
		group.Go(func() error {
			for c := range chunks {
				if err := s.fillChunk(ctx, c, arena.Buffer(w), complete); err != nil {
					return err
				}
				progress(c.bytes)
			}
			return nil
		})
	}
	return group.Wait()
}

type chunk struct {
	of         *filling
	off, bytes int64
}

// produceChunks makes the files anew and cuts them into chunks, in order, so
// that the storage can lay them out in order.
func (s *Set) produceChunks(ctx context.Context, chunks chan<- chunk) error {
	defer close(chunks)
	for _, f := range s.files {
		if f.reused {
			continue
		}
		// An old one is removed and not truncated: it may have another size, and what
		// is left of it must not be mistaken for new data.
		if err := s.dir.Remove(ctx, f.Name); err != nil && !target.IsNotExist(err) {
			return fmt.Errorf("remove old %q: %w", f.Name, err)
		}
		opened, err := s.dir.Open(ctx, f.Name, target.OpenOptions{Create: true})
		if err != nil {
			return fmt.Errorf("create %q: %w", f.Name, err)
		}
		if r, ok := opened.(target.Resender); ok {
			r.SetSource(content.ReaderAt{Data: f.Data, Generation: s.generation()})
		}
		filling := &filling{file: f, open: opened}
		filling.left.Store(s.spec.FileSizeBytes)
		for off := int64(0); off < s.spec.FileSizeBytes; off += fillChunkBytes {
			select {
			case chunks <- chunk{of: filling, off: off, bytes: min(fillChunkBytes, s.spec.FileSizeBytes-off)}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// fillChunk writes one chunk. Whoever writes the last one of a file commits it.
func (s *Set) fillChunk(ctx context.Context, c chunk, buf []byte, complete chan<- string) error {
	buf = buf[:c.bytes]
	c.of.file.Data.Write(buf, c.off, s.generation())
	if err := c.of.open.WriteAt(ctx, buf, c.off); err != nil {
		return fmt.Errorf("fill %q at %d: %w", c.of.file.Name, c.off, err)
	}
	if c.of.left.Add(-c.bytes) > 0 {
		return nil
	}
	if err := c.of.open.Commit(ctx); err != nil {
		return fmt.Errorf("commit %q: %w", c.of.file.Name, err)
	}
	_ = c.of.open.Close()
	select {
	case complete <- c.of.file.Name:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// markComplete writes the name of every file that is complete into the marker.
func (s *Set) markComplete(ctx context.Context, complete <-chan string) error {
	for range s.MissingBytes() / s.spec.FileSizeBytes {
		select {
		case name := <-complete:
			s.marker.Complete = append(s.marker.Complete, name)
			if err := s.writeMarker(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
