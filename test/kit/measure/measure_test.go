package measure_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// recorded returns the lines that do writes.
func recorded(t *testing.T, do func()) []measure.Amount {
	t.Helper()
	file := filepath.Join(t.TempDir(), "amounts")
	t.Setenv("NFSBENCH_MEASURE", file)
	do()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []measure.Amount
	for line := range strings.Lines(string(text)) {
		var a measure.Amount
		if err := json.Unmarshal([]byte(line), &a); err != nil {
			t.Fatal(err)
		}
		if a.Date == "" || a.Test != t.Name() {
			t.Errorf("the line names test %q and date %q", a.Test, a.Date)
		}
		a.Date, a.Test = "", ""
		out = append(out, a)
	}
	return out
}

func TestAnAmountIsRecordedWithItsSpreadAndWhatWasWanted(t *testing.T) {
	got := recorded(t, func() {
		measure.Record(t, "rate", "1/s", 3, 1, 2, 10)
		measure.Expect(t, "cost", "%", measure.AtMost(5), 7)
		measure.Expect(t, "growth", "times", measure.Between(1, 2), 2)
		measure.Ratio(t, "detour", "the right path", measure.AtLeast(2), []float64{6, 8}, []float64{3, 2})
		measure.Outcome(t, "link", "Worse", "Negligible", "Worse")
		measure.Outcome(t, "phase", "Succeeded")
	})
	want := []measure.Amount{
		{What: "rate", Unit: "1/s", N: 4, Median: 2.5, Lowest: 1, Highest: 10},
		{What: "cost", Unit: "%", N: 1, Median: 7, Lowest: 7, Highest: 7, Wanted: "at most 5", Holds: new(false)},
		{What: "growth", Unit: "times", N: 1, Median: 2, Lowest: 2, Highest: 2, Wanted: "1 to 2", Holds: new(true)},
		{What: "detour", Unit: "of the right path", N: 2, Median: 3, Lowest: 2, Highest: 4, Wanted: "at least 2", Holds: new(true)},
		{What: "link", N: 1, Outcome: "Worse", Wanted: "Negligible or Worse", Holds: new(true)},
		{What: "phase", N: 1, Outcome: "Succeeded"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("amounts (-want +got):\n%s", diff)
	}
}

// failing is a test that must not go on.
type failing struct {
	testing.TB
	failed bool
}

func (f *failing) Helper() {}

func (f *failing) Fatalf(string, ...any) {
	f.failed = true
	panic(f)
}

func TestWhatWasNotMeasuredIsNoAmount(t *testing.T) {
	one := []float64{1}
	for name, tc := range map[string]struct{ values, peers []float64 }{
		"no value": {}, "no number": {values: []float64{math.NaN()}, peers: one}, "no peer": {values: one}, "a peer of zero": {one, []float64{0}},
	} {
		t.Run(name, func(t *testing.T) {
			f := &failing{TB: t}
			defer func() {
				if r := recover(); r != nil && r != f { //nolint:errorlint // no error
					panic(r)
				}
				if !f.failed {
					t.Error("it was recorded")
				}
			}()
			measure.Ratio(f, "a", "b", measure.AtMost(1), tc.values, tc.peers)
		})
	}
}
