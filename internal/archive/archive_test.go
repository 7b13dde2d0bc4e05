package archive

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
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

// suite is the one whose records are read.
func suite() *v1alpha1.NFSBenchmarkSuite {
	return &v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "s", UID: "1"}}
}

// recordOf is the ConfigMap of a run that the suite made at a time, with the text of its record.
func recordOf(t *testing.T, run string, made time.Time, text string) *corev1.ConfigMap {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); errors.Join(err, z.Close()) != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "bench", Name: run, Labels: map[string]string{v1alpha1.LabelSuite: "s"}, CreationTimestamp: metav1.NewTime(made),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(suite(), v1alpha1.GroupVersion.WithKind("NFSBenchmarkSuite"))},
		},
		BinaryData: map[string][]byte{runfile.KeySuiteRun: b.Bytes()},
	}
}

func begun() time.Time { return time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC) }

// runOf is the text of a record.
func runOf(run string, started time.Time, more string) string {
	return fmt.Sprintf(`{"version":%q,"run":%q,"started":%q%s}`, runfile.SuiteRunVersion, run, started.Format(time.RFC3339), more)
}

// mustHave compares the records of the suite, and what is left out.
func mustHave(t *testing.T, objects []client.Object, want, leftOut []string) {
	t.Helper()
	got, without, err := Records(t.Context(), reader(t, objects...), suite())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range got {
		names = append(names, r.Run)
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Error(diff)
	}
	if !slices.EqualFunc(without, leftOut, strings.Contains) {
		t.Errorf("left out is %q, want %q", without, leftOut)
	}
}

func TestRecordsAreThoseOfTheSuiteNewestFirst(t *testing.T) {
	t.Parallel()
	of := func(run string, started time.Time, change func(*corev1.ConfigMap)) *corev1.ConfigMap {
		m := recordOf(t, run, started, runOf(run, started, ""))
		change(m)
		return m
	}
	asItIs := func(*corev1.ConfigMap) {}
	mustHave(t, []client.Object{
		of("s-1", begun(), asItIs), of("s-3", begun().Add(2*time.Hour), asItIs), of("s-2", begun().Add(time.Hour), asItIs),
		of("t-1", begun(), func(m *corev1.ConfigMap) { m.Labels[v1alpha1.LabelSuite] = "t" }),
		of("s-9", begun(), func(m *corev1.ConfigMap) { m.Namespace = "other" }),
		of("s-8", begun(), func(m *corev1.ConfigMap) { m.OwnerReferences = nil }),
		of("s-7", begun(), func(m *corev1.ConfigMap) { m.OwnerReferences[0].UID = "2" }),
		of("dashboard", begun(), func(m *corev1.ConfigMap) { m.BinaryData = nil }),
		recordOf(t, "s-4", begun(), `{"version":"nfsbench.io/suite-run/v9"}`),
	}, []string{"s-3", "s-2", "s-1"}, []string{`ConfigMap "s-4" is left out: read suite run: it has version "nfsbench.io/suite-run/v9"`})
}

// TestRecordsOfOthersFillNoMemory: whoever writes ConfigMaps makes as many as they like, and 543 bytes of one unpack to
// 32 MiB. The newest ones are read.
func TestRecordsOfOthersFillNoMemory(t *testing.T) {
	t.Parallel()
	var objects []client.Object
	var names, leftOut []string
	for i := range maxRecords + 3 {
		name, made := fmt.Sprintf("s-%02d", i), begun().Add(time.Duration(i)*time.Hour)
		objects = append(objects, recordOf(t, name, made, runOf(name, made, "")))
		names = append([]string{name}, names...)
	}
	mustHave(t, objects, names[:maxRecords], []string{"3 older records are left out: at most 52 are read"})

	bomb := `,"results":[` + strings.Repeat("{},", 149_000) + "{}]"
	objects, names = nil, nil
	for i := range 8 {
		name, made := fmt.Sprintf("s-%02d", i), begun().Add(time.Duration(i)*time.Hour)
		objects = append(objects, recordOf(t, name, made, runOf(name, made, bomb)))
		if i >= 4 {
			names = append([]string{name}, names...)
		} else {
			leftOut = append([]string{fmt.Sprintf("ConfigMap %q is left out: read suite run: larger than", name)}, leftOut...)
		}
	}
	mustHave(t, objects, names, leftOut)
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
		_, aboveIdle := m[bench.MetricClientCPUTime]
		if m[bench.MetricThroughput] != 200<<20 || m[bench.MetricIOPS] != 200 || aboveIdle {
			t.Errorf("metrics %v", m)
		}
		if mean := m[bench.MetricMeanLatency]; mean < 1490 || mean > 1510 {
			t.Errorf("mean latency %g us", mean)
		}
		if m[bench.MetricP50Latency] >= m[bench.MetricP95Latency] || m[bench.MetricP95Latency] >= m[bench.MetricP99Latency] {
			t.Errorf("percentiles %v", m)
		}
		if _, ok := m[bench.MetricStorageLatency]; ok {
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
			got[p.Step] = p.Metrics[bench.MetricThroughput]
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
