package e2e

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/measure"
)

// eightKiOfALink is roughly how many READs of 8 KiB a second one link of the pool (100 Mbit/s)
// carries, including the headers of the replies.
const eightKiOfALink = 1430

// within50ms searches the capacity of random reads. Enough I/Os may be outstanding for a full link
// to delay them beyond the bound.
func within50ms(b *v1alpha1.NFSBenchmark) {
	w := b.Spec.Workload.Raw
	w.Pattern, w.BlockSize, w.Jobs, w.Depth = bench.PatternRandomRead, new(resource.MustParse("8Ki")), 2, 64
	w.Capacity = &bench.Capacity{Percentile: "p99", Milliseconds: new(int64(50)), Arrivals: bench.ArrivalsPoisson}
}

// capacityOf returns the capacity in the status, which the columns must show too. A busy client may find none.
func capacityOf(t *testing.T, b *v1alpha1.NFSBenchmark) v1alpha1.CapacityStatus {
	t.Helper()
	if len(b.Status.Capacity) != 1 {
		t.Fatalf("the status has the capacity at %d bounds, not at one: %s", len(b.Status.Capacity), state(b))
	}
	q := b.Status.Capacity[0]
	if q.Percentile != "p99" || q.Microseconds != 50_000 {
		t.Errorf("capacity %+v", q)
	}
	if q.Low > q.OperationsPerSecond || q.High < q.OperationsPerSecond {
		t.Errorf("%d is not between %d and %d", q.OperationsPerSecond, q.Low, q.High)
	}
	s := b.Status.Summary
	if found := q.OperationsPerSecond > 0; found != (s.IOPS != nil) || found && *s.IOPS != q.OperationsPerSecond || s.Capacity == "" {
		t.Errorf("the columns show %v and %q, not %d", s.IOPS, s.Capacity, q.OperationsPerSecond)
	}
	if len(b.Status.Curve) == 0 {
		t.Error("the status has no curve")
	}
	mustSay(t, b.Status.Message, "a p99 of 50 ms")
	return q
}

// TestMeasureCapacityOfALink searches where a link of known speed limits the rate.
func TestMeasureCapacityOfALink(t *testing.T) {
	p := newPlot(t, 1)
	b := p.create(t, p.benchmark("capacity", gen.Link("100M", 1500), within50ms))
	p.phase(t, b, v1alpha1.PhaseSucceeded)
	q := capacityOf(t, p.cleanedUp(t, b))
	measure.Expect(t, "capacity", "of what the link carries", measure.Between(0.8, 1.03), float64(q.OperationsPerSecond)/eightKiOfALink)
	measure.Outcome(t, "what limits it", q.LimitedBy, "Wire")
}

// TestCapacityOfTwoClientsIsFoundTogether requires that both clients measure the same levels.
func TestCapacityOfTwoClientsIsFoundTogether(t *testing.T) {
	p := newPlot(t, 1)
	b := p.create(t, p.benchmark("capacity", gen.Link("100M", 1500), gen.Clients(2), within50ms))
	p.phase(t, b, v1alpha1.PhaseSucceeded)
	done := p.cleanedUp(t, b)
	q := capacityOf(t, done)
	measure.Expect(t, "capacity of two clients", "of what the link carries", measure.Between(0.8, 1.03), float64(q.OperationsPerSecond)/eightKiOfALink)
	results := p.results(t, done)
	x, y := results[0].Clients[0].Load.Repetitions, results[1].Clients[0].Load.Repetitions
	if len(x) != len(y) || len(x) == 0 {
		t.Fatalf("one client has measured %d levels, the other %d", len(x), len(y))
	}
	var together, longest time.Duration
	for i := range x {
		if x[i].Step == nil || y[i].Step == nil || x[i].Step.OperationsPerSecond != y[i].Step.OperationsPerSecond {
			t.Errorf("level %d is %+v for one client and %+v for the other", i+1, x[i].Step, y[i].Step)
		}
		together += overlap(x[i], y[i])
		longest += max(x[i].End.Sub(x[i].Start), y[i].End.Sub(y[i].Start))
	}
	measure.Expect(t, "levels that were measured together", "% of their time", measure.AtLeast(50), 100*together.Seconds()/longest.Seconds())
	p.noFiles(t)
}

// overlap returns how long two windows ran at the same time.
func overlap(x, y runfile.Repetition) time.Duration {
	from, to := x.Start, x.End
	if y.Start.After(from) {
		from = y.Start
	}
	if y.End.Before(to) {
		to = y.End
	}
	return max(to.Sub(from), 0)
}
