package judge

import (
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Points are the numbers of a result that can be compared, by repetition: one
// point, or one for each step of a load with several levels. Warm-up is left out.
func Points(r runfile.Result) [][]runfile.SuitePoint {
	rounds := roundsOf(r)
	if len(rounds) == 0 {
		var points [][]runfile.SuitePoint
		for _, s := range Judge(r).Repetitions {
			points = append(points, []runfile.SuitePoint{point(s)})
		}
		return points
	}
	var points [][]runfile.SuitePoint
	for _, round := range rounds {
		if of := Headline(Judge(only(r, round))); len(of) > 0 {
			points = append(points, of)
		}
	}
	return points
}

// Headline returns the numbers that stand for a whole run, as Points returns those of
// one repetition: medians where the run has several repetitions.
func Headline(j Judgement) []runfile.SuitePoint {
	var points []runfile.SuitePoint
	for _, s := range j.Steps {
		p := point(s.Summary)
		p.Step, p.Knee = fmt.Sprintf("%s=%d", s.Kind, s.Users), s.Knee
		points = append(points, p)
	}
	if len(points) == 0 && j.Summary != nil {
		points = append(points, point(*j.Summary))
	}
	return points
}

// roundsOf are the rounds of a load with steps, ascending; none without steps.
func roundsOf(r runfile.Result) []int32 {
	var rounds []int32
	for _, c := range r.Clients {
		for _, rep := range c.Load.Repetitions {
			if rep.Step != nil && !rep.Step.Warmup && !slices.Contains(rounds, rep.Step.Round) {
				rounds = append(rounds, rep.Step.Round)
			}
		}
	}
	slices.Sort(rounds)
	return rounds
}

// only is the result as if there had been no other round: the judgement takes
// the median over rounds otherwise, and a median is no sample.
func only(r runfile.Result, round int32) runfile.Result {
	clients := slices.Clone(r.Clients)
	for i, c := range clients {
		clients[i].Load.Repetitions = slices.DeleteFunc(slices.Clone(c.Load.Repetitions), func(rep runfile.Repetition) bool {
			return rep.Step == nil || rep.Step.Warmup || rep.Step.Round != round
		})
	}
	r.Clients = clients
	return r
}

// point takes the metrics of one repetition. What is not known is left out, and
// so is a rate of 0, as in the status of a benchmark.
func point(s Summary) runfile.SuitePoint {
	metrics := map[string]float64{}
	rate := func(metric string, v int64) {
		if v != 0 {
			metrics[metric] = float64(v)
		}
	}
	maybe := func(metric string, v *int64) {
		if v != nil {
			metrics[metric] = float64(*v)
		}
	}
	rate(runfile.MetricThroughput, s.Total.BytesPerSecond)
	rate(runfile.MetricIOPS, s.Total.OperationsPerSecond)
	if l := s.Total.Latency; l != nil {
		metrics[runfile.MetricMeanLatency] = float64(l.MeanMicroseconds)
		if !l.MeanOnly {
			metrics[runfile.MetricP50Latency] = float64(l.P50Microseconds)
			metrics[runfile.MetricP95Latency] = float64(l.P95Microseconds)
			metrics[runfile.MetricP99Latency] = float64(l.P99Microseconds)
		}
	}
	maybe(runfile.MetricStorageLatency, s.Storage.MeanLatencyMicroseconds)
	maybe(runfile.MetricClientCPU, s.ClientCPU.MicrosecondsPerMiB)
	p := runfile.SuitePoint{Metrics: metrics}
	if s.WirePermille != nil {
		p.WirePermille = new(int64(*s.WirePermille))
	}
	return p
}
