package judge

import (
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestCountersMayMissTheEdgesOfAShortWindowOnly(t *testing.T) {
	cases := map[string]struct {
		milliseconds int64
		want         float64
	}{
		"a look of 5 s": {5_000, 40},
		"a minute":      {60_000, 200.0 / 60},
		"no window":     {0, 100},
		"half a second": {500, 100},
		"a whole hour":  {3_600_000, 200.0 / 3600},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := edgePermille(&Summary{DurationMilliseconds: tc.milliseconds}); got < tc.want-0.01 || got > tc.want+0.01 {
				t.Errorf("got %v permille, want %v", got, tc.want)
			}
		})
	}
}

// The samples of the mount lie inside of the window: what they say is of less
// time than what the load says.
func TestCountersOfAPartOfTheWindowAreComparedWithThatPartOfTheLoad(t *testing.T) {
	cases := map[string]struct {
		reason   string
		seconds  int
		bytes    int64
		verified bool
		cache    bool
	}{
		"all of both":           {"as on a quiet machine", 60, goodBytes, true, false},
		"half of both":          {"a late sample is no cache", 30, goodBytes / 2, true, false},
		"all, half of bytes":    {"a cache served the rest", 60, goodBytes / 2, false, true},
		"half, fewer bytes":     {"less than the load can have moved in that time", 30, goodBytes / 10, false, true},
		"half, at another pace": {"the half that was not seen may have been the faster", 30, goodBytes * 2 / 5, true, false},
		"half, all the bytes":   {"more than expected proves as much", 30, goodBytes, true, false},
		"the edges are missed":  {"0.3 % of a minute, beside what a client may cache", 60, goodBytes * 948 / 1000, true, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := kernelRun(t)
			eachWindow(&r, windowMeasure, func(w *runfile.ObservedWindow) {
				w.End = w.Start.Add(time.Duration(tc.seconds) * time.Second)
				w.Mount.ServerReadBytes, w.Mount.DirectReadBytes = tc.bytes, tc.bytes
			})
			j := Judge(r)
			if v := j.Protocol.Verified; v == nil || *v != tc.verified || j.Protocol.Mismatch {
				t.Errorf("%s: protocol %+v", tc.reason, j.Protocol)
			}
			cache := slices.ContainsFunc(j.Findings, func(f Finding) bool { return f.Code == CacheSuspected })
			if cache != tc.cache {
				t.Errorf("%s: findings %+v", tc.reason, j.Findings)
			}
		})
	}
}
