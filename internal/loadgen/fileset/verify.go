package fileset

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// How much is read back: this many blocks of each file, fewer where that would
// be more than sampleBytes in all, but never less than sampleAtLeast.
const (
	sampleBlocks  = 64
	sampleBytes   = 256 << 20
	sampleAtLeast = 4
	verifyWorkers = 8
)

// Verify reads the sampled blocks back and compares every byte with what must
// be there, the last overwrite of this run included. The error is of reading;
// blocks that are wrong are counted, and the first one is described.
func (s *Set) Verify(ctx context.Context) (v runfile.Verification, wrong string, err error) {
	arena, err := target.NewArena(verifyWorkers, s.spec.BlockSizeBytes)
	if err != nil {
		return v, "", err
	}
	defer func() { _ = arena.Release() }()
	group, ctx := errgroup.WithContext(ctx)
	type item struct {
		file *File
		i    int
	}
	items := make(chan item)
	group.Go(func() error {
		defer close(items)
		for _, f := range s.files {
			for i := range f.Tracker.sampled {
				select {
				case items <- item{f, i}:
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			}
		}
		return nil
	})
	var mu sync.Mutex
	for w := range verifyWorkers {
		group.Go(func() error {
			for it := range items {
				bad, err := s.verifyBlock(ctx, it.file, it.i, arena.Buffer(w))
				if err != nil {
					return err
				}
				mu.Lock()
				v.BlocksChecked++
				if bad != nil {
					v.BlocksWrong++
					if wrong == "" {
						wrong = fmt.Sprintf("file %q: %v", it.file.Name, bad)
					}
				}
				mu.Unlock()
			}
			return nil
		})
	}
	err = group.Wait()
	return v, wrong, err
}

// verifyBlock returns what is wrong with one block, and what went wrong in
// reading it.
func (s *Set) verifyBlock(ctx context.Context, f *File, i int, buf []byte) (bad, err error) {
	off := f.Tracker.number(i) * s.spec.BlockSizeBytes
	if _, err := f.ReadAt(ctx, buf, off); err != nil {
		return nil, fmt.Errorf("read %q at %d to verify it: %w", f.Name, off, err)
	}
	first, last := f.Tracker.expected(i)
	return f.Data.Check(buf, off, first, last), nil
}
