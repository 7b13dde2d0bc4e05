package score

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// rate is a sample of 1 s that moved so many MB.
func rate(contender string, repeat int, megabytes int64) Sample {
	return Sample{Row: "r", Contender: contender, Repeat: repeat, State: StateDone, Seconds: 1, Bytes: megabytes * 1e6}
}

func TestARatioIsTakenWithinEachRepeat(t *testing.T) {
	// The machine was twice as slow in the second repeat. Of the medians the
	// ratio would be another one.
	d := Document{Samples: []Sample{
		rate("ours", 1, 400), rate("theirs", 1, 200),
		rate("ours", 2, 200), rate("theirs", 2, 100),
		rate("theirs", 3, 150), rate("ours", 3, 150),
	}}
	got, ok := d.Ratio(Row{Name: "r", Unit: UnitBytes}, "ours", "theirs", MetricRate)
	if !ok {
		t.Fatal("no ratio")
	}
	want := Spread{Median: 2, Min: 1, Max: 2, Repeats: 3}
	if diff := cmp.Diff(want, Spread{Median: got.Median, Min: got.Min, Max: got.Max, Repeats: got.Repeats}); diff != "" {
		t.Errorf("ratio (-want +got):\n%s", diff)
	}
	if cv := 0.3464; got.CV == nil || math.Abs(*got.CV-cv) > 0.001 {
		t.Errorf("CV = %v, want %v", got.CV, cv)
	}
}

func TestRepeatsWithOneSideOnlyGiveNoRatio(t *testing.T) {
	hung := Sample{Row: "r", Contender: "theirs", Repeat: 2, State: StateHangs, Seconds: 1, Bytes: 1}
	d := Document{Samples: []Sample{rate("ours", 1, 3), rate("theirs", 1, 1), rate("ours", 2, 7), hung, rate("ours", 3, 9)}}
	row := Row{Name: "r", Unit: UnitBytes}
	got, ok := d.Ratio(row, "ours", "theirs", MetricRate)
	if !ok || got.Repeats != 1 || got.Median != 3 {
		t.Errorf("ratio %+v %v, want that of the first repeat alone", got, ok)
	}
	if got.CV != nil {
		t.Errorf("one repeat has a variation of %v", *got.CV)
	}
	theirs, ok := d.Of(row, "theirs", MetricRate)
	if !ok || theirs.Failures != 1 || theirs.Repeats != 1 {
		t.Errorf("their rate %+v %v, want one repeat and one failure", theirs, ok)
	}
}

func TestMetricsHaveTheUnitOfTheRow(t *testing.T) {
	cpu, p99 := 3.0, int64(2500)
	s := Sample{
		State: StateDone, Seconds: 2, Bytes: 1 << 30, Ops: 500_000, CPUSeconds: &cpu, P99Microseconds: &p99,
		PeakMemoryBytes: 64 << 20,
	}
	for _, c := range []struct {
		metric, unit string
		want         float64
	}{
		{MetricRate, UnitBytes, 536.870912},
		{MetricRate, UnitOps, 250_000},
		{MetricCPU, UnitBytes, 3},
		{MetricCPU, UnitOps, 6},
		{MetricP99, UnitOps, 2.5},
		{MetricMemory, UnitOps, 64},
	} {
		got, ok := s.Value(c.metric, c.unit)
		if !ok || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s in a row of %s: %v %v, want %v", c.metric, c.unit, got, ok, c.want)
		}
	}
}

func TestWhatASampleDoesNotKnowIsNotZero(t *testing.T) {
	s := Sample{State: StateDone, Seconds: 1, Bytes: 1}
	for _, metric := range []string{MetricCPU, MetricMemory, MetricP99, "another"} {
		if v, ok := s.Value(metric, UnitBytes); ok {
			t.Errorf("%s of a sample without it: %v", metric, v)
		}
	}
	if v, ok := (Sample{State: StateDone, Bytes: 1}).Value(MetricRate, UnitBytes); ok {
		t.Errorf("rate of no time: %v", v)
	}
}

func TestJudge(t *testing.T) {
	row := Row{Name: "r", Unit: UnitBytes}
	two := []Sample{rate("ours", 1, 98), rate("theirs", 1, 100), rate("ours", 2, 99), rate("theirs", 2, 100), rate("ours", 3, 90), rate("theirs", 3, 100)}
	failed := rate("ours", 4, 500)
	failed.State = StateFailed
	big := rate("ours", 1, 1)
	big.PeakMemoryBytes = 129 << 20
	for name, c := range map[string]struct {
		samples []Sample
		check   Check
		want    Outcome
	}{
		"the median reaches it":        {two, Check{Metric: MetricRate, Of: "ours", To: "theirs", AtLeast: 0.98}, Met},
		"the median does not reach it": {two, Check{Metric: MetricRate, Of: "ours", To: "theirs", AtLeast: 0.981}, Missed},
		"above the upper bound":        {two, Check{Metric: MetricRate, Of: "theirs", To: "ours", AtMost: 1.02}, Missed},
		"below the upper bound":        {two, Check{Metric: MetricRate, Of: "theirs", To: "ours", AtMost: 1.03}, Met},
		"the subject failed once":      {append(two, failed), Check{Metric: MetricRate, Of: "ours", To: "theirs", AtLeast: 0.5}, Missed},
		"the peer was not there":       {two, Check{Metric: MetricRate, Of: "ours", To: "fio", AtLeast: 0.5}, Unknown},
		"one alone, too much":          {[]Sample{big}, Check{Metric: MetricMemory, Of: "ours", AtMost: 128}, Missed},
		"one alone, in bounds":         {[]Sample{big}, Check{Metric: MetricMemory, Of: "ours", AtMost: 129}, Met},
		"nothing was measured":         {nil, Check{Metric: MetricMemory, Of: "ours", AtMost: 129}, Unknown},
	} {
		if spread, got := (Document{Samples: c.samples}).Judge(row, c.check); got != c.want {
			t.Errorf("%s: %s (%+v), want %s", name, got, spread, c.want)
		}
	}
}

func TestSamplesComeByRepeatWhateverTheirOrder(t *testing.T) {
	d := Document{Samples: []Sample{rate("a", 3, 3), rate("b", 1, 9), rate("a", 1, 1), rate("a", 2, 2)}}
	var repeats []int
	for _, s := range d.SamplesOf("r", "a") {
		repeats = append(repeats, s.Repeat)
	}
	if diff := cmp.Diff([]int{1, 2, 3}, repeats); diff != "" {
		t.Errorf("repeats (-want +got):\n%s", diff)
	}
}
