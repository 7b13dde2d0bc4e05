package publish

import (
	"encoding/base64"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// searched returns the result of one client of a search. The storage has a capacity of 1,000
// operations a second. Each round has 32 levels that rise, close in, and measure rates near the
// capacity. Each level has latencies of 4,000 bytes in both directions.
func searched(clients, rounds int32) runfile.Result {
	random := rand.New(rand.NewPCG(1, 2))
	latencies := func(n int) *runfile.Ops {
		raw := make([]byte, 3000)
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		ops := &runfile.Ops{Count: int64(n), Histogram: base64.StdEncoding.EncodeToString(raw)}
		for range runfile.MaxBatches {
			ops.Batches = append(ops.Batches, runfile.Batch{Milliseconds: 1000, Count: random.Int64N(1000)})
		}
		return ops
	}
	rates := []int64{64, 256, 1024, 512, 724, 861, 939, 981}
	for i := range int64(24) {
		rates = append(rates, 960+i/3*16)
	}
	plan := runfile.Plan{Clients: clients, Schedule: runfile.Schedule{Repetitions: rounds}, Workload: bench.Workload{Raw: &bench.RawWorkload{Capacity: gen.CapacityWithin(bench.ArrivalsFixed, runfile.LatencyBound{Percentile: "p99", Microseconds: 1000})}}}
	var load runfile.Load
	for round := range rounds {
		for i, rate := range rates {
			slow := int64(0)
			if rate > 1000 {
				slow = rate
			}
			level := &runfile.LevelReport{Index: round*32 + int32(i) + 1, Slow: [][]int64{nil}}
			for range plan.ReportParts() {
				level.Due = append(level.Due, rate)
				level.Done = append(level.Done, rate-random.Int64N(9))
				level.Slow[0] = append(level.Slow[0], slow)
			}
			rep := runfile.Repetition{
				Index: level.Index, Start: start, End: start.Add(time.Minute), Level: level,
				Step: &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: rate, Round: round + 1},
				Read: latencies(60 * int(rate)), Write: latencies(60 * int(rate)),
			}
			for id := range int32(4) {
				n := random.Int64N(1e6)
				rep.Channels = append(rep.Channels, runfile.Channel{ID: id, Path: "10.0.0.1", State: "Up", Sends: n, Receives: n, BytesRead: n << 13})
			}
			load.Repetitions = append(load.Repetitions, rep)
		}
	}
	return runfile.Result{Plan: plan, Clients: []runfile.ClientResult{{Load: load}}}
}

func TestTheResultsOfALongSearchFit(t *testing.T) {
	for name, tc := range map[string]struct {
		clients, rounds int32
		near            bool // the latencies at the capacity remain
	}{
		"one search":          {1, 1, true},
		"one client for days": {1, 20, true},
		"many clients":        {10, 1, true},
		"most clients":        {100, 1, false},
		"most of both":        {5, 20, false},
	} {
		t.Run(name, func(t *testing.T) {
			whole := searched(tc.clients, tc.rounds)
			packed, err := Encode(whole, Share(whole.Plan))
			if err != nil {
				t.Fatal(err)
			}
			got := decode(t, packed).Clients[0].Load.Repetitions
			if len(got) != int(32*tc.rounds) {
				t.Fatalf("%d levels", len(got))
			}
			if _, s, err := pack(decode(t, packed)); err != nil || int(tc.clients)*s.elements > runfile.BenchmarkBudget().Elements {
				t.Errorf("%d elements, error %v", s.elements, err)
			}
			for _, rep := range got {
				if rep.Read.Count == 0 || len(rep.Level.Done) == 0 {
					t.Fatalf("level %d has lost its counts", rep.Index)
				}
			}
			// The last level at the highest rate that holds the bound.
			last := got[slices.IndexFunc(got, func(r runfile.Repetition) bool { return r.Step.OperationsPerSecond == 992 })+2]
			if last.Step.OperationsPerSecond != 992 || tc.near && (last.Read.Histogram == "" || last.Write.Histogram == "") {
				t.Error("the latencies at the capacity are gone")
			}
			if whole.Clients[0].Load.Repetitions[0].Read.Histogram == "" {
				t.Error("encoding changed the original")
			}
		})
	}
}
