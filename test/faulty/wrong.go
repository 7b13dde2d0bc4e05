package faulty

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// WrongBlock is the block size in bytes of the loads that WrongData are tried with.
const WrongBlock = 4096

// Wrong is what a server does to the data.
type Wrong uint64

// What a server does instead of one of so many writes or reads. hack/lab/wrong-data.c has the same order.
const (
	Faithful Wrong = iota
	DropWrite
	TearWrite     // do the first half
	MisplaceWrite // do it in the block before
	UndoWrite     // do an earlier write of the block once more, behind it
	ReadZeros
	ReadStale  // give what was there when the block was read first
	ReadOther  // give what another block held
	ReadDamage // give it with one byte of each sector's stamp flipped
)

// WrongData is a load, and a server that is wrong about its data.
type WrongData struct {
	Name    string // what the server does
	Wrong   Wrong
	Every   int64 // so many writes or reads, one is wrong
	Pattern bench.RawPattern
	Blocks  int64 // of each file: few where each is to be written many times
	// Finds are the kinds of faults of which the run finds as many as there are. Without any, it finds some.
	Finds runfile.Faults
	Found string // what the run finds, in words
}

// AllWrongData are the tries of docs/faults.md. Every server is tried with all of them.
func AllWrongData() []WrongData {
	const many, few = 4096, 64
	lost, torn, misplaced := runfile.Faults{Lost: 1}, runfile.Faults{Torn: 1}, runfile.Faults{Misplaced: 1}
	corrupted := runfile.Faults{Corrupted: 1}
	return []WrongData{
		{"one acknowledged write of 10 is not done", DropWrite, 10, bench.PatternRandomWrite, many, lost, "each such block: lost"},
		{"one acknowledged write of 100 is not done", DropWrite, 100, bench.PatternOverwrite, many, lost, "each such block: lost"},
		{"one acknowledged write of 1,000 is not done", DropWrite, 1000, bench.PatternOverwrite, many, lost, "each such block: lost"},
		{"the second half of one write of 1,000 is not done", TearWrite, 1000, bench.PatternOverwrite, many, torn, "each such block: torn"},
		{"the second half of one write of 100 is not done", TearWrite, 100, bench.PatternCopy, many, torn, "each such block: torn"},
		{
			"one write of 100 goes to the block before", MisplaceWrite, 100, bench.PatternOverwrite, many,
			runfile.Faults{},
			"each block that lacks its write: lost; the blocks that the writes went to: misplaced",
		},
		{
			"an earlier write of the block is done once more behind one write of 10", UndoWrite, 10, bench.PatternRandomWrite, few, lost,
			"each such block: lost",
		},
		{"one read of 100 gives zeros", ReadZeros, 100, bench.PatternRandomRead, many, lost, "each such read: stale"},
		{"one read of 100 beside writes gives zeros", ReadZeros, 100, bench.PatternRandomMixed, many, lost, "each such read: stale"},
		{"one read of 50 gives the data of another block", ReadOther, 50, bench.PatternRead, many, misplaced, "each such read: misplaced"},
		{"one read of 50 gives damaged stamps", ReadDamage, 50, bench.PatternRead, many, corrupted, "each such read: corrupted"},
		{
			"reads give what the block held when it was read first", ReadStale, 1, bench.PatternRandomMixed, few,
			runfile.Faults{},
			"stale reads; not all, because a read beside a write may give what was there before it",
		},
	}
}

// Reads reports whether the reads are wrong and not the writes.
func (w WrongData) Reads() bool { return w.Wrong >= ReadZeros }

// Plan returns p with the load of the try.
func (w WrongData) Plan(p runfile.Plan) runfile.Plan {
	r := *p.Workload.Raw
	r.Pattern, r.BlockSize, r.FileSize, r.Depth = w.Pattern, bench.Bytes(WrongBlock), *bench.Bytes(w.Blocks * WrongBlock), 8
	if strings.HasSuffix(string(w.Pattern), "Mixed") {
		r.ReadPercent = new(int32(50))
	}
	p.Workload.Raw = &r
	return p
}

// Seen is what the server did of the load. The loader does not know it.
type Seen struct {
	Writes    int64
	Same      int64 // written sectors that held the same data already
	Blocks    int64 // that were written
	BadBlocks int64 // of these, those whose last write is not there as it was sent
	BadReads  int64 // that gave other data than were there
}

// Check fails the test unless the run found what the server did.
func (w WrongData) Check(tb testing.TB, load *runfile.Load, seen Seen) {
	tb.Helper()
	v := load.Verification
	if load.Failure == nil || load.Failure.Code != runfile.FailureVerify || v == nil {
		tb.Fatalf("failure %+v, verification %+v; the server %+v", load.Failure, v, seen)
	}
	if v.Cut || v.BlocksWritten != seen.Blocks || v.WrittenBlocksChecked != seen.Blocks || v.WritesAcknowledged != seen.Writes || seen.Same > 0 {
		tb.Errorf("verification %+v; the server %+v", v, seen)
	}
	found, wrong, want, other := v.WrongBlocks, v.BlocksWrong, seen.BadBlocks, v.ReadsWrong
	if w.Reads() {
		found, wrong, want, other = v.WrongReads, v.ReadsWrong, seen.BadReads, v.BlocksWrong
		w.checkExample(tb, load)
	}
	if w.Reads() && other > 0 {
		tb.Errorf("%d blocks are wrong, and only reads were: %+v", other, v)
	}
	if want == 0 || !w.finds(found, wrong, want) {
		tb.Errorf("the run found %+v, %d in all; the server was wrong %d times", found, wrong, want)
	}
}

// finds reports whether a run found what it must of so many wrong writes or reads.
func (w WrongData) finds(found runfile.Faults, wrong, want int64) bool {
	switch {
	case w.Finds != runfile.Faults{}:
		return found == times(w.Finds, want) && wrong == want
	case w.Wrong == MisplaceWrite: // a block that a write went to by mistake is wrong if it was written before
		return found.Misplaced > 0 && found.Lost+found.Misplaced >= want
	default: // a read beside a write may be old: at the depth of the load, that is one in eight at most
		return found.Lost > want/2 && found.Lost == wrong && found.Lost <= want
	}
}

// checkExample wants the path of the first wrong read.
func (w WrongData) checkExample(tb testing.TB, load *runfile.Load) {
	tb.Helper()
	if e := load.Verification.Examples; len(e) == 0 || e[0].Path == "" || !strings.Contains(load.Failure.Message, e[0].Path) {
		tb.Errorf("the path of the first example is not in the message: %+v: %s", e, load.Failure.Message)
	}
}

func times(f runfile.Faults, n int64) runfile.Faults {
	return runfile.Faults{Lost: f.Lost * n, Torn: f.Torn * n, Misplaced: f.Misplaced * n, Corrupted: f.Corrupted * n}
}

// Row is the try in the table of docs/faults.md.
func (w WrongData) Row() string { return fmt.Sprintf("| %s | `%s` | %s |", w.Name, w.Pattern, w.Found) }

// WrongDataRows is the table of docs/faults.md of these tries, without its titles.
func WrongDataRows(tries []WrongData) string {
	rows := make([]string, len(tries))
	for i, w := range tries {
		rows[i] = w.Row()
	}
	return strings.Join(rows, "\n") + "\n"
}
