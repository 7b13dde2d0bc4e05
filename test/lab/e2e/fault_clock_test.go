package e2e

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// TestClientWhoseClockIsAMinuteOffMeasuresRightAndIsNamed runs two clients with the tools of
// the stand-in for Oracle: in a benchmark of this name the second one has such a clock.
func TestClientWhoseClockIsAMinuteOffMeasuresRightAndIsNamed(t *testing.T) {
	p := newPlot(t, 1)
	b := p.create(t, p.benchmark("skewed", gen.Clients(2), lasting(15)))
	done := p.undisturbed(t, b)

	found := finding(done, judge.ClockSkew)
	if found == nil {
		t.Fatalf("no finding %s: %+v", judge.ClockSkew, done.Status.Findings)
	}
	mustSay(t, found.Message, "Client 1", "ahead of that of the API server", "start by a signal")
	x, y := window(t, p.results(t, done)[0]), window(t, p.results(t, done)[1])
	if !y.Start.After(x.End) {
		t.Errorf("by their own clocks the clients ran together, from %v and from %v: nothing was tested", x.Start, y.Start)
	}
	// By the corrected clocks they did. How much of the time depends on when each began.
	if apart := finding(done, judge.ClientsNotTogether); apart == nil {
		measure.Outcome(t, "finding "+judge.ClientsNotTogether, "none", "none")
	} else {
		measure.Outcome(t, "finding "+judge.ClientsNotTogether, apart.Message, "none")
		if strings.Contains(apart.Message, " 0 % of the time") {
			t.Errorf("clients that ran together are told apart: %s", apart.Message)
		}
	}
	if done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Error(state(done))
	}
}
