package publish

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// totalBudgetBytes is the space in the ConfigMap for all clients of a run. The ConfigMap holds 1
// MiB; the rest is for progress.
const totalBudgetBytes = 900 << 10

// Limits bounds the size of a result. Zero = no limit.
type Limits struct {
	Bytes    int // compressed
	Plain    int // uncompressed
	Elements int // in all lists
	Samples  int // per series
}

// Share returns the limits for the result of one client of a run, which the manager enforces. A search for
// capacity keeps its levels in the same ConfigMap.
func Share(p runfile.Plan) Limits {
	n, bytes, most := int(max(p.Clients, 1)), totalBudgetBytes, runfile.BenchmarkBudget()
	if p.Workload.Capacity() != nil && n > 1 {
		bytes -= runfile.MaxSearchBytes
	}
	return Limits{Bytes: bytes / n, Plain: most.Bytes / n, Elements: most.Elements / n}
}

// allow reports whether a result of that size is within the limits.
func (l Limits) allow(s size) bool {
	within := func(n, most int) bool { return most == 0 || n <= most }
	return within(s.packed, l.Bytes) && within(s.plain, l.Plain) && within(s.elements, l.Elements)
}

// size is the size of a result.
type size struct{ packed, plain, elements int }

// Encode packs a result, thinned 2:1 until it is within the limits. It never omits repetitions or windows. If
// these alone exceed the limits, it omits latencies of a search for capacity, the least important first. If
// even this is not enough, Encode returns the result without latencies, which is usable, and an error that
// says so.
func Encode(result runfile.Result, limits Limits) ([]byte, error) {
	for less := true; less && limits.Samples > 0 && sampleCount(result) > limits.Samples; {
		result, less = thin(result)
	}
	for less := true; less; result, less = thin(result) {
		packed, s, err := pack(result)
		if err != nil || limits.allow(s) {
			return packed, err
		}
	}
	result = bare(result)
	packed, s, err := pack(result)
	for _, drop := range []latencies{replaced, farther(1.25), farther(1.1), farther(1.03), all} {
		if err != nil || limits.allow(s) {
			return packed, err
		}
		result = without(result, drop)
		packed, s, err = pack(result)
	}
	if err == nil && !limits.allow(s) {
		err = fmt.Errorf("the result needs %d bytes (%d as text, with %d list elements) without any samples and may take "+
			"%d (%d, %d): use fewer repetitions or clients", s.packed, s.plain, s.elements, limits.Bytes, limits.Plain,
			limits.Elements)
	}
	return packed, err
}

func pack(result runfile.Result) ([]byte, size, error) {
	var out bytes.Buffer
	text, err := runfile.WriteResultGzip(&out, result)
	if err != nil {
		return nil, size{}, err
	}
	return out.Bytes(), size{out.Len(), text.Bytes, text.Elements}, nil
}

// thin returns a copy of the result without every second raw sample, and with half as many batches.
// It keeps everything else, and the host samples at the ends of the windows, so that the windows
// can be computed again. It reports whether it removed anything.
//
// Samples are removed, not merged: a remaining sample still covers the same time, and only the
// distance to the next one doubles.
func thin(result runfile.Result) (runfile.Result, bool) {
	out := result
	out.Clients = make([]runfile.ClientResult, 0, len(result.Clients))
	changed := false
	for _, c := range result.Clients {
		type window struct { // each keeps its first
			span       string
			repetition int32
		}
		loads := everySecond(c.Load.Samples, func(s runfile.LoadSample) (window, time.Time) {
			return window{s.Span, s.Repetition}, s.Time
		}, nil)
		if len(loads) < len(c.Load.Samples) {
			c.Load.Samples, changed = loads, true
			c.Load.SampleSeconds = 2 * max(c.Load.SampleSeconds, 1)
		}
		repetitions, less := withBatches(c.Load.Repetitions, fewerBatches)
		c.Load.Repetitions, changed = repetitions, changed || less
		if c.Observed != nil {
			observed, less := thinObserved(*c.Observed)
			c.Observed, changed = &observed, changed || less
		}
		out.Clients = append(out.Clients, c)
	}
	return out, changed
}

// withBatches returns a copy of the repetitions with other batches, and reports whether any differ.
func withBatches(all []runfile.Repetition, of func([]runfile.Batch) []runfile.Batch) ([]runfile.Repetition, bool) {
	changed := false
	change := func(o *runfile.Ops) *runfile.Ops {
		if o == nil {
			return nil
		}
		less := *o
		less.Batches = of(o.Batches)
		changed = changed || len(less.Batches) < len(o.Batches)
		return &less
	}
	out := slices.Clone(all)
	for i := range out {
		out[i].Read, out[i].Write = change(out[i].Read), change(out[i].Write)
	}
	return out, changed
}

// fewerBatches merges neighbours while enough batches remain for an interval.
func fewerBatches(batches []runfile.Batch) []runfile.Batch {
	const least = 8
	if len(batches) < 2*least {
		return batches
	}
	return runfile.MergeBatches(batches)
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

// everySecond keeps every second sample of each series, from the first on, and those at the edges.
func everySecond[T any, K comparable](samples []T, key func(T) (series K, at time.Time), edges map[int64]bool) []T {
	var kept []T
	seen := map[K]int{}
	for _, s := range samples {
		series, at := key(s)
		if seen[series]%2 == 0 || edges[at.UnixNano()] {
			kept = append(kept, s)
		}
		seen[series]++
	}
	return kept
}

// bare returns a copy without raw samples and batches. It is the last resort.
func bare(result runfile.Result) runfile.Result {
	out := result
	out.Clients = make([]runfile.ClientResult, 0, len(result.Clients))
	for _, c := range result.Clients {
		c.Load.Samples = nil
		c.Load.Repetitions, _ = withBatches(c.Load.Repetitions, func([]runfile.Batch) []runfile.Batch { return nil })
		if c.Observed != nil {
			observed := *c.Observed
			observed.Samples, observed.Storage = nil, nil
			c.Observed = &observed
		}
		out.Clients = append(out.Clients, c)
	}
	return out
}

// sampleCount returns the length of the longest series of raw samples.
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
