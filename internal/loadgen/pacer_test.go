package loadgen

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestDue(t *testing.T) {
	cases := map[string]struct {
		reason string
		rate   int64
		k      uint64
		want   time.Duration
	}{
		"first":          {"the first I/O is due at the start", 100, 0, 0},
		"second":         {"one interval later", 100, 1, 10 * time.Millisecond},
		"odd rate":       {"no error adds up over whole seconds", 3, 3_000_001, 1_000_000*time.Second + 333333333},
		"fast":           {"faster than the clock's grain", 3_000_000_000, 4_500_000_000, 1500 * time.Millisecond},
		"far away":       {"no overflow, ever", 1, 1 << 62, 1<<63 - 1},
		"rate below one": {"a rate of nothing is one", 0, 2, 2 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := newPacer(tc.rate).due(tc.k); got != tc.want {
				t.Errorf("%s: due at %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}

func TestCountBeforeAndDueAgree(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		c := newPacer(1 + rnd.Int64N(2_000_000))
		at := time.Duration(rnd.Int64N(int64(100 * time.Hour)))
		k := c.countBefore(at)
		if c.due(k) < at {
			t.Fatalf("%+v: %d I/Os before %v, but the next is due at %v", c, k, at, c.due(k))
		}
		if k > 0 && c.due(k-1) >= at {
			t.Fatalf("%+v: %d I/Os before %v, but the last is due at %v", c, k, at, c.due(k-1))
		}
		if k > 0 && c.due(k-1) > c.due(k) {
			t.Fatalf("%+v: due times go back at %d", c, k)
		}
	}
}
