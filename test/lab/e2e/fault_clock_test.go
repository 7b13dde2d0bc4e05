package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
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
	// How much of the time they ran together depends on when each began. What is said of it must be by the
	// corrected clocks.
	results := p.results(t, done)
	x, y := window(t, results[0]), window(t, results[1])
	together := overlap(corrected(t, results[0]), corrected(t, results[1]))
	said := "none"
	if apart := finding(done, judge.ClientsNotTogether); apart != nil {
		said = apart.Message
	}
	measure.Outcome(t, "finding "+judge.ClientsNotTogether, said, "none")
	if together > time.Second && strings.Contains(said, " 0 % of the time") {
		t.Errorf("clients that ran together for %v are told apart: %s", together, said)
	}
	if together > 0 && overlap(x, y) > 0 {
		t.Errorf("by their own clocks the clients ran together, too, from %v and from %v: nothing was tested", x.Start, y.Start)
	}
	if done.Status.Phase != v1alpha1.PhaseSucceeded {
		t.Error(state(done))
	}
}

// corrected is the window of a client by the clock of the API server.
func corrected(t *testing.T, r runfile.Result) runfile.Repetition {
	t.Helper()
	w, ahead := window(t, r), r.Clients[0].Observed.ClockOffsetMilliseconds
	if ahead == nil {
		t.Fatal("a client does not know how far the clock of the API server is ahead")
	}
	offset := time.Duration(*ahead) * time.Millisecond
	w.Start, w.End = w.Start.Add(offset), w.End.Add(offset)
	return w
}
