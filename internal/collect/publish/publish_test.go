package publish

import (
	"bytes"
	"context"
	"encoding/base64"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/shareddir"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// longResult has incompressible samples for two repetitions of n seconds.
func longResult(n int) runfile.Result {
	random := rand.New(rand.NewPCG(1, 2))
	var load runfile.Load
	observed := &runfile.Observed{IntervalMilliseconds: 1000}
	for rep := int32(1); rep <= 2; rep++ {
		first := start.Add(time.Duration(rep) * time.Hour)
		for i := range n {
			at := first.Add(time.Duration(i) * time.Second)
			load.Samples = append(load.Samples, runfile.LoadSample{
				Time: at, Span: runfile.SpanMeasure, Repetition: rep,
				Read: &runfile.SampleOps{Count: random.Int64(), Bytes: random.Int64()},
			})
			busy := random.Int64()
			observed.Samples = append(observed.Samples, runfile.HostSample{Time: at, NodeBusyMicroseconds: &busy})
			for _, source := range []string{"a", "b"} {
				observed.Storage = append(observed.Storage, runfile.StorageSample{Source: source, Time: at, ReadBytes: &busy})
			}
		}
		load.Repetitions = append(load.Repetitions, runfile.Repetition{Index: rep})
		observed.Windows = append(observed.Windows, runfile.ObservedWindow{
			Kind: runfile.SpanMeasure, Repetition: rep,
			// Odd ends, which thinning alone would leave out.
			Start: first.Add(time.Second), End: first.Add(time.Duration(n/2*2-1) * time.Second),
		})
	}
	return runfile.Result{Clients: []runfile.ClientResult{{Index: 3, Load: load, Observed: observed}}}
}

func decode(t *testing.T, packed []byte) runfile.Result {
	t.Helper()
	result, err := runfile.ReadResult(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestAResultWithinItsLimitsStaysWhole(t *testing.T) {
	packed, err := Encode(longResult(10), Limits{Bytes: 1 << 20, Samples: 100})
	if err != nil {
		t.Fatal(err)
	}
	want := longResult(10)
	want.Version, want.Plan.Version = runfile.ResultVersion, runfile.PlanVersion
	if diff := cmp.Diff(want, decode(t, packed)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestThinningKeepsWindowsRepetitionsAndTheirEnds(t *testing.T) {
	whole := longResult(401)
	unlimited, err := Encode(whole, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	limit := len(unlimited) / 5
	packed, err := Encode(whole, Limits{Bytes: limit})
	if err != nil || len(packed) > limit {
		t.Fatalf("%d bytes with a limit of %d, error %v", len(packed), limit, err)
	}
	got, want := decode(t, packed).Clients[0], whole.Clients[0]
	if diff := cmp.Diff(want.Load.Repetitions, got.Load.Repetitions); diff != "" {
		t.Errorf("repetitions:\n%s", diff)
	}
	if diff := cmp.Diff(want.Observed.Windows, got.Observed.Windows); diff != "" {
		t.Errorf("windows:\n%s", diff)
	}
	step := got.Load.SampleSeconds
	if step < 4 || got.Observed.IntervalMilliseconds != 1000*step {
		t.Errorf("distances are %d s and %d ms", step, got.Observed.IntervalMilliseconds)
	}
	for i, s := range got.Load.Samples[1:] {
		if before := got.Load.Samples[i]; s.Repetition == before.Repetition && s.Time.Sub(before.Time) != time.Duration(step)*time.Second {
			t.Fatalf("load samples at %v and %v are not %d s apart", before.Time, s.Time, step)
		}
	}
	if first := start.Add(2 * time.Hour); !slices.ContainsFunc(got.Load.Samples, func(s runfile.LoadSample) bool { return s.Time.Equal(first) }) {
		t.Error("the first sample of the second repetition is gone")
	}
	times := map[time.Time]bool{}
	for _, s := range got.Observed.Samples {
		times[s.Time] = true
	}
	for _, w := range want.Observed.Windows {
		if !times[w.Start] || !times[w.End] {
			t.Errorf("the host samples at the ends of %v to %v are gone", w.Start, w.End)
		}
	}
	bySource := map[string]int{}
	for _, s := range got.Observed.Storage {
		bySource[s.Source]++
	}
	if bySource["a"] != bySource["b"] || bySource["a"] == 0 {
		t.Errorf("storage samples by source: %v", bySource)
	}
	if len(whole.Clients[0].Load.Samples) != 802 {
		t.Error("thinning changed the original")
	}
}

func TestBatchesAreThinnedTooWhileEnoughRemainForAnInterval(t *testing.T) {
	whole := longResult(400)
	ops := &runfile.Ops{Count: 64}
	for range runfile.MaxBatches {
		ops.Batches = append(ops.Batches, runfile.Batch{Milliseconds: 1000, Count: 2, Latencies: "160:1 170:1"})
	}
	whole.Clients[0].Load.Repetitions[1].Read = ops
	for samples, want := range map[int]runfile.Batch{
		900: {Milliseconds: 2000, Count: 4, Latencies: "160:2 170:2"}, 50: {Milliseconds: 4000, Count: 8, Latencies: "160:4 170:4"},
	} {
		packed, err := Encode(whole, Limits{Samples: samples})
		if err != nil {
			t.Fatal(err)
		}
		got := decode(t, packed).Clients[0].Load.Repetitions[1].Read.Batches
		if len(got) != int(32_000/want.Milliseconds) || got[0] != want || got[len(got)-1] != want {
			t.Errorf("%d samples: %d batches such as %+v; want %+v", samples, len(got), got[0], want)
		}
	}
	if len(ops.Batches) != runfile.MaxBatches {
		t.Error("thinning changed the original")
	}
	packed, _ := Encode(whole, Limits{Bytes: 10})
	if got := decode(t, packed).Clients[0].Load.Repetitions[1].Read; len(got.Batches) != 0 || got.Count != 64 {
		t.Errorf("of a result without space remains %+v", got)
	}
}

func TestPartialResultsAreLimitedInTheNumberOfSamples(t *testing.T) {
	packed, err := Encode(longResult(400), Limits{Samples: 300})
	if err != nil {
		t.Fatal(err)
	}
	got := decode(t, packed)
	if n := sampleCount(got); n > 300 || n < 100 {
		t.Errorf("%d samples", n)
	}
}

func TestARepetitionIsNeverDroppedForSpace(t *testing.T) {
	packed, err := Encode(longResult(50), Limits{Bytes: 10})
	if err == nil {
		t.Error("no error although the limit is exceeded")
	}
	got := decode(t, packed).Clients[0]
	if len(got.Load.Repetitions) != 2 || len(got.Observed.Windows) != 2 || len(got.Load.Samples)+len(got.Observed.Samples) != 0 {
		t.Errorf("got %d repetitions, %d windows, %d samples", len(got.Load.Repetitions), len(got.Observed.Windows), len(got.Load.Samples))
	}
}

func TestBudgetDividesTheConfigMapAmongTheClients(t *testing.T) {
	for clients, want := range map[int32]int{0: 921600, 1: 921600, 7: 131657, 100: 9216} {
		if got := Share(runfile.Plan{Clients: clients}).Bytes; got != want {
			t.Errorf("%d clients: %d bytes, want %d", clients, got, want)
		}
	}
}

func TestDirectoryHoldsTheKeysAsFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	d, err := NewDirectory(dir, 2)
	if err != nil {
		t.Fatal(err)
	}
	for _, update := range []Update{
		{Result: []byte("one")}, {Progress: &runfile.Progress{Ready: true}}, {Result: []byte("two")},
	} {
		if err := d.Publish(t.Context(), update); err != nil {
			t.Fatal(err)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "client-2.result.json.gz")); string(raw) != "two" {
		t.Errorf("result %q, %v", raw, err)
	}
	if raw, err := os.ReadFile(filepath.Join(dir, "client-2.progress.json")); !bytes.Contains(raw, []byte(`"ready":true`)) {
		t.Errorf("progress %q, %v", raw, err)
	}
	assertReleased(t, d, false)
	if err := shareddir.Replace(dir, "release", nil, shareddir.ForAll); err != nil {
		t.Fatal(err)
	}
	assertReleased(t, d, true)
	if err := shareddir.Replace(dir, "levels", []byte("{}"), shareddir.ForAll); err != nil {
		t.Fatal(err)
	}
	if s, err := d.Signal(t.Context()); err != nil || string(s.Levels) != "{}" {
		t.Errorf("levels %q, %v", s.Levels, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 4 {
		t.Errorf("files are left over: %v, %v", entries, err)
	}
}

func assertReleased(t *testing.T, p Publisher, want bool) {
	t.Helper()
	if got, err := p.Signal(context.WithoutCancel(t.Context())); err != nil || got.Released != want {
		t.Errorf("released %v, %v; want %v", got, err, want)
	}
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
