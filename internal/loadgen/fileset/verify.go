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

// sample is one sampled block of a file.
type sample struct {
	file *File
	i    int
}

// findings collects what the workers of a verification see.
type findings struct {
	mu    sync.Mutex
	count runfile.Verification
	wrong string // of the first block that is
}

func (f *findings) add(s sample, bad error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count.BlocksChecked++
	if bad == nil {
		return
	}
	f.count.BlocksWrong++
	if f.wrong == "" {
		f.wrong = fmt.Sprintf("file %q: %v", s.file.Name, bad)
	}
}

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
	samples := make(chan sample)
	group.Go(func() error { return s.produceSamples(ctx, samples) })
	var found findings
	for w := range verifyWorkers {
		group.Go(func() error {
			for it := range samples {
				bad, err := s.verifyBlock(ctx, it, arena.Buffer(w))
				if err != nil {
					return err
				}
				found.add(it, bad)
			}
			return nil
		})
	}
	err = group.Wait()
	return found.count, found.wrong, err
}

func (s *Set) produceSamples(ctx context.Context, samples chan<- sample) error {
	defer close(samples)
	for _, f := range s.files {
		for i := range f.Tracker.sampled {
			select {
			case samples <- sample{f, i}:
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	return nil
}

// verifyBlock returns what is wrong with one block, and what went wrong in
// reading it.
func (s *Set) verifyBlock(ctx context.Context, it sample, buf []byte) (bad, err error) {
	f := it.file
	off := f.Tracker.number(it.i) * s.spec.BlockSizeBytes
	if _, err := f.ReadAt(ctx, buf, off); err != nil {
		return nil, fmt.Errorf("read %q at %d to verify it: %w", f.Name, off, err)
	}
	first, last := f.Tracker.expected(it.i)
	return f.Data.Check(buf, off, first, last), nil
}
