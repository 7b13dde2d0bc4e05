package benchmark

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
)

// settled is a benchmark with a ramp that has ended and is cleaned up.
func settled() *v1alpha1.NFSBenchmark {
	b := gen.Benchmark("b", gen.In("bench"), gen.Export("/vol/oradata", "a.example", "b.example"),
		gen.SLOB(bench.SLOBRandomRead, 1, 2, 4, 8))
	b.UID, b.ResourceVersion, b.Generation, b.Finalizers = "uid", "7", 1, []string{Finalizer}
	b.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": strings.Repeat("x", 4<<10)}
	b.Labels = map[string]string{v1alpha1.LabelSuite: "s", v1alpha1.LabelCell: "c", "stranger.example/x": "y"}
	at, n := metav1.NewTime(time.Unix(1_800_000_000, 0)), int64(7)
	b.Status = v1alpha1.NFSBenchmarkStatus{
		ObservedGeneration: 1, Phase: v1alpha1.PhaseSucceeded, Verdict: bench.VerdictPass, Validity: bench.ValidityValid,
		Message: "900 MB/s", StartTime: &at, CompletionTime: &at, Summary: &v1alpha1.Summary{IOPS: &n}, Capacity: []v1alpha1.CapacityStatus{{Percentile: "p99", Microseconds: 1000, OperationsPerSecond: 7}},
		Curve:     make([]v1alpha1.CurvePoint, 48),
		ResultRef: &v1alpha1.ResultReference{Name: "b-result"}, Steps: make([]v1alpha1.StepStatus, 16), Paths: make([]v1alpha1.PathStatus, 2),
		Resolved: &v1alpha1.ResolvedStatus{Export: "/vol/oradata"}, Findings: []bench.Finding{{Code: "Indirect", Message: "why"}},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Completed", Message: "900 MB/s"},
			{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionTrue, Reason: "Completed"},
			{Type: v1alpha1.ConditionCleanedUp, Status: metav1.ConditionTrue, Reason: "Removed"},
		},
	}
	return b
}

