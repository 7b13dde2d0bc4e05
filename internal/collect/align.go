package collect

import (
	"math"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Reading is one sample of a storage source, and when the client had it. The
// storage's clock may be another than the client's, so windows are cut by At
// and rates are made from the sample's own time.
type Reading struct {
	At     time.Time // middle of the call, on the client's clock
	Epoch  string    // of the counters, see storage.Snapshot; empty is unknown
	Sample runfile.StorageSample
}

// minCoverage is the share of a span, 1/minCoverage, that the samples inside
// must cover before they may stand for it.
const minCoverage = 2

// Align says what the counters did in each closed Baseline and Measure span,
// in the order of the spans. Samples are in the order in which they were taken.
//
// A window is cut from the first sample inside the span to the last one inside
// it, both ends included. Samples outside are never used: one second of load
// in an idle baseline, or of idleness in a measured window, is worse than a
// window that is a second shorter. Start and End of the window are the times
// of the two host samples, so that a delta and its duration always belong
// together; a window without host samples keeps the times of its span. Each
// storage source has two readings and Seconds of its own. Where fewer than two
// samples are inside, or where they cover less than half of the span, nothing
// is said.
//
// A counter that is missing at either end, or that went back in between, has
// no delta. A storage source that was started again, or whose own counters went
// back, has Reset set and no values at all; a node or a path that went back
// loses only its own.
func Align(spans []runfile.Span, hosts []runfile.HostSample, storage []Reading) []runfile.ObservedWindow {
	var windows []runfile.ObservedWindow
	var sources []string // in the order of their first reading
	bySource := map[string][]Reading{}
	for _, r := range storage {
		name := r.Sample.Source
		if _, known := bySource[name]; !known {
			sources = append(sources, name)
		}
		bySource[name] = append(bySource[name], r)
	}
	for _, span := range spans {
		if (span.Kind != runfile.SpanBaseline && span.Kind != runfile.SpanMeasure) || !span.End.After(span.Start) {
			continue
		}
		w := runfile.ObservedWindow{Kind: span.Kind, Repetition: span.Repetition, Start: span.Start, End: span.End}
		if inner := inside(hosts, func(s runfile.HostSample) time.Time { return s.Time }, span); inner != nil {
			fillHostWindow(&w, inner)
		}
		for _, source := range sources {
			if inner := inside(bySource[source], heldAt(bySource[source]), span); inner != nil {
				w.Storage = append(w.Storage, storageWindow(source, inner))
			}
		}
		windows = append(windows, w)
	}
	return windows
}

// maxAge is more than any storage is behind with its counters.
const maxAge = 2 * time.Minute

// heldAt says when, on the client's clock, the counters of a reading held. An
// array moves its counters on a grid (ONTAP: every 15 s), so what is read is as
// old as that. Nothing can be read before it was: the youngest reading of all
// shows how far the two clocks are apart. A reading that seems to be much older
// than the others, because a clock was set, is taken for what it was read as.
func heldAt(readings []Reading) func(Reading) time.Time {
	youngest := time.Duration(math.MaxInt64)
	for _, r := range readings {
		youngest = min(youngest, r.At.Sub(r.Sample.Time))
	}
	return func(r Reading) time.Time {
		held := r.Sample.Time.Add(youngest)
		if age := r.At.Sub(held); age < 0 || age > maxAge {
			return r.At
		}
		return held
	}
}

// inside returns the samples from the first to the last inside the span, nil
// if they can not stand for it.
func inside[T any](samples []T, at func(T) time.Time, span runfile.Span) []T {
	within := func(s T) bool { return !at(s).Before(span.Start) && !at(s).After(span.End) }
	first := slices.IndexFunc(samples, within)
	if first < 0 {
		return nil
	}
	last := len(samples) - 1
	for !within(samples[last]) {
		last--
	}
	covered := at(samples[last]).Sub(at(samples[first]))
	if covered <= 0 || covered*minCoverage < span.End.Sub(span.Start) {
		return nil
	}
	return samples[first : last+1]
}

// grown returns by how much a counter grew over the samples, nil if it is not
// known at both ends or went back on the way.
func grown[T any](samples []T, counter func(T) *int64) *int64 {
	first, last := counter(samples[0]), counter(samples[len(samples)-1])
	if first == nil || last == nil || wentBack(samples, counter) {
		return nil
	}
	return new(*last - *first)
}

// of returns a counter of a part of a sample, unknown where the sample has no such part.
func of[T, P any](part func(T) *P, counter func(*P) *int64) func(T) *int64 {
	return func(sample T) *int64 {
		if p := part(sample); p != nil {
			return counter(p)
		}
		return nil
	}
}

// find returns the first that is wanted, nil if there is none.
func find[T any](list []T, wanted func(T) bool) *T {
	if i := slices.IndexFunc(list, wanted); i >= 0 {
		return &list[i]
	}
	return nil
}

// wentBack reports whether a counter is ever smaller than it was before.
func wentBack[T any](samples []T, counter func(T) *int64) bool {
	var before *int64
	for _, s := range samples {
		now := counter(s)
		if now == nil {
			continue
		}
		if before != nil && *now < *before {
			return true
		}
		before = now
	}
	return false
}

const permille = 1000

// share returns part/whole in permille, at most 1000, nil if it is not known.
// Two counters that are not read in the same instant can give a little more.
func share(part *int64, whole float64) *int32 {
	if part == nil || whole <= 0 {
		return nil
	}
	return new(int32(min(float64(*part)/whole*permille+0.5, permille)))
}
