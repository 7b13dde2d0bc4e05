package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// autoregressive returns a stationary AR(1) series with mean 0 and deviation 1.
func autoregressive(r *rand.Rand, rho float64, n int) []float64 {
	values := make([]float64, n)
	x := r.NormFloat64()
	for i := range values {
		values[i] = x
		x = rho*x + math.Sqrt(1-rho*rho)*r.NormFloat64()
	}
	return values
}

// coverageGoal is the minimum share of simulated runs whose interval contains the true value.
const coverageGoal = 0.93

func TestTheIntervalOfAMeanCoversWithAutocorrelation(t *testing.T) {
	t.Parallel()
	const rounds = 1000
	for _, rho := range []float64{0, 0.3, 0.5, 0.7} {
		for _, n := range []int{15, 30, 60, 300} {
			r := rand.New(rand.NewPCG(uint64(n), uint64(10*rho)))
			covered, width := 0, 0.0
			for range rounds {
				in, ok := MeanInterval(autoregressive(r, rho, n))
				if !ok {
					t.Fatal("unknown")
				}
				width += in.High - in.Low
				if in.Low <= 0 && in.High >= 0 {
					covered++
				}
			}
			// The width if the process is known: 1.96 deviations of the mean on each side.
			ideal := 2 * 1.96 * math.Sqrt((1+rho)/(1-rho)/float64(n))
			share := float64(covered) / rounds
			t.Logf("rho %.1f, %3d values: %.1f %%, %.2f of the ideal width", rho, n, 100*share, width/rounds/ideal)
			if share < coverageGoal {
				t.Errorf("rho %.1f, %d values: covers %.1f %%", rho, n, 100*share)
			}
			if width/rounds > 3.5*ideal {
				t.Errorf("rho %.1f, %d values: %.1f times as wide as needed", rho, n, width/rounds/ideal)
			}
		}
	}
}

// wandering returns a run whose latency level varies. Each latency is log-normal; its logarithm has
// a deviation of 0.5 around the level, and the logarithm of the level is spread * AR(1). For each
// second it counts the operations above a threshold: as in a coarse histogram, the first power of
// 2^(1/16) above the 99th percentile.
func wandering(r *rand.Rand, rho, spread float64, seconds, perSecond int) (h *Histogram, over, of []float64) {
	latencies := make([][]int64, seconds)
	h = NewHistogram()
	for i, level := range autoregressive(r, rho, seconds) {
		for range perSecond {
			us := int64(1000 * math.Exp(spread*level+wanderingSigma*r.NormFloat64()))
			latencies[i] = append(latencies[i], us)
			h.Record(us, 1)
		}
	}
	threshold := int64(math.Exp2(math.Ceil(16*math.Log2(float64(h.Percentile(99)))) / 16))
	for _, second := range latencies {
		n := 0
		for _, us := range second {
			if us > threshold {
				n++
			}
		}
		over, of = append(over, float64(n)), append(of, float64(perSecond))
	}
	return h, over, of
}

const wanderingSigma = 0.5

func TestTheIntervalOfAPercentileCoversWithAutocorrelation(t *testing.T) {
	t.Parallel()
	const perSecond = 1000
	for _, c := range []struct{ spread, rho float64 }{{0, 0}, {0.1, 0.7}, {0.2, 0}, {0.2, 0.7}} {
		for seconds, rounds := range map[int]int{15: 200, 30: 150, 60: 80, 300: 30} {
			t.Run(fmt.Sprintf("spread %.1f rho %.1f seconds %d", c.spread, c.rho, seconds), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(seconds), uint64(10*c.rho+100*c.spread)))
				truth := 1000 * math.Exp(NormalQuantile(0.99)*math.Hypot(wanderingSigma, c.spread))
				covered, low, high := 0, 0.0, 0.0
				for range rounds {
					h, over, of := wandering(r, c.rho, c.spread, seconds, perSecond)
					in, ok := h.PercentileInterval(99, over, of)
					if !ok {
						t.Fatal("unknown")
					}
					low, high = low+in.Low/truth, high+in.High/truth
					if in.Low <= truth && in.High >= truth {
						covered++
					}
				}
				n := float64(rounds)
				t.Logf("covers %.1f %%, from %.2f to %.2f of the truth", 100*float64(covered)/n, low/n, high/n)
				if float64(covered)/n < coverageGoal {
					t.Errorf("covers %.1f %%", 100*float64(covered)/n)
				}
			})
		}
	}
}

func TestARatioIntervalIsNeverEmpty(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		over, of []float64
		ok       bool
	}{
		"no events":            {make([]float64, 30), repeat(100, 30), true},
		"one part":             {[]float64{3}, []float64{300}, true},
		"all parts alike":      {repeat(1, 30), repeat(100, 30), true},
		"all events":           {repeat(100, 30), repeat(100, 30), true},
		"no trials":            {make([]float64, 30), make([]float64, 30), false},
		"nothing":              {nil, nil, false},
		"lists of two lengths": {repeat(1, 9), repeat(10, 10), false},
		"more than all":        {repeat(11, 10), repeat(10, 10), false},
		"not a number":         {[]float64{math.NaN()}, []float64{1}, false},
	} {
		in, ok := RatioInterval(c.over, c.of)
		if ok != c.ok || ok && !(in.Low < in.High && in.Low >= 0 && in.High <= 1) {
			t.Errorf("%s: %+v, %v", name, in, ok)
		}
	}
	if in, _ := RatioInterval(make([]float64, 30), repeat(100, 30)); in.High < 3.0/3000 || in.High > 4.0/3000 {
		t.Errorf("no event in 3000 trials: at most %.5f, want about the rule of three", in.High)
	}
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}
