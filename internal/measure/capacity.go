package measure

import (
	"maps"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Capacity is the result of a search for capacity: for each latency bound the highest rate that
// keeps it, and the curve of latency over load.
type Capacity struct {
	Bounds []BoundCapacity `json:"bounds"` // in the order of the plan
	Curve  []CurvePoint    `json:"curve"`  // ascending by Offered
	// Searches counts the rounds. Bounds has the median of those that found the capacity.
	Searches int32 `json:"searches"`
	// Statements reports that the operations are database statements, not I/Os.
	Statements bool `json:"statements,omitempty"`
}

// BoundCapacity is the highest rate of operations that keeps one bound.
type BoundCapacity struct {
	Percentile   bench.LatencyPercentile `json:"percentile"`   // such as p99
	Microseconds int64                   `json:"microseconds"` // the bound
	// OperationsPerSecond is the capacity. 0 = even the lowest rate tried broke the bound.
	OperationsPerSecond int64 `json:"operationsPerSecond"`
	// Low and High contain the capacity with 95 % confidence. 0 = no rate surely keeps the bound, or
	// none surely breaks it.
	Low  int64 `json:"lowOperationsPerSecond"`
	High int64 `json:"highOperationsPerSecond"`
	// Reached reports that one rate keeps the bound and a higher one breaks it. Otherwise the capacity
	// is below the lowest rate tried, or at least the highest.
	Reached bool `json:"reached"`
	// LimitedBy is LimitWire, LimitClientCPU, ..., or empty if unknown. Package judge sets it. LimitReason is one sentence
	// with the numbers.
	LimitedBy   string `json:"limitedBy,omitempty"`
	LimitReason string `json:"limitReason,omitempty"`
	// WireAbovePermille is the share of the wire limit at the next higher level, if known.
	WireAbovePermille *Permille `json:"-"`
	LastLevel         bool      `json:"-"` // the search ended at the maximum number of levels
	Open              bool      `json:"-"` // the rates on both sides are farther apart than a complete search leaves them
}

// The limits of a capacity.
const (
	LimitWire       = "Wire"       // the links are full
	LimitClientCPU  = "ClientCPU"  // a client, or the database, has no CPU left
	LimitStorageCPU = "StorageCPU" // a storage node has no CPU left
	LimitQueue      = "Queue"      // the number of outstanding I/Os is at its maximum: jobs x depth
	LimitClient     = "Client"     // a client wakes too late for the bound
	LimitStorage    = "Storage"    // none of these: something behind the server
)

// CurvePoint is one rate of a search, over all clients and rounds.
type CurvePoint struct {
	Offered         int64 `json:"offeredOperationsPerSecond"`  // requested
	Achieved        int64 `json:"achievedOperationsPerSecond"` // ended without an error
	BytesPerSecond  int64 `json:"bytesPerSecond"`              // 0 for statements
	P50Microseconds int64 `json:"p50Microseconds"`             // counted from when an operation was due
	P99Microseconds int64 `json:"p99Microseconds"`
	// P999Microseconds is the 99.9th percentile.
	P999Microseconds int64 `json:"p999Microseconds"`
	Errors           int64 `json:"errors"`
	// Read and Write are the two directions where the load has both.
	Read  *Direction `json:"read,omitempty"`
	Write *Direction `json:"write,omitempty"`
	// Knee marks the last rate that was achieved (98 % of it) before one that was not.
	Knee bool `json:"knee,omitempty"`
}

// Bound returns the bound as people write it: p99 of 1 ms.
func (b BoundCapacity) Bound() string {
	return runfile.LatencyBound{Percentile: b.Percentile, Microseconds: b.Microseconds}.String()
}

// Search is one round of a search for capacity.
type Search struct {
	round  int32
	levels []searchLevel       // in the order in which they were measured
	byRate []searchLevel       // the last of each rate, which is the longest, ascending
	Bounds []capacity.Estimate // in the order of the plan
}

// searchLevel is one level with the results of all clients.
type searchLevel struct {
	*RepetitionFacts

	reports []runfile.LevelReport    // one per client
	outcome *runfile.CapacityOutcome // nil if a client has no report
}

// offered is the requested rate of all clients together.
func (l searchLevel) offered() int64 { return l.Step.OperationsPerSecond }

// searchBounds returns the bounds of the search; none for another load.
func searchBounds(plan runfile.Plan) []runfile.LatencyBound {
	if w := plan.Workload.Capacity(); w != nil {
		all := runfile.Bounds(w)
		return all[:min(len(all), runfile.MaxLatencyBounds)] // the plan of a file may not be valid
	}
	return nil
}

// search groups the levels by round, in order.
func (c *Facts) search() []Search {
	if len(c.Bounds) == 0 {
		return nil
	}
	var rounds []Search
	for i := range c.Repetitions {
		s := &c.Repetitions[i]
		if !s.IsOf(runfile.StepRate) || s.Step.OperationsPerSecond <= 0 {
			continue
		}
		at := slices.IndexFunc(rounds, func(r Search) bool { return r.round == s.Step.Round })
		if at < 0 {
			at = len(rounds)
			rounds = append(rounds, Search{round: s.Step.Round})
		}
		rounds[at].levels = append(rounds[at].levels, c.searchLevel(s))
	}
	for i := range rounds {
		r, last := &rounds[i], map[int64]searchLevel{}
		levels := make([]runfile.CapacityLevel, 0, len(r.levels))
		for _, l := range r.levels {
			levels, last[l.offered()] = append(levels, l.asMeasured()), l
		}
		for _, rate := range slices.Sorted(maps.Keys(last)) {
			r.byRate = append(r.byRate, last[rate])
		}
		r.Bounds = capacity.Estimates(c.Bounds, levels)
	}
	return rounds
}

// searchLevel adds up the clients' reports of a level.
func (c *Facts) searchLevel(s *RepetitionFacts) searchLevel {
	l := searchLevel{RepetitionFacts: s}
	if len(s.parts) < len(c.result.Clients) {
		return l
	}
	for _, p := range s.parts {
		if p.rep.Level == nil {
			return l
		}
		l.reports = append(l.reports, *p.rep.Level)
	}
	l.outcome = new(capacity.Merge(c.Bounds, l.reports))
	return l
}

// seconds returns the window length of a level from its reports. The window of a database lies
// between two snapshots, which take time.
func (l searchLevel) seconds() float64 {
	for _, r := range l.reports {
		if n := r.WindowSeconds(); n > 0 {
			return float64(n)
		}
	}
	return math.Round(float64(l.DurationMilliseconds) / 1000)
}

// asMeasured returns the level as the search saw it.
func (l searchLevel) asMeasured() runfile.CapacityLevel {
	return runfile.CapacityLevel{
		Index: l.Repetition, Round: l.Step.Round, OperationsPerSecond: l.offered(), Seconds: int32(l.seconds()),
		Outcome: l.outcome,
	}
}

// reached reports whether the capacity lies between two rates.
func reached(e capacity.Estimate) bool { return e.OperationsPerSecond > 0 && !e.StillHeld }

// tooFew reports that no rate keeps the bound, and none surely breaks it.
func tooFew(e capacity.Estimate) bool { return e.OperationsPerSecond == 0 && e.High == 0 }

// At returns the level that represents a capacity: the highest at or below it, or else the lowest
// of all.
func (r Search) At(rate int64) *RepetitionFacts {
	best := r.byRate[0]
	for _, l := range r.byRate {
		if l.offered() <= rate {
			best = l
		}
	}
	return best.RepetitionFacts
}

// above returns the lowest level above a capacity; nil if there is none.
func (r Search) above(rate int64) *RepetitionFacts {
	for _, l := range r.byRate {
		if l.offered() > rate {
			return l.RepetitionFacts
		}
	}
	return nil
}

// RatesReached returns the estimates of all rounds that reached the capacity within a bound.
func RatesReached(rounds []Search, bound int) []float64 {
	var out []float64
	for _, r := range rounds {
		if e := r.Bounds[bound]; reached(e) {
			out = append(out, float64(e.OperationsPerSecond))
		}
	}
	return out
}

// capacityOf judges a search; nil for other loads.
func (c *Facts) capacityOf() *Capacity {
	if len(c.Searches) == 0 {
		return nil
	}
	out := &Capacity{
		Searches: int32(len(c.Searches)), Curve: c.curve(), //nolint:gosec // rounds are few
		Statements: c.engine.statements,
	}
	for i, b := range c.Bounds {
		out.Bounds = append(out.Bounds, c.boundCapacity(i, b))
	}
	return out
}

// boundCapacity takes the round with the median estimate. Its interval also contains the estimates
// of the other rounds: they show variation that a single search cannot.
func (c *Facts) boundCapacity(i int, b runfile.LatencyBound) BoundCapacity {
	r := c.MedianSearch(i)
	e := r.Bounds[i]
	out := BoundCapacity{
		Percentile: b.Percentile, Microseconds: b.Microseconds, Reached: reached(e),
		OperationsPerSecond: e.OperationsPerSecond, Low: e.Low, High: e.High,
		LastLevel: len(r.levels) >= runfile.MaxCapacityLevels,
	}
	if out.Reached {
		all := RatesReached(c.Searches, i)
		out.Low = min(out.Low, int64(slices.Min(all)))
		if out.High > 0 {
			out.High = max(out.High, int64(slices.Max(all)))
		}
	}
	if !r.IsLimited(i) {
		return out
	}
	if above := r.above(e.OperationsPerSecond); above != nil {
		out.WireAbovePermille = above.WirePermille
		low, high := r.At(e.OperationsPerSecond).Step.OperationsPerSecond, above.Step.OperationsPerSecond
		out.Open = high-low > 1 && float64(high) > bracketNarrow*float64(low)
	}
	return out
}

// IsLimited reports whether something limits the rate within a bound. If not, the highest rate that was tried keeps
// the bound, or the limit is unknown.
func (r Search) IsLimited(bound int) bool {
	return !r.Bounds[bound].StillHeld && !tooFew(r.Bounds[bound])
}

// MedianSearch returns the representative round. If at least half of the rounds found the capacity,
// it is the one with the median capacity; otherwise it is the first that did not.
func (c *Facts) MedianSearch(bound int) Search {
	var found []Search
	for _, r := range c.Searches {
		if reached(r.Bounds[bound]) {
			found = append(found, r)
		}
	}
	if 2*len(found) < len(c.Searches) {
		i := slices.IndexFunc(c.Searches, func(r Search) bool { return !reached(r.Bounds[bound]) })
		return c.Searches[i]
	}
	return found[stats.MedianIndex(RatesReached(found, bound))]
}

// searchHeadlines returns one level per round: the level at the capacity within the first bound, whose numbers were
// measured together.
func (c *Facts) searchHeadlines() []RepetitionFacts {
	var out []RepetitionFacts
	for _, r := range c.Searches {
		out = append(out, *r.At(r.Bounds[0].OperationsPerSecond))
	}
	return out
}

// Around returns the level above a capacity, if there is one, and the level at it.
func (r Search) Around(rate int64) []*RepetitionFacts {
	if above := r.above(rate); above != nil {
		return []*RepetitionFacts{above, r.At(rate)}
	}
	return []*RepetitionFacts{r.At(rate)}
}

// MostOutstanding returns the maximum number of outstanding I/Os in a search, and the factors of
// that product; 0 = unknown.
func (c *Facts) MostOutstanding(clients int32) (ios int64, product string) {
	if s := c.Plan.Workload.SLOB; s != nil {
		if c.engine.statements || len(s.Ramp()) == 0 {
			return 0, ""
		}
		users := int64(s.Ramp()[0]) * int64(clients)
		if s.Access == bench.SLOBFullTableScan {
			return users * int64(max(s.ReadAhead, 1)), "users x readAhead"
		}
		return users, "users"
	}
	r := c.Raw()
	return int64(r.Jobs) * int64(r.Depth) * int64(clients), "jobs x depth"
}

// curve returns one point per rate, ascending, over all rounds, with the knee: the last rate that achieves the due
// operations, before the first that does not. There is no knee if all rates achieve them, or none.
func (c *Facts) curve() []CurvePoint {
	byRate := map[int64][]searchLevel{}
	for _, r := range c.Searches {
		for _, l := range r.levels {
			byRate[l.offered()] = append(byRate[l.offered()], l)
		}
	}
	var points []CurvePoint
	ended := false
	for _, rate := range slices.Sorted(maps.Keys(byRate)) {
		p, follows := c.curvePoint(byRate[rate])
		if !follows && !ended && len(points) > 0 {
			points[len(points)-1].Knee = true
		}
		ended = ended || !follows
		points = append(points, p)
	}
	return points
}

// curvePoint adds up the levels of one rate: I/Os in both directions, or statements. It reports whether the rate
// achieves the due operations.
func (c *Facts) curvePoint(group []searchLevel) (p CurvePoint, follows bool) {
	var read, write *Direction
	var total Direction
	due, n := 0.0, float64(len(group))
	for _, l := range group {
		due += l.due()
		if c.engine.statements {
			total = total.plus(l.statements())
		} else {
			read, write, total = joined(read, l.Read), joined(write, l.Write), total.plus(l.Total)
		}
	}
	for _, d := range []*Direction{read, write, &total} {
		if d != nil {
			d.ByteRate, d.OperationRate = d.ByteRate/n, d.OperationRate/n
			c.finish(d)
		}
	}
	p = CurvePoint{
		Offered: group[0].offered(), Achieved: total.OperationsPerSecond, BytesPerSecond: total.BytesPerSecond,
		Errors: total.Errors,
	}
	if l := total.Latency; l != nil && !l.MeanOnly {
		p.P50Microseconds, p.P99Microseconds, p.P999Microseconds = l.P50Microseconds, l.P99Microseconds, l.P999Microseconds
	}
	if read != nil && write != nil {
		p.Read, p.Write = read, write
	}
	return p, float64(p.Achieved) >= due/n*followShare
}

// due returns the operations per second that were due. With random arrivals it differs a little from the requested
// rate.
func (l searchLevel) due() float64 {
	if l.outcome == nil {
		return 0 // its statements are not known, either
	}
	if l.seconds() <= 0 || l.outcome.Due <= 0 {
		return float64(l.offered())
	}
	return float64(l.outcome.Due) / l.seconds()
}

// statements returns the statements of the database sessions in a level. Its other numbers count their I/Os.
func (l searchLevel) statements() Direction {
	var d Direction
	if l.outcome == nil || l.seconds() <= 0 {
		return d
	}
	d.Ops, d.Errors = l.outcome.Done, l.outcome.Errors
	d.OperationRate = float64(d.Ops) / l.seconds()
	for _, r := range l.reports {
		d.histograms = append(d.histograms, r.Histogram)
	}
	return d
}

// Contradiction looks in one round for a rate that surely fails the first bound, and a much higher
// rate that surely keeps it. As in the search, the last level of each rate counts; it must be so
// long that a hiccup does not dominate it.
func (c *Facts) Contradiction() (low, high int64, ok bool) {
	for _, r := range c.Searches {
		lowestBroken := int64(math.MaxInt64)
		for _, l := range r.byRate {
			if l.outcome == nil || l.seconds() < DecidedSeconds {
				continue
			}
			switch holds, sure := capacity.Sure(c.Bounds[0], l.asMeasured()); {
			case !sure:
			case !holds:
				lowestBroken = min(lowestBroken, l.offered())
			case float64(l.offered()) >= contradicts*float64(lowestBroken):
				return lowestBroken, l.offered(), true
			}
		}
	}
	return 0, 0, false
}

// Shown returns the repetitions whose numbers are shown. The other levels of a search are short,
// and need no array counters.
func (c *Facts) Shown() []RepetitionFacts {
	if c.Capacity != nil {
		return c.Headline
	}
	return c.Repetitions
}

// SearchSeconds returns the measured time of the shortest round, all of its levels together.
func (c *Facts) SearchSeconds() float64 {
	least := math.Inf(1)
	for _, r := range c.Searches {
		sum := int64(0)
		for _, l := range r.levels {
			sum += l.DurationMilliseconds
		}
		least = min(least, float64(sum)/1000)
	}
	return least
}
