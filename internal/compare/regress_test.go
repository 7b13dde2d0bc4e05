package compare

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// daily is a run of cells whose eight latencies lie around these medians, one
// microsecond apart.
func daily(name string, day int64, medians map[string]float64) runfile.SuiteRun {
	run := runfile.SuiteRun{Run: name, Started: time.Unix(86400*day, 0)}
	for _, cell := range []string{"a", "b", "c"} {
		median, ok := medians[cell]
		if !ok {
			continue
		}
		run.Cells = append(run.Cells, runfile.SuiteCell{Name: cell})
		for i := range 8 {
			run.Results = append(run.Results, result(cell, i+1, len(run.Results)+1, median+float64(i)-3.5))
		}
	}
	return run
}

func regression() runfile.SuiteSignificance {
	s := latencyOnly()
	s.Correction = "Holm"
	return s
}

func TestAllThreeMustAgree(t *testing.T) {
	t.Parallel()
	history := []runfile.SuiteRun{ // a moves by 1 %, and b by nothing
		daily("0", 0, map[string]float64{"a": 1000, "b": 1000}),
		daily("1", 1, map[string]float64{"a": 1010, "b": 1000}),
		daily("2", 2, map[string]float64{"a": 1000, "b": 1000}),
	}
	// Typical for a: the larger of 1.0 % and 0.99 %. Two lines: 0.05/2 is 1.96
	// deviations, of which a typical distance is 0.6745.
	const floor = 0.01 * 1.959964 / 0.6745
	accepted := history[2]
	for name, tc := range map[string]struct {
		a, b    float64
		want    map[string]bench.Outcome
		message string
	}{
		"nothing":                 {1000, 1000, nil, "none of 2 numbers differs from the accepted run 2"},
		"less than matters":       {1000, 1015, nil, "none of 2 numbers differs from the accepted run 2"},
		"within the noise":        {1028, 1000, nil, "none of 2 numbers differs from the accepted run 2"},
		"beyond the noise":        {1030, 1000, map[string]bench.Outcome{"a": bench.OutcomeWorse}, "of 2 numbers 1 are worse and 0 better than in the accepted run 2: a MeanLatency by 3.0 % (noise floor 2.9 %)"},
		"beyond in the other":     {1000, 1030, map[string]bench.Outcome{"b": bench.OutcomeWorse}, "of 2 numbers 1 are worse and 0 better than in the accepted run 2: b MeanLatency by 3.0 % (noise floor 1.5 %)"},
		"both, the worst first":   {1050, 1100, map[string]bench.Outcome{"b": bench.OutcomeWorse, "a": bench.OutcomeWorse}, "of 2 numbers 2 are worse and 0 better than in the accepted run 2: b MeanLatency by 10.0 % (noise floor 1.5 %), a MeanLatency by 5.0 % (noise floor 2.9 %)"},
		"better is no regression": {900, 950, map[string]bench.Outcome{"a": bench.OutcomeBetter, "b": bench.OutcomeBetter}, "of 2 numbers 0 are worse and 2 better than in the accepted run 2: a MeanLatency by 10.0 % (noise floor 2.9 %), b MeanLatency by 5.0 % (noise floor 1.5 %)"},
		"one of each":             {900, 1050, map[string]bench.Outcome{"b": bench.OutcomeWorse, "a": bench.OutcomeBetter}, "of 2 numbers 1 are worse and 1 better than in the accepted run 2: b MeanLatency by 5.0 % (noise floor 1.5 %)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := daily("now", 3, map[string]float64{"a": tc.a, "b": tc.b})
			r := Run(Request{Run: &run, Accepted: &accepted, History: []runfile.SuiteRun{history[2], history[0], history[1]}, SuiteSignificance: regression()})
			var medians []runfile.SuiteRun
			for _, h := range history {
				medians = append(medians, Medians(h, nil))
			}
			same := Run(Request{Run: &run, Accepted: &accepted, History: medians, SuiteSignificance: regression()})
			if diff := cmp.Diff(r, same); diff != "" {
				t.Errorf("the medians of the history do not suffice: %s", diff)
			}
			got := map[string]bench.Outcome{}
			worse := false
			for _, l := range r.Changes() {
				got[l.Cell] = l.Outcome
				worse = worse || l.Outcome == bench.OutcomeWorse
			}
			if diff := cmp.Diff(tc.want, got); diff != "" && len(tc.want)+len(got) > 0 {
				t.Error(diff)
			}
			if r.Regressed != worse || r.Message != tc.message || r.Run != "now" || r.Baseline != "2" || len(r.Findings) != 0 {
				t.Errorf("%+v", r)
			}
			if r.NoiseFloor == nil || math.Abs(*r.NoiseFloor-floor) > 1e-4 {
				t.Errorf("noise floor %v, want %v", r.NoiseFloor, floor)
			}
		})
	}
}

