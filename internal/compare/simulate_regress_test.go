package compare

import (
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// scheduled are so many runs of an unchanged server, and then one more.
func scheduled(s simulated, unchanged int, slower map[string]float64) (history []runfile.SuiteRun, last runfile.SuiteRun) {
	for i := range unchanged {
		history = append(history, s.run("run-"+strconv.Itoa(i), time.Unix(int64(i)*86400, 0)))
	}
	s.slower = slower
	return history, s.run("last", time.Unix(1000*86400, 0))
}

func oneMetric() runfile.SuiteSignificance {
	s := significance()
	s.Metrics = s.Metrics[:1]
	return s
}

func TestUnchangedServersHaveNotRegressed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason    string
		day       float64
		unchanged int
		atMost    int
	}{
		"AllDaysAlike": {"what chance does within runs is kept by the test", 0, 10, atMost},
		"OneRun":       {"without history the floor is the spread within the runs", 0, 1, atMost},
		"OtherDays":    {"what days do is kept by the floor, which nine distances tell", 0.02, 10, atMost},
		"TwoRuns":      {"one distance tells too little to keep the rate", 0.02, 2, 2 * atMost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			regressed, known := 0, 0
			for i := range simulatedSuites {
				s := simulated{random: rand.New(rand.NewPCG(uint64(i), 3)), day: tc.day}
				history, last := scheduled(s, tc.unchanged, nil)
				r := Run(Request{Run: &last, Accepted: new(history[len(history)/2]), History: history, SuiteSignificance: oneMetric()})
				if r.Regressed {
					regressed++
				}
				if r.NoiseFloor != nil {
					known++
				}
			}
			t.Logf("%d of %d unchanged runs were called regressed: %s", regressed, simulatedSuites, tc.reason)
			if regressed > tc.atMost {
				t.Errorf("%d alarms, at most %d", regressed, tc.atMost)
			}
			if (known == simulatedSuites) != (tc.unchanged > 1) {
				t.Errorf("the floor is known of %d runs", known)
			}
		})
	}
}

func TestARegressionOfATenthIsFound(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason    string
		day       float64
		unchanged int
		percent   int // of the slower numbers that must be found
	}{
		"AllDaysAlike": {"nothing but the noise within runs", 0, 10, 95},
		"OneRun":       {"without history, too", 0, 1, 95},
		"OtherDays":    {"where days are 1 % off, a tenth is near the floor", 0.01, 10, 75},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, runs, others := 0, 0, 0
			for i := range simulatedSuites {
				s := simulated{random: rand.New(rand.NewPCG(uint64(i), 4)), day: tc.day}
				history, last := scheduled(s, tc.unchanged, map[string]float64{"b8": 0.1, "b16": 0.1})
				r := Run(Request{Run: &last, Accepted: new(history[tc.unchanged-1]), History: history, SuiteSignificance: oneMetric()})
				if r.Regressed {
					runs++
				}
				for _, l := range r.Changes() {
					if l.Cell == "b8" || l.Cell == "b16" {
						found++
					} else {
						others++
					}
				}
			}
			t.Logf("%d of %d slower numbers and %d of %d runs were found, %d others called changed: %s", found, 2*simulatedSuites, runs, simulatedSuites, others, tc.reason)
			if found < 2*simulatedSuites*tc.percent/100 || others > atMost {
				t.Errorf("found %d of %d, %d false ones", found, 2*simulatedSuites, others)
			}
		})
	}
}