func TestTheCacheHoldsOfASettledBenchmarkWhatSuitesAndMetricsRead(t *testing.T) {
	t.Parallel()
	whole := settled()
	out, err := reduceSettled(whole.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	want := whole.DeepCopy()
	want.Annotations = nil
	delete(want.Labels, "stranger.example/x")
	want.Spec = v1alpha1.NFSBenchmarkSpec{
		Protocol: bench.Protocol{Version: whole.Spec.Protocol.Version, Client: whole.Spec.Protocol.Client},
		Workload: bench.Workload{SLOB: &bench.SLOBWorkload{Access: bench.SLOBRandomRead}},
	}
	want.Status.Message, want.Status.Steps, want.Status.Paths, want.Status.Resolved, want.Status.Curve = "", nil, nil, nil, nil
	want.Status.Findings = []bench.Finding{{Code: "Indirect"}}
	want.Status.Conditions = want.Status.Conditions[1:]
	if diff := cmp.Diff(client.Object(want), out); diff != "" {
		t.Error(diff)
	}
	if !isSettled(out.(*v1alpha1.NFSBenchmark)) { //nolint:forcetypeassert // cmp.Diff compared the types
		t.Error("what is left is not settled, so a pass would write it")
	}
}

func TestTheCacheHoldsTheWholeOfABenchmarkThatIsNotSettled(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.NFSBenchmark){
		"it runs":             func(b *v1alpha1.NFSBenchmark) { b.Status.Conditions = b.Status.Conditions[:1] },
		"its files are left":  func(b *v1alpha1.NFSBenchmark) { b.Status.Conditions[2].Status = metav1.ConditionFalse },
		"its spec changed":    func(b *v1alpha1.NFSBenchmark) { b.Generation++ },
		"it is deleted":       func(b *v1alpha1.NFSBenchmark) { b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
		"it has no finalizer": func(b *v1alpha1.NFSBenchmark) { b.Finalizers = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := settled()
			change(b)
			out, err := reduceSettled(b.DeepCopy())
			if diff := cmp.Diff(client.Object(b), out); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// The cached copy has lost most of its status: a pass that patched it would lose it for good.
func TestAPassOverASettledBenchmarkWritesNothing(t *testing.T) {
	t.Parallel()
	out, err := reduceSettled(settled())
	if err != nil {
		t.Fatal(err)
	}
	patched := 0
	r := reconcilerWith(t)
	r.Clock = clock.RealClock{}
	r.Client = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			patched++
			return nil
		},
	})
	b := out.(*v1alpha1.NFSBenchmark) //nolint:forcetypeassert // it was one
	if _, err := r.Reconcile(t.Context(), b); err != nil || patched != 0 {
		t.Errorf("a pass over a settled benchmark patched its status %d times, error %v", patched, err)
	}
}

func TestTheCacheHoldsOfAConfigMapItsBenchmarkOnly(t *testing.T) {
	t.Parallel()
	own := metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "NFSBenchmark", Name: "b", UID: "1", Controller: new(true),
	}
	long, other := own, own
	long.Name, other.Kind = strings.Repeat("x", 254), "Deployment"
	kept := own
	kept.UID = ""
	for name, tc := range map[string]struct {
		owner metav1.OwnerReference
		want  []metav1.OwnerReference
	}{
		"of a benchmark": {own, []metav1.OwnerReference{kept}},
		"a long name":    {long, nil},
		"of another":     {other, nil},
	} {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "m", UID: "2", ResourceVersion: "3", OwnerReferences: []metav1.OwnerReference{tc.owner},
			Annotations: map[string]string{"a": "b"}, Labels: map[string]string{"a": "b"}, Finalizers: []string{"a/b"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		}}
		want := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: "m", UID: "2", ResourceVersion: "3", OwnerReferences: tc.want,
		}}
		out, err := ownerOnly(m)
		if diff := cmp.Diff(client.Object(want), out); err != nil || diff != "" {
			t.Error(name, err, diff)
		}
	}
}

func TestProgressWakesNoPassWhileABenchmarkMeasures(t *testing.T) {
	t.Parallel()
	done := settled()
	runs := gen.Benchmark("runs", gen.In("bench"))
	runs.Status.Phase = v1alpha1.PhaseRunning
	prepares := gen.Benchmark("prepares", gen.In("bench"))
	prepares.Status.Phase = v1alpha1.PhasePreparing
	scheme := kuberuntime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	r := reconcilerWith(t)
	r.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(done, runs, prepares).Build()
	for name, wakes := range map[string]bool{"runs": false, "prepares": true, done.Name: false, "not-seen-yet": true} {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Namespace: "bench", Name: name + "-result",
			OwnerReferences: []metav1.OwnerReference{{Kind: "NFSBenchmark", Name: name, Controller: new(true)}},
		}}
		if got := r.unlessMeasuring().Update(ctrlevent.UpdateEvent{ObjectOld: m, ObjectNew: m}); got != wakes {
			t.Errorf("a change of the result of %s wakes a pass: %v, want %v", name, got, wakes)
		}
	}
}

// TestASettledBenchmarkTakesLittleMemory measures what the cache keeps of many.
func TestASettledBenchmarkTakesLittleMemory(t *testing.T) {
	const many, most = 2000, 4 << 10
	raw, err := json.Marshal(settled())
	if err != nil {
		t.Fatal(err)
	}
	held := make([]any, many)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range held {
		b := &v1alpha1.NFSBenchmark{}
		if err := json.Unmarshal(raw, b); err != nil {
			t.Fatal(err)
		}
		if held[i], err = reduceSettled(b); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / many
	t.Logf("a settled benchmark takes %d bytes", each)
	if each > most {
		t.Errorf("a settled benchmark takes %d bytes, more than %d", each, most)
	}
	runtime.KeepAlive(held)
}
