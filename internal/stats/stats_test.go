package stats

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/test/kit/memory"
)

func TestMergedPercentilesAreThoseOfTheUnion(t *testing.T) {
	t.Parallel()
	same := func(seed uint64, na, nb uint16) bool {
		r := rand.New(rand.NewPCG(seed, 1))
		a, b, union := NewHistogram(), NewHistogram(), NewHistogram()
		for i := range int(na) + int(nb) + 1 {
			us := int64(math.Exp(r.Float64() * 20)) // 1 µs .. 8 min
			union.Record(us, 1)
			if i < int(na) {
				a.Record(us, 1)
			} else {
				b.Record(us, 1)
			}
		}
		a.Merge(b)
		return cmp.Equal(a.Latency(), union.Latency())
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 60}); err != nil {
		t.Error(err)
	}
}

func TestPercentilesAreWithinATenthOfAPercentOfTheExactOnes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	h := NewHistogram()
	values := make([]int64, 20000)
	for i := range values {
		values[i] = int64(100 + math.Exp(r.Float64()*15))
		h.Record(values[i], 1)
	}
	slices.Sort(values)
	for _, p := range []float64{50, 95, 99, 99.9} {
		exact := float64(values[int(math.Ceil(p/100*float64(len(values))))-1])
		if got := float64(h.Percentile(p)); math.Abs(got-exact)/exact > 0.001 {
			t.Errorf("p%v = %v, exact %v", p, got, exact)
		}
	}
}

func TestAMergeIsNotAnAverageOfPercentiles(t *testing.T) {
	t.Parallel()
	fast, slow := NewHistogram(), NewHistogram()
	for range 9900 {
		fast.Record(100, 1)
	}
	for range 100 {
		slow.Record(100000, 1)
	}
	fast.Merge(slow)
	if got := fast.Latency(); got.P50Microseconds != 100 || got.P99Microseconds != 100 || got.P999Microseconds < 99900 {
		t.Errorf("merged latency = %+v; an average of percentiles would say 50050 for all", got)
	}
}

func TestEncodingKeepsEverything(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	for us := int64(1); us < 1e9; us *= 3 {
		h.Record(us, 1)
	}
	h.Record(-1e6, 1)
	enc, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := MergeEncoded("", enc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(h.Latency(), got.Latency()); diff != "" {
		t.Error(diff)
	}
	if got.Count() != 20 {
		t.Errorf("count = %d; latencies outside the range must be kept at its ends", got.Count())
	}
}

func TestDecodeRefusesWhatIsNotOurs(t *testing.T) {
	t.Parallel()
	cases := map[string]string{
		"not base64":             "%%%",
		"truncated":              "HISTFAAA",
		"another range":          otherGeometry(t, 1000, significantDigits),
		"another precision":      otherGeometry(t, HighestMicroseconds, 2),
		"a cookie of other data": "AAAAAAAAAAAAAAAA",
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := DecodeHistogram(in); err == nil {
				t.Error("no error")
			}
		})
	}
}

func TestRecordingDoesNotAllocate(t *testing.T) {
	h := NewHistogram()
	if n := testing.AllocsPerRun(100, func() { h.Record(3000, 1) }); n != 0 {
		t.Errorf("%v allocations per record", n)
	}
}

func TestTimeOfSlowOperations(t *testing.T) {
	t.Parallel()
	h := NewHistogram()
	if got := h.TimeAbove(0); got != 0 {
		t.Errorf("share of no time = %v", got)
	}
	for range 90 {
		h.Record(100, 1)
	}
	h.Record(1000, 1)
	for above, want := range map[int64]float64{99: 1, 100: 0.1, 999: 0.1, 1000: 0} {
		if got := h.TimeAbove(above); math.Abs(got-want) > 0.001 {
			t.Errorf("above %d us: %v, want %v", above, got, want)
		}
	}
}

