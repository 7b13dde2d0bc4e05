package archive

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func reader(t *testing.T, objects ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// resultOf is the result of a benchmark with these changes, of one client.
func resultOf(t *testing.T, mods ...gen.Mod) runfile.Result {
	t.Helper()
	p, err := plan.Build(gen.Benchmark("demo", mods...), plan.Target{
		Addresses: []string{"10.0.1.61"}, Export: "/vol/oradata", Paths: []bench.ResolvedPath{{Path: "10.0.1.61"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return runfile.Result{Version: runfile.ResultVersion, Plan: p, Clients: []runfile.ClientResult{gen.Client(t, p, 0, time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))}}
}

func TestResultIsThatOfAllClients(t *testing.T) {
	t.Parallel()
	want := resultOf(t)
	var plain, compact bytes.Buffer
	if err := runfile.WriteResult(&plain, want); err != nil {
		t.Fatal(err)
	}
	if _, err := runfile.WriteResultGzip(&compact, want); err != nil {
		t.Fatal(err)
	}
	b := gen.Benchmark("demo")
	b.Status.Phase = v1alpha1.PhaseSucceeded
	b.Status.ResultRef = &v1alpha1.ResultReference{Name: "r"}
	read := func(b *v1alpha1.NFSBenchmark, data map[string][]byte) (runfile.Result, error) {
		m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "r"}, BinaryData: data}
		return Result(t.Context(), reader(t, m), b)
	}
	for name, data := range map[string][]byte{"text": plain.Bytes(), "compressed": compact.Bytes()} {
		got, err := read(b, map[string][]byte{"client-0.result.json.gz": data})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
	two := b.DeepCopy()
	two.Spec.Clients = 2
	one := map[string][]byte{"client-1.result.json.gz": compact.Bytes()}
	if _, err := read(two, one); err == nil || !strings.Contains(err.Error(), `no key "client-0.result.json.gz": it was changed`) {
		t.Errorf("a run that succeeded, of two clients with one result: %v", err)
	}
	two.Status.Phase = v1alpha1.PhaseFailed
	if got, err := read(two, one); err != nil || len(got.Clients) != 1 {
		t.Errorf("a run that failed, of two clients with one result: %v, %v", got.Clients, err)
	}
	if _, err := read(two, nil); err == nil || !strings.Contains(err.Error(), `no key "client-0.result.json.gz"`) {
		t.Errorf("no result at all: %v", err)
	}
	one["client-0.result.json.gz"] = compact.Bytes()
	if got, err := read(two, one); err != nil || len(got.Clients) != 2 || got.Clients[1].Index != 1 {
		t.Errorf("the clients do not have the numbers of their keys: %v", err)
	}
}

func TestRecordsAreThoseOfTheSuiteNewestFirst(t *testing.T) {
	t.Parallel()
	begun := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	of := func(suite, namespace, run string, started time.Time) *corev1.ConfigMap {
		var b bytes.Buffer
		if err := runfile.WriteSuiteRunGzip(&b, runfile.SuiteRun{Suite: suite, Run: run, Started: started}); err != nil {
			t.Fatal(err)
		}
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: run, Labels: map[string]string{v1alpha1.LabelSuite: suite}},
			BinaryData: map[string][]byte{runfile.KeySuiteRun: b.Bytes()},
		}
	}
	empty := of("s", "bench", "dashboard", begun)
	empty.BinaryData = nil
	objects := []client.Object{
		of("s", "bench", "s-1", begun), of("s", "bench", "s-3", begun.Add(2*time.Hour)), of("s", "bench", "s-2", begun.Add(time.Hour)),
		of("t", "bench", "t-1", begun), of("s", "other", "s-9", begun), empty,
	}
	got, err := Records(t.Context(), reader(t, objects...), "bench", "s")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, r.Run)
	}
	if diff := cmp.Diff([]string{"s-3", "s-2", "s-1"}, names); diff != "" {
		t.Error(diff)
	}
	broken := of("s", "bench", "s-4", begun)
	broken.BinaryData[runfile.KeySuiteRun] = []byte(`{"version":"nfsbench.io/suite-run/v9"}`)
	if _, err := Records(t.Context(), reader(t, broken), "bench", "s"); err == nil || !strings.Contains(err.Error(), `ConfigMap "s-4": read suite run: it has version "nfsbench.io/suite-run/v9"`) {
		t.Errorf("error %v names neither the object nor the version", err)
	}
}

