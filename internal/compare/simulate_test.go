package compare

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// simulated is a server whose latencies scatter by 3 % (log-normal), and drift by
// 5 % over a run; a day is off by what the caller says. Repetitions run in blocks of
// both clients, in turn ABBA.
type simulated struct {
	random *rand.Rand
	day    float64            // how far a run as a whole is off, as a standard deviation
	slower map[string]float64 // by cell: 0.1 is 10 %
}

const (
	simulatedNoise = 0.03
	simulatedDrift = 0.05
)

func (s simulated) run(name string, started time.Time) runfile.SuiteRun {
	run := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: "a-a", Run: name, Started: started,
		Settings: runfile.SuiteSettings{Repetitions: 8, Order: "Interleaved", Blocks: "ABBA", Compare: &runfile.SuiteCompare{
			SuiteSignificance: significance(), Baseline: map[string]string{"client": "a"}, ImpactOf: "Baseline",
		}},
	}
	clients, users := []string{"a", "b"}, []string{"2", "4", "8", "16"}
	for _, c := range clients {
		for _, u := range users {
			run.Cells = append(run.Cells, runfile.SuiteCell{Name: c + u, Values: []runfile.SuiteAxis{{Axis: "client", Value: c}, {Axis: "users", Value: u}}})
		}
	}
	today := s.day * s.random.NormFloat64()
	const total = 8 * 8
	for r := range 8 {
		for _, u := range users {
			for i := range clients {
				c := clients[(i+r)%2]
				at := len(run.Results)
				load, _ := strconv.ParseFloat(u, 64)
				v := 100 * load * math.Exp(today+simulatedNoise*s.random.NormFloat64()+simulatedDrift*float64(at)/total) * (1 + s.slower[c+u])
				run.Results = append(run.Results, runfile.SuiteResult{
					Cell: c + u, Repetition: int32(r + 1), Position: int32(at + 1), Benchmark: "x", Phase: "Succeeded", Validity: "Valid", //nolint:gosec // few
					Points: []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: v, bench.MetricThroughput: 8192e6 * load / v}}},
				})
			}
		}
	}
	return run
}

func significance() runfile.SuiteSignificance {
	return runfile.SuiteSignificance{
		Metrics: []string{bench.MetricMeanLatency, bench.MetricThroughput}, Alpha: 0.05, MinimumEffect: 0.02, Correction: "Holm",
	}
}

const simulatedSuites = 200

// atMost is how many false alarms 200 suites may have at a rate of 5 %: more come
// once in a thousand times by chance (binomial).
const atMost = 20

func TestUnchangedServersAreNotCalledDifferent(t *testing.T) {
	t.Parallel()
	alarms, lines := 0, 0
	for i := range simulatedSuites {
		s := simulated{random: rand.New(rand.NewPCG(uint64(i), 1)), day: 0.02}
		alarm := false
		for _, l := range Run(Request{Run: new(s.run("run", time.Time{}))}).Comparisons {
			lines++
			alarm = alarm || l.Outcome == bench.OutcomeBetter || l.Outcome == bench.OutcomeWorse
		}
		if alarm {
			alarms++
		}
	}
	t.Logf("%d of %d suites had a false alarm in one of their %d comparisons", alarms, simulatedSuites, lines/simulatedSuites)
	if alarms > atMost || lines != 8*simulatedSuites {
		t.Errorf("%d alarms (at most %d) in %d comparisons", alarms, atMost, lines)
	}
}

func TestATenthSlowerIsFound(t *testing.T) {
	t.Parallel()
	found, others := 0, 0
	for i := range simulatedSuites {
		s := simulated{random: rand.New(rand.NewPCG(uint64(i), 2)), day: 0.02, slower: map[string]float64{"b8": 0.1, "b16": 0.1}}
		for _, l := range Run(Request{Run: new(s.run("run", time.Time{}))}).Comparisons {
			slow := l.Cell == "b8" || l.Cell == "b16"
			switch {
			case slow && l.Outcome == bench.OutcomeWorse:
				found++
			case l.Outcome == bench.OutcomeBetter, l.Outcome == bench.OutcomeWorse:
				others++
			}
		}
	}
	const affected = 4 * simulatedSuites // two cells, two metrics
	t.Logf("%d of %d slower numbers were found, and %d of as many others called different", found, affected, others)
	if found < affected*95/100 || others > atMost {
		t.Errorf("found %d of %d, and %d false ones", found, affected, others)
	}
}
