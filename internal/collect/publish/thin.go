package publish

import (
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// thin returns a copy of the result with every second raw sample left out. It
// leaves everything else, and the host samples at the ends of the windows, so
// that these can be computed again. It reports whether anything went.
//
// Left out means left out, not merged: a sample that stays still covers the
// time it covered, only the distance to the next has doubled.
func thin(result runfile.Result) (runfile.Result, bool) {
	out := result
	out.Clients = make([]runfile.ClientResult, 0, len(result.Clients))
	changed := false
	for _, c := range result.Clients {
		loads := thinLoad(c.Load.Samples)
		if len(loads) < len(c.Load.Samples) {
			c.Load.Samples, changed = loads, true
			c.Load.SampleSeconds = 2 * max(c.Load.SampleSeconds, 1)
		}
		if c.Observed != nil {
			observed, less := thinObserved(*c.Observed)
			c.Observed, changed = &observed, changed || less
		}
		out.Clients = append(out.Clients, c)
	}
	return out, changed
}

// thinLoad keeps the odd ones of each window, so that each keeps its first.
func thinLoad(samples []runfile.LoadSample) []runfile.LoadSample {
	var kept []runfile.LoadSample
	n := 0
	for i, s := range samples {
		if i > 0 && (s.Repetition != samples[i-1].Repetition || s.Span != samples[i-1].Span) {
			n = 0
		}
		if n%2 == 0 {
			kept = append(kept, s)
		}
		n++
	}
	return kept
}

func thinObserved(o runfile.Observed) (runfile.Observed, bool) {
	edges := map[int64]bool{}
	for _, w := range o.Windows {
		edges[w.Start.UnixNano()], edges[w.End.UnixNano()] = true, true
	}
	hosts := everySecond(o.Samples, func(s runfile.HostSample) (string, time.Time) { return "", s.Time }, edges)
	storage := everySecond(o.Storage, func(s runfile.StorageSample) (string, time.Time) { return s.Source, s.Time }, nil)
	changed := len(hosts) < len(o.Samples) || len(storage) < len(o.Storage)
	if changed {
		o.IntervalMilliseconds *= 2
	}
	o.Samples, o.Storage = hosts, storage
	return o, changed
}

// everySecond keeps the odd samples of each series and those at the edges.
func everySecond[T any](samples []T, key func(T) (series string, at time.Time), edges map[int64]bool) []T {
	var kept []T
	seen := map[string]int{}
	for _, s := range samples {
		series, at := key(s)
		if seen[series]%2 == 0 || edges[at.UnixNano()] {
			kept = append(kept, s)
		}
		seen[series]++
	}
	return kept
}

// bare returns a copy without raw samples: the last resort.
func bare(result runfile.Result) runfile.Result {
	out := result
	out.Clients = make([]runfile.ClientResult, 0, len(result.Clients))
	for _, c := range result.Clients {
		c.Load.Samples = nil
		if c.Observed != nil {
			observed := *c.Observed
			observed.Samples, observed.Storage = nil, nil
			c.Observed = &observed
		}
		out.Clients = append(out.Clients, c)
	}
	return out
}

// sampleCount is the length of the longest series of raw samples.
func sampleCount(result runfile.Result) int {
	longest := 0
	for _, c := range result.Clients {
		longest = max(longest, len(c.Load.Samples))
		if c.Observed != nil {
			longest = max(longest, len(c.Observed.Samples), len(c.Observed.Storage))
		}
	}
	return longest
}
