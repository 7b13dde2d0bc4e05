package measure

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Silence is a source of storage counters without a usable window in some repetitions.
type Silence struct {
	Source      string
	Repetitions int
	Reason      SilenceReason
	Failed      *runfile.CollectionError // why it could not be read; nil if it could
}

// SilenceReason says why a window of storage counters cannot be used.
type SilenceReason int

// The reasons.
const (
	SilenceNoReadings     SilenceReason = iota + 1 // there are no two readings in the window
	SilenceReset                                   // the counters went back
	SilenceUnchanged                               // the counters did not change
	SilenceUnchangedLevel                          // the same, in a level of a search for capacity
)

// silences returns the silent sources. It omits the embedded server, which NotCollected covers. A source that only
// one client samples is not expected from the others.
func (c *Facts) silences() (all []Silence) {
	if len(c.Clients) == 0 || !c.Clients[0].Collected {
		return nil
	}
	for _, source := range c.Plan.Collect.Sources {
		if s := c.silenceOf(source.Name); s.Repetitions > 0 && source.Kind != runfile.SourceEmbedded {
			all = append(all, s)
		}
	}
	return all
}

func (c *Facts) silenceOf(source string) Silence {
	s := Silence{Source: source}
	is := func(w runfile.StorageWindow) bool { return w.Source == source }
	for _, rep := range c.Shown() {
		if !slices.ContainsFunc(rep.StorageWindows, is) {
			s.Repetitions++
			s.Reason = cmp.Or(s.Reason, unusable(rep.parts, is))
		}
	}
	for _, cl := range c.Clients {
		for _, p := range cl.Problems {
			if p.Source == source {
				s.Failed = &p
			}
		}
	}
	return s
}

func unusable(parts []part, is func(runfile.StorageWindow) bool) SilenceReason {
	for _, p := range parts {
		for _, w := range bench.OrZero(p.window).Storage {
			switch {
			case !is(w):
			case w.Reset:
				return SilenceReset
			case p.rep.Step != nil && p.rep.Step.Kind == runfile.StepRate:
				return SilenceUnchangedLevel
			default:
				return SilenceUnchanged
			}
		}
	}
	return SilenceNoReadings
}

// OpKind is read or write.
type OpKind int

// The kinds of operations.
const (
	Reads OpKind = iota
	Writes
)

// timeline holds the cumulative bytes of one client over its samples.
type timeline struct {
	began, ended []time.Time        // of each sample
	covered      []time.Duration    // time covered by all samples before each
	bytes        [][2]float64       // bytes of all samples before each
	measured     map[int32][2]int64 // bytes sampled in each repetition
}

// newTimeline returns nil if samples are missing.
func newTimeline(load runfile.Load) *timeline {
	samples := load.Samples
	byTime := func(a, b runfile.LoadSample) int { return a.Time.Compare(b.Time) }
	if load.SampleSeconds > 1 || len(samples) == 0 || !slices.IsSortedFunc(samples, byTime) {
		return nil
	}
	t := &timeline{covered: make([]time.Duration, 1), bytes: make([][2]float64, 1), measured: map[int32][2]int64{}}
	for i, s := range samples {
		began := s.Time.Add(-time.Second)
		// A late sample, and the last sample of a span, have a different length.
		last := samples[max(i-1, 0)]
		if i > 0 && (last.Time.After(began) || last.Span == s.Span && last.Repetition == s.Repetition) {
			began = last.Time
		}
		sum := t.bytes[i]
		measured := t.measured[s.Repetition]
		for kind, ops := range []*runfile.SampleOps{s.Read, s.Write} {
			sum[kind] += float64(bench.OrZero(ops).Bytes)
			measured[kind] += bench.OrZero(ops).Bytes
		}
		if s.Span == runfile.SpanMeasure {
			t.measured[s.Repetition] = measured
		}
		t.began, t.ended = append(t.began, began), append(t.ended, s.Time)
		t.covered, t.bytes = append(t.covered, t.covered[i]+s.Time.Sub(began)), append(t.bytes, sum)
	}
	return t
}

// Sampled is the number of bytes that the clients moved during a storage window, from their samples. Least and Most
// bound it, because the times of both are not exact.
type Sampled struct{ Bytes, Least, Most float64 }

const (
	// sampledMissing bounds the permille of the load that samples may miss. With more missing they say nothing about it.
	sampledMissing = 10
	// ONTAP's timestamps are whole seconds, so each end of the window may be later. A shorter window would make this
	// error too large.
	stampError   = time.Second
	sampledLeast = 30 * time.Second
)

