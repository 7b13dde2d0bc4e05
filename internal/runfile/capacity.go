package runfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
)

// Limits of a search for capacity.
const (
	maxBoundMicroseconds = 10_000_000
	maxSearches          = 20
	// maxClientSearches limits the searches of all clients. The results of more searches would not fit into
	// their storage, even without latencies.
	maxClientSearches = 100
)

// LatencyBound is a latency that a share of all operations must keep.
type LatencyBound struct {
	Percentile   bench.LatencyPercentile `json:"percentile"`
	Microseconds int64                   `json:"microseconds"`
}

// Bounds returns the bounds in the order in which a search handles them: ascending by Microseconds.
func Bounds(c *bench.Capacity) []LatencyBound {
	if c == nil {
		return nil
	}
	first := bench.LatencyBound{Percentile: c.Percentile, Milliseconds: c.Milliseconds, Microseconds: c.Microseconds}
	var bounds []LatencyBound
	for _, b := range append([]bench.LatencyBound{first}, c.AlsoAt...) {
		bounds = append(bounds, LatencyBound{
			Percentile:   cmp.Or(b.Percentile, bench.PercentileP99),
			Microseconds: max(bench.OrZero(b.Microseconds), 1000*bench.OrZero(b.Milliseconds)),
		})
	}
	slices.SortStableFunc(bounds, func(a, b LatencyBound) int { return cmp.Compare(a.Microseconds, b.Microseconds) })
	return bounds
}

// SlowShare returns the share of operations that may be slower than the bound: 0.01 for p99.
func (b LatencyBound) SlowShare() float64 {
	switch b.Percentile {
	case "p50":
		return 0.5
	case "p90":
		return 0.1
	case "p95":
		return 0.05
	case "p999":
		return 0.001
	default:
		return 0.01
	}
}

// String returns the bound in words: p99 of 1 ms.
func (b LatencyBound) String() string {
	name := b.Percentile
	if name == "p999" {
		name = "p99.9"
	}
	return fmt.Sprintf("%s of %s", name, human.Latency(b.Microseconds))
}

// Limits of a search for capacity.
const (
	MaxLatencyBounds  = 4
	MaxCapacityLevels = 48 // per repetition
	MaxLevelSeconds   = 3600
	// MaxSearchBytes is above the size of the JSON of the longest CapacitySearch.
	MaxSearchBytes    = 128 << 10
	maxSearchElements = 16_384
)

// LaterWarmupSeconds returns the warm-up of each level of a search after the first; the warm-up of the first
// is never shorter. It is one second, or two with several clients, which begin at slightly different times.
// It is at least twice the longest bound. Slow operations that are due at the end of the window end after it;
// as many that were due in the warm-up must end in the window, or the level seems to fall behind.
func LaterWarmupSeconds(bounds []LatencyBound, clients int32) int32 {
	warmup := int64(1)
	if clients > 1 {
		warmup = 2
	}
	for _, b := range bounds {
		warmup = max(warmup, (2*min(b.Microseconds, maxBoundMicroseconds)+999_999)/1_000_000)
	}
	return int32(warmup)
}

// The parts of a LevelReport. The reports of all clients are stored beside their results, and the
// manager limits the numbers it reads of a benchmark (see BenchmarkBudget).
const (
	maxReportParts = 32
	minReportParts = 8    // needed for an interval
	totalParts     = 4096 // in all lists of all searches, for one level each
)

// ReportParts returns the maximum number of parts that each client divides a window into, so that
// the numbers of all clients and repetitions fit; 32 without a search.
func (p Plan) ReportParts() int {
	lists := int(max(p.Clients, 1)) * int(max(p.Schedule.Repetitions, 1))
	if c := p.Workload.Capacity(); c != nil {
		lists *= 2 + len(Bounds(c))
	}
	return min(max(totalParts/lists, minReportParts), maxReportParts)
}

// LevelReport is what one client did in one level of a search for capacity. An operation that was due
// in the window and had not ended at its end counts as slow if it was due longer ago than the bound.
type LevelReport struct {
	Index int32 `json:"index"` // index of the repetition
	// Seconds is the length of the window; 0 if it has one part per second.
	Seconds int32 `json:"seconds,omitempty"`
	// Due, Done and Slow have one number per part of the window: the operations that were due, that
	// ended, and that were slower than each bound of the plan. All clients divide a window into the
	// same parts, whose lengths differ by a second at most.
	Due    []int64   `json:"due"`
	Done   []int64   `json:"done"`
	Errors int64     `json:"errors,omitempty"`
	Slow   [][]int64 `json:"slow"` // by bound, then by part
	// Histogram has the latencies of these operations, encoded as in Ops. Only databases set it: their
	// operations are statements, while Ops counts the reads of files.
	Histogram string `json:"histogram,omitempty"`
}