func TestAnEmptyHistogramHasNoLatency(t *testing.T) {
	t.Parallel()
	if got := NewHistogram().Latency(); got != nil {
		t.Errorf("latency of nothing = %+v, want nil: unknown is not zero", got)
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	if got := Median([]float64{5, 1, 3}); got != 3 {
		t.Errorf("odd median = %v", got)
	}
	if got := Median([]float64{4, 1, 3, 2}); got != 2.5 {
		t.Errorf("even median = %v", got)
	}
	if got := MedianIndex([]float64{40, 10, 30, 20}); got != 3 {
		t.Errorf("lower median index = %v, want 3 (the value 20)", got)
	}
	if got := MedianIndex(nil); got != -1 {
		t.Errorf("median index of nothing = %v", got)
	}
	cv, ok := CoefficientOfVariation([]float64{9, 10, 11})
	if !ok || math.Abs(cv-0.1) > 1e-12 {
		t.Errorf("cv = %v %v, want 0.1", cv, ok)
	}
	if _, ok := CoefficientOfVariation([]float64{9}); ok {
		t.Error("one value has no variation")
	}
}

func TestSteady(t *testing.T) {
	t.Parallel()
	limits := SteadyLimits{MaxDeviation: 0.1, MaxDrift: 0.1, MaxStep: 0.1}
	series := func(n int, f func(i int) float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = f(i)
		}
		return v
	}
	stepped := func(i, from int, to float64) float64 {
		if i >= from {
			return to
		}
		return 100
	}
	cases := map[string]struct {
		reason        string
		values        []float64
		known, steady bool
	}{
		"Flat":       {"a flat series is steady", series(60, func(int) float64 { return 100 }), true, true},
		"Jitter":     {"single seconds may jitter by 20 %", series(60, func(i int) float64 { return 100 + 20*float64(i%2*2-1) }), true, true},
		"SlowDrift":  {"12 % from beginning to end is caught by the slope alone", series(120, func(i int) float64 { return 94 + 12*float64(i)/119 }), true, false},
		"Dip":        {"ten dead seconds in the middle leave the slope flat", series(60, func(i int) float64 { return map[bool]float64{true: 50, false: 100}[i >= 25 && i < 35] }), true, false},
		"Step":       {"12 % more from a late sample on, which no window and no slope shows", series(60, func(i int) float64 { return stepped(i, 50, 112) + 2*float64(i%2*2-1) }), true, false},
		"SmallStep":  {"8 % is less than the limit", series(60, func(i int) float64 { return stepped(i, 50, 108) + 2*float64(i%2*2-1) }), true, true},
		"NoisyStep":  {"12 % more does not stand out from noise of 10 %", series(60, func(i int) float64 { return stepped(i, 55, 112) + 10*float64(i%2*2-1) }), true, true},
		"TooFew":     {"nothing can be said of nine samples", series(9, func(int) float64 { return 100 }), false, false},
		"NothingRan": {"a series of zeros has no mean to compare with", series(60, func(int) float64 { return 0 }), false, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Steady(c.values, limits); got.Known != c.known || got.Steady != c.steady {
				t.Errorf("%s: %+v", c.reason, got)
			}
		})
	}
}

func TestSteadyTellsTheStep(t *testing.T) {
	t.Parallel()
	values := make([]float64, 40)
	for i := range values {
		if values[i] = 90; i < 20 {
			values[i] = 110
		}
	}
	if got := Steady(values, SteadyLimits{MaxDeviation: 1, MaxDrift: 1, MaxStep: 0.1}); math.Abs(got.Step+0.2) > 1e-9 || got.Steady {
		t.Errorf("from 110 to 90: %+v", got)
	}
}

func TestMergeSeriesKeepsThePhaseOfEachClient(t *testing.T) {
	t.Parallel()
	t0 := time.Date(2026, 1, 1, 0, 0, 1, 0, time.UTC)
	at := func(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }
	a := []Sample{{Time: at(0), ReadBytes: 10, Ops: 1, LatencySumMicroseconds: 100}, {Time: at(1001), ReadBytes: 10, Ops: 1}, {Time: at(3000), ReadBytes: 10, Ops: 1}}
	b := []Sample{{Time: at(499), ReadBytes: 5, Ops: 3, LatencySumMicroseconds: 900}, {Time: at(1501), WriteBytes: 5}, {Time: at(2499)}}
	got := MergeSeries([][]Sample{a, b, nil}, time.Second)
	want := []Point{
		{ReadBytesPerSecond: 15, OpsPerSecond: 4, MeanMicroseconds: 250, Clients: 2},
		{ReadBytesPerSecond: 10, WriteBytesPerSecond: 5, OpsPerSecond: 1, Clients: 2},
		{Clients: 1},
		{ReadBytesPerSecond: 10, OpsPerSecond: 1, Clients: 1},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Point{})); diff != "" {
		t.Error(diff)
	}
}

func TestMergeSeriesBoundsWhatAWrongClockAllocates(t *testing.T) {
	t.Parallel()
	far := []Sample{{Time: time.Unix(0, 0)}, {Time: time.Unix(7*24*3600, 0)}, {Time: time.Unix(1<<40, 0)}}
	if n := len(MergeSeries([][]Sample{far}, time.Second)); n != 1 {
		t.Errorf("%d points", n)
	}
}

// TestAHistogramOfAnotherGeometryIsNotUnpacked: 68 KB of text made the
// manager allocate 263 MB, and a result may hold a hundred such histograms.
func TestAHistogramOfAnotherGeometryIsNotUnpacked(t *testing.T) {
	const payload = 50 << 20
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	_ = binary.Write(z, binary.BigEndian, []int32{0x1c849303, payload, 0, 5})
	_ = binary.Write(z, binary.BigEndian, []int64{1, math.MaxInt64})
	_ = binary.Write(z, binary.BigEndian, math.Float64bits(1))
	_, _ = z.Write(bytes.Repeat([]byte{2}, payload))
	_ = z.Close()
	outer := binary.BigEndian.AppendUint32(nil, 0x1c849304)
	outer = binary.BigEndian.AppendUint32(outer, uint32(packed.Len()))
	text := base64.StdEncoding.EncodeToString(append(outer, packed.Bytes()...))
	memory.Bound(t, 1<<20, func() {
		if _, err := DecodeHistogram(text); err == nil || !strings.Contains(err.Error(), "with 5 digits") {
			t.Error(err)
		}
	})
}

func FuzzDecodeHistogram(f *testing.F) {
	h := NewHistogram()
	h.Record(5, 1)
	enc, err := h.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(enc)
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		memory.Bound(t, 2<<20+8*len(s), func() {
			if h, err := DecodeHistogram(s); err == nil {
				h.Latency()
			}
		})
	})
}
