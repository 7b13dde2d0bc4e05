package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	moremath "github.com/aclements/go-moremath/stats"
)

// enumerated is p of the Mann-Whitney test by its definition: U of every choice of
// len(a) of all values, and how many lie as far out, on the side of the smaller
// tail, twice.
func enumerated(a, b []float64) float64 {
	all := append(append([]float64{}, a...), b...)
	u := func(chosen uint) float64 {
		sum := 0.0
		for i, x := range all {
			for j, y := range all {
				switch {
				case chosen>>i&1 == 0 || chosen>>j&1 == 1:
				case x > y:
					sum++
				case x == y:
					sum += 0.5
				}
			}
		}
		return sum
	}
	observed := u(1<<len(a) - 1)
	less, more, total := 0.0, 0.0, 0.0
	for chosen := range uint(1) << len(all) {
		if bits.OnesCount(chosen) != len(a) {
			continue
		}
		total++
		if v := u(chosen); v <= observed {
			less++
			if v == observed {
				more++
			}
		} else {
			more++
		}
	}
	return min(1, 2*min(less, more)/total)
}

func TestMannWhitneyIsExactWithTiesAndSidesOfAnySize(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	wrong := 0 // of the library's own test, where sides differ and there are ties
	for range 1500 {
		a, b := drawn(r, 1+r.IntN(5), 2+r.IntN(8)), drawn(r, 1+r.IntN(5), 2+r.IntN(8))
		want := enumerated(a, b)
		got, ok := MannWhitney(a, b)
		if !ok || math.Abs(got-want) > 1e-12 {
			t.Fatalf("p of %v and %v = %v %v, enumerated %v", a, b, got, ok, want)
		}
		if theirs, err := moremath.MannWhitneyUTest(a, b, moremath.LocationDiffers); err == nil && math.Abs(theirs.P-want) > 1e-9 {
			wrong++
			if len(a) == len(b) {
				t.Errorf("the library is wrong for sides of the same size, too: %v and %v", a, b)
			}
		}
	}
	// When this fails, the library was corrected, and its test can be used.
	if wrong == 0 {
		t.Error("the library's own test is right: use it")
	}
}

// drawn are n small whole numbers: they tie often.
func drawn(r *rand.Rand, n, of int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(r.IntN(of))
	}
	return v
}
