package runfile

import (
	"fmt"
	"strings"
)

// Verification says what a client checked of the data: each read of the load, and after it the blocks that
// were read back.
type Verification struct {
	// ReadsChecked are the reads of the load, warm-up included: one stamp (place, file, generation) in each 4 KiB of
	// every read, and all bytes of one read in a hundred.
	ReadsChecked int64  `json:"readsChecked,omitempty"`
	ReadsWrong   int64  `json:"readsWrong,omitempty"`
	WrongReads   Faults `json:"wrongReads,omitzero"` // by kind
	// WritesAcknowledged are the writes of the load that the storage acknowledged, warm-up included.
	WritesAcknowledged int64 `json:"writesAcknowledged,omitempty"`
	// WritesSentAgain are those that the client sent a second time, because a connection was lost. The
	// storage executes most of them twice, so their blocks were not written again.
	WritesSentAgain int64 `json:"writesSentAgain,omitempty"`
	BlocksWritten   int64 `json:"blocksWritten,omitempty"`
	// BlocksInDoubt are the written blocks of which any generation of this run is accepted: a write failed, or a late
	// duplicate may have come after a newer write.
	BlocksInDoubt        int64  `json:"blocksInDoubt,omitempty"`
	BlocksChecked        int64  `json:"blocksChecked"`                  // read back after the load, all bytes
	WrittenBlocksChecked int64  `json:"writtenBlocksChecked,omitempty"` // those of them that the load wrote
	BlocksWrong          int64  `json:"blocksWrong"`
	WrongBlocks          Faults `json:"wrongBlocks,omitzero"` // by kind
	// Cut says that there was no time to read back all.
	Cut bool `json:"cut,omitempty"`
	// Examples are the first reads and blocks that were wrong.
	Examples []WrongData `json:"examples,omitempty" jsonschema:"maxItems=8"`
}

// MaxExamples bounds Verification.Examples.
const MaxExamples = 8

// Wrong returns the number of wrong reads and blocks.
func (v *Verification) Wrong() int64 { return max(v.ReadsWrong, 0) + max(v.BlocksWrong, 0) }

// Add adds the counts of another client.
func (v *Verification) Add(o *Verification) {
	v.ReadsChecked += o.ReadsChecked
	v.ReadsWrong += o.ReadsWrong
	v.WrongReads.add(o.WrongReads)
	v.WritesAcknowledged += o.WritesAcknowledged
	v.WritesSentAgain += o.WritesSentAgain
	v.BlocksWritten += o.BlocksWritten
	v.BlocksInDoubt += o.BlocksInDoubt
	v.BlocksChecked += o.BlocksChecked
	v.WrittenBlocksChecked += o.WrittenBlocksChecked
	v.BlocksWrong += o.BlocksWrong
	v.WrongBlocks.add(o.WrongBlocks)
	v.Cut = v.Cut || o.Cut
}

func (f *Faults) add(o Faults) {
	f.Lost += o.Lost
	f.Torn += o.Torn
	f.Misplaced += o.Misplaced
	f.Corrupted += o.Corrupted
}

// AddExample adds an example, up to MaxExamples.
func (v *Verification) AddExample(w WrongData) {
	if len(v.Examples) < MaxExamples {
		v.Examples = append(v.Examples, w)
	}
}

// Faults counts wrong data by kind. See the constants.
type Faults struct {
	Lost      int64 `json:"lost,omitempty"`
	Torn      int64 `json:"torn,omitempty"`
	Misplaced int64 `json:"misplaced,omitempty"`
	Corrupted int64 `json:"corrupted,omitempty"`
}

// The kinds of WrongData.
const (
	FaultLost      = "Lost"      // an older write, or zeros
	FaultTorn      = "Torn"      // sectors of different writes
	FaultMisplaced = "Misplaced" // the data of another place, file or run
	FaultCorrupted = "Corrupted" // bytes that nobody wrote
)

// WrongData is one place where a file held something else than was written.
type WrongData struct {
	Kind   string `json:"kind" jsonschema:"enum=Lost,enum=Torn,enum=Misplaced,enum=Corrupted"`
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	// Read says that a read of the load found it, and not the reading back after it.
	Read bool `json:"read,omitempty"`
	// Path is where the data of such a read came from, as far as the client knows it.
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// Describe describes the wrong data in words, with the first example.
func (v *Verification) Describe() string {
	var parts []string
	if v.BlocksWrong > 0 {
		parts = append(parts, v.WrongBlocksWords())
	}
	if v.ReadsWrong > 0 {
		parts = append(parts, v.WrongReadsWords())
	}
	out := strings.Join(parts, ", and ")
	if len(v.Examples) > 0 {
		e := v.Examples[0]
		out += fmt.Sprintf("; the first: file %q: %s", e.File, e.Message)
		if e.Path != "" {
			out += " (over " + e.Path + ")"
		}
	}
	return out
}

// WrongBlocksWords describes the number of wrong blocks among those that were read back.
func (v *Verification) WrongBlocksWords() string {
	return fmt.Sprintf("%d of %d blocks read back are not what was written (%s)", v.BlocksWrong, v.BlocksChecked,
		v.WrongBlocks.words("lost"))
}

// WrongReadsWords describes the number of wrong reads of the load.
func (v *Verification) WrongReadsWords() string {
	return fmt.Sprintf("%d of %d reads of the load did not give what was written (%s)", v.ReadsWrong, v.ReadsChecked,
		v.WrongReads.words("stale"))
}

// words lists the kinds of faults that occurred.
func (f *Faults) words(lost string) string {
	var parts []string
	for _, k := range []struct {
		count int64
		name  string
	}{{f.Lost, lost}, {f.Torn, "torn"}, {f.Misplaced, "misplaced"}, {f.Corrupted, "corrupted"}} {
		if k.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", k.count, k.name))
		}
	}
	return strings.Join(parts, ", ")
}
