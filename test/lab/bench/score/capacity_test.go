package score

import "testing"

func TestASweepConcludesWithTheFewestContradictions(t *testing.T) {
	for name, c := range map[string]struct {
		holds           string // by rate, from 100 in steps of 10: h holds, - does not
		low, high, want float64
	}{
		"a clean edge":                        {"hhh--", 120, 130, 125},
		"one unlucky rate":                    {"h-hhh--", 140, 150, 145},
		"one lucky rate":                      {"hh--h--", 110, 120, 115},
		"as likely here as there":             {"hh-h--", 110, 120, 115},
		"all hold: at least the last":         {"hhh", 120, 0, 120},
		"none holds: there is no capacity":    {"---", 0, 100, 0},
		"nothing was tried, nothing is known": {"", 0, 0, 0},
	} {
		var got Capacity
		for i := range c.holds { // not in order
			k := (i + 2) % len(c.holds)
			got.Rates = append(got.Rates, Rate{OperationsPerSecond: float64(100 + 10*k), Holds: c.holds[k] == 'h'})
		}
		got.Conclude()
		if got.Low != c.low || got.High != c.high || got.OperationsPerSecond != c.want {
			t.Errorf("%s: %v in %v..%v, want %v in %v..%v", name, got.OperationsPerSecond, got.Low, got.High, c.want, c.low, c.high)
		}
	}
}
