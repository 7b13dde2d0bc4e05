package loadgen

import (
	"math"
	"math/rand/v2"
	"slices"
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
	gaps := poisson(rnd)
	for range 200_000 {
		c := newPacer(1 + rnd.Int64N(2_000_000))
		if rnd.IntN(4) == 0 {
			c.gaps, c.seed = gaps, rnd.Uint64()
		}
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

func poissonPacer(rate int64) pacer {
	a := arrivals{gaps: poisson(rand.New(rand.NewPCG(3, 4))), seed: 7, clients: 1}
	return *a.pacer(rate)
}

func TestRandomArrivalsAreExponentialAndExactInTheMean(t *testing.T) {
	c := poissonPacer(1000)
	const n = 3 * cycle
	var longer [6]float64 // than 0, 1, 2... times the mean distance
	sum, squares := 0.0, 0.0
	for k := range uint64(n) {
		gap := (c.due(k+1) - c.due(k)).Seconds() * 1000
		if gap < 0 {
			t.Fatalf("I/O %d is due before the one before", k+1)
		}
		sum, squares = sum+gap, squares+gap*gap
		for i := range longer {
			if gap > float64(i) {
				longer[i] += 1. / n
			}
		}
	}
	if got := c.due(n); got != n*time.Millisecond {
		t.Errorf("I/O %d is due at %v, want %v", n, got, n*time.Millisecond)
	}
	for i, got := range longer {
		if want := math.Exp(-float64(i)); math.Abs(got-want) > 0.005 {
			t.Errorf("%.4f of the distances are longer than %d means, want %.4f", got, i, want)
		}
	}
	if deviation := math.Sqrt(squares/n - 1); math.Abs(deviation-1) > 0.02 {
		t.Errorf("the deviation of the distances is %.3f of their mean %.3f, want both 1", deviation, sum/n)
	}
}

func TestLevelsAndCyclesBeginAtDifferentGaps(t *testing.T) {
	a := arrivals{gaps: poisson(rand.New(rand.NewPCG(3, 4))), seed: 7, clients: 1}
	one, two := a.pacer(1000), a.pacer(1000)
	cycleAt := time.Duration(cycle) * time.Millisecond
	if one.due(1) == two.due(1) || one.due(1) == one.due(cycle+1)-cycleAt {
		t.Errorf("the second I/O is due after %v, %v and %v", one.due(1), two.due(1), one.due(cycle+1)-cycleAt)
	}
}

func TestClientsShareARateToTheLastOperation(t *testing.T) {
	for _, rate := range []int64{7, 64, 1001} {
		sum := uint64(0)
		for client := range int64(7) {
			a := arrivals{clients: 7, client: client}
			sum += a.pacer(rate).perSecond
		}
		if sum != uint64(rate) {
			t.Errorf("7 clients make %d of %d operations a second", sum, rate)
		}
	}
}

func TestClientsTakeTurnsAtEvenDistances(t *testing.T) {
	var due []time.Duration
	for client := range int64(5) {
		a := arrivals{clients: 5, client: client}
		p := a.pacer(100)
		for k := range uint64(20) {
			due = append(due, p.due(k))
			if got := p.countBefore(p.due(k)); got != k {
				t.Errorf("client %d: %d I/Os before number %d", client, got, k)
			}
		}
	}
	slices.Sort(due)
	for i, at := range due {
		if want := time.Duration(i) * 10 * time.Millisecond; at != want {
			t.Fatalf("I/O %d of all clients is due after %v, want %v", i, at, want)
		}
	}
}
