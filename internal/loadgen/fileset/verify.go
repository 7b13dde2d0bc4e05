package fileset

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/content"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// A sample has sampleBlocks blocks of each file, but at most sampleBytes of all files together, and always at
// least sampleAtLeast blocks of each file.
const (
	sampleBlocks  = 64
	sampleBytes   = 256 << 20
	sampleAtLeast = 4
)

const (
	verifySlots      = 8
	verifyChunkBytes = 1 << 20 // maximum size of a read, unless a block is larger
)

// ReadingBytes returns the memory that Verify needs to read blocks of a size.
func ReadingBytes(block int64) int64 { return verifySlots * max(verifyChunkBytes, block) }

// Verify reads the blocks that Spec.Verify selects, or a sample if the load wrote none, and compares every
// byte with the expected data. It stops when over returns true. Wrong data are not an error: Verify returns
// an error only for a block that it cannot read.
func (s *Set) Verify(ctx context.Context, over func() bool) (runfile.Verification, error) {
	r := s.newReader(over)
	for _, f := range s.files {
		acknowledged, blocks, doubted := f.Tracker.written()
		r.found.WritesAcknowledged += acknowledged
		r.found.WritesSentAgain += f.Tracker.resent.Load()
		r.found.BlocksWritten += blocks
		r.found.BlocksInDoubt += doubted
	}
	if r.found.BlocksWritten == 0 && r.mode == bench.VerifyWritten {
		r.mode = bench.VerifySample
	}
	all := &task{count: math.MaxInt64, begin: r.begin, end: r.end}
	err := s.carry(ctx, verifySlots, r.chunk*s.spec.BlockSizeBytes, all)
	return r.found, err
}

// reader walks through the blocks to verify, in runs of neighbours.
type reader struct {
	set    *Set
	mode   bench.VerifyMode
	over   func() bool
	block  int64 // bytes of one
	chunk  int64 // number of blocks of a file that it reads in order
	chunks int64 // of all files
	step   int64 // from one chunk to the next, far away

	count, stride, phase int64 // of a sample

	runs [verifySlots]run // by slot

	mu    sync.Mutex // of the rest
	turn  int64      // chunks begun
	left  run        // of the chunk
	found runfile.Verification
}

// run is a range of neighbouring blocks.
type run struct {
	file      *File
	from, end int64
}

func (s *Set) newReader(over func() bool) *reader {
	block, files := s.spec.BlockSizeBytes, int64(len(s.files))
	blocks := s.spec.FileSizeBytes / block
	r := &reader{
		set: s, mode: cmp.Or(s.spec.Verify, bench.VerifyWritten), over: over, block: block,
		chunk: min(max(verifyChunkBytes/block, 1), blocks),
	}
	r.chunks = (blocks + r.chunk - 1) / r.chunk * files
	// Steps of the golden ratio spread over all files evenly, wherever the walk ends.
	r.step = max(1, int64(float64(r.chunks)*0.6180339887))
	for gcd(r.step, r.chunks) != 1 {
		r.step++
	}
	r.count = min(max(min(sampleBlocks, sampleBytes/(files*block)), sampleAtLeast), blocks)
	r.stride = blocks / r.count
	r.phase = int64(s.spec.Seed % uint64(r.stride))
	return r
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// begin fills in the next run to read.
func (r *reader) begin(_ int64, io *target.IO) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	next, more := r.next()
	if more {
		r.runs[io.Slot] = next
		io.Write, io.File, io.Offset = false, next.file.File, next.from*r.block
		io.Buf = io.Buf[:(next.end-next.from)*r.block]
	}
	return more
}

func (r *reader) next() (next run, more bool) {
	for {
		for r.left.from < r.left.end && !r.wants(r.left.file, r.left.from) {
			r.left.from++
		}
		if r.left.from < r.left.end {
			break
		}
		if r.turn == r.chunks {
			return run{}, false
		}
		if r.over() {
			r.found.Cut = true
			return run{}, false
		}
		at, files := r.turn%r.chunks*r.step%r.chunks, int64(len(r.set.files))
		from := at / files * r.chunk
		r.left = run{r.set.files[at%files], from, min(from+r.chunk, r.set.spec.FileSizeBytes/r.block)}
		r.turn++
	}
	next = r.left
	for next.end = next.from + 1; next.end < r.left.end && r.wants(next.file, next.end); {
		next.end++
	}
	r.left.from = next.end
	return next, true
}

// wants reports whether a block must be verified.
func (r *reader) wants(f *File, block int64) bool {
	switch r.mode {
	case bench.VerifyAll:
		return true
	case bench.VerifySample:
		return block%r.stride == r.phase && block/r.stride < r.count
	default:
		return f.Tracker.isWritten(block)
	}
}

// end checks the blocks of a completed read.
func (r *reader) end(_ int64, io *target.IO) error {
	it := r.runs[io.Slot]
	f := it.file
	if io.Err != nil {
		return fmt.Errorf("read %q at %d to verify it: %w", f.Name, io.Offset, io.Err)
	}
	for i := it.from; i < it.end; i++ {
		bad := f.Data.Check(io.Buf[:r.block], i*r.block, f.Tracker.Oldest(i), f.Tracker.Newest(i))
		io.Buf = io.Buf[r.block:]
		r.note(f, i, bad)
	}
	return nil
}

func (r *reader) note(f *File, block int64, bad *content.Difference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found.BlocksChecked++
	if f.Tracker.isWritten(block) {
		r.found.WrittenBlocksChecked++
	}
	if bad != nil {
		r.found.BlocksWrong++
		NoteFault(&r.found.WrongBlocks, bad.Fault)
		r.found.AddExample(WrongData(f, bad))
	}
}

// NoteFault counts a fault by its kind.
func NoteFault(in *runfile.Faults, fault content.Fault) {
	switch fault {
	case content.Lost:
		in.Lost++
	case content.Torn:
		in.Torn++
	case content.Misplaced:
		in.Misplaced++
	default:
		in.Corrupted++
	}
}

// WrongData describes wrong data of a file.
func WrongData(f *File, bad *content.Difference) runfile.WrongData {
	kind := map[content.Fault]string{
		content.Lost: runfile.FaultLost, content.Torn: runfile.FaultTorn, content.Misplaced: runfile.FaultMisplaced,
	}[bad.Fault]
	return runfile.WrongData{
		Kind: cmp.Or(kind, runfile.FaultCorrupted), File: f.Name, Offset: bad.Offset, Message: bad.Text,
	}
}
