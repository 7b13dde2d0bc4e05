// Package capacity searches for the highest rate of operations that keeps a percentile of the
// latency within each of several bounds. It is pure: the next level depends only on what was
// measured, so a restarted controller continues where the last one stopped.
//
// # The search
//
// A search is a sequence of open-loop levels. First the rate rises until a level breaks the bound: by a factor
// of four while almost nothing is slow, then by a factor of two. If the first level breaks the bound, the rate
// falls. The highest rate that holds the bound and the lowest rate above it that breaks it form a bracket. The
// search halves the bracket geometrically until it is as narrow as Resolution. It measures an end that is not
// sure once more, for longer, and only that level counts: this exposes a hiccup in the earlier level, and the
// search continues from the new result. Finally it measures rates a little outside the bracket until one is
// sure on each side. They give the interval. Each further bound starts from the levels measured so far.
//
// The first level, or a level far above those that hold the bound, may break the bound by chance.
// The search measures it again before it goes below it. If it is still not sure, the search tries a
// higher rate: one that holds the bound refutes it. The search avoids rates at which even the
// longest level has too few operations to be sure.
//
// A level holds a bound when at most the allowed share of its operations is slower, and when
// operations end as fast as they are due. The confidence interval of that share decides whether the
// verdict is sure. A level without operations is no evidence, and two of them end the round.
//
// # The length of a level
//
// A level near the bound is long enough to determine its percentile: about expectedSlow operations
// are slow, a queue at Resolution times the capacity grows to the bound, and there are enough
// seconds to show how they depend on each other. Levels that only find the range are short: far
// above the capacity, a backlog appears at once.
package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Params are the inputs of a search besides the measurements.
type Params struct {
	Bounds         []runfile.LatencyBound
	Clients        int32 // each client gets at least one operation a second
	Rounds         int32 // number of searches, one after the other
	WarmupSeconds  int32 // minimum before the first level of a round
	LongestSeconds int32 // longest level
}

// ParamsOf returns the parameters of a plan with a search, or false for a plan without one.
func ParamsOf(p runfile.Plan) (Params, bool) {
	c := p.Workload.Capacity()
	if c == nil {
		return Params{}, false
	}
	s := p.Schedule
	return Params{
		Bounds: runfile.Bounds(c), Clients: p.Clients, Rounds: s.Repetitions,
		WarmupSeconds: s.WarmupSeconds, LongestSeconds: s.DurationSeconds,
	}, true
}

const (
	firstRate  = 64 // operations a second, all clients together
	fastFactor = 4
	slowFactor = 2
	mostRate   = math.MaxInt32

	// comfortable is the part of the allowed share that may be slow when the rate rises by fastFactor.
	comfortable = 0.25
	// Resolution is the largest ratio between the two ends of a final bracket.
	Resolution = 1.03
	// wide is the ratio of a bracket whose middle needs no long level: its ends reveal an error there.
	wide = 1.25
	// The search measures at most outwardSteps rates, outwardFactor apart, outside a narrow bracket
	// until one is sure. An earlier rate within the factor near counts as well.
	outwardFactor, outwardSteps, near = 1.05, 3, 1.02
	// blurred widens the interval of a capacity beyond the rates of its levels. Simulated queues that
	// swing for longer than a level need it for a coverage of 95 %.
	blurred = 1.02

	// expectedSlow operations above the bound determine their share to within about a quarter.
	expectedSlow = 20

	// mostEmpty levels without an operation end a round. They count from surelySome operations a
	// second on, where random arrivals occur in every second.
	mostEmpty, surelySome = 2, 20

	shortestSeconds = 2 // minimum length of a level that finds the range
	// LeastDecidedSeconds is the minimum length of a level near the bound: fewer seconds hide how they
	// depend on each other.
	LeastDecidedSeconds = 15
)