// WindowSeconds returns the length of the window, at most MaxLevelSeconds; 0 = unknown.
func (r LevelReport) WindowSeconds() int32 {
	return min(max(r.Seconds, int32(min(len(r.Due), MaxLevelSeconds))), MaxLevelSeconds) //nolint:gosec // bounded
}

// InParts adds up neighbours so that the report has at most the given number of parts.
func (r LevelReport) InParts(most int) LevelReport {
	if len(r.Due) > most && r.Seconds == 0 {
		r.Seconds = int32(len(r.Due)) //nolint:gosec // at most a day
	}
	r.Due, r.Done = inParts(r.Due, most), inParts(r.Done, most)
	bounds := r.Slow
	r.Slow = nil
	for _, slow := range bounds {
		r.Slow = append(r.Slow, inParts(slow, most))
	}
	return r
}

func inParts(counts []int64, most int) []int64 {
	if len(counts) <= most {
		return counts
	}
	parts := make([]int64, most)
	for i, n := range counts {
		parts[i*most/len(counts)] += n
	}
	return parts
}

// CapacitySearch is the state of a search. If a run has several clients, the controller publishes it so that
// all clients go to the next level together; a single client keeps its own. It has the levels of all
// repetitions, with the outcomes of the current repetition.
type CapacitySearch struct {
	Levels []CapacityLevel `json:"levels"`
	Ended  bool            `json:"ended,omitempty"` // the last level has ended, and no other level follows
}

// ReadCapacitySearch reads the search that a controller published. It returns an error if the search has no
// level, more levels than all repetitions may have, or a level that cannot run.
func ReadCapacitySearch(text []byte) (CapacitySearch, error) {
	var s CapacitySearch
	if len(text) > MaxSearchBytes {
		return s, fmt.Errorf("the levels of load take %d bytes, more than %d", len(text), MaxSearchBytes)
	}
	if n := ElementsOf(text); n > maxSearchElements {
		return s, fmt.Errorf("the levels of load are lists of %d elements, more than %d", n, maxSearchElements)
	}
	if err := json.Unmarshal(text, &s); err != nil {
		return s, fmt.Errorf("read the levels of load: %w", err)
	}
	if n := len(s.Levels); n == 0 || n > MaxCapacityLevels*maxSearches {
		return s, fmt.Errorf("there are %d levels of load, not 1 to %d", n, MaxCapacityLevels*maxSearches)
	}
	last := s.Levels[len(s.Levels)-1]
	for i, l := range s.Levels {
		switch {
		case int(l.Index) != i+1:
			return s, fmt.Errorf("level %d of load is in place %d", l.Index, i+1)
		case l.OperationsPerSecond < 1 || l.OperationsPerSecond > math.MaxInt32:
			return s, fmt.Errorf("level %d has %d operations per second", l.Index, l.OperationsPerSecond)
		case l.Seconds < 1 || l.Seconds > maxSpanSeconds || l.WarmupSeconds < 0 || l.WarmupSeconds > maxSpanSeconds:
			return s, fmt.Errorf("level %d lasts %d s after %d s", l.Index, l.Seconds, l.WarmupSeconds)
		case l.Outcome != nil && len(l.Outcome.Bounds) > MaxLatencyBounds:
			return s, fmt.Errorf("level %d has %d bounds of latency", l.Index, len(l.Outcome.Bounds))
		case l.Outcome == nil && l.Round == last.Round && l.Index < last.Index:
			return s, fmt.Errorf("level %d has no outcome, and others follow", l.Index)
		}
	}
	if s.Ended && last.Outcome == nil {
		return s, errors.New("the last level of load has no outcome, and the search has ended")
	}
	return s, nil
}

// CapacityLevel is one level of load.
type CapacityLevel struct {
	Index               int32 `json:"index"`               // index of the repetition, from 1
	Round               int32 `json:"round"`               // each repetition of the schedule is its own search, from 1
	OperationsPerSecond int64 `json:"operationsPerSecond"` // all clients together
	WarmupSeconds       int32 `json:"warmupSeconds"`
	Seconds             int32 `json:"seconds"`
	// Outcome is absent until all clients have reported.
	Outcome *CapacityOutcome `json:"outcome,omitempty"`
}

// CapacityOutcome is the result of a level over all clients.
type CapacityOutcome struct {
	Due    int64          `json:"due"`
	Done   int64          `json:"done"`
	Errors int64          `json:"errors,omitempty"`
	Bounds []BoundOutcome `json:"bounds"` // in the order of the plan
}

// BoundOutcome is the share of operations that were slower than a bound, with its 95 % confidence interval.
type BoundOutcome struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// LevelsFile is the file in which the collector gives the CapacitySearch to the loader. KeyLevels is its key
// in the ConfigMap.
const (
	LevelsFile = "levels.json"
	KeyLevels  = "levels"
)
