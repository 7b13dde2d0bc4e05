package recorder

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const s = time.Second

func TestGapsAreTimesWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do    func(g *Gaps)
		since time.Duration
		want  []Gap
	}{
		"nothing happens":                       {do: func(*Gaps) {}, since: NothingWaits, want: []Gap{{0, 10 * s, NothingWaits}}},
		"nothing happens, and something waits":  {do: func(*Gaps) {}, want: []Gap{{0, 10 * s, 0}}},
		"something waits that began later":      {do: func(g *Gaps) { g.Answered(1, 2) }, since: 6 * s, want: []Gap{{2, 10 * s, 6 * s}}},
		"something waits that began before":     {do: func(g *Gaps) { g.Answered(1, 2*s) }, since: s, want: []Gap{{0, 2 * s, 1}, {2 * s, 10 * s, 2 * s}}},
		"the first answer is late":              {do: func(g *Gaps) { g.Answered(0, 4*s); g.Answered(9*s, 10*s) }, since: NothingWaits, want: []Gap{{0, 4 * s, 0}, {4 * s, 10 * s, 9 * s}}},
		"an older operation is answered after":  {do: func(g *Gaps) { g.Answered(3*s, 4*s); g.Answered(1*s, 4*s); g.Answered(2*s, 4*s) }, since: NothingWaits, want: []Gap{{0, 4 * s, 1 * s}, {4 * s, 10 * s, NothingWaits}}},
		"a failure is no answer":                {do: func(g *Gaps) { g.Answered(1, 2); g.Failed(6 * s); g.Failed(5 * s) }, since: NothingWaits, want: []Gap{{2, 10 * s, 5 * s}}},
		"an answer after a failure":             {do: func(g *Gaps) { g.Answered(1, 2); g.Failed(5 * s); g.Answered(8*s, 10*s) }, since: NothingWaits, want: []Gap{{2, 10 * s, 5 * s}}},
		"an answer after the end ends it there": {do: func(g *Gaps) { g.Answered(1, 2); g.Answered(3, 12*s) }, since: NothingWaits, want: []Gap{{2, 12 * s, 3}}},
		"answers that are less apart": {since: NothingWaits, do: func(g *Gaps) {
			for at := time.Duration(0); at <= 10*s; at += LeastGap - 1 {
				g.Answered(at, at)
			}
		}},
	} {
		var g Gaps
		c.do(&g)
		if diff := cmp.Diff(c.want, g.Until(10*s, c.since), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if g.Reset(); cmp.Diff([]Gap{{0, s, NothingWaits}}, g.Until(s, NothingWaits)) != "" {
			t.Errorf("%s: not forgotten", name)
		}
	}
}

func TestTheLongestGapsAreKept(t *testing.T) {
	t.Parallel()
	var g Gaps
	at, long := time.Duration(0), 0
	for i := range 10 * maxGaps {
		length := LeastGap + time.Duration(i%7)
		if i%100 == 50 {
			length, long = s, long+1
		}
		g.Answered(at, at+length)
		at += length
	}
	all := g.Until(at, NothingWaits)
	for i, gap := range all {
		if gap.To-gap.From == s {
			long--
		}
		if i > 0 && gap.From < all[i-1].To {
			t.Errorf("%v is not behind %v", gap, all[i-1])
		}
	}
	if long != 0 || len(all) > maxGaps+1 {
		t.Errorf("%d gaps, %d of the longest are missing", len(all), long)
	}
}

func TestCommonGapsAreThoseOfAllThreads(t *testing.T) {
	t.Parallel()
	a := []Gap{{1 * s, 3 * s, 1 * s}, {4 * s, 6 * s, 5 * s}, {8 * s, 9 * s, 8 * s}}
	b := []Gap{{0, 2 * s, 2 * s}, {5 * s, 10 * s, 4 * s}}
	want := []Gap{{1 * s, 2 * s, 1 * s}, {5 * s, 6 * s, 4 * s}, {8 * s, 9 * s, 4 * s}}
	if diff := cmp.Diff(want, Common(a, b)) + cmp.Diff(want, Common(b, a)) + cmp.Diff(a, Common(a, a)); diff != "" {
		t.Error(diff)
	}
	if got := Common(a, nil); got != nil {
		t.Errorf("%v", got)
	}
}