// Next returns the level after done, which is in the order of measurement, or false when the search
// is over. Only the last level of done may lack an outcome; Next then returns that level again.
func Next(p Params, done []runfile.CapacityLevel) (runfile.CapacityLevel, bool) {
	var last runfile.CapacityLevel
	if len(done) > 0 {
		last = done[len(done)-1]
		if last.Outcome == nil {
			return last, true
		}
	}
	round := max(last.Round, 1)
	s := newSearch(p, roundOf(done, round))
	rate, seconds := s.next()
	if rate == 0 {
		round++
		if round > p.Rounds {
			return runfile.CapacityLevel{}, false
		}
		s = newSearch(p, nil)
		rate, seconds = s.next()
	}
	warmup := runfile.LaterWarmupSeconds(p.Bounds, p.Clients)
	if len(s.levels) == 0 {
		warmup = max(p.WarmupSeconds, warmup)
	}
	return runfile.CapacityLevel{
		Index: last.Index + 1, Round: round, OperationsPerSecond: rate, WarmupSeconds: warmup, Seconds: seconds,
	}, true
}

// roundOf returns the levels of one round.
func roundOf(levels []runfile.CapacityLevel, round int32) []runfile.CapacityLevel {
	return slices.DeleteFunc(slices.Clone(levels), func(l runfile.CapacityLevel) bool { return l.Round != round })
}

// Typical returns the approximate number of levels in a round, and the seconds per level including its warm-up.
func Typical(p Params) (levels, seconds int) {
	s := newSearch(p, nil)
	each := s.clamp(typicalSeconds, 1) + runfile.LaterWarmupSeconds(p.Bounds, p.Clients)
	return typicalLevels + typicalMore*(len(p.Bounds)-1), int(each)
}

// Left returns roughly how many levels of the current round are still to come.
func Left(p Params, done []runfile.CapacityLevel) int {
	typicalLevels, _ := Typical(p)
	if len(done) == 0 {
		return typicalLevels
	}
	s := newSearch(p, roundOf(done, done[len(done)-1].Round))
	if rate, _ := s.next(); rate == 0 {
		return 0
	}
	return max(typicalLevels-len(s.levels), s.halvings(), 1)
}

const (
	typicalLevels  = 16 // search with one bound
	typicalMore    = 6  // per further bound
	ownLevels      = 8  // reserved for each further bound until it needs no more
	typicalSeconds = 12 // length of a level
)

// search is one round.
type search struct {
	Params
	levels []runfile.CapacityLevel
	points []point // ascending by rate
}

// point holds all measurements at one rate.
type point struct {
	rate     int64
	measured int   // number of levels
	seconds  int32 // length of the last level
	bounds   []verdict
}

// verdict is the result of one rate for one bound.
type verdict struct {
	holds bool
	sure  bool // the interval of the share excludes the opposite verdict
	share float64
}

func newSearch(p Params, levels []runfile.CapacityLevel) *search {
	p.LongestSeconds = max(p.LongestSeconds, 1)
	return &search{Params: p, levels: levels, points: pointsOf(p.Bounds, levels)}
}

// pointsOf groups the levels by rate. The last level of a rate counts, because it is the longest.
// Levels without an outcome are ignored.
func pointsOf(bounds []runfile.LatencyBound, levels []runfile.CapacityLevel) []point {
	byRate := map[int64]point{}
	for _, l := range levels {
		if l.Outcome == nil || l.OperationsPerSecond < 1 || l.OperationsPerSecond > mostRate {
			continue
		}
		pt := point{rate: l.OperationsPerSecond, measured: byRate[l.OperationsPerSecond].measured + 1, seconds: l.Seconds}
		for i, b := range bounds {
			pt.bounds = append(pt.bounds, verdictOf(b, i, l))
		}
		byRate[pt.rate] = pt
	}
	return slices.SortedFunc(maps.Values(byRate), func(a, b point) int { return cmp.Compare(a.rate, b.rate) })
}

// Sure returns whether a level with an outcome holds the first bound of the plan, and whether the
// verdict is sure: the interval of its share excludes the opposite by a margin.
func Sure(first runfile.LatencyBound, l runfile.CapacityLevel) (holds, sure bool) {
	v := verdictOf(first, 0, l)
	return v.holds, v.sure
}

