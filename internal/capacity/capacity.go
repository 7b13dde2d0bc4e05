// Package capacity searches for the highest rate of operations that keeps a percentile of the
// latency within each of several bounds. It is pure: what comes next is a function of what was
// measured, so a controller that starts again goes on where the last one ended.
//
// # The search
//
// A search goes through levels of an open loop. First the rate rises, four times at a step
// while almost nothing is slow and twice after that, until the bound is broken; where even the
// first level breaks it, the rate falls. Then the bracket of the highest rate that holds the
// bound and the lowest above it that does not is halved, geometrically, until it is as narrow
// as resolution. An end of it that is not sure is measured once more, longer, and then that
// level counts. A hiccup in an earlier one shows there, and the search goes on where it leads.
// At last rates a little outside of the bracket are measured until one is sure on each side,
// which gives the interval. Further bounds begin with what the levels so far say of them.
//
// A level far above the others that hold the bound, or the first of all, may break it by chance.
// It is measured again before the search goes below it, and while that is not sure either, a
// higher rate is tried, which refutes it by holding the bound. No rate is tried, without need,
// at which the longest level has too few operations to be sure.
//
// A level holds a bound when no more than its share of operations are slower, and when the
// operations end as fast as they are due. The interval of that share decides whether that is
// sure. A level without operations says nothing, and two of them end the round.
//
// # The length of a level
//
// A level near the bound lasts until its percentile can be known: expectedSlow slow operations
// are expected, a queue that grows by what resolution is beyond the capacity reaches the bound,
// and there are enough seconds to see how they depend on each other. Levels that only find the
// range are short: far beyond the capacity, a backlog shows at once.
package capacity

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Params are what a search depends on, besides what was measured.
type Params struct {
	Bounds         []runfile.LatencyBound
	Clients        int32 // the rate is at least one operation a second of each
	Rounds         int32 // searches to make, one after the other
	WarmupSeconds  int32 // before the first level of a round, at least
	LongestSeconds int32 // of a level
}

// ParamsOf returns the parameters that a plan with a search gives, or false where a plan has
// none.
func ParamsOf(p runfile.Plan) (Params, bool) {
	c := p.Workload.Capacity()
	if c == nil {
		return Params{}, false
	}
	s := p.Schedule
	return Params{
		Bounds: c.Bounds, Clients: p.Clients, Rounds: s.Repetitions,
		WarmupSeconds: s.WarmupSeconds, LongestSeconds: s.DurationSeconds,
	}, true
}

const (
	firstRate  = 64 // operations a second of all clients
	fastFactor = 4
	slowFactor = 2
	mostRate   = math.MaxInt32

	// comfortable is how much of the allowed share may be slow for the rate to rise fast.
	comfortable = 0.25
	// Resolution is how far apart, as a factor, the two ends of a bracket are at most.
	Resolution = 1.03
	// wide is a bracket whose middle needs no long level: an error there shows at its ends.
	wide = 1.25
	// outside of a narrow bracket, rates are measured at this distance, so often at most, until
	// one is sure; near is how close a rate that was measured already is to count.
	outwardFactor, outwardSteps, near = 1.05, 3, 1.02
	// blurred is by how much an interval of a capacity is wider than the rates of its levels:
	// simulated queues, which swing longer than a level lasts, need that for 95 %.
	blurred = 1.02

	// expectedSlow operations at the bound make its share known within about a quarter.
	expectedSlow = 20

	// mostEmpty levels without an operation end a round, of rates at which random arrivals
	// give some in every second.
	mostEmpty, surelySome = 2, 20

	shortestSeconds = 2 // of a level that finds the range
	// LeastDecidedSeconds is the length of a level near the bound, at least: fewer parts hide how
	// they depend on each other.
	LeastDecidedSeconds = 15
)

// Next returns the level that follows those that are done, in the order in which they were
// measured, or false when the search is over. Each level but the last has an outcome; a level
// without one is what Next returned last.
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

// Typical is how many levels a round has, and how many seconds each lasts with its warm-up,
// about.
func Typical(p Params) (levels, seconds int) {
	s := newSearch(p, nil)
	each := s.clamp(typicalSeconds, 1) + runfile.LaterWarmupSeconds(p.Bounds, p.Clients)
	return typicalLevels + typicalMore*(len(p.Bounds)-1), int(each)
}

// Left is how many levels may still follow those of the present round, about.
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
	typicalLevels  = 16 // of a search with one bound
	typicalMore    = 6  // for each further bound
	ownLevels      = 8  // kept for each further bound until it needs no more
	typicalSeconds = 12 // of a level
)

// search is one round.
type search struct {
	Params
	levels []runfile.CapacityLevel
	points []point // ascending by rate
}

// point is all that was measured at one rate.
type point struct {
	rate     int64
	measured int   // levels
	seconds  int32 // of the last
	bounds   []verdict
}

// verdict is what one rate means for one bound.
type verdict struct {
	holds bool
	sure  bool // the interval of the share excludes the opposite
	share float64
}

func newSearch(p Params, levels []runfile.CapacityLevel) *search {
	p.LongestSeconds = max(p.LongestSeconds, 1)
	return &search{Params: p, levels: levels, points: pointsOf(p.Bounds, levels)}
}

// pointsOf gathers the levels of each rate, of which the last counts: it is the longest. Levels
// without an outcome say nothing.
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

// Sure says whether a level that has an outcome holds b, which is bound number i of the plan,
// and whether that is beyond doubt: the interval of its share excludes the opposite by a margin.
func Sure(b runfile.LatencyBound, i int, l runfile.CapacityLevel) (holds, sure bool) {
	v := verdictOf(b, i, l)
	return v.holds, v.sure
}

