// Package measure records amounts: what depends on the speed of the machine, such as a
// rate, a time or a share of a processor. An amount fails no test. What was expected of
// it is recorded beside it, with whether it held.
//
// Each amount is logged. If NFSBENCH_MEASURE names a file, the amount is also appended to
// it as a line of JSON: `hack/test.sh measure` makes a dated record of these lines.
package measure

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"
)

// variable names the file of the lines.
const variable = "NFSBENCH_MEASURE"

// Amount is one line.
type Amount struct {
	Date string `json:"date"`
	Test string `json:"test"`
	What string `json:"what"`
	Unit string `json:"unit,omitempty"`

	N       int     `json:"n"`
	Median  float64 `json:"median"`
	Lowest  float64 `json:"lowest"`
	Highest float64 `json:"highest"`

	// Outcome is what was found where that is a word and no number.
	Outcome string `json:"outcome,omitempty"`

	Wanted string `json:"wanted,omitempty"`
	Holds  *bool  `json:"holds,omitempty"` // of the median; nil where nothing was expected
}

// Wanted is what is expected of a median.
type Wanted struct {
	words string
	holds func(median float64) bool
}

// AtMost expects no more than an amount.
func AtMost(most float64) Wanted {
	return Wanted{fmt.Sprintf("at most %.4g", most), func(m float64) bool { return m <= most }}
}

// AtLeast expects no less than an amount.
func AtLeast(least float64) Wanted {
	return Wanted{fmt.Sprintf("at least %.4g", least), func(m float64) bool { return m >= least }}
}

// Between expects an amount within two bounds.
func Between(least, most float64) Wanted {
	return Wanted{fmt.Sprintf("%.4g to %.4g", least, most), func(m float64) bool { return least <= m && m <= most }}
}

// Record records the values of an amount of which nothing is expected.
func Record(t testing.TB, what, unit string, values ...float64) {
	t.Helper()
	Expect(t, what, unit, Wanted{}, values...)
}

// Expect records the values of an amount, and whether their median is as it is wanted.
func Expect(t testing.TB, what, unit string, wanted Wanted, values ...float64) {
	t.Helper()
	if len(values) == 0 {
		t.Fatalf("%s was not measured", what)
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	a := Amount{
		What: what, Unit: unit, N: n, Lowest: sorted[0], Highest: sorted[n-1],
		Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Wanted: wanted.words,
	}
	if wanted.holds != nil {
		a.Holds = new(wanted.holds(a.Median))
	}
	write(t, a)
}

// Ratio records how many times as large each value is as that of a peer, which was
// measured in turn with it.
func Ratio(t testing.TB, what, peer string, wanted Wanted, values, peers []float64) {
	t.Helper()
	if len(values) != len(peers) {
		t.Fatalf("%s was measured %d times, and %s %d times", what, len(values), peer, len(peers))
	}
	ratios := make([]float64, len(values))
	for i := range values {
		if peers[i] == 0 {
			t.Fatalf("%s: %s is 0", what, peer)
		}
		ratios[i] = values[i] / peers[i]
	}
	Expect(t, what, "of "+peer, wanted, ratios...)
}

// Outcome records a word that was found, and whether it is among those that are wanted.
func Outcome(t testing.TB, what, got string, wanted ...string) {
	t.Helper()
	a := Amount{What: what, N: 1, Outcome: got}
	for i, w := range wanted {
		if i > 0 {
			a.Wanted += " or "
		}
		a.Wanted += w
	}
	if len(wanted) > 0 {
		a.Holds = new(slices.Contains(wanted, got))
	}
	write(t, a)
}

func write(t testing.TB, a Amount) {
	t.Helper()
	a.Date, a.Test = time.Now().UTC().Format(time.RFC3339), t.Name()
	line, err := json.Marshal(a)
	if err != nil {
		t.Fatalf("%s: %v", a.What, err) // a value that is no number
	}
	t.Logf("%s", line)
	name := os.Getenv(variable)
	if name == "" {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Write(append(line, '\n')) // in one call, as other tests write to it
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		t.Fatal(err)
	}
}