// verdictOf judges one level by bound number i.
func verdictOf(b runfile.LatencyBound, i int, l runfile.CapacityLevel) verdict {
	if i >= len(l.Outcome.Bounds) || empty(l) {
		return verdict{share: 1}
	}
	margin := longMargin
	if l.Seconds < LeastDecidedSeconds {
		margin = shortMargin
	}
	o, allowed := l.Outcome.Bounds[i], b.SlowShare()
	v := verdict{share: o.Share, holds: o.Share <= allowed && keepsUp(*l.Outcome)}
	if v.holds {
		v.sure = allowed-o.Share >= margin*(o.High-o.Share)
	} else { // a level that one stall puts behind schedule only shows that a few operations are slow
		v.sure = l.Outcome.Errors > 0 || o.Share-allowed > margin*(o.Share-o.Low)
	}
	return v
}

// empty reports whether no operation of a level ended or none was due, without errors or slow operations.
func empty(l runfile.CapacityLevel) bool {
	o := l.Outcome
	slow := slices.ContainsFunc(o.Bounds, func(b runfile.BoundOutcome) bool { return b.Share > 0 })
	return o.Errors == 0 && !slow && (o.Due == 0 || o.Done == 0)
}

const (
	// A verdict is sure when the allowed share is at least this many times as far from the measured
	// share as the end of its interval is. A queue may barely show its swings within one level.
	longMargin, shortMargin = 1.2, 1.5

	// noneSlow is the number of operations, times the allowed share, that makes a level without slow
	// operations sure by longMargin.
	noneSlow = 4.61
	// overloaded is the slow share that every level far above the capacity reaches, however short.
	overloaded = 0.5

	// manyMore times as many operations at a higher rate are better evidence.
	manyMore = 3

	leastAchieved = 0.98
	// deviations is the number of standard deviations of the random number of due operations that a
	// level may fall behind, on top of leastAchieved.
	deviations = 3
)

// keepsUp reports whether the operations of a level ended as fast as they were due. Operations in
// flight at either end of the window cause a random difference.
func keepsUp(o runfile.CapacityOutcome) bool {
	due := float64(o.Due)
	return o.Errors == 0 && float64(o.Done) >= leastAchieved*due-deviations*math.Sqrt(due)
}

// next returns the rate and length of the next level. A rate of 0 ends the search.
func (s *search) next() (rate int64, seconds int32) {
	if len(s.levels) >= runfile.MaxCapacityLevels || len(s.Bounds) == 0 || s.nothing() {
		return 0, 0
	}
	later := func(i int) int { return ownLevels * (len(s.Bounds) - 1 - i) }
	for i := range s.Bounds {
		if len(s.levels) < runfile.MaxCapacityLevels-later(i) {
			if rate, seconds := s.nextOf(i); rate > 0 {
				return rate, seconds
			}
		}
	}
	for i := range s.Bounds { // use the levels that the other bounds left over
		if rate, seconds := s.nextOf(i); rate > 0 {
			return rate, seconds
		}
	}
	return 0, 0
}

// nothing reports whether levels had no operations although too many were due for this to be
// chance. No other rate would have operations either.
func (s *search) nothing() bool {
	levels := 0
	for _, l := range s.levels {
		if l.Outcome != nil && empty(l) && l.OperationsPerSecond >= surelySome {
			levels++
		}
	}
	return levels >= mostEmpty
}

// nextOf returns the next level for one bound, or 0 when its bracket is narrow enough.
func (s *search) nextOf(i int) (rate int64, seconds int32) {
	low, high := bracket(s.points, i)
	switch {
	case low == nil && high == nil:
		return max(firstRate, s.least(), s.telling(i)), s.shortest(i)
	case high == nil:
		return s.rise(i, low)
	case low == nil || float64(high.rate) > wide*float64(low.rate):
		rate, seconds = s.doubt(i, high)
	}
	if rate == 0 && low == nil {
		rate, seconds = s.fall(i, high)
	} else if rate == 0 {
		rate, seconds = s.halve(i, low, high)
	}
	if rate > 0 {
		return rate, seconds
	}
	if s.unsure(i, high) {
		return high.rate, s.longer(i, high)
	}
	return s.outside(i, low, high)
}