func TestASlowerRunThatWasAcceptedDoesNotHideTheNext(t *testing.T) {
	t.Parallel()
	medians := []float64{1000, 1002, 1001, 1100, 1101, 1099}
	var history []runfile.SuiteRun
	for i, m := range medians {
		history = append(history, daily(fmt.Sprint(i), int64(i), map[string]float64{"a": m}))
	}
	r := Run(Request{Run: new(daily("now", 9, map[string]float64{"a": 1160})), Accepted: new(history[4]), History: history, SuiteSignificance: regression()})
	if !r.Regressed || *r.NoiseFloor > 0.006 {
		t.Errorf("%+v, floor %v", r, *r.NoiseFloor)
	}
}

func TestWithoutHistoryTheSpreadIsTheFloor(t *testing.T) {
	t.Parallel()
	accepted := daily("old", 0, map[string]float64{"a": 1000, "b": 1000, "c": 1000})
	run := daily("new", 1, map[string]float64{"a": 1100, "b": 1000})
	r := Run(Request{Run: &run, Accepted: &accepted, History: []runfile.SuiteRun{accepted}, SuiteSignificance: regression()})
	const deviation = 2.449490 / 1000 // of 1 to 8
	floor := 1.959964 * 1.2533 * deviation * math.Sqrt(2.0/8) * 100
	want := fmt.Sprintf("of 2 numbers 1 are worse and 0 better than in the accepted run old: a MeanLatency by 10.0 %% (noise floor %.1f %%); the noise floor is the spread within these runs, because there are fewer than two earlier runs", floor)
	if r.NoiseFloor != nil || !r.Regressed || r.Message != want {
		t.Errorf("%+v\nwant %s", r, want)
	}
	if diff := cmp.Diff([]bench.Finding{{Code: NoiseFloorUnknown, Severity: "Info", Message: "the noise floor needs at least two earlier runs, and there are 1: it is the spread within these runs instead"}}, r.Findings); diff != "" {
		t.Error(diff)
	}
}

func TestACellThatIsNewHasNoBaseline(t *testing.T) {
	t.Parallel()
	old := daily("old", 0, map[string]float64{"a": 1000})
	run := daily("new", 1, map[string]float64{"a": 1000, "b": 1000})
	r := Run(Request{Run: &run, Accepted: &old, History: []runfile.SuiteRun{old, daily("older", -1, map[string]float64{"a": 1000})}, SuiteSignificance: regression()})
	if diff := cmp.Diff([]bench.Finding{{Code: NoBaseline, Severity: "Warning", Message: "the accepted run old has no cell b: not compared"}}, r.Findings); diff != "" {
		t.Error(diff)
	}
}

func TestTheMessageFitsIntoTheStatus(t *testing.T) {
	t.Parallel()
	now, before := runfile.SuiteRun{Run: strings.Repeat("n", 63)}, runfile.SuiteRun{Run: strings.Repeat("b", 63)}
	for i := range 40 {
		name := fmt.Sprintf("%s-%02d", strings.Repeat("é", 60), i)
		for side, run := range []*runfile.SuiteRun{&before, &now} {
			run.Cells = append(run.Cells, runfile.SuiteCell{Name: name})
			for rep := range 12 {
				run.Results = append(run.Results, result(name, rep+1, len(run.Results)+1, float64(100*(side+1)+rep)))
			}
		}
	}
	r := Run(Request{Run: &now, Accepted: &before, SuiteSignificance: regression()})
	if n := len([]rune(r.Message)); len(r.Changes()) != 40 || n > 512 || !strings.HasSuffix(r.Message, "...") {
		t.Errorf("%d changes, %d characters: %s", len(r.Changes()), n, r.Message)
	}
}

func TestTheHistoryIsOrderedByTime(t *testing.T) {
	t.Parallel()
	var history []runfile.SuiteRun
	for _, day := range []int64{3, 0, 4, 1, 2} { // it creeps by 1 % of the first
		history = append(history, daily(fmt.Sprint(day), day, map[string]float64{"a": 1000 + 10*float64(day)}))
	}
	r := Run(Request{Run: new(daily("now", 9, map[string]float64{"a": 1040})), Accepted: new(history[2]), History: history, SuiteSignificance: regression()})
	if want := 10.0 / 1010 * 1.644854 / 0.6745; r.NoiseFloor == nil || math.Abs(*r.NoiseFloor-want) > 1e-5 {
		t.Errorf("noise floor %v, want %v", *r.NoiseFloor, want)
	}
}
