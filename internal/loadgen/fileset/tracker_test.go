package fileset

import "testing"

func TestTheTrackerAcceptsExactlyWhatMayBeThere(t *testing.T) {
	cases := map[string]struct {
		reason      string
		do          func(*Tracker)
		reused      bool
		first, last uint64
	}{
		"fill only":     {"the fill is what must be there", func(*Tracker) {}, false, 100, 100},
		"earlier run's": {"an earlier run may have overwritten it", func(*Tracker) {}, true, 0, 100},
		"one write": {"the only write", func(tr *Tracker) {
			tr.Begin(0)
			tr.End(0, true)
		}, true, 101, 101},
		"two writes": {"the second supersedes the first", func(tr *Tracker) {
			for range 2 {
				tr.Begin(0)
				tr.End(0, true)
			}
		}, false, 102, 102},
		"overlapping": {"either may have come last", func(tr *Tracker) {
			tr.Begin(0)
			tr.End(0, true)
			tr.Begin(0)
			tr.Begin(0)
			tr.End(0, true)
			tr.End(0, true)
		}, false, 102, 103},
		"failed": {"nobody knows what a failed write did", func(tr *Tracker) {
			tr.Begin(0)
			tr.End(0, true)
			tr.Begin(0)
			tr.End(0, false)
		}, false, 0, 102},
		"another block": {"blocks are told apart", func(tr *Tracker) {
			tr.Begin(1)
			tr.End(1, true)
		}, false, 100, 100},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(4, 4, 0, 100, tc.reused)
			tc.do(tr)
			if first, last := tr.expected(0); first != tc.first || last != tc.last {
				t.Errorf("%s: %d to %d, want %d to %d", tc.reason, first, last, tc.first, tc.last)
			}
		})
	}
}

func TestTheSampleIsSpreadOverTheFile(t *testing.T) {
	for _, blocks := range []int64{1, 2, 63, 64, 65, 1000, 1 << 40} {
		tr := newTracker(blocks, 64, 12345, 0, false)
		var before int64 = -1
		for i := range tr.sampled {
			n := tr.number(i)
			if n <= before || n >= blocks || tr.find(n) != &tr.sampled[i] {
				t.Fatalf("of %d blocks: sample %d is block %d after %d", blocks, i, n, before)
			}
			before = n
		}
		if want := min(blocks, 64); int64(len(tr.sampled)) != want {
			t.Errorf("of %d blocks %d are sampled", blocks, len(tr.sampled))
		}
		for _, other := range []int64{-1, blocks, blocks + tr.stride} {
			if tr.find(other) != nil && other >= blocks {
				t.Errorf("block %d of %d is sampled", other, blocks)
			}
		}
	}
}
