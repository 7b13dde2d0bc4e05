package integrate_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/integrate"
)

func at(seconds float64) time.Time {
	return time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC).Add(time.Duration(seconds * float64(time.Second)))
}

func start() *integrate.Integrator { return integrate.New(at(0), 10*time.Second) }

func reads(seconds, ops float64) integrate.Rates {
	return integrate.Rates{Time: at(seconds), ReadOps: &ops}
}

func busy(seconds, percent float64) integrate.Rates {
	return integrate.Rates{Time: at(seconds), BusyPercent: &percent}
}

func total(readings ...integrate.Rates) integrate.Batch { return integrate.Batch{Total: readings} }

func TestReadingsBecomeCounters(t *testing.T) {
	cases := map[string]struct {
		reason  string
		batches []integrate.Batch
		want    *int64
		at      float64
	}{
		"the first reading": {"nothing is assumed of the time before it", []integrate.Batch{total(reads(1, 1000))}, new(int64(0)), 1},
		"two in one batch":  {"a reading stands for the time since the one before", []integrate.Batch{total(reads(1, 1000), reads(3, 50))}, new(int64(100)), 3},
		"two batches":       {"it is the same however they arrive", []integrate.Batch{total(reads(1, 1000)), total(reads(3, 50))}, new(int64(100)), 3},
		"disorder":          {"the order in a batch means nothing", []integrate.Batch{total(reads(3, 50), reads(1, 1000), reads(2, 10))}, new(int64(60)), 3},
		"overlap":           {"nothing counts twice", []integrate.Batch{total(reads(1, 1000), reads(2, 10)), total(reads(1, 1000), reads(2, 10), reads(3, 5))}, new(int64(15)), 3},
		"the same again":    {"a reading that did not move adds nothing", []integrate.Batch{total(reads(1, 9)), total(reads(2, 9)), total(reads(2, 9))}, new(int64(9)), 2},
		"an older batch":    {"an answer that was overtaken adds nothing", []integrate.Batch{total(reads(1, 9), reads(3, 9)), total(reads(2, 9))}, new(int64(18)), 3},
		"a missing reading": {"the next one stands for it", []integrate.Batch{total(reads(1, 9), reads(11, 9))}, new(int64(90)), 11},
		"a long silence":    {"it is not made up: another epoch", []integrate.Batch{total(reads(1, 9), reads(2, 9), reads(13, 9), reads(14, 9))}, new(int64(9)), 14},
		"negative":          {"no rate", []integrate.Batch{total(reads(1, -9), reads(2, -9))}, nil, 2},
		"no number":         {"no rate", []integrate.Batch{total(reads(1, math.NaN()), reads(2, math.Inf(1)))}, nil, 2},
		"beyond reason":     {"no storage is as fast", []integrate.Batch{total(reads(1, 1e300), reads(2, 1e300))}, nil, 2},
		"fractions":         {"they add up before they are cut off", []integrate.Batch{total(reads(1, 0), reads(2, 0.6), reads(3, 0.6))}, new(int64(1)), 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			i := start()
			var got storage.Snapshot
			for _, b := range tc.batches {
				got = i.Ask().Answer(b)
			}
			if diff := cmp.Diff(tc.want, got.ReadOps); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if !got.Time.Equal(at(tc.at)) {
				t.Errorf("%s: time %v, want that of the last reading", tc.reason, got.Time)
			}
		})
	}
}