func TestPointsAreThoseOfEachRepetition(t *testing.T) {
	t.Parallel()
	points := judge.Points(resultOf(t, gen.Repetitions(3)))
	if len(points) != 3 {
		t.Fatalf("%d repetitions, want 3", len(points))
	}
	for _, p := range points {
		if len(p) != 1 || p[0].Step != "" {
			t.Fatalf("%d points of one level of load, step %q", len(p), p[0].Step)
		}
		// gen reads 200 MiB/s in blocks of 1 MiB, with latencies from 1000 to 1999 us. Its machine was
		// not observed while it was idle.
		m := p[0].Metrics
		_, aboveIdle := m[runfile.MetricClientCPUTime]
		if m[runfile.MetricThroughput] != 200<<20 || m[runfile.MetricIOPS] != 200 || aboveIdle {
			t.Errorf("metrics %v", m)
		}
		if mean := m[runfile.MetricMeanLatency]; mean < 1490 || mean > 1510 {
			t.Errorf("mean latency %g us", mean)
		}
		if m[runfile.MetricP50Latency] >= m[runfile.MetricP95Latency] || m[runfile.MetricP95Latency] >= m[runfile.MetricP99Latency] {
			t.Errorf("percentiles %v", m)
		}
		if _, ok := m[runfile.MetricStorageLatency]; ok {
			t.Errorf("the storage was not asked, and has a latency: %v", m)
		}
	}
}

func TestPointsOfARampAreThoseOfEachStepInEachRound(t *testing.T) {
	t.Parallel()
	r := resultOf(t, gen.SLOB(bench.SLOBRandomRead, 1, 8), gen.Repetitions(2))
	// The second round is twice as slow: a sample is no median over the rounds.
	for i := range r.Clients[0].Load.Repetitions {
		if rep := &r.Clients[0].Load.Repetitions[i]; rep.Step.Round == 2 {
			rep.Read.Bytes, rep.Read.Count = rep.Read.Bytes/2, rep.Read.Count/2
		}
	}
	points := judge.Points(r)
	if len(points) != 2 {
		t.Fatalf("%d rounds, want 2", len(points))
	}
	for round, rate := range map[int]float64{0: 200 << 20, 1: 100 << 20} {
		got := map[string]float64{}
		for _, p := range points[round] {
			got[p.Step] = p.Metrics[runfile.MetricThroughput]
		}
		if diff := cmp.Diff(map[string]float64{"Users=1": rate / 8, "Users=8": rate}, got); diff != "" {
			t.Errorf("round %d:\n%s", round+1, diff)
		}
	}
	if len(r.Clients[0].Load.Repetitions) != 4 {
		t.Errorf("the result was changed: %d repetitions are left", len(r.Clients[0].Load.Repetitions))
	}
}

// TestASuiteComparesTheNumbersOfThePlugin without loss, for the longest ramp.
func TestASuiteComparesTheNumbersOfThePlugin(t *testing.T) {
	t.Parallel()
	var users []int32
	for n := range int32(32) {
		users = append(users, n+1)
	}
	r := resultOf(t, gen.SLOB(bench.SLOBRandomRead, users...), gen.Repetitions(1))
	var packed bytes.Buffer
	if err := runfile.WriteSuitePoints(&packed, runfile.SuitePoints{Points: judge.Headline(judge.Judge(r))}); err != nil {
		t.Fatal(err)
	}
	kept, err := runfile.ReadSuitePoints(&packed)
	if err != nil {
		t.Fatal(err)
	}
	plugin := judge.Points(r)
	if len(plugin) != 1 || len(plugin[0]) != len(users) {
		t.Fatalf("%d rounds, want 1 of %d levels", len(plugin), len(users))
	}
	if diff := cmp.Diff(plugin[0], kept.Points); diff != "" {
		t.Errorf("the suite has other numbers than the plugin (-plugin +suite):\n%s", diff)
	}
}

func TestWarmupIsNoSample(t *testing.T) {
	t.Parallel()
	oracle := resultOf(t, gen.Calibrate(1), gen.Oracle, gen.Repetitions(2))
	points := judge.Points(oracle)
	if len(points) != 2 || len(points[0]) != 1 || points[0][0].Step != "" {
		t.Errorf("two calibrations after a warm-up gave %+v", points)
	}
	if got := judge.Points(runfile.Result{Plan: oracle.Plan}); len(got) != 0 {
		t.Errorf("nothing was measured, and there is %+v", got)
	}
}

// TestAResultBeyondItsBudgetIsNotDecoded: the pods of a tenant write results, and an
// administrator may read them.
func TestAResultBeyondItsBudgetIsNotDecoded(t *testing.T) {
	t.Parallel()
	huge := resultOf(t)
	huge.Clients[0].Load.Samples = make([]runfile.LoadSample, runfile.BenchmarkBudget().Elements)
	var packed bytes.Buffer
	if _, err := runfile.WriteResultGzip(&packed, huge); err != nil {
		t.Fatal(err)
	}
	b := gen.Benchmark("demo")
	b.Status.Phase = v1alpha1.PhaseSucceeded
	b.Status.ResultRef = &v1alpha1.ResultReference{Name: "r"}
	m := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "r"},
		BinaryData: map[string][]byte{"client-0.result.json.gz": packed.Bytes()},
	}
	if _, err := Result(t.Context(), reader(t, m), b); err == nil || !strings.Contains(err.Error(), "that a result may have") {
		t.Errorf("a result of %d bytes in a ConfigMap: %v", packed.Len(), err)
	}
}