// SampledIn returns the bytes that the clients moved in one direction during a storage window. It returns false in
// three cases: the samples do not cover all of the load (Oracle counts the reads of its own processes elsewhere), the
// window is so short that a small error of its length matters, or the times of the counters are unknown. Prometheus
// reports values older than their timestamps, and each node of a FlexGroup counts at its own time.
func (c *Facts) SampledIn(s RepetitionFacts, w runfile.StorageWindow, kind OpKind) (out Sampled, known bool) {
	length := w.End.Sub(w.Start)
	if w.Start.IsZero() || length < sampledLeast || s.Total.Ops == 0 || c.IsPrometheus(w) ||
		c.Volume.Style == "flexgroup" || !c.sampledAll(s, kind) {
		return out, false
	}
	offsets := clockOffsets(s.parts)
	// The offset between the clocks of storage and client is known only to within one sampling
	// interval. In addition, each end of the window may be later than its timestamp, by stampError.
	unsure := c.sourceInterval(w.Source)
	for i, shift := range []time.Duration{0, -unsure, -unsure / 2, unsure / 2, unsure} {
		var sum Sampled
		for k, p := range s.parts {
			// The window uses the clock of the first client, which queries the storage.
			start := w.Start.Add(shift + offsets[0] - offsets[k])
			ops := [2]*runfile.Ops{Reads: p.rep.Read, Writes: p.rep.Write}
			load, rate := c.timelines[p.client.Index], float64(bench.OrZero(ops[kind]).Bytes)/p.seconds
			did, _ := load.between(start, start.Add(length), kind, rate)
			low, _ := load.between(start.Add(stampError), start.Add(length), kind, rate)
			_, high := load.between(start, start.Add(length+stampError), kind, rate)
			sum = Sampled{Bytes: sum.Bytes + did, Least: sum.Least + low, Most: sum.Most + high}
		}
		if i == 0 {
			out = sum
		}
		out.Least, out.Most = min(out.Least, sum.Least), max(out.Most, sum.Most)
	}
	return out, true
}

// sampledAll reports whether the samples of a repetition add up to its load.
func (c *Facts) sampledAll(s RepetitionFacts, kind OpKind) bool {
	missing := bench.OrZero([2]*Direction{Reads: s.Read, Writes: s.Write}[kind]).Bytes
	for _, p := range s.parts {
		load := c.timelines[p.client.Index]
		if load == nil {
			return false
		}
		missing -= load.measured[s.Repetition][kind]
	}
	return math.Abs(float64(missing))*1000 <= float64(s.Total.Bytes)*sampledMissing
}

// between returns the least and the most bytes that a client moved in a period. Time without a sample counts as idle
// for the least, and at the given rate of bytes per second for the most.
func (t *timeline) between(from, to time.Time, kind OpKind, rate float64) (least, most float64) {
	coveredFrom, bytesFrom := t.until(from, kind)
	coveredTo, bytesTo := t.until(to, kind)
	least = bytesTo - bytesFrom
	return least, least + rate*(to.Sub(from)-(coveredTo-coveredFrom)).Seconds()
}

// until returns the time and bytes that the samples cover up to a moment, including a share of a partial sample.
func (t *timeline) until(at time.Time, kind OpKind) (covered time.Duration, bytes float64) {
	i, _ := slices.BinarySearchFunc(t.ended, at, time.Time.Compare)
	covered, bytes = t.covered[i], t.bytes[i][kind]
	if i < len(t.ended) && at.After(t.began[i]) {
		part, length := at.Sub(t.began[i]), t.ended[i].Sub(t.began[i])
		covered += part
		bytes += (t.bytes[i+1][kind] - t.bytes[i][kind]) * part.Seconds() / length.Seconds()
	}
	return covered, bytes
}

// sourceInterval returns the time between two readings of a source.
func (c *Facts) sourceInterval(name string) time.Duration {
	interval := c.Plan.Collect.IntervalMilliseconds
	for _, s := range c.Plan.Collect.Sources {
		if s.Name == name && s.IntervalMilliseconds > 0 {
			interval = s.IntervalMilliseconds
		}
	}
	return time.Duration(cmp.Or(interval, 1000)) * time.Millisecond
}

// IsPrometheus reports whether the counters of a window come from Prometheus.
func (c *Facts) IsPrometheus(w runfile.StorageWindow) bool {
	return slices.ContainsFunc(c.Plan.Collect.Sources, func(s runfile.Source) bool {
		return s.Name == w.Source && s.Kind == runfile.SourcePrometheus
	})
}
