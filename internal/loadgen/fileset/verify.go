package fileset

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"

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

// Verify reads the sampled blocks back and compares every byte with what must
// be there, the last overwrite of this run included. The error is of reading;
// blocks that are wrong are counted, and the first one is described.
func (s *Set) Verify(ctx context.Context) (v runfile.Verification, wrong string, err error) {
	arena, err := target.NewArena(verifyWorkers, s.spec.BlockSizeBytes)
	if err != nil {
		return v, "", err
	}
	defer func() { _ = arena.Release() }()
	samples := s.samples()
	var next atomic.Int64
	var mu sync.Mutex // of the results
	group, ctx := errgroup.WithContext(ctx)
	for w := range verifyWorkers {
		group.Go(func() error {
			for n := next.Add(1) - 1; n < int64(len(samples)); n = next.Add(1) - 1 {
				bad, err := s.verifyBlock(ctx, samples[n], arena.Buffer(w))
				if err != nil {
					return err
				}
				mu.Lock()
				v.BlocksChecked++
				if bad != nil {
					v.BlocksWrong++
					wrong = cmp.Or(wrong, fmt.Sprintf("file %q: %v", samples[n].file.Name, bad))
				}
				mu.Unlock()
			}
			return nil
		})
	}
	err = group.Wait()
	return v, wrong, err
}

func (s *Set) samples() (all []sample) {
	for _, f := range s.files {
		for i := range f.Tracker.sampled {
			all = append(all, sample{f, i})
		}
	}
	return all
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
