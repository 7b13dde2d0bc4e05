package loadgen

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runloop"
)

// storage is a closed loop over servers that each take so long for one read:
// what waits for a free one is served in turn.
type storage struct {
	servers int32
	service time.Duration
	noise   float64 // relative
	random  *rand.Rand
}

func (s *storage) carry(reads int32) runloop.Outcome {
	mean := time.Duration(float64(s.service) * max(1, float64(reads)/float64(s.servers)))
	if s.noise > 0 {
		mean = time.Duration(float64(mean) * (1 + s.noise*(2*s.random.Float64()-1)))
	}
	return runloop.Outcome{PerSecond: float64(reads) / mean.Seconds(), Mean: mean}
}

// best is what storage without noise carries within a latency.
func (s *storage) best(limit time.Duration, ceiling int32) (most float64) {
	quiet := storage{servers: s.servers, service: s.service}
	for n := range ceiling {
		if o := quiet.carry(n + 1); o.Mean <= limit {
			most = max(most, o.PerSecond)
		}
	}
	return most
}

// climbOn follows a ladder to its end, and checks the length that it announces.
func climbOn(t *testing.T, l *ladder, carry func(int32) runloop.Outcome) (tried []int32, best float64) {
	t.Helper()
	before := 1 << 30
	for {
		n, more := l.next()
		if !more {
			return tried, best
		}
		if len(tried) > 40 {
			t.Fatalf("no end after %v", tried)
		}
		if n < 1 || n > l.ceiling {
			t.Fatalf("level %d is not within 1 and %d", n, l.ceiling)
		}
		repeated := len(tried) > 0 && tried[len(tried)-1] == n
		if left := l.left(); left >= before && !repeated {
			t.Errorf("at level %d after %v as many may follow as before, %d", n, tried, left)
		}
		before = l.left()
		tried = append(tried, n)
		o := carry(n)
		if l.limit == 0 || o.Mean <= l.limit {
			best = max(best, o.PerSecond)
		}
		l.note(o)
	}
}

func TestTheLadderGoesAsFarAsItHelps(t *testing.T) {
	const ms = time.Millisecond
	cases := map[string]struct {
		reason  string
		storage storage
		ladder  ladder
		want    []int32
	}{
		"saturated": {
			"two doublings that bring nothing are enough",
			storage{servers: 8, service: ms},
			ladder{limit: 20 * ms, ceiling: 1024},
			[]int32{1, 2, 4, 8, 16, 32},
		},
		"too slow": {
			"an eighth of a doubling below the limit is near enough; 133 are within it",
			storage{servers: 100, service: 15 * ms},
			ladder{limit: 20 * ms, ceiling: 1024},
			[]int32{1, 2, 4, 8, 16, 32, 64, 128, 256, 192, 160, 144},
		},
		"narrowed from below": {
			"what lies between is searched upwards too; 176 are within the limit",
			storage{servers: 100, service: 15 * ms},
			ladder{limit: 26400 * time.Microsecond, ceiling: 1024},
			[]int32{1, 2, 4, 8, 16, 32, 64, 128, 256, 192, 160, 176},
		},
		"few": {
			"there is nothing between 2 and 3",
			storage{servers: 2, service: 15 * ms},
			ladder{limit: 20 * ms, ceiling: 64},
			[]int32{1, 2, 4, 3},
		},
		"ceiling": {
			"the disks that there are set the end",
			storage{servers: 1000, service: ms},
			ladder{limit: 20 * ms, ceiling: 48},
			[]int32{1, 2, 4, 8, 16, 32, 48},
		},
		"one":      {"a ladder of one level", storage{servers: 1, service: ms}, ladder{limit: 20 * ms, ceiling: 1}, []int32{1}},
		"hopeless": {"the first level is beyond the limit", storage{servers: 9, service: 30 * ms}, ladder{limit: 20 * ms, ceiling: 1024}, []int32{1}},
		"no limit": {
			"only growth counts", storage{servers: 4, service: 50 * ms}, ladder{ceiling: 128}, []int32{1, 2, 4, 8, 16},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tried, _ := climbOn(t, &tc.ladder, tc.storage.carry)
			if diff := cmp.Diff(tc.want, tried); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestTheLadderFindsTheLimitDespiteNoise(t *testing.T) {
	const limit, ceiling = 20 * time.Millisecond, 1024
	for _, service := range []time.Duration{200 * time.Microsecond, 3 * time.Millisecond, 12 * time.Millisecond} {
		for _, servers := range []int32{1, 7, 50, 300} {
			for seed := range uint64(50) {
				s := storage{servers: servers, service: service, noise: 0.05, random: rand.New(rand.NewPCG(seed, 1))}
				_, got := climbOn(t, &ladder{limit: limit, ceiling: ceiling}, s.carry)
				if want := s.best(limit, ceiling); got < 0.88*want || got > 1.06*want {
					t.Errorf("%d servers of %v, seed %d: found %.0f IOPS of %.0f", servers, service, seed, got, want)
				}
			}
		}
	}
}

func TestOneHiccupIsNoLimit(t *testing.T) {
	const ms = time.Millisecond
	s := storage{servers: 8, service: ms}
	hiccups := func(at ...int32) func(int32) runloop.Outcome {
		return func(n int32) runloop.Outcome {
			if len(at) > 0 && n == at[0] {
				at = at[1:]
				return runloop.Outcome{PerSecond: 100, Mean: 90 * ms}
			}
			return s.carry(n)
		}
	}
	once, _ := climbOn(t, &ladder{limit: 20 * ms, ceiling: 64}, hiccups(4))
	if diff := cmp.Diff([]int32{1, 2, 4, 4, 8, 16, 32}, once); diff != "" {
		t.Errorf("one hiccup (-want +got):\n%s", diff)
	}
	both, _ := climbOn(t, &ladder{limit: 20 * ms, ceiling: 64}, hiccups(4, 16))
	if diff := cmp.Diff([]int32{1, 2, 4, 4, 8, 16, 16, 32}, both); diff != "" {
		t.Errorf("one at each of two levels (-want +got):\n%s", diff)
	}
	twice, _ := climbOn(t, &ladder{limit: 20 * ms, ceiling: 64}, hiccups(4, 4))
	if diff := cmp.Diff([]int32{1, 2, 4, 4, 3}, twice); diff != "" {
		t.Errorf("what is slow twice is slow (-want +got):\n%s", diff)
	}
}

func TestOneDoublingThatFallsShortIsNotTheEnd(t *testing.T) {
	s := storage{servers: 64, service: time.Millisecond}
	tried, _ := climbOn(t, &ladder{ceiling: 128}, func(n int32) runloop.Outcome {
		o := s.carry(n)
		if n == 16 {
			o.PerSecond /= 4
		}
		return o
	})
	if diff := cmp.Diff([]int32{1, 2, 4, 8, 16, 32, 64, 128}, tried); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
