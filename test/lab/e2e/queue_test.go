package e2e

import (
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// TestTwoBenchmarksOnOneTargetTakeTurns: the second names one LIF of the first,
// another export path would not change it, and another namespace neither.
func TestTwoBenchmarksOnOneTargetTakeTurns(t *testing.T) {
	p := newPlot(t, 2)
	c := p.cluster
	first := p.run(t, lasting(600)) // until the second was seen to wait
	c.until(t, first, "the start", func(b *v1alpha1.NFSBenchmark) bool { return b.Status.StartTime != nil })
	other := c.namespace(t)
	second := c.create(t, p.benchmark("second", gen.In(other), gen.Export(p.export, p.lifs[1]), directory(other)))

	queued := c.phase(t, second, v1alpha1.PhaseQueued)
	want := v1alpha1.QueueStatus{Position: 1, Behind: "a benchmark of another namespace"} // whose names are not told
	if q := queued.Status.Queue; q == nil || *q != want {
		t.Errorf("queue is %+v, not %+v", q, want)
	}
	mustSay(t, queued.Status.Message, "position 1", want.Behind)

	c.suspend(t, first)
	c.phase(t, first, v1alpha1.PhaseCancelled)
	firstDone := c.cleanedUp(t, first)
	secondDone := c.succeeded(t, second)
	if secondDone.Status.StartTime.Before(firstDone.Status.CompletionTime) {
		t.Errorf("the second started at %v, before the first ended at %v", secondDone.Status.StartTime, firstDone.Status.CompletionTime)
	}
	if secondDone.Status.Queue != nil {
		t.Errorf("a finished run is still queued: %+v", secondDone.Status.Queue)
	}
	p.noFiles(t)
	p.hasNo(t, other)
}

// TestTwoClientsMeasureTogether demands that no client goes on before all are ready. How much of their windows
// overlaps then depends on when each sees the signal.
func TestTwoClientsMeasureTogether(t *testing.T) {
	p := newPlot(t, 2)
	done := p.succeeded(t, p.run(t, gen.Clients(2), lasting(15)))
	results := p.results(t, done)
	if len(results) != 2 {
		t.Fatalf("%d results, not 2", len(results))
	}
	x, y := window(t, results[0]), window(t, results[1])
	if x.Start.IsZero() || y.Start.IsZero() {
		t.Fatal("a client measured nothing")
	}
	a, b := waiting(t, results[0]), waiting(t, results[1])
	if a.End.Before(b.Start) || b.End.Before(a.Start) {
		t.Errorf("one client waited for others from %v to %v, the other from %v to %v", a.Start, a.End, b.Start, b.End)
	}
	together, shortest := overlap(x, y), min(x.End.Sub(x.Start), y.End.Sub(y.Start))
	measure.Expect(t, "what two clients measured together", "% of the window", measure.AtLeast(75), 100*together.Seconds()/shortest.Seconds())
	if results[0].Clients[0].Index == results[1].Clients[0].Index {
		t.Error("both results are of the same client")
	}
	if len(done.Status.Paths) != 4 {
		t.Errorf("two clients over two paths are four channels, not %d", len(done.Status.Paths))
	}
	verified(t, done)
	p.noFiles(t)
}

func window(t *testing.T, r runfile.Result) runfile.Repetition {
	t.Helper()
	reps := r.Clients[0].Load.Repetitions
	if len(reps) != 1 {
		t.Fatalf("%d repetitions, not one", len(reps))
	}
	return reps[0]
}

// waiting is the time in which a client was ready and waited for the others.
func waiting(t *testing.T, r runfile.Result) runfile.Span {
	t.Helper()
	spans := r.Clients[0].Load.Spans
	n := slices.IndexFunc(spans, func(s runfile.Span) bool { return s.Kind == runfile.SpanWait })
	if n < 0 {
		t.Fatalf("a client did not wait for others: %+v", spans)
	}
	return spans[n]
}

// TestSuspendHoldsARunBackAndStopsIt follows one benchmark through both.
func TestSuspendHoldsARunBackAndStopsIt(t *testing.T) {
	p := newPlot(t, 1)
	needNodeHere(t, p.cluster)
	b := p.run(t, lasting(600), gen.Suspended)
	held := p.until(t, b, "reason Suspended", func(b *v1alpha1.NFSBenchmark) bool {
		return reasonOf(b) == v1alpha1.ReasonSuspended
	})
	if held.Status.Phase != v1alpha1.PhasePending || held.Status.StartTime != nil {
		t.Errorf("held back, it is %s, started %v", state(held), held.Status.StartTime)
	}
	if left, err := p.labelled(t.Context(), p.ns); err != nil || len(left) > 0 {
		t.Errorf("held back, it has made %v (%v)", left, err)
	}

	p.patch(t, b, `{"spec":{"suspend":false}}`)
	p.running(t, b, 1)[0].measured(t)
	p.suspend(t, b)

	cancelled := p.phase(t, b, v1alpha1.PhaseCancelled)
	mustSay(t, cancelled.Status.Message, "suspend", "partial")
	partialResult(t, p.cluster, cancelled, runfile.FailureCancelled)
	p.cleanedUp(t, b)
	p.noFiles(t)
}

// partialResult demands that what was measured before the end was kept.
func partialResult(t *testing.T, c *cluster, b *v1alpha1.NFSBenchmark, code string) {
	t.Helper()
	load := c.results(t, b)[0].Clients[0].Load
	if !load.Partial || load.Failure == nil || load.Failure.Code != code {
		t.Errorf("partial: %v, failure: %+v; want a partial result with %s", load.Partial, load.Failure, code)
	}
	var bytes int64
	for _, s := range load.Samples {
		if s.Span == runfile.SpanMeasure && s.Read != nil {
			bytes += s.Read.Bytes
		}
	}
	if bytes == 0 {
		t.Errorf("the partial result holds no measured second: %d samples", len(load.Samples))
	}
	if finding(b, "Partial") == nil {
		t.Errorf("no finding Partial: %+v", b.Status.Findings)
	}
}
