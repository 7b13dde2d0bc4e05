package fileset

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// How much is read back: this many blocks of each file, fewer where that would
// be more than sampleBytes in all, but never less than sampleAtLeast.
const (
	sampleBlocks  = 64
	sampleBytes   = 256 << 20
	sampleAtLeast = 4
	verifySlots   = 8
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
	samples := s.samples()
	var mu sync.Mutex // of the results
	err = s.carry(ctx, verifySlots, s.spec.BlockSizeBytes, &task{
		count: int64(len(samples)),
		begin: func(i int64, io *target.IO) {
			it := samples[i]
			io.Write, io.File, io.Offset = false, it.file.File, it.file.Tracker.number(it.i)*s.spec.BlockSizeBytes
		},
		end: func(i int64, io *target.IO) error {
			f := samples[i].file
			if io.Err != nil {
				return fmt.Errorf("read %q at %d to verify it: %w", f.Name, io.Offset, io.Err)
			}
			first, last := f.Tracker.expected(samples[i].i)
			bad := f.Data.Check(io.Buf, io.Offset, first, last)
			mu.Lock()
			defer mu.Unlock()
			v.BlocksChecked++
			if bad != nil {
				v.BlocksWrong++
				wrong = cmp.Or(wrong, fmt.Sprintf("file %q: %s", f.Name, bad.Text))
			}
			return nil
		},
	})
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

// Tracker knows, for a sample of the blocks of one file, which generations a
// read after the load may find there. For all other blocks it does nothing but
// a division.
type Tracker struct {
	phase, stride int64
	base          uint64 // generation of the fill, or of what was there before
	reused        bool   // filled by an earlier run, which may have overwritten it
	sampled       []block
}

// block is one sampled block. Writes to the same block that overlap in time
// may take effect in any order, so a whole cluster of them is accepted; a write
// that began after others had ended supersedes them.
type block struct {
	mu       sync.Mutex
	issued   uint64 // generation of the last write that began, from base
	inFlight int
	cluster  uint64 // generation of the first write of the present cluster
	floor    uint64 // the oldest generation that may be found
	unsure   bool   // a write failed: it may have happened, then or later
}

// newTracker samples count blocks of a file of blocks blocks, evenly, from one
// that depends on the number pick.
func newTracker(blocks, count int64, pick, base uint64, reused bool) *Tracker {
	count = min(max(count, 1), blocks)
	stride := blocks / count
	return &Tracker{
		phase:  int64(pick % uint64(stride)),
		stride: stride, base: base, reused: reused,
		sampled: make([]block, count),
	}
}

// find returns the sampled block with this number, or nil.
func (t *Tracker) find(number int64) *block {
	from := number - t.phase
	if from < 0 || from%t.stride != 0 || from/t.stride >= int64(len(t.sampled)) {
		return nil
	}
	return &t.sampled[from/t.stride]
}

// Begin is called before block number is written, and gives the generation to
// write. End must follow.
func (t *Tracker) Begin(number int64) (gen uint64) {
	b := t.find(number)
	if b == nil {
		return t.base + 1
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.issued++
	if b.inFlight == 0 {
		b.cluster = b.issued
	}
	b.inFlight++
	return t.base + b.issued
}

// End is called when a write of block number has ended, ok when it succeeded.
func (t *Tracker) End(number int64, ok bool) {
	b := t.find(number)
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight--
	if !ok {
		b.unsure = true
	}
	if b.inFlight == 0 {
		b.floor = b.cluster
	}
}

// expected gives the generations of sampled block i that a read may find. No
// write may be in flight.
func (t *Tracker) expected(i int) (first, last uint64) {
	b := &t.sampled[i]
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.issued > 0 && !b.unsure:
		return t.base + b.floor, t.base + b.issued
	case b.unsure || t.reused:
		return 0, t.base + b.issued
	default:
		return t.base, t.base
	}
}

// number gives the block number of sampled block i.
func (t *Tracker) number(i int) int64 { return t.phase + int64(i)*t.stride }
