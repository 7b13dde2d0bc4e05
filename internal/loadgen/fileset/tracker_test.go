package fileset

import (
	"testing"

	"github.com/nfsbench/nfsbench/test/targettest"
)

func TestTheTrackerAcceptsExactlyWhatMayBeThere(t *testing.T) {
	write := func(tr *Tracker, ok, again bool) {
		if _, began := tr.Begin(0); began {
			tr.End(0, ok, again)
		}
	}
	cases := map[string]struct {
		reason      string
		do          func(*Tracker)
		reused      bool
		first, last uint64
	}{
		"fill only":     {"the fill is what must be there", func(*Tracker) {}, false, 100, 100},
		"earlier run's": {"an earlier run may have overwritten it", func(*Tracker) {}, true, 0, 100},
		"one write":     {"the only write", func(tr *Tracker) { write(tr, true, false) }, true, 101, 101},
		"two writes": {"the second supersedes the first", func(tr *Tracker) {
			write(tr, true, false)
			write(tr, true, false)
		}, false, 102, 102},
		"in flight": {"it may be there or not", func(tr *Tracker) {
			write(tr, true, false)
			tr.Begin(0)
		}, false, 101, 102},
		"first in flight": {"it may be there or not", func(tr *Tracker) { tr.Begin(0) }, true, 0, 101},
		"cancelled": {"nothing was sent", func(tr *Tracker) {
			write(tr, true, false)
			tr.Begin(0)
			tr.Cancel(0)
		}, false, 101, 101},
		"failed": {"nobody knows what a failed write did, nor when", func(tr *Tracker) {
			write(tr, true, false)
			write(tr, false, false)
			write(tr, true, false)
		}, false, 100, 103},
		"sent again": {"both calls write the same", func(tr *Tracker) { write(tr, true, true) }, false, 101, 101},
		"sent again, then another": {"it is refused", func(tr *Tracker) {
			write(tr, true, true)
			write(tr, true, false)
		}, false, 101, 101},
		"another block": {"blocks are told apart", func(tr *Tracker) {
			tr.Begin(1)
			tr.End(1, true, false)
		}, false, 100, 100},
		"doubted": {"a chunk of the fill was sent again", func(tr *Tracker) {
			tr.doubt(0, 10)
			write(tr, true, false)
		}, false, 100, 101},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(4, 100, tc.reused)
			tc.do(tr)
			if first, last := tr.Oldest(0), tr.Newest(0); first != tc.first || last != tc.last {
				t.Errorf("%s: %d to %d, want %d to %d", tc.reason, first, last, tc.first, tc.last)
			}
		})
	}
}

func TestNoBlockHasTwoWritesInFlight(t *testing.T) {
	tr := newTracker(1, 100, false)
	if gen, ok := tr.Begin(0); !ok || gen != 101 {
		t.Fatalf("the first write is generation %d, %v", gen, ok)
	}
	if _, ok := tr.Begin(0); ok {
		t.Error("a second write began beside the first")
	}
	tr.End(0, true, false)
	if gen, ok := tr.Begin(0); !ok || gen != 102 {
		t.Errorf("the second write is generation %d, %v", gen, ok)
	}
}

// Without a limit, connections that are lost again and again would leave a small file with nothing to write.
func TestHalfOfAFileStaysWritableWhateverIsSentAgain(t *testing.T) {
	tr := newTracker(4, 100, false)
	for block := range int64(3) {
		tr.Begin(block)
		tr.End(block, true, true)
		if _, ok := tr.Begin(0); ok != (block == 2) {
			t.Errorf("with %d of 4 blocks sent again, a further write began: %v", block+1, ok)
		}
	}
	tr.End(0, true, false)
	if first, last := tr.Oldest(0), tr.Newest(0); first != 100 || last != 102 {
		t.Errorf("the block written in spite of that has generations %d to %d, want any of its own", first, last)
	}
	if acknowledged, blocks, doubted := tr.written(); acknowledged != 4 || blocks != 3 || doubted != 1 {
		t.Errorf("%d writes of %d blocks, %d in doubt", acknowledged, blocks, doubted)
	}
}

func TestTheTrackerOfAFileThatIsOnlyReadHasNoState(t *testing.T) {
	for reused, first := range map[bool]uint64{false: 100, true: 0} {
		tr := newTracker(0, 100, reused)
		if tr.Oldest(1<<40) != first || tr.Newest(1<<40) != 100 || tr.isWritten(7) {
			t.Errorf("reused %v: %d to %d", reused, tr.Oldest(1<<40), tr.Newest(1<<40))
		}
	}
}

func TestTheStateOfAllBlocksTakesWhatASpecSays(t *testing.T) {
	for name, change := range map[string]func(*Spec){
		"writes": func(*Spec) {}, "copies": func(s *Spec) { s.Copy = true }, "reads": func(s *Spec) { s.Writes = false },
	} {
		spec := testSpec(func(s *Spec) { s.Writes = true }, change)
		s, _ := filled(t, &targettest.Memory{}, spec)
		if _, err := s.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		var bytes int64
		for _, f := range s.files {
			bytes += int64(len(f.Tracker.state)) * 4
		}
		if got := spec.StateBytes(); got != bytes || (bytes == 0) != (name == "reads") {
			t.Errorf("%s: the state takes %d bytes, and the spec says %d", name, bytes, got)
		}
		s.Close()
	}
}