// verdictOf judges bound number i by a level.
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
	} else { // a level that falls behind because of one stall shows no more than a few that are slow
		v.sure = l.Outcome.Errors > 0 || o.Share-allowed > margin*(o.Share-o.Low)
	}
	return v
}

// empty says that no operation of a level ended, or none was due, and that nothing else is
// known of them either.
func empty(l runfile.CapacityLevel) bool {
	o := l.Outcome
	slow := slices.ContainsFunc(o.Bounds, func(b runfile.BoundOutcome) bool { return b.Share > 0 })
	return o.Errors == 0 && !slow && (o.Due == 0 || o.Done == 0)
}

const (
	// A level is sure where the allowed share is so many times as far from its own as the end
	// of its interval: in the seconds of one level, a queue may show little of how it swings.
	longMargin, shortMargin = 1.2, 1.5

	// noneSlow is how many operations, times the allowed share, make a level without a slow one
	// sure by longMargin.
	noneSlow = 4.61
	// overloaded is the share that is slow in every level far beyond the capacity, however short.
	overloaded = 0.5

	// manyMore operations at a higher rate are better evidence.
	manyMore = 3

	leastAchieved = 0.98
	// deviations of the number of operations due, which is a random one, are allowed on top
	// of what a level may fall behind.
	deviations = 3
)

// keepsUp says whether the operations of a level ended as fast as they were due. Those that
// are on the way at either end of a window make a difference that is random.
func keepsUp(o runfile.CapacityOutcome) bool {
	due := float64(o.Due)
	return o.Errors == 0 && float64(o.Done) >= leastAchieved*due-deviations*math.Sqrt(due)
}

// next returns the rate and the length of the next level; rate 0 ends the search.
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
	for i := range s.Bounds { // what the others have left
		if rate, seconds := s.nextOf(i); rate > 0 {
			return rate, seconds
		}
	}
	return 0, 0
}

// nothing says that levels have no operations although so many are due that this is no chance:
// no other rate would have.
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

// fall returns a lower rate after the lowest that was measured breaks the bound, or 0.
func (s *search) fall(i int, high *point) (rate int64, seconds int32) {
	least := s.least()
	if !high.bounds[i].sure { // what is not sure here would be less so there
		least = max(least, s.telling(i))
	}
	if high.rate <= least {
		return 0, 0
	}
	return max(high.rate/fastFactor, least), s.shortest(i)
}

// halve returns the next level within a bracket, or at its lower end, or 0.
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

// doubt returns the next level where one far above what holds the bound breaks it by chance,
// perhaps: that rate again, and then one beyond it. Without doubt it returns 0.
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

// telling is the lowest rate at which the longest level without a slow operation is sure.
func (s *search) telling(i int) int64 {
	return int64(math.Ceil(min(noneSlow/(s.Bounds[i].SlowShare()*float64(s.LongestSeconds)), mostRate)))
}

// outside returns the next level outside of a narrow bracket, or 0 when both sides are sure.
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

// least is the lowest rate at which each client has something to do.
func (s *search) least() int64 { return max(int64(s.Clients), 1) }

// outward returns the next rate to measure on one side of a narrow bracket, or 0 when a rate
// near it is sure, or enough were tried.
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

// bracket returns the lowest rate that breaks bound i, and the highest below it that holds it.
// One that is not sure to break it does so by chance where a higher one refutes it.
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

// refuted says whether a higher rate holds the bound, surely or by many more operations, that a
// rate breaks without being sure.
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

// unsure says whether a rate is to be measured once more.
func (s *search) unsure(i int, pt *point) bool {
	return pt.measured < 2 && (!pt.bounds[i].sure || pt.seconds < min(LeastDecidedSeconds, s.LongestSeconds))
}

// shortest is the length of a level that finds the range. A queue has time to reach the bound.
func (s *search) shortest(i int) int32 {
	return s.clamp(max(2*seconds(s.Bounds[i]), float64(s.LongestSeconds)/15), shortestSeconds)
}

// deciding is the length of a level near the bound.
func (s *search) deciding(i int, rate int64) int32 {
	b := s.Bounds[i]
	need := max(expectedSlow/(b.SlowShare()*float64(rate)), seconds(b)/(Resolution-1))
	return s.clamp(need, LeastDecidedSeconds)
}

// longer is the length of a level that is measured once more.
func (s *search) longer(i int, pt *point) int32 {
	return s.clamp(3*float64(pt.seconds), s.deciding(i, pt.rate))
}

func (s *search) clamp(need float64, least int32) int32 {
	return max(min(int32(min(math.Ceil(need), math.MaxInt32)), s.LongestSeconds), min(least, s.LongestSeconds))
}

// halvings is how many levels the widest bracket still needs.
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
	Bound runfile.LatencyBound
	// OperationsPerSecond is 0 where no level held the bound; unless High is more than 0, they had
	// too few operations to tell.
	OperationsPerSecond int64
	// Low and High contain the capacity with 95 % confidence: just below the highest rate that
	// surely holds the bound, 0 where none does, and just above the lowest that surely does not,
	// 0 where none was found.
	Low, High int64
	// StillHeld says that the highest level that was tried holds the bound: the capacity is at
	// least OperationsPerSecond.
	StillHeld bool
}

// Estimates returns the capacity of each bound by the levels of one round, in the order of the
// bounds. Levels without an outcome say nothing.
func Estimates(bounds []runfile.LatencyBound, levels []runfile.CapacityLevel) []Estimate {
	points := pointsOf(bounds, levels)
	out := make([]Estimate, len(bounds))
	for i, b := range bounds {
		out[i] = estimate(b, i, points)
	}
	return out
}

func estimate(b runfile.LatencyBound, i int, points []point) Estimate {
	e := Estimate{Bound: b}
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
