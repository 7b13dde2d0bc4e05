package stats

import (
	"math/rand/v2"
	"testing"
)

func TestTheDetectableEffectIsFoundFourTimesOutOfFive(t *testing.T) {
	t.Parallel()
	const rounds = 1500
	for n, bounds := range map[int][2]float64{4: {0.65, 0.9}, 6: {0.74, 0.86}, 8: {0.75, 0.85}, 16: {0.75, 0.85}} {
		effect, ok := Detectable(n, 2, 0.05)
		if !ok {
			t.Fatalf("n = %d: not known", n)
		}
		r := rand.New(rand.NewPCG(uint64(n), 1))
		found := 0
		for range rounds {
			a, b := make([]float64, n), make([]float64, n)
			for i := range a {
				a[i], b[i] = 2*r.NormFloat64(), effect+2*r.NormFloat64()
			}
			if p, _ := MannWhitney(a, b); p < 0.05 {
				found++
			}
		}
		share := float64(found) / rounds
		t.Logf("n = %d: %.2f deviations are found in %.1f %%", n, effect/2, 100*share)
		if share < bounds[0] || share > bounds[1] {
			t.Errorf("n = %d: found in %.1f %%", n, 100*share)
		}
	}
	if _, ok := Detectable(3, 1, 0.1); ok {
		t.Error("three values cannot show anything at 0.1")
	}
}
