package capacity

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// server simulates a storage; times are in seconds. serve returns when an operation ends that
// arrives at a given time. It never ends before operations of earlier calls.
type server interface {
	serve(at float64, random *rand.Rand) (end float64)
}

// queue has one worker and serves in order of arrival.
type queue struct {
	service     float64 // mean
	exponential bool
	base        float64 // latency in addition to the queue
	free        float64 // when the worker is free
}

func (q *queue) serve(at float64, random *rand.Rand) float64 {
	service := q.service
	if q.exponential {
		service *= random.ExpFloat64()
	}
	q.free = max(q.free, at) + service
	return q.free + q.base
}

// bucket is a token bucket: an operation passes when there is a token.
type bucket struct {
	perSecond, burst float64
	base             float64
	tokens, last     float64
}

func (b *bucket) serve(at float64, _ *rand.Rand) float64 {
	b.tokens = min(b.tokens+(at-b.last)*b.perSecond, b.burst) - 1
	b.last = at
	return at + b.base + max(-b.tokens, 0)/b.perSecond
}

// noisy is a queue with occasional short stalls and random additional latency.
type noisy struct {
	queue
	stall, every float64
	next         float64
}

func (n *noisy) serve(at float64, random *rand.Rand) float64 {
	for n.next <= at {
		n.free = max(n.free, n.next) + n.stall
		n.next += n.every * random.ExpFloat64()
	}
	return n.queue.serve(at, random) + 2e-4*math.Exp(0.5*random.NormFloat64())
}

// hiccups is a queue with single operations that are slow at any rate, independently of the load.
type hiccups struct {
	queue
	share float64
}

func (h *hiccups) serve(at float64, random *rand.Rand) float64 {
	end := h.queue.serve(at, random)
	if random.Float64() < h.share {
		end += 0.03
	}
	return end
}

// measure simulates one level of one client.
func measure(s server, arrivals bench.Arrivals, bounds []runfile.LatencyBound, l runfile.CapacityLevel, random *rand.Rand,
) runfile.LevelReport {
	from, n := float64(l.WarmupSeconds), int(l.Seconds)
	to := from + float64(n)
	r := runfile.LevelReport{Index: l.Index, Due: make([]int64, n), Done: make([]int64, n)}
	for range bounds {
		r.Slow = append(r.Slow, make([]int64, n))
	}
	gap := 1 / float64(l.OperationsPerSecond)
	for at := 0.0; at < to; {
		end := s.serve(at, random)
		if at >= from {
			r.Due[int(at-from)]++
		}
		second := int(min(end, to) - from)
		if end >= from && end < to {
			r.Done[second]++
		}
		for b, bound := range bounds {
			switch latency := seconds(bound); {
			case end >= from && end < to && end-at > latency:
				r.Slow[b][second]++
			case end >= to && at >= from && to-at > latency:
				r.Slow[b][n-1]++
			}
		}
		if arrivals == bench.ArrivalsPoisson {
			at += gap * random.ExpFloat64()
		} else {
			at += gap
		}
	}
	return r
}

const longest = 60 // seconds per level

// scenario is a simulated server with the bounds to search.
type scenario struct {
	name     string
	server   func() server
	arrivals bench.Arrivals
	bounds   []runfile.LatencyBound
	want     []float64 // capacity of each bound, computed or from levels of 20,000 s
}

func p99(microseconds int64) []runfile.LatencyBound {
	return []runfile.LatencyBound{{Percentile: "p99", Microseconds: microseconds}}
}

