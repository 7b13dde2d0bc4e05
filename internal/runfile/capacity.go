package runfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Capacity asks for the highest rate of operations that keeps a percentile of the latency
// within each of its bounds. The load is an open loop: latency counts from when an operation
// is due.
type Capacity struct {
	Bounds []LatencyBound `json:"bounds"` // 1 to MaxLatencyBounds, ascending by Microseconds
	// Arrivals is when operations are due: at even distances, or at random ones as from many
	// independent users.
	Arrivals string `json:"arrivals" jsonschema:"enum=Fixed,enum=Poisson"`
}

// Capacity is the search that a load makes, or nil.
func (w Workload) Capacity() *Capacity {
	switch {
	case w.Raw != nil:
		return w.Raw.Capacity
	case w.SLOB != nil:
		return w.SLOB.Capacity
	default:
		return nil
	}
}

// The arrivals of a Capacity.
const (
	ArrivalsFixed   = "Fixed"
	ArrivalsPoisson = "Poisson"
)

// LatencyBound is the latency that a share of all operations keeps.
type LatencyBound struct {
	// Percentile is p50, p90, p95, p99 or p999.
	Percentile   string `json:"percentile" jsonschema:"enum=p50,enum=p90,enum=p95,enum=p99,enum=p999"`
	Microseconds int64  `json:"microseconds" jsonschema:"minimum=1"`
}

// Percentiles lists the percentiles of a LatencyBound.
func Percentiles() []string { return []string{"p50", "p90", "p95", "p99", "p999"} }

// SortBounds puts bounds in the order in which a search meets them.
func SortBounds(bounds []LatencyBound) {
	slices.SortStableFunc(bounds, func(a, b LatencyBound) int { return cmp.Compare(a.Microseconds, b.Microseconds) })
}

// SlowShare is the share of operations that may be slower than the bound: 0.01 for p99.
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

// String is the bound as people write it: p99 of 1 ms.
func (b LatencyBound) String() string {
	name := b.Percentile
	if name == "p999" {
		name = "p99.9"
	}
	if b.Microseconds >= 1000 {
		return fmt.Sprintf("%s of %g ms", name, float64(b.Microseconds)/1000)
	}
	return fmt.Sprintf("%s of %d µs", name, b.Microseconds)
}

// Bounds of a search for capacity.
const (
	MaxLatencyBounds  = 4
	MaxCapacityLevels = 48 // of each repetition
	MaxLevelSeconds   = 3600
	// MaxSearchBytes is more than the JSON of the longest CapacitySearch.
	MaxSearchBytes    = 128 << 10
	maxSearchElements = 16_384
)

// LaterWarmupSeconds is the warm-up of each level of a search but the first, which has no
// shorter one: a second, two where several clients begin at slightly different times, and more
// where a bound is so long that operations of the window would end after it, and too few of the
// warm-up within it.
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

// The parts of a LevelReport. The reports of all clients stand beside their results, and the
// manager reads no more than so many numbers of a benchmark (see BenchmarkBudget).
const (
	maxReportParts = 32
	minReportParts = 8    // for an interval
	totalParts     = 4096 // of all lists of all searches, of one level each
)

// ReportParts is into how many parts each client divides a window at most, so that the numbers
// of all clients and repetitions fit; 32 where there is no search.
func (p Plan) ReportParts() int {
	lists := int(max(p.Clients, 1)) * int(max(p.Schedule.Repetitions, 1))
	if c := p.Workload.Capacity(); c != nil {
		lists *= 2 + len(c.Bounds)
	}
	return min(max(totalParts/lists, minReportParts), maxReportParts)
}

// LevelReport is what one client did in one level of a search for capacity. Operations that
// were due in the window and had not ended at its end count as slow where they were due
// longer ago than the bound.
type LevelReport struct {
	Index int32 `json:"index"` // of the repetition
	// Seconds is the length of the window; 0 where it has a part for each second.
	Seconds int32 `json:"seconds,omitempty"`
	// Due, Done and Slow have one number for each part of the window: the operations that were
	// due, those that ended, and for each bound of the plan those that were slower. All clients
	// divide a window into the same parts, of equal length but for the last.
	Due    []int64   `json:"due"`
	Done   []int64   `json:"done"`
	Errors int64     `json:"errors,omitempty"`
	Slow   [][]int64 `json:"slow"` // by bound, then by part
	// Histogram is that of the latencies of these operations, as in Ops; databases only, whose
	// operations are statements, where Ops counts the reads of files.
	Histogram string `json:"histogram,omitempty"`
}

// WindowSeconds is the length of the window, MaxLevelSeconds at most; 0 is unknown.
func (r LevelReport) WindowSeconds() int32 {
	return min(max(r.Seconds, int32(min(len(r.Due), MaxLevelSeconds))), MaxLevelSeconds) //nolint:gosec // bounded
}

// InParts returns the report with neighbours added up until it has at most so many parts.
func (r LevelReport) InParts(most int) LevelReport {
	if len(r.Due) > most && r.Seconds == 0 {
		r.Seconds = int32(len(r.Due)) //nolint:gosec // of a day at most
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
	each := (len(counts) + most - 1) / most
	if each <= 1 {
		return counts
	}
	var parts []int64
	for part := range slices.Chunk(counts, each) {
		var sum int64
		for _, n := range part {
			sum += n
		}
		parts = append(parts, sum)
	}
	return parts
}

// CapacitySearch is a search so far. The controller publishes it where a run has several
// clients, so that all of them go to the next level together; a single client keeps its own.
// It has the levels of all repetitions, with the outcomes of those of the present one.
type CapacitySearch struct {
	Levels []CapacityLevel `json:"levels"`
	Ended  bool            `json:"ended,omitempty"` // the last level is over, and no other follows
}

// ReadCapacitySearch reads the search that a controller has published. It holds at least one
// level, no more than all repetitions may have, and each is one that can be run.
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
	Index               int32 `json:"index"`               // of the repetition, from 1
	Round               int32 `json:"round"`               // each repetition of the schedule is a search of its own, from 1
	OperationsPerSecond int64 `json:"operationsPerSecond"` // of all clients together
	WarmupSeconds       int32 `json:"warmupSeconds"`
	Seconds             int32 `json:"seconds"`
	// Outcome is absent until all clients have reported.
	Outcome *CapacityOutcome `json:"outcome,omitempty"`
}

// CapacityOutcome is what a level gave, over all clients.
type CapacityOutcome struct {
	Due    int64          `json:"due"`
	Done   int64          `json:"done"`
	Errors int64          `json:"errors,omitempty"`
	Bounds []BoundOutcome `json:"bounds"` // in the order of the plan
}

// BoundOutcome is the share of operations that were slower than a bound, with the interval
// that contains it with 95 % confidence.
type BoundOutcome struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// LevelsFile is where the collector puts the CapacitySearch for the loader, and KeyLevels the
// key of the ConfigMap that it comes from.
const (
	LevelsFile = "levels.json"
	KeyLevels  = "levels"
)