func TestEveryRateHasItsCounter(t *testing.T) {
	r := integrate.Rates{
		ReadOps: new(100.0), WriteOps: new(10.0), OtherOps: new(1.0), ReadBytes: new(8192.0), WrittenBytes: new(4096.0),
		ReadLatency: new(250.0), WriteLatency: new(500.0),
	}
	first, second := r, r
	first.Time, second.Time = at(0), at(2)
	got := start().Ask().Answer(integrate.Batch{
		Total: []integrate.Rates{first, second},
		Nodes: []integrate.Node{{Name: "b", Rates: []integrate.Rates{busy(0, 90), busy(2, 30)}}, {Name: "a", Rates: []integrate.Rates{busy(0, 0), busy(2, 100.4)}}},
		Paths: []integrate.Path{{Address: "10.0.0.2", Name: "lif2", Node: "b", Rates: []integrate.Rates{first, second}}, {Address: "10.0.0.1", Name: "lif1", Node: "a"}},
	})
	all := runfile.StorageSample{
		ReadOps: new(int64(200)), WriteOps: new(int64(20)), OtherOps: new(int64(2)),
		ReadBytes: new(int64(16384)), WriteBytes: new(int64(8192)),
		ReadMicroseconds: new(int64(50000)), WriteMicroseconds: new(int64(10000)),
	}
	all.Time = at(2)
	all.Nodes = []runfile.StorageNode{
		{Name: "a", BusyMicroseconds: new(int64(2e6)), BaseMicroseconds: new(int64(2e6))},
		{Name: "b", BusyMicroseconds: new(int64(6e5)), BaseMicroseconds: new(int64(2e6))},
	}
	all.Paths = []runfile.StoragePath{
		{Address: "10.0.0.1", Name: "lif1", Node: "a"},
		{Address: "10.0.0.2", Name: "lif2", Node: "b", ReadBytes: all.ReadBytes, WriteBytes: all.WriteBytes},
	}
	want := storage.Snapshot{Epoch: "2026-11-01T10:00:00Z/1", StorageSample: all}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLatencyWithoutItsParts(t *testing.T) {
	cases := map[string]struct {
		reason       string
		ops, latency *float64
		want         *int64
	}{
		"no operations": {"they take no time, whatever is said of their latency", new(0.0), nil, new(int64(0))},
		"no latency":    {"not known", new(5.0), nil, nil},
		"no count":      {"not known", nil, new(5.0), nil},
		"two negatives": {"their product is no latency", new(-5.0), new(-5.0), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := start().Ask().Answer(total(integrate.Rates{Time: at(1), ReadOps: tc.ops, ReadLatency: tc.latency}, integrate.Rates{Time: at(2), ReadOps: tc.ops, ReadLatency: tc.latency}))
			if diff := cmp.Diff(tc.want, got.ReadMicroseconds); diff != "" {
				t.Errorf("%s:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAnEpochLastsAsLongAsReadingsCome(t *testing.T) {
	i := start()
	first := i.Ask().Answer(total(reads(1, 9), reads(11, 9), reads(21, 9)))
	if late := i.Ask().Answer(total(reads(15, 9))); late.Epoch != first.Epoch || *late.ReadOps != *first.ReadOps {
		t.Errorf("an answer that was overtaken is no clock that went back: %+v", late)
	}
	if gap := i.Ask().Answer(total(reads(31.5, 9))); gap.Epoch == first.Epoch || *gap.ReadOps != 0 {
		t.Errorf("after a silence too long to bridge the counters start anew: %+v", gap)
	}
	if back := i.Ask().Answer(total(reads(5, 9))); back.Epoch != "2026-11-01T10:00:00Z/3" || !back.Time.Equal(at(5)) || *back.ReadOps != 0 {
		t.Errorf("after the clock went back the counters start anew: %+v", back)
	}
	if same := i.Ask().Answer(integrate.Batch{}); same.Epoch != "2026-11-01T10:00:00Z/3" || !same.Time.Equal(at(5)) {
		t.Errorf("an empty batch changes nothing: %+v", same)
	}
}

func TestWhatIsToldNoMoreIsUnknown(t *testing.T) {
	i := start()
	i.Ask().Answer(integrate.Batch{
		Total: []integrate.Rates{reads(1, 9)},
		Nodes: []integrate.Node{{Name: "a", Rates: []integrate.Rates{busy(1, 50)}}},
		Paths: []integrate.Path{{Address: "10.0.0.1", Rates: []integrate.Rates{{Time: at(1), ReadBytes: new(9.0)}}}},
	})
	for _, s := range []float64{10, 11} {
		i.Ask().Answer(total(reads(s, 9)))
	}
	got := i.Ask().Answer(total(integrate.Rates{Time: at(12), WriteOps: new(1.0)}))
	if got.Nodes[0].BusyMicroseconds != nil || got.Nodes[0].BaseMicroseconds != nil || got.Paths[0].ReadBytes != nil {
		t.Errorf("a node and a path that are silent are not idle: %+v %+v", got.Nodes[0], got.Paths[0])
	}
	if got.ReadOps == nil {
		t.Error("one reading may miss what the others have")
	}
	got = i.Ask().Answer(integrate.Batch{Nodes: []integrate.Node{{Name: "a", Rates: []integrate.Rates{busy(13, 50), busy(14, 50)}}}})
	if got.Nodes[0].BusyMicroseconds != nil {
		t.Errorf("after a gap that nobody can fill a counter stays unknown: %v", *got.Nodes[0].BusyMicroseconds)
	}
}

func TestAPathMovesWithItsNewestReading(t *testing.T) {
	i := start()
	path := func(node string, s float64) integrate.Batch {
		return integrate.Batch{Paths: []integrate.Path{{Address: "10.0.0.1", Name: "lif1", Node: node, Rates: []integrate.Rates{{Time: at(s), ReadBytes: new(10.0)}}}}}
	}
	i.Ask().Answer(path("a", 1))
	i.Ask().Answer(path("b", 3))
	got := i.Ask().Answer(path("a", 2))
	if p := got.Paths[0]; p.Node != "b" || *p.ReadBytes != 20 {
		t.Errorf("got %+v, want it on b with 20 bytes", p)
	}
}

func TestSharesThatAreNone(t *testing.T) {
	for _, percent := range []float64{-1, 105.5, 350, math.NaN()} {
		got := start().Ask().Answer(integrate.Batch{Nodes: []integrate.Node{{Name: "a", Rates: []integrate.Rates{busy(1, percent), busy(2, percent)}}}})
		if n := got.Nodes[0]; n.BusyMicroseconds != nil || n.BaseMicroseconds != nil {
			t.Errorf("%v percent became %v of %v microseconds", percent, *n.BusyMicroseconds, *n.BaseMicroseconds)
		}
	}
}

// TestNeitherGapNorDoubleCounting gives overlapping pieces of one history to one
// integrator from many goroutines: whatever the order, the sum is that of the history, and
// no counter ever falls.
func TestNeitherGapNorDoubleCounting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test repeats
	const n = 2000
	history := []integrate.Rates{reads(0, 0)}
	want, seconds := 0.0, 0.0
	for range n {
		step, ops := random.Float64(), float64(random.IntN(100000))
		seconds += step
		history = append(history, reads(seconds, ops))
		want += ops * history[len(history)-1].Time.Sub(history[len(history)-2].Time).Seconds()
	}
	i := start()
	var mu sync.Mutex
	end := 0
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			var last int64
			for {
				mu.Lock()
				q := i.Ask()
				from := max(0, end-5)
				end = min(end+7, len(history))
				piece, done := total(history[from:end]...), from+5 >= len(history)
				q.Answer(piece)
				mu.Unlock()
				got := q.Answer(piece) // once more, overtaken by others
				if *got.ReadOps < last {
					t.Errorf("fell from %d to %d", last, *got.ReadOps)
				}
				if last = *got.ReadOps; done {
					return
				}
			}
		})
	}
	all.Wait()
	got := i.Ask().Answer(integrate.Batch{})
	if diff := math.Abs(float64(*got.ReadOps) - want); diff > 1 {
		t.Errorf("%d operations, want %f", *got.ReadOps, want)
	}
}

func TestAnAnswerThatWasOvertakenIsNoClockThatWentBack(t *testing.T) {
	i := start()
	first := i.Ask().Answer(total(reads(1, 9)))
	slow := i.Ask()
	for _, s := range []float64{10, 19, 28} {
		i.Ask().Answer(total(reads(s, 9)))
	}
	if got := slow.Answer(total(reads(2, 9))); got.Epoch != first.Epoch || *got.ReadOps != 243 {
		t.Errorf("a slow answer changes nothing: epoch %q, %d", got.Epoch, *got.ReadOps)
	}
	one, two := i.Ask(), i.Ask()
	once := one.Answer(total(reads(1, 9)))
	if twice := two.Answer(total(reads(2, 9))); twice.Epoch != once.Epoch || twice.Epoch == first.Epoch || *twice.ReadOps != 9 {
		t.Errorf("the clock went back once, whoever sees it: epochs %q and %q, %d", once.Epoch, twice.Epoch, *twice.ReadOps)
	}
}
