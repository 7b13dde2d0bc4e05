package publish

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// totalBudgetBytes is what all clients of a run may take of their ConfigMap,
// which holds 1 MiB; the rest is for progress.
const totalBudgetBytes = 900 << 10

// Limits is how much a result may take. Zero is no limit.
type Limits struct {
	Bytes   int // packed
	Plain   int // before it is packed
	Samples int // of each series
}

// Share is what the result of one of so many clients may take. The manager reads no more.
func Share(clients int32) Limits {
	n := int(max(clients, 1))
	return Limits{Bytes: totalBudgetBytes / n, Plain: runfile.BenchmarkBudget().Bytes / n}
}

// Encode packs a result, thinned 2:1 until it is within the limits. It never
// leaves out repetitions or windows. When these alone exceed the limit, Encode
// returns the result without raw samples, and the error that says so: the
// bytes can be used.
func Encode(result runfile.Result, limits Limits) ([]byte, error) {
	for less := true; less && limits.Samples > 0 && sampleCount(result) > limits.Samples; {
		result, less = thin(result)
	}
	for less := true; less; result, less = thin(result) {
		packed, plain, err := pack(result)
		if err != nil || (limits.Bytes == 0 || len(packed) <= limits.Bytes) && (limits.Plain == 0 || plain <= limits.Plain) {
			return packed, err
		}
	}
	packed, _, err := pack(bare(result))
	if err == nil && len(packed) > limits.Bytes {
		err = fmt.Errorf("the result needs %d bytes without any samples and may take %d: use fewer repetitions or clients",
			len(packed), limits.Bytes)
	}
	return packed, err
}

func pack(result runfile.Result) (packed []byte, plain int, err error) {
	var out bytes.Buffer
	if err := runfile.WriteResultGzip(&out, result); err != nil {
		return nil, 0, err
	}
	packed = out.Bytes()
	return packed, int(binary.LittleEndian.Uint32(packed[len(packed)-4:])), nil // the last field of gzip (RFC 1952)
}

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
		if c.Observed != nil {
			observed, less := thinObserved(*c.Observed)
			c.Observed, changed = &observed, changed || less
		}
		out.Clients = append(out.Clients, c)
	}
	return out, changed
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
