package judge

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/capacity"
	"github.com/nfsbench/nfsbench/internal/human"
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
	// LimitedBy is LimitWire, LimitClientCPU, ..., or empty if unknown. LimitReason is one sentence
	// with the numbers.
	LimitedBy   string `json:"limitedBy,omitempty"`
	LimitReason string `json:"limitReason,omitempty"`
	// wirePermille is the share of the wire limit at the next higher level, if known.
	wirePermille *Permille
	last         bool // the search ended at the maximum number of levels
	open         bool // the rates on both sides are farther apart than a complete search leaves them
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

// search is one round of a search for capacity.
type search struct {
	round  int32
	levels []searchLevel       // in the order in which they were measured
	byRate []searchLevel       // the last of each rate, which is the longest, ascending
	bounds []capacity.Estimate // in the order of the plan
}

// searchLevel is one level with the results of all clients.
type searchLevel struct {
	*repetition

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
func (c *facts) search() []search {
	if len(c.bounds) == 0 {
		return nil
	}
	var rounds []search
	for i := range c.repetitions {
		s := &c.repetitions[i]
		if !s.isOf(runfile.StepRate) || s.Step.OperationsPerSecond <= 0 {
			continue
		}
		at := slices.IndexFunc(rounds, func(r search) bool { return r.round == s.Step.Round })
		if at < 0 {
			at = len(rounds)
			rounds = append(rounds, search{round: s.Step.Round})
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
		r.bounds = capacity.Estimates(c.bounds, levels)
	}
	return rounds
}

// searchLevel adds up the clients' reports of a level.
func (c *facts) searchLevel(s *repetition) searchLevel {
	l := searchLevel{repetition: s}
	if len(s.parts) < len(c.Clients) {
		return l
	}
	for _, p := range s.parts {
		if p.rep.Level == nil {
			return l
		}
		l.reports = append(l.reports, *p.rep.Level)
	}
	l.outcome = new(capacity.Merge(c.bounds, l.reports))
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

// at returns the level that represents a capacity: the highest at or below it, or else the lowest
// of all.
func (r search) at(rate int64) *repetition {
	best := r.byRate[0]
	for _, l := range r.byRate {
		if l.offered() <= rate {
			best = l
		}
	}
	return best.repetition
}

// above returns the lowest level above a capacity; nil if there is none.
func (r search) above(rate int64) *repetition {
	for _, l := range r.byRate {
		if l.offered() > rate {
			return l.repetition
		}
	}
	return nil
}

// rates returns the estimates of all rounds that reached the capacity within a bound.
func rates(rounds []search, bound int) []float64 {
	var out []float64
	for _, r := range rounds {
		if e := r.bounds[bound]; reached(e) {
			out = append(out, float64(e.OperationsPerSecond))
		}
	}
	return out
}

// capacityOf judges a search; nil for other loads.
func (c *facts) capacityOf() *Capacity {
	if len(c.searches) == 0 {
		return nil
	}
	out := &Capacity{
		Searches: int32(len(c.searches)), Curve: c.curve(), //nolint:gosec // rounds are few
		Statements: c.Plan.Database != nil,
	}
	for i, b := range c.bounds {
		out.Bounds = append(out.Bounds, c.boundCapacity(i, b))
	}
	return out
}

// boundCapacity takes the round with the median estimate. Its interval also contains the estimates
// of the other rounds: they show variation that a single search cannot.
func (c *facts) boundCapacity(i int, b runfile.LatencyBound) BoundCapacity {
	r := c.medianSearch(i)
	e := r.bounds[i]
	out := BoundCapacity{
		Percentile: b.Percentile, Microseconds: b.Microseconds, Reached: reached(e),
		OperationsPerSecond: e.OperationsPerSecond, Low: e.Low, High: e.High,
		last: len(r.levels) >= runfile.MaxCapacityLevels,
	}
	if out.Reached {
		all := rates(c.searches, i)
		out.Low = min(out.Low, int64(slices.Min(all)))
		if out.High > 0 {
			out.High = max(out.High, int64(slices.Max(all)))
		}
	}
	if e.StillHeld || tooFew(e) {
		return out // nothing limited the rate, or nobody knows
	}
	out.LimitedBy, out.LimitReason = c.limit(r, b, e.OperationsPerSecond)
	if above := r.above(e.OperationsPerSecond); above != nil {
		out.wirePermille = above.WirePermille
		low, high := r.at(e.OperationsPerSecond).Step.OperationsPerSecond, above.Step.OperationsPerSecond
		out.open = high-low > 1 && float64(high) > bracketNarrow*float64(low)
	}
	return out
}

// medianSearch returns the representative round. If at least half of the rounds found the capacity,
// it is the one with the median capacity; otherwise it is the first that did not.
func (c *facts) medianSearch(bound int) search {
	var found []search
	for _, r := range c.searches {
		if reached(r.bounds[bound]) {
			found = append(found, r)
		}
	}
	if 2*len(found) < len(c.searches) {
		i := slices.IndexFunc(c.searches, func(r search) bool { return !reached(r.bounds[bound]) })
		return c.searches[i]
	}
	return found[stats.MedianIndex(rates(found, bound))]
}

// searchHeadlines returns one level per round: that at the capacity within the first bound,
// whose numbers were measured together.
func (c *facts) searchHeadlines() []repetition {
	var out []repetition
	for _, r := range c.searches {
		out = append(out, *r.at(r.bounds[0].OperationsPerSecond))
	}
	return out
}

// around returns the level above a capacity, if there is one, and the level at it.
func (r search) around(rate int64) []*repetition {
	if above := r.above(rate); above != nil {
		return []*repetition{above, r.at(rate)}
	}
	return []*repetition{r.at(rate)}
}

// limit names what limits the load at the capacity of a round within a bound.
func (c *facts) limit(r search, b runfile.LatencyBound, rate int64) (by, reason string) {
	levels := r.around(rate)
	for _, l := range []struct {
		name string
		seen func(*repetition) []string
	}{
		{LimitWire, fullWire},
		{LimitClientCPU, func(s *repetition) []string { return c.busyClient(s.ClientCPU) }},
		{LimitStorageCPU, busyStorage},
		{LimitQueue, func(s *repetition) []string { return c.fullQueue(r, s) }},
		{LimitClient, noisyFor(b)},
	} {
		for _, s := range levels {
			if seen := l.seen(s); len(seen) > 0 {
				return l.name, fmt.Sprintf("At %d operations/s %s.", s.Step.OperationsPerSecond, listed(seen))
			}
		}
	}
	used := "neither the links nor the CPUs that were sampled nor the I/Os outstanding were used up"
	if c.Plan.Database != nil {
		used = "neither the links nor the CPUs that were sampled were used up; whether the sessions were is not known"
	}
	return LimitStorage, fmt.Sprintf("At %d operations/s %s.", levels[0].Step.OperationsPerSecond, used)
}

func fullWire(s *repetition) []string {
	if !atLeastPermille(s.WirePermille, wireSaturated) {
		return nil
	}
	return []string{"the load was " + permilleText(s.WirePermille) + " of the wire limit"}
}

func busyStorage(s *repetition) []string {
	var seen []string
	for _, n := range s.StorageNodes {
		if bindsLoad(s.StorageNodes, n) {
			seen = append(seen, "the CPU of storage node "+n.Name+" was "+permilleText(n.CPUPermille)+" busy")
		}
	}
	return seen
}

// fullQueue reports that operations waited for a free I/O while the storage was as fast as at the
// lowest rate. Little's law gives the time of an I/O from its start: when the maximum is
// outstanding, it is that number divided by the rate.
func (c *facts) fullQueue(r search, s *repetition) []string {
	waiting, ops := int64(0), s.Total.Ops
	for _, p := range s.parts {
		waiting += p.rep.LateOps + p.rep.DroppedOps
		ops += p.rep.DroppedOps
	}
	lowest := r.at(0)
	ios, product := c.mostOutstanding(s.Clients)
	if l := lowest.Total.Latency; l == nil || s.Total.iopsSec <= 0 || ios == 0 || waiting*1000 <= ops*lateShare {
		return nil
	}
	idle := lowest.Total.Latency.MeanMicroseconds
	took := float64(ios) * 1e6 / s.Total.iopsSec
	if took*1000 > float64(max(idle, 1))*queueLatency {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d operations waited for one of the %d I/Os that may be outstanding "+
		"(%s), while each took %s, about as long as at %d operations/s", waiting, ops, ios, product, human.Latency(took),
		lowest.Step.OperationsPerSecond)}
}

// mostOutstanding returns the maximum number of outstanding I/Os in a search, and the factors of
// that product; 0 = unknown.
func (c *facts) mostOutstanding(clients int32) (ios int64, product string) {
	if s := c.Plan.Workload.SLOB; s != nil {
		if c.Plan.Database != nil || len(s.Ramp()) == 0 {
			return 0, "" // a database session does more than wait for reads
		}
		users := int64(s.Ramp()[0]) * int64(clients)
		if s.Access == bench.SLOBFullTableScan {
			return users * int64(max(s.ReadAhead, 1)), "users x readAhead"
		}
		return users, "users"
	}
	r := c.raw()
	return int64(r.Jobs) * int64(r.Depth) * int64(clients), "jobs x depth"
}

// curve returns one point per rate, ascending, over all rounds, with the knee: the last rate that achieves what was
// due before the first that does not. All or no rates that achieve it have no knee.
func (c *facts) curve() []CurvePoint {
	byRate := map[int64][]searchLevel{}
	for _, r := range c.searches {
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

// curvePoint adds up the levels of one rate: I/Os in both directions, or statements. It follows if it achieves
// what was due.
func (c *facts) curvePoint(group []searchLevel) (p CurvePoint, follows bool) {
	var read, write *Direction
	var total Direction
	due, n := 0.0, float64(len(group))
	for _, l := range group {
		due += l.due()
		if c.Plan.Database != nil {
			total = total.plus(l.statements())
		} else {
			read, write, total = joined(read, l.Read), joined(write, l.Write), total.plus(l.Total)
		}
	}
	for _, d := range []*Direction{read, write, &total} {
		if d != nil {
			d.bytesPerSec, d.iopsSec = d.bytesPerSec/n, d.iopsSec/n
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

// due returns the operations a second that were due. With random arrivals it differs a little from
// the requested rate.
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
	d.iopsSec = float64(d.Ops) / l.seconds()
	for _, r := range l.reports {
		d.histograms = append(d.histograms, r.Histogram)
	}
	return d
}

// checkCapacity reports a search that did not find the capacity, or not exactly.
func checkCapacity(c *facts, found *findings) {
	if c.capacity == nil {
		return
	}
	for _, b := range c.capacity.Bounds {
		c.checkBound(b, found)
	}
	if low, high, changed := c.contradiction(); changed {
		found.warn(NotSteady, "The storage did not keep %s at %d operations/s and kept it at %d: it changed while the "+
			"search was under way. Run again when it is quiet.", c.bounds[0], low, high)
	}
}

func (c *facts) checkBound(b BoundCapacity, found *findings) {
	name := b.Bound()
	switch {
	case b.Reached && b.uncertain():
		found.warn(CapacityUncertain, "The capacity within %s is %d operations/s, %s: this is too wide to compare.%s "+
			"Repeat the search (run.repetitions), let its levels be longer (run.durationSeconds), and look for others on "+
			"the storage.", name, b.OperationsPerSecond, b.interval(), b.ended())
	case b.Reached:
	case b.OperationsPerSecond == 0 && b.High == 0:
		found.warn(CapacityNotReached, "No rate that was tried surely keeps %s, and none surely breaks it: there were "+
			"too few operations to tell. Let the levels be longer (run.durationSeconds), or use a percentile that fewer "+
			"operations show.", name)
	case b.OperationsPerSecond == 0:
		found.warn(CapacityNotReached, "No rate that was tried keeps %s: the lowest was %d operations/s. Allow more "+
			"latency, or find what slows the storage when it is almost idle.", name, c.capacity.Curve[0].Offered)
	default:
		found.warn(CapacityNotReached, "The highest rate that was tried, %d operations/s, keeps %s: the capacity is not "+
			"below it, and may be above.%s Use more clients, or a bound of less latency.", b.OperationsPerSecond, name,
			b.ended())
	}
}

// uncertain reports that the search did not close in on the capacity, or that the interval is wide or open.
func (b BoundCapacity) uncertain() bool {
	wide := max(intervalWide*float64(b.OperationsPerSecond), leastWide)
	return b.open || b.Low == 0 || b.High == 0 || float64(b.High-b.Low) > wide
}

func (b BoundCapacity) interval() string {
	switch {
	case b.Low == 0 && b.High == 0:
		return "and no rate is sure on either side of it"
	case b.High == 0:
		return fmt.Sprintf("surely %d or more, and no rate surely breaks the bound", b.Low)
	case b.Low == 0:
		return fmt.Sprintf("surely less than %d, and no rate surely keeps the bound", b.High)
	default:
		return fmt.Sprintf("between %d and %d (%.0f %% of it)", b.Low, b.High,
			float64(b.High-b.Low)/float64(b.OperationsPerSecond)*100)
	}
}

func (b BoundCapacity) ended() string {
	if !b.last {
		return ""
	}
	return fmt.Sprintf(" The search ended after %d levels, as many as there may be.", runfile.MaxCapacityLevels)
}

// contradiction looks in one round for a rate that surely fails the first bound, and a much higher
// rate that surely keeps it. As in the search, the last level of each rate counts; it must be so
// long that a hiccup does not dominate it.
func (c *facts) contradiction() (low, high int64, ok bool) {
	for _, r := range c.searches {
		lowestBroken := int64(math.MaxInt64)
		for _, l := range r.byRate {
			if l.outcome == nil || l.seconds() < decidedSeconds {
				continue
			}
			switch holds, sure := capacity.Sure(c.bounds[0], l.asMeasured()); {
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

// shown returns the repetitions whose numbers are shown. The other levels of a search are short,
// and need no array counters.
func (c *facts) shown() []repetition {
	if c.capacity != nil {
		return c.headline
	}
	return c.repetitions
}

// searchSeconds returns the measured time of the shortest round, all of its levels together.
func (c *facts) searchSeconds() float64 {
	least := math.Inf(1)
	for _, r := range c.searches {
		sum := int64(0)
		for _, l := range r.levels {
			sum += l.DurationMilliseconds
		}
		least = min(least, float64(sum)/1000)
	}
	return least
}

// limitedBy returns the reason if the limit applies to the capacity within the first bound. The level above the
// capacity shows the limit; the summary describes the level at it.
func (c *facts) limitedBy(limit string) string {
	if c.capacity == nil || c.capacity.Bounds[0].LimitedBy != limit {
		return ""
	}
	return c.capacity.Bounds[0].LimitReason
}
