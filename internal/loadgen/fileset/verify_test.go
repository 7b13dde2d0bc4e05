package fileset

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// opened are files of a load that writes; change may change their spec.
func opened(t *testing.T, tgt target.Target, change ...func(*Spec)) (*Set, []Job) {
	t.Helper()
	s, _ := filled(t, tgt, testSpec(append(change, func(s *Spec) { s.Writes = true })...))
	jobs, err := s.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s, jobs
}

// write writes a block as the load does. bend may change the data, and return false for a write that is
// acknowledged and never done.
func write(t *testing.T, f *File, block int64, bend func(buf []byte) bool) {
	t.Helper()
	gen, ok := f.Tracker.Begin(block)
	if !ok {
		t.Fatalf("block %d cannot be written", block)
	}
	defer f.Tracker.End(block, true, false)
	arena, err := target.NewArena(1, blockSize)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arena.Release() }()
	f.Data.Write(arena.Buffer(0), block*blockSize, gen)
	if bend == nil || bend(arena.Buffer(0)) {
		if err := f.WriteAt(t.Context(), arena.Buffer(0), block*blockSize); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAllThatWasWrittenIsReadBackOnce(t *testing.T) {
	var mu sync.Mutex
	var reads []string
	tgt := &targettest.Memory{}
	s, jobs := opened(t, tgt)
	for _, block := range []int64{3, 4, 5, 9, 39, 4} {
		write(t, jobs[1].Main, block, nil)
	}
	tgt.BeforeIO = func(op, name string, off int64) error {
		mu.Lock()
		defer mu.Unlock()
		reads = append(reads, fmt.Sprint(op, " ", name, " ", off/blockSize))
		return nil
	}
	v, err := s.Verify(t.Context(), never)
	want := runfile.Verification{WritesAcknowledged: 6, BlocksWritten: 5, BlocksChecked: 5, WrittenBlocksChecked: 5}
	if diff := cmp.Diff(want, v); diff != "" || err != nil {
		t.Errorf("verification (-want +got):\n%s%v", diff, err)
	}
	slices.Sort(reads)
	if diff := cmp.Diff([]string{"read c0-j1.dat 3", "read c0-j1.dat 39", "read c0-j1.dat 9"}, reads); diff != "" {
		t.Errorf("neighbours are one read (-want +got):\n%s", diff)
	}
}

func TestTheModeSaysWhatIsReadBack(t *testing.T) {
	for mode, want := range map[bench.VerifyMode]int64{
		"": 1, bench.VerifyWritten: 1, bench.VerifySample: 2 * sampleBlocks, bench.VerifyAll: 2 * 3 * sampleBlocks,
	} {
		t.Run(string(mode), func(t *testing.T) {
			s, jobs := opened(t, &targettest.Memory{}, func(s *Spec) { s.FileSizeBytes, s.Verify = 3*sampleBlocks*blockSize, mode })
			write(t, jobs[0].Main, 0, nil)
			v, err := s.Verify(t.Context(), never)
			if err != nil || v.BlocksChecked != want || v.BlocksWrong != 0 || v.BlocksWritten != 1 || v.Cut {
				t.Errorf("%+v, %v; want %d blocks", v, err, want)
			}
		})
	}
}

// Files of very different sizes have chunks and blocks that do not divide each other.
func TestEveryBlockIsReadBackWhateverTheSizes(t *testing.T) {
	for _, blocks := range []int64{1, 2, 255, 256, 257, 1000} {
		for _, jobs := range []int32{1, 2, 3, 7} {
			s, _ := opened(t, &targettest.Memory{}, func(s *Spec) {
				s.FileSizeBytes, s.Jobs, s.Verify = blocks*blockSize, jobs, bench.VerifyAll
			})
			v, err := s.Verify(t.Context(), never)
			if want := blocks * int64(jobs); err != nil || v.BlocksChecked != want || v.Cut {
				t.Errorf("%d files of %d blocks: %+v, %v", jobs, blocks, v, err)
			}
		}
	}
}

// What there was no time for must not be all of one file, or the end of each.
func TestAReadingThatIsCutIsASpreadSample(t *testing.T) {
	const files, chunks = 4, 20
	var mu sync.Mutex
	tgt := &targettest.Memory{}
	s, jobs := opened(t, tgt, func(s *Spec) { s.Jobs, s.FileSizeBytes = files, chunks<<20 })
	for _, j := range jobs {
		for block := range int64(chunks << 20 / blockSize) {
			j.Main.Tracker.Begin(block)
			j.Main.Tracker.Cancel(block)
		}
		for chunk := range int64(chunks) {
			write(t, j.Main, chunk<<20/blockSize, nil)
		}
	}
	left, halves := files*chunks/2, map[string]int{}
	tgt.BeforeIO = func(_, name string, off int64) error {
		mu.Lock()
		defer mu.Unlock()
		halves[fmt.Sprint(name, " ", off >= chunks<<20/2)]++
		return nil
	}
	v, err := s.Verify(t.Context(), func() bool { left--; return left < 0 })
	if err != nil || !v.Cut || v.BlocksChecked != files*chunks/2 || v.BlocksWritten != files*chunks {
		t.Fatalf("%+v, %v; want half of %d blocks", v, err, files*chunks)
	}
	for half, n := range halves {
		if n < chunks/4-2 || n > chunks/4+2 {
			t.Errorf("half of a file, %s, had %d reads of %v", half, n, halves)
		}
	}
}

func TestEachKindOfFaultIsNamed(t *testing.T) {
	zeros := func(buf []byte) bool {
		clear(buf)
		return true
	}
	cases := map[string]struct {
		do   func(*testing.T, *File)
		want runfile.Faults
		says string
	}{
		"dropped": {func(t *testing.T, f *File) {
			t.Helper()
			write(t, f, 7, func([]byte) bool { return false })
		}, runfile.Faults{Lost: 1}, "offset 28672 holds an older write"},
		"zeros": {func(t *testing.T, f *File) {
			t.Helper()
			write(t, f, 7, zeros)
		}, runfile.Faults{Lost: 1}, "offset 28672 holds zeros"},
		"torn": {func(t *testing.T, f *File) {
			t.Helper()
			write(t, f, 7, func(buf []byte) bool { return zeros(buf[512:1024]) })
		}, runfile.Faults{Torn: 1}, "offset 29184 holds zeros"},
		"to the next block": {func(t *testing.T, f *File) {
			t.Helper()
			write(t, f, 7, nil)
			write(t, f, 8, func(buf []byte) bool {
				f.Data.Write(buf, 7*blockSize, 1<<32+1)
				return true
			})
		}, runfile.Faults{Misplaced: 1}, "another place or file"},
		"a flipped bit": {func(t *testing.T, f *File) {
			t.Helper()
			write(t, f, 7, func(buf []byte) bool {
				buf[100] ^= 4
				return true
			})
		}, runfile.Faults{Corrupted: 1}, "byte 28772 is"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, jobs := opened(t, &targettest.Memory{})
			tc.do(t, jobs[0].Main)
			v, err := s.Verify(t.Context(), never)
			if err != nil || v.WrongBlocks != tc.want || v.BlocksWrong != 1 {
				t.Fatalf("%+v, %v", v, err)
			}
			if e := v.Examples[0]; e.File != "c0-j0.dat" || e.Read || !strings.Contains(e.Message, tc.says) {
				t.Errorf("the example is %+v", e)
			}
		})
	}
}

// An example is enough to see what happened. A volume that lost everything must not fill the result.
func TestTheExamplesAreBounded(t *testing.T) {
	s, jobs := opened(t, &targettest.Memory{})
	for block := range int64(20) {
		write(t, jobs[0].Main, block, func([]byte) bool { return false })
	}
	v, err := s.Verify(t.Context(), never)
	if err != nil || v.BlocksWrong != 20 || len(v.Examples) != runfile.MaxExamples {
		t.Errorf("%d wrong, %d examples, %v", v.BlocksWrong, len(v.Examples), err)
	}
}