func scenarios() []scenario {
	const poisson, fixed = bench.ArrivalsPoisson, bench.ArrivalsFixed
	mm1 := func(perSecond, bound float64) float64 { return perSecond - math.Log(100)/bound }
	return []scenario{
		{
			"M/M/1", func() server { return &queue{service: 1. / 2000, exponential: true} }, poisson, p99(10_000),
			[]float64{mm1(2000, 0.01)},
		},
		{
			"M/M/1, two bounds", func() server { return &queue{service: 1. / 2000, exponential: true} }, poisson,
			[]runfile.LatencyBound{{Percentile: "p50", Microseconds: 1000}, {Percentile: "p99", Microseconds: 20_000}},
			[]float64{2000 - math.Log(2)/0.001, mm1(2000, 0.02)},
		},
		{
			"a link", func() server { return &queue{service: 1. / 3000, base: 3e-4} }, fixed, p99(1000),
			[]float64{3000},
		},
		{"a link, random arrivals", func() server { return &queue{service: 1. / 3000, base: 3e-4} }, poisson, p99(2000), []float64{1702}},
		{
			"a token bucket", func() server { return &bucket{perSecond: 1500, burst: 150, base: 3e-4} }, fixed, p99(5000),
			[]float64{1500},
		},
		{"a token bucket, random arrivals", func() server { return &bucket{perSecond: 1500, burst: 20, base: 3e-4} }, poisson, p99(5000), []float64{1372}},
		{
			"noise", func() server {
				return &noisy{queue: queue{service: 1. / 2500, exponential: true}, stall: 0.004, every: 0.5}
			}, poisson, p99(10_000), []float64{1980},
		},
	}
}

// search runs one search on a simulated server.
func (s scenario) search(seed uint64) (levels []runfile.CapacityLevel, total int32) {
	random := rand.New(rand.NewPCG(seed, 1))
	p := Params{Bounds: s.bounds, Clients: 1, Rounds: 1, WarmupSeconds: 3, LongestSeconds: longest}
	levels = searched(p, func(l runfile.CapacityLevel) *runfile.CapacityOutcome {
		total += l.Seconds
		// The queue drains in the pause, as it does between real levels.
		return new(Merge(s.bounds, []runfile.LevelReport{measure(s.server(), s.arrivals, s.bounds, l, random)}))
	})
	return levels, total
}

const seeds = 40

func TestASearchFindsTheCapacityOfKnownServersInAFractionOfASweep(t *testing.T) {
	for _, s := range scenarios() {
		t.Run(s.name, func(t *testing.T) {
			within, covered, quick := 0, 0, 0
			for seed := range uint64(seeds) {
				levels, total := s.search(seed)
				right, contains := true, true
				for i, e := range Estimates(s.bounds, levels) {
					right = right && math.Abs(float64(e.OperationsPerSecond)/s.want[i]-1) <= 0.05
					contains = contains && float64(e.Low) <= s.want[i] && s.want[i] <= float64(e.High)
				}
				// 31 levels per bound, from half to 1.1 times the capacity.
				sweep := 31 * longest * int32(len(s.bounds))
				for _, count := range []struct {
					of *int
					ok bool
				}{{&within, right}, {&covered, contains}, {&quick, 5*total <= sweep}} {
					if count.ok {
						*count.of++
					}
				}
			}
			t.Logf("capacity %.0f: %d of %d within 5 %%, %d intervals contain it, %d within a fifth of a sweep", s.want, within,
				seeds, covered, quick)
			const enough = seeds * 95 / 100
			if within < enough || covered < enough || quick < enough {
				t.Errorf("want %d of each", enough)
			}
		})
	}
}

func TestSlowOperationsAtLowRatesDoNotEndASearchThere(t *testing.T) {
	const seeds = 50
	q := queue{service: 1. / 2500, exponential: true}
	for _, s := range []scenario{
		{
			"slow operations", func() server { return &hiccups{queue: q, share: 0.006} }, bench.ArrivalsPoisson,
			p99(10_000),
			[]float64{1934},
		},
		{
			"slow operations, p99.9", func() server { return &hiccups{queue: q, share: 0.0005} }, bench.ArrivalsPoisson,
			[]runfile.LatencyBound{{Percentile: "p999", Microseconds: 10_000}},
			[]float64{1714},
		},
		{
			"stalls", func() server { return &noisy{queue: q, stall: 0.06, every: 20} }, bench.ArrivalsPoisson,
			p99(10_000),
			[]float64{1787},
		},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(seeds) {
				levels, total := s.search(seed)
				e, times := Estimates(s.bounds, levels)[0], map[int64]int{}
				for _, l := range levels {
					if times[l.OperationsPerSecond]++; times[l.OperationsPerSecond] > 2 {
						t.Errorf("seed %d: %d operations a second are measured again and again", seed, l.OperationsPerSecond)
					}
				}
				if math.Abs(float64(e.OperationsPerSecond)/s.want[0]-1) > 0.2 {
					t.Errorf("seed %d: %+v after %d levels and %d s, want %.0f", seed, e, len(levels), total, s.want[0])
				}
			}
		})
	}
}
