package browser

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// repetitions of each cell of the simulated suite.
const repetitions = 8

// Suite is the simulated record of a suite that compared two clients and two
// protocol versions, interleaved, on storage that got slower by 3 % meanwhile.
// slower is the share by which everything takes longer.
func Suite(run string, seed uint64, slower float64) runfile.SuiteRun {
	random := rand.New(rand.NewPCG(seed, 2))
	s := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: "protocols", Namespace: "benchmarks", Run: run, Started: Start(), Workflow: run, Phase: "Succeeded", Simulated: true,
		Settings: runfile.SuiteSettings{
			Repetitions: repetitions, Order: "Interleaved", Blocks: "Randomized", Seed: int64(seed), //nolint:gosec // a small number
			Compare: &runfile.SuiteCompare{SuiteSignificance: significance(), Baseline: map[string]string{"client": "kernel"}, ImpactOf: "Baseline"},
		},
	}
	gains := map[string]float64{}
	for _, client := range []string{"kernel", "direct"} {
		for _, version := range []string{"nfsv3", "nfsv41"} {
			name := client + "-" + version
			s.Cells = append(s.Cells, runfile.SuiteCell{Name: name, Values: []runfile.SuiteAxis{{Axis: "client", Value: client}, {Axis: "version", Value: version}}})
			gains[name] = map[string]float64{"kernel": 1, "direct": 1.12}[client] * map[string]float64{"nfsv3": 1, "nfsv41": .96}[version]
		}
	}
	gains["direct-nfsv41"] = gains["kernel-nfsv41"] * 1.004
	position := int32(0)
	for rep := int32(1); rep <= repetitions; rep++ {
		for _, i := range random.Perm(len(s.Cells)) {
			position++
			drift := 1 - .03*float64(position)/float64(repetitions*len(s.Cells))
			rate := gains[s.Cells[i].Name] * drift * (1 + .012*random.NormFloat64()) / (1 + slower)
			s.Results = append(s.Results, suiteResult(s.Cells[i].Name, rep, position, rate, random))
		}
	}
	s.Ended = s.Results[len(s.Results)-1].Ended
	return s
}

func significance() runfile.SuiteSignificance {
	return runfile.SuiteSignificance{
		Metrics: []string{runfile.MetricThroughput, runfile.MetricMeanLatency, runfile.MetricP99Latency}, Alpha: .05, MinimumEffect: .02, Correction: "Holm",
	}
}

func suiteResult(cell string, rep, position int32, rate float64, random *rand.Rand) runfile.SuiteResult {
	at := Start().Add(time.Duration(position-1) * 6 * time.Minute)
	mean := 820 / rate * (1 + .01*random.NormFloat64())
	return runfile.SuiteResult{
		Cell: cell, Repetition: rep, Position: position, Benchmark: fmt.Sprintf("protocols-%s-r%d-0", cell, rep), Phase: "Succeeded", Verdict: "NotEvaluated", Validity: "Valid",
		Started: at, Ended: at.Add(5 * time.Minute),
		Points: []runfile.SuitePoint{{Metrics: map[string]float64{
			runfile.MetricThroughput: math.Round(412e6 * rate), runfile.MetricIOPS: math.Round(50_300 * rate),
			runfile.MetricMeanLatency: math.Round(mean), runfile.MetricP99Latency: math.Round(mean * (2.3 + .12*random.NormFloat64())),
		}, WirePercent: new(math.Round(420*rate) / 10)}},
	}
}
