package slob

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/nanosleep"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Pace runs all sessions as an open loop: statements are due at a rate, any free session executes the next one, and
// its latency counts from its due time. Pace collects the numbers of a level for a search for capacity. Its methods
// are safe for concurrent use.
type Pace struct {
	now    func() time.Time
	nap    func(time.Duration) // more exact than a Go timer
	gap    float64             // mean interval in nanoseconds, less than one at high rates
	random *rand.Rand          // nil = equal intervals
	bounds []time.Duration

	mu       sync.Mutex
	base     time.Time     // the first due time; zero before the first session is ready
	next     float64       // due time of the next statement, in nanoseconds from base
	from, to time.Duration // the window; both are endOfTime before Window
	report   runfile.LevelReport
	latency  *stats.Histogram // latencies of statements that ended in the window
	behind   []time.Duration  // due times of statements that failed, or did not end in the window
	taken    []time.Duration  // due times of statements that sessions wait for or execute
}

// NewPace returns the pace of one level. The first statement is due when the first session asks for
// one, because logging in takes time.
func NewPace(c bench.Capacity, perSecond int64, seed uint64, now func() time.Time) *Pace {
	p := &Pace{
		now: now, nap: nanosleep.For, gap: float64(time.Second) / float64(max(perSecond, 1)), from: endOfTime, to: endOfTime,
		latency: stats.NewHistogram(),
	}
	if c.Arrivals != bench.ArrivalsFixed {
		p.random = rand.New(rand.NewPCG(seed, uint64(perSecond))) //nolint:gosec // distances, not secrets
	}
	for _, b := range runfile.Bounds(&c) {
		p.bounds = append(p.bounds, time.Duration(b.Microseconds)*time.Microsecond)
	}
	return p
}

const endOfTime = time.Duration(1<<63 - 1)

// Window begins the measured window of the given seconds.
func (p *Pace) Window(seconds int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.from = p.elapsed()
	p.to = p.from + time.Duration(seconds)*time.Second
	p.report.Due, p.report.Done = make([]int64, seconds), make([]int64, seconds)
	for range p.bounds {
		p.report.Slow = append(p.report.Slow, make([]int64, seconds))
	}
	for _, due := range p.taken {
		p.countDue(due)
	}
}

// countDue counts a statement if it is due in the window.
func (p *Pace) countDue(due time.Duration) {
	if due >= p.from && due < p.to {
		p.report.Due[p.second(due)]++
	}
}

// elapsed returns the time since the first statement was due.
func (p *Pace) elapsed() time.Duration {
	now := p.now()
	if p.base.IsZero() {
		p.base = now
	}
	return now.Sub(p.base)
}

// take returns the due time of the next statement, or false when the window is over.
func (p *Pace) take() (due time.Duration, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.elapsed() // starts the schedule
	due = time.Duration(p.next)
	if due >= p.to {
		return 0, false
	}
	distance := p.gap
	if p.random != nil {
		distance *= p.random.ExpFloat64()
	}
	p.next += distance
	p.countDue(due)
	p.taken = append(p.taken, due)
	return due, true
}

// second returns the second of the window that contains a time.
func (p *Pace) second(at time.Duration) int { return int((at - p.from) / time.Second) }

// wait waits until a statement is due, or returns an error when the load must end.
func (p *Pace) wait(ctx context.Context, due time.Duration) error {
	for {
		p.mu.Lock()
		left := due - p.elapsed()
		p.mu.Unlock()
		switch {
		case left <= 0:
			return nil
		case left <= nanosleep.Margin:
			p.nap(left)
		default:
			if err := runloop.Wait(ctx, left-nanosleep.Margin); err != nil {
				return err
			}
		}
	}
}

// ended counts a statement. A cancelled statement does not end in the window.
func (p *Pace) ended(due time.Duration, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.taken, due); i >= 0 {
		p.taken = slices.Delete(p.taken, i, i+1)
	}
	end := p.elapsed()
	switch {
	case end < p.from:
	case whole && end < p.to:
		at := p.second(end)
		p.report.Done[at]++
		p.latency.Record((end - due).Microseconds(), 1)
		for i, b := range p.bounds {
			if end-due > b {
				p.report.Slow[i][at]++
			}
		}
	default:
		p.behind = append(p.behind, due)
	}
}

// Report returns the result of the level after all sessions have ended. Statements that were due in the window but
// did not end in it are slow if they were due long enough before its end. Their latency counts until the end of the
// window: without them, the latencies would miss a standstill at the end. Statements that no session took count as if
// they were due at equal intervals. The window has at most the given number of parts.
func (p *Pace) Report(index int32, parts int) (*runfile.LevelReport, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := runfile.LevelReport{Index: index, Due: slices.Clone(p.report.Due), Done: p.report.Done}
	for s := range out.Due {
		from := p.from + time.Duration(s)*time.Second
		out.Due[s] += p.notTaken(from, from+time.Second)
	}
	inWindow := func(due time.Duration) bool { return due >= p.from && due < p.to }
	unended := slices.DeleteFunc(slices.Concat(p.behind, p.taken), func(due time.Duration) bool { return !inWindow(due) })
	for i, slow := range p.report.Slow {
		b, slow := p.bounds[i], slices.Clone(slow)
		slow[len(slow)-1] += p.notTaken(p.from, p.to-b)
		for _, due := range unended {
			if due < p.to-b {
				slow[len(slow)-1]++
			}
		}
		out.Slow = append(out.Slow, slow)
	}
	all := stats.NewHistogram()
	all.Merge(p.latency)
	for _, due := range unended {
		all.Record((p.to - due).Microseconds(), 1)
	}
	p.recordNotTaken(all)
	var err error
	if all.Count() > 0 {
		out.Histogram, err = all.Encode()
	}
	out = out.InParts(parts)
	return &out, err
}

// recordNotTaken records the statements that were due in the window but that no session took, in groups if there are
// very many.
func (p *Pace) recordNotTaken(to *stats.Histogram) {
	const most = 100_000 // records
	first, n := p.before(p.from), p.notTaken(p.from, p.to)
	group := n/most + 1
	for i := int64(0); i < n; i += group {
		due := time.Duration(p.next + (first+float64(i))*p.gap)
		to.Record((p.to - due).Microseconds(), min(group, n-i))
	}
}

// before counts the statements that were due before a time but that no session took.
func (p *Pace) before(t time.Duration) float64 { return max(0, math.Ceil((float64(t)-p.next)/p.gap)) }

// notTaken counts the statements that were due between two times but that no session took.
func (p *Pace) notTaken(from, to time.Duration) int64 {
	return int64(max(0, p.before(to)-p.before(from)))
}