// fall returns a lower rate when the lowest measured rate breaks the bound, or 0.
func (s *search) fall(i int, high *point) (rate int64, seconds int32) {
	least := s.least()
	if !high.bounds[i].sure { // at a lower rate the verdict would be even less sure
		least = max(least, s.telling(i))
	}
	if high.rate <= least {
		return 0, 0
	}
	return max(high.rate/fastFactor, least), s.shortest(i)
}

// halve returns the next level in the middle of a bracket or at its lower end, or 0.
func (s *search) halve(i int, low, high *point) (rate int64, seconds int32) {
	mid := int64(math.Round(math.Sqrt(float64(low.rate) * float64(high.rate))))
	switch {
	case float64(high.rate) > Resolution*float64(low.rate) && mid > low.rate && mid < high.rate:
		if float64(high.rate) > wide*float64(low.rate) {
			return mid, s.shortest(i)
		}
		return mid, s.deciding(i, mid)
	case s.unsure(i, low):
		return low.rate, s.longer(i, low)
	}
	return 0, 0
}

// doubt handles a level that may break the bound by chance, far above those that hold it. It
// returns that rate again, then a higher one. Without doubt it returns 0.
func (s *search) doubt(i int, high *point) (rate int64, seconds int32) {
	v := high.bounds[i]
	brief := high.seconds < min(LeastDecidedSeconds, s.LongestSeconds) && v.share < overloaded
	top := s.points[len(s.points)-1]
	switch {
	case high.measured < 2 && (!v.sure || brief):
		if v.sure {
			return high.rate, s.longer(i, high)
		}
		return high.rate, s.LongestSeconds
	case !v.sure && (top.rate == high.rate || top.bounds[i].holds) && top.rate < mostRate:
		return min(top.rate*fastFactor, mostRate), s.LongestSeconds
	}
	return 0, 0
}

// telling returns the lowest rate at which the longest level is sure without a slow operation.
func (s *search) telling(i int) int64 {
	return int64(math.Ceil(min(noneSlow/(s.Bounds[i].SlowShare()*float64(s.LongestSeconds)), mostRate)))
}

// outside returns the next level outside a narrow bracket, or 0 when both sides are sure.
func (s *search) outside(i int, low, high *point) (rate int64, seconds int32) {
	if low == nil {
		return 0, 0
	}
	least := max(s.least(), s.telling(i))
	for _, side := range []struct {
		end    *point
		factor float64
	}{{high, outwardFactor}, {low, 1 / outwardFactor}} {
		if rate := s.outward(i, side.end, side.factor); rate >= least && rate <= mostRate {
			return rate, s.deciding(i, rate)
		}
	}
	return 0, 0
}

// least returns the lowest rate at which each client has one operation a second.
func (s *search) least() int64 { return max(int64(s.Clients), 1) }

// outward returns the next rate to measure on one side of a narrow bracket. It returns 0 when a
// rate near it is sure, or after outwardSteps rates.
func (s *search) outward(i int, end *point, factor float64) int64 {
	whole := end.rate
	for range outwardSteps {
		if step := int64(math.Round(float64(whole) * factor)); factor > 1 {
			whole = max(step, whole+1)
		} else {
			whole = min(step, whole-1)
		}
		rate, measured := float64(whole), false
		from, to := min(float64(end.rate), rate/near), max(float64(end.rate), rate*near)
		for _, pt := range s.points {
			r := float64(pt.rate)
			if r >= from && r <= to && pt.bounds[i].sure && pt.bounds[i].holds == end.bounds[i].holds {
				return 0
			}
			measured = measured || r >= rate/near && r <= rate*near
		}
		if !measured {
			return whole
		}
	}
	return 0
}

// rise returns a higher rate after one that holds the bound.
func (s *search) rise(i int, low *point) (int64, int32) {
	if low.rate >= mostRate {
		return 0, 0
	}
	factor := int64(slowFactor)
	if low.bounds[i].share <= comfortable*s.Bounds[i].SlowShare() {
		factor = fastFactor
	}
	return min(low.rate*factor, mostRate), s.shortest(i)
}

