package e2e

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestClientWhoseClockIsAMinuteOffMeasuresRightAndIsNamed runs two clients with the tools of
// the stand-in for Oracle: in a benchmark of this name the second one has such a clock.
func TestClientWhoseClockIsAMinuteOffMeasuresRightAndIsNamed(t *testing.T) {
	p := newPlot(t, 1)
	// In a short window, the half second by which busy clients begin apart is a finding.
	b := p.create(t, p.benchmark("skewed", gen.Clients(2), lasting(15)))
	done := p.undisturbed(t, b)

	found := finding(done, string(judge.ClockSkew))
	if found == nil {
		t.Fatalf("no finding %s: %+v", judge.ClockSkew, done.Status.Findings)
	}
	mustSay(t, found.Message, "Client 1", "ahead of that of the API server", "start by a signal")
	if apart := finding(done, string(judge.ClientsNotTogether)); apart != nil {
		t.Errorf("clients that ran together are told apart: %s", apart.Message)
	}
	x, y := window(t, p.results(t, done)[0]), window(t, p.results(t, done)[1])
	if d := y.Start.Sub(x.Start); (d - time.Minute).Abs() > 5*time.Second {
		t.Errorf("the clocks of the clients differ by about %v, not by a minute: nothing was tested", d)
	}
	if done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Error(state(done))
	}
}
