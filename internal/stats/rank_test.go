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

func TestTheNormalApproximationBeginsWhereItIsGoodEnough(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	worst := 0.0
	for range 60 {
		a, b := drawn(r, ExactLimit+1, 12), drawn(r, ExactLimit+1, 12)
		for i := range a {
			a[i] += float64(r.IntN(4))
		}
		u, ties := rankSum(a, b)
		less, more := tiedTails(u, len(a), ties)
		got, _ := MannWhitney(a, b)
		worst = max(worst, math.Abs(got-min(1, 2*min(less, more))))
	}
	if worst == 0 || worst > 0.005 {
		t.Errorf("p is up to %v away from the exact one", worst)
	}
	t.Logf("p is up to %.4f away from the exact one", worst)
}

func TestFiftyValuesWithTiesTakeNoTime(t *testing.T) {
	t.Parallel()
	a, b := make([]float64, 50), make([]float64, 50)
	for i := range a {
		a[i], b[i] = float64(i/2), float64(i/2+10)
	}
	if p, ok := MannWhitney(a, b); !ok || p > 0.01 || p <= 0 {
		t.Errorf("p = %v %v", p, ok)
	}
	s, ok := HodgesLehmann(a, b, 0.95)
	if !ok || s.Estimate != 10 || s.Interval == nil || s.Interval.Low >= 10 || s.Interval.High <= 10 {
		t.Errorf("shift = %+v", s)
	}
}

func TestSamplesThatSayNothing(t *testing.T) {
	t.Parallel()
	if _, ok := MannWhitney(nil, []float64{1}); ok {
		t.Error("p of nothing is known")
	}
	if p, ok := MannWhitney([]float64{5, 5, 5}, []float64{5, 5}); !ok || p != 1 {
		t.Errorf("p of equal values = %v %v, want 1", p, ok)
	}
	if _, ok := HodgesLehmann([]float64{1}, nil, 0.95); ok {
		t.Error("the shift of nothing is known")
	}
	if s, ok := HodgesLehmann([]float64{1, 2, 3}, []float64{4, 5, 6}, 0.95); !ok || s.Estimate != 3 || s.Interval != nil {
		t.Errorf("three values have no 95 %% interval: %+v", s)
	}
	if _, ok := StandardDeviation([]float64{3}); ok {
		t.Error("one value has no deviation")
	}
	if got, ok := StandardDeviation([]float64{2, 4, 4, 4, 5, 5, 7, 9}); !ok || math.Abs(got-math.Sqrt(32.0/7)) > 1e-12 {
		t.Errorf("deviation = %v, want that of the sample", got)
	}
}

// A shift is in the interval when the test does not reject it, and not when it does.
func TestTheIntervalOfTheShiftIsThatOfTheTest(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for _, sizes := range [][2]int{{4, 4}, {5, 7}, {8, 8}, {10, 6}} {
		a, b := make([]float64, sizes[0]), make([]float64, sizes[1])
		for i := range a {
			a[i] = r.NormFloat64()
		}
		for i := range b {
			b[i] = r.NormFloat64()
		}
		s, ok := HodgesLehmann(a, b, 0.95)
		if !ok || s.Interval == nil {
			t.Fatalf("n = %v: no interval", sizes)
		}
		p := func(shift float64) float64 {
			moved := make([]float64, len(b))
			for i := range b {
				moved[i] = b[i] - shift
			}
			v, _ := MannWhitney(a, moved)
			return v
		}
		const step = 1e-9
		if p(s.Interval.Low+step) <= 0.05 || p(s.Interval.Low-step) > 0.05 || p(s.Interval.High-step) <= 0.05 || p(s.Interval.High+step) > 0.05 {
			t.Errorf("n = %v: p just inside and outside of %+v: %v %v, %v %v", sizes, s.Interval, p(s.Interval.Low+step), p(s.Interval.Low-step), p(s.Interval.High-step), p(s.Interval.High+step))
		}
	}
}