// bracket returns the lowest rate that breaks bound i, and the highest rate below it that holds it.
// It skips a rate that is not sure to break the bound if a higher rate refutes it.
func bracket(points []point, i int) (low, high *point) {
	for at := range points {
		if !points[at].bounds[i].holds && !refuted(points[at], points[at+1:], i) {
			return low, &points[at]
		}
		if points[at].bounds[i].holds {
			low = &points[at]
		}
	}
	return low, nil
}

// refuted reports whether a rate breaks the bound without being sure, and a higher rate holds it:
// surely, or with many more operations.
func refuted(pt point, higher []point, i int) bool {
	if pt.bounds[i].sure {
		return false
	}
	for _, h := range higher {
		v := h.bounds[i]
		switch {
		case v.sure:
			return v.holds
		case v.holds && h.operations() >= manyMore*pt.operations():
			return true
		}
	}
	return false
}

func (p point) operations() float64 { return float64(p.rate) * float64(p.seconds) }

// unsure reports whether a rate must be measured again.
func (s *search) unsure(i int, pt *point) bool {
	return pt.measured < 2 && (!pt.bounds[i].sure || pt.seconds < min(LeastDecidedSeconds, s.LongestSeconds))
}

// shortest returns the length of a level that finds the range: long enough for a queue to reach the bound.
func (s *search) shortest(i int) int32 {
	return s.clamp(max(2*seconds(s.Bounds[i]), float64(s.LongestSeconds)/15), shortestSeconds)
}

// deciding returns the length of a level near the bound.
func (s *search) deciding(i int, rate int64) int32 {
	b := s.Bounds[i]
	need := max(expectedSlow/(b.SlowShare()*float64(rate)), seconds(b)/(Resolution-1))
	return s.clamp(need, LeastDecidedSeconds)
}

// longer returns the length of a repeated level.
func (s *search) longer(i int, pt *point) int32 {
	return s.clamp(3*float64(pt.seconds), s.deciding(i, pt.rate))
}

func (s *search) clamp(need float64, least int32) int32 {
	return max(min(int32(min(math.Ceil(need), math.MaxInt32)), s.LongestSeconds), min(least, s.LongestSeconds))
}

// halvings returns how many levels the widest bracket still needs.
func (s *search) halvings() int {
	most := 0.0
	for i := range s.Bounds {
		low, high := bracket(s.points, i)
		if low != nil && high != nil {
			most = max(most, math.Log2(math.Log(float64(high.rate)/float64(low.rate))/math.Log(Resolution)))
		}
	}
	return int(math.Ceil(most))
}

func seconds(b runfile.LatencyBound) float64 { return float64(b.Microseconds) / 1e6 }

// Estimate is the capacity within one bound, in operations a second of all clients together.
type Estimate struct {
	// OperationsPerSecond is 0 if no level held the bound. If High is also 0, the levels had too few
	// operations to decide.
	OperationsPerSecond int64
	// Low and High contain the capacity with 95 % confidence. Low is just below the highest rate that
	// surely holds the bound, High just above the lowest rate that surely breaks it. 0 = no such rate.
	Low, High int64
	// StillHeld reports that the highest rate tried holds the bound: the capacity is at least OperationsPerSecond.
	StillHeld bool
}

// Estimates returns the capacity of each bound from the levels of one round, in the order of the
// bounds. Levels without an outcome are ignored.
func Estimates(bounds []runfile.LatencyBound, levels []runfile.CapacityLevel) []Estimate {
	points := pointsOf(bounds, levels)
	out := make([]Estimate, len(bounds))
	for i := range bounds {
		out[i] = estimate(i, points)
	}
	return out
}

func estimate(i int, points []point) Estimate {
	var e Estimate
	low, high := bracket(points, i)
	switch {
	case low == nil:
	case high == nil:
		e.OperationsPerSecond, e.StillHeld = low.rate, true
	default:
		e.OperationsPerSecond = int64(math.Sqrt(float64(low.rate) * float64(high.rate)))
	}
	for _, pt := range points {
		v := pt.bounds[i]
		switch {
		case !v.sure:
		case v.holds && low != nil && pt.rate <= low.rate:
			e.Low = int64(float64(pt.rate) / blurred)
		case !v.holds && e.High == 0:
			e.High = int64(math.Ceil(float64(pt.rate) * blurred))
		}
	}
	return e
}
