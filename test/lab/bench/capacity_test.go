package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

func TestEachCapacityRowAsksForTheErrorAndTheTime(t *testing.T) {
	want := []score.Check{
		{Metric: score.MetricCapacity, Of: toolOurs, To: howSweep, AtLeast: 0.95, AtMost: 1.05},
		{Metric: score.MetricCapacity, Of: toolOurs, To: againName, AtLeast: 0.95, AtMost: 1.05},
		{Metric: score.MetricTime, Of: toolOurs, To: howSweep, AtMost: 0.2},
	}
	beside := score.Check{Metric: score.MetricCapacity, Of: toolOurs, To: "fio, latency_target", AtLeast: 0.95, AtMost: 1.05}
	for _, r := range capacityRows() {
		checks := want
		if r.Name != "capacity-cpu" {
			checks = append(slices.Clone(want), beside)
		}
		if diff := cmp.Diff(checks, r.Checks); diff != "" {
			t.Errorf("%s (-want +got):\n%s", r.Name, diff)
		}
		var how []string
		for _, turn := range turnsOf([]row{r}, 5) {
			how = append(how, r.Entries[turn.Entry].How)
		}
		if order := []string{howSearch, howSweep, howSearch}; !slices.Equal(how[:3], order) || len(how) != len(r.Entries) {
			t.Errorf("%s: the turns are %v, want each once and first %v", r.Name, how, order)
		}
	}
}

func TestASweepHasRatesFromHalfTheCapacityToMore(t *testing.T) {
	rates := sweepRates(10_000)
	if first, last := rates[0], rates[len(rates)-1]; first < 5000 || first > 5125 || last < 10_725 || last > 11_000 {
		t.Errorf("from %d to %d", first, last)
	}
	for i, r := range rates[1:] {
		if step := float64(r) / float64(rates[i]); step < 1.0245 || step > 1.0255 {
			t.Errorf("from %d to %d", rates[i], r)
		}
	}
	if slices.Contains(rates, 10_000) {
		t.Error("the capacity itself is one of the rates")
	}
	order := upAndDown(rates)
	if diff := cmp.Diff(rates, slices.Sorted(slices.Values(order))); diff != "" {
		t.Errorf("not each rate once (-want +got):\n%s", diff)
	}
	if order[1] != rates[2] || order[len(order)-1] != rates[1] {
		t.Errorf("the order is %v", order)
	}
}

func TestABucketGivesItsRateAndMakesUpForAShortPause(t *testing.T) {
	start := time.Unix(0, 0)
	b := bucket{interval: time.Millisecond}
	at := start
	for range 1000 {
		if wait := b.take(at); wait > 0 {
			at = at.Add(wait)
		}
	}
	if took := at.Sub(start); took != (1000-burst)*time.Millisecond {
		t.Errorf("1000 tokens take %v", took)
	}
	at = at.Add(time.Hour)
	free := 0
	for b.take(at) <= 0 {
		free++
	}
	if free != burst {
		t.Errorf("after a long pause %d tokens are there, want %d", free, burst)
	}
}

func TestTheRelayCountsRepliesAndChangesNoByte(t *testing.T) {
	fragment := func(last uint32, data string) []byte {
		return append(binary.BigEndian.AppendUint32(nil, last<<31|uint32(len(data))), data...)
	}
	in := slices.Concat(fragment(0, "one rep"), fragment(1, "ly"), fragment(1, "another"), fragment(1, ""))
	r := &relay{tokens: bucket{interval: time.Microsecond, full: time.Now().Add(-time.Hour)}}
	var out bytes.Buffer
	before := time.Now()
	if err := r.replies(bytes.NewReader(in), &out); !errors.Is(err, io.EOF) {
		t.Errorf("it ends with %v", err)
	}
	if !bytes.Equal(in, out.Bytes()) {
		t.Errorf("forwarded %q, want %q", out.Bytes(), in)
	}
	// A long interval shows how many tokens were taken, without a wait.
	r = &relay{tokens: bucket{interval: time.Hour}}
	if err := r.replies(bytes.NewReader(in), io.Discard); !errors.Is(err, io.EOF) {
		t.Errorf("it ends with %v", err)
	}
	if hours := r.tokens.full.Sub(before).Round(time.Hour) / time.Hour; hours != 3 {
		t.Errorf("3 replies took %d tokens", hours)
	}
	if err := r.replies(bytes.NewReader([]byte{0x7f, 255, 255, 255}), io.Discard); err == nil || !strings.Contains(err.Error(), "fragment") {
		t.Errorf("a fragment of 2 GiB: %v", err)
	}
}

func TestWhatFioFindsIsTheRateOfItsLastWindow(t *testing.T) {
	report := func(depth, milliseconds string) []byte {
		return []byte(`{"jobs": [{"latency_depth": ` + depth + `, "job_runtime": 2001,
			"read": {"io_bytes": 8192, "total_ios": 8000, "runtime": ` + milliseconds + `}}]}`)
	}
	s := score.Sample{Capacity: &score.Capacity{}}
	if err := parseTarget(report("9", "2000"), &s); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&score.Capacity{OperationsPerSecond: 4000, Seconds: 0, Depth: 9}, s.Capacity); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, output := range map[string][]byte{"no depth": report("0", "2000"), "it did not come to an end": report("9", "32000")} {
		if err := parseTarget(output, &s); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestTheLevelsOfAResultGiveTheCapacity(t *testing.T) {
	began := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	level := func(index int32, rate int64, slow int64) runfile.Repetition {
		second := func(n int64) []int64 { return slices.Repeat([]int64{n}, 6) }
		return runfile.Repetition{
			Index: index, Start: began, End: began.Add(6 * time.Second),
			Step:  &runfile.Step{Kind: runfile.StepRate, OperationsPerSecond: rate, Round: 1},
			Level: &runfile.LevelReport{Index: index, Due: second(rate), Done: second(rate), Slow: [][]int64{second(slow)}},
		}
	}
	wanted := gen.CapacityWithin(bench.ArrivalsFixed, runfile.LatencyBound{Percentile: "p99", Microseconds: 5000})
	output := func(levels ...runfile.Repetition) []byte {
		var result runfile.Result
		if err := json.Unmarshal(ourResult(t, func(l *runfile.Load) { l.Repetitions = levels }), &result); err != nil {
			t.Fatal(err)
		}
		result.Plan.Workload.Raw.Capacity = wanted
		data, err := json.Marshal(result)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var got score.Capacity
	if err := parseSearch(output(level(1, 1000, 0), level(2, 4000, 4000), level(3, 2000, 0), level(4, 2060, 2000)), &got); err != nil {
		t.Fatal(err)
	}
	if got.OperationsPerSecond < 2000 || got.OperationsPerSecond > 2060 || got.LongestSeconds != 6 {
		t.Errorf("found %+v, want a capacity from 2000 to 2060 by levels of 6 s", got)
	}
	holds := []bool{true, false, true, false}
	for i, r := range got.Rates {
		if r.Holds != holds[i] || r.Seconds != 6 {
			t.Errorf("level %d: %+v", i+1, r)
		}
	}
	if err := parseSearch(output(level(1, 64, 64)), &got); err == nil {
		t.Error("a server that holds the bound at no rate has a capacity")
	}
	if err := parseSearch(ourResult(t, func(*runfile.Load) {}), &got); err == nil {
		t.Error("a load at one rate has a capacity")
	}
}
