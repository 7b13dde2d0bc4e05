package benchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kuberuntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// settled is a benchmark with a ramp that has ended and is cleaned up.
func settled() *v1alpha1.NFSBenchmark {
	b := gen.Benchmark("b", gen.In("bench"), gen.Export("/vol/oradata", "a.example", "b.example"),
		gen.SLOB(bench.SLOBRandomRead, 1, 2, 4, 8))
	b.UID, b.ResourceVersion, b.Generation, b.Finalizers = "uid", "7", 1, []string{owned.Finalizer}
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
	out, err := reduceBenchmark(whole.DeepCopy())
	if err != nil {
		t.Fatal(err)
	}
	want := whole.DeepCopy()
	want.Annotations = nil
	delete(want.Labels, "stranger.example/x")
	want.Spec = v1alpha1.NFSBenchmarkSpec{
		Protocol: bench.Protocol{Version: whole.Spec.Protocol.Version, Client: whole.Spec.Protocol.Client},
		Workload: bench.Workload{SLOB: &bench.SLOBWorkload{Access: bench.SLOBRandomRead}},
		Cleanup:  v1alpha1.Cleanup{Results: whole.Spec.Cleanup.Results},
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

func TestTheCacheHoldsSpecAndStatusOfABenchmarkThatIsNotSettled(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.NFSBenchmark){
		"it runs":            func(b *v1alpha1.NFSBenchmark) { b.Status.Conditions = b.Status.Conditions[:1] },
		"its files are left": func(b *v1alpha1.NFSBenchmark) { b.Status.Conditions[2].Status = metav1.ConditionFalse },
		"its spec changed":   func(b *v1alpha1.NFSBenchmark) { b.Generation++ },
		"it is deleted":      func(b *v1alpha1.NFSBenchmark) { b.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := settled()
			change(b)
			b.OwnerReferences, b.ManagedFields = make([]metav1.OwnerReference, 9), make([]metav1.ManagedFieldsEntry, 9)
			out, err := reduceBenchmark(b.DeepCopy())
			b.Annotations, b.OwnerReferences, b.ManagedFields = nil, nil, nil // which no pass reads
			delete(b.Labels, "stranger.example/x")
			if diff := cmp.Diff(client.Object(b), out); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// The cached copy has lost most of its status: a pass that patched it would lose it for good.
func TestAPassOverASettledBenchmarkWritesNothing(t *testing.T) {
	t.Parallel()
	in := settled()
	in.Finalizers = nil
	out, err := reduceBenchmark(in)
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

// Otherwise nobody could delete the benchmark when the operator is gone. The finalizers of others and the status stay.
func TestAPassOverASettledBenchmarkRemovesTheFinalizer(t *testing.T) {
	t.Parallel()
	live := settled()
	live.ResourceVersion = ""
	live.Finalizers = append(live.Finalizers, "example.com/other")
	r := reconcilerWith(t, live)
	cached := &v1alpha1.NFSBenchmark{}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(live), cached); err != nil {
		t.Fatal(err)
	}
	want := cached.DeepCopy()
	out, err := reduceBenchmark(cached)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second pass finds nothing to do
		if _, err := r.Reconcile(t.Context(), out.(*v1alpha1.NFSBenchmark).DeepCopy()); err != nil { //nolint:forcetypeassert // it was one
			t.Fatal(err)
		}
	}
	got := &v1alpha1.NFSBenchmark{}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(live), got); err != nil {
		t.Fatal(err)
	}
	want.Finalizers, want.ResourceVersion = []string{"example.com/other"}, got.ResourceVersion
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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

func TestTheCacheKeepsLittleOfAnObjectThatIsTooLarge(t *testing.T) {
	t.Parallel()
	gone := metav1.NewTime(time.Unix(1, 0))
	pod := func(bytes int) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "n", Name: "p", UID: "2", ResourceVersion: "3", DeletionTimestamp: &gone, Finalizers: []string{"a/b"},
				Labels:        manifest.Labels(gen.Benchmark("b"), manifest.ComponentLoad),
				Annotations:   map[string]string{"a": strings.Repeat("x", bytes)},
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
			},
			Spec: corev1.PodSpec{NodeName: "node"},
		}
	}
	whole, large := pod(pass.MaxCachedBytes/2), pod(pass.MaxCachedBytes)
	wantWhole, wantLarge := whole.DeepCopy(), large.DeepCopy()
	wantWhole.ManagedFields = nil
	wantLarge.ManagedFields, wantLarge.Finalizers, wantLarge.Annotations, wantLarge.Spec = nil, nil, nil, corev1.PodSpec{}
	for in, want := range map[*corev1.Pod]*corev1.Pod{whole: wantWhole, large: wantLarge} {
		out, err := boundedObject(in)
		if diff := cmp.Diff(any(want), out); err != nil || diff != "" {
			t.Error(err, diff)
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
	held, took := keep(t, raw, many, &v1alpha1.NFSBenchmark{}, reduceBenchmark)
	each := took / many
	t.Logf("a settled benchmark takes %d bytes", each)
	if each > most {
		t.Errorf("a settled benchmark takes %d bytes, more than %d", each, most)
	}
	runtime.KeepAlive(held)
}

// keep reduces many objects, decoded from raw into copies of like, as the cache does. took is what they take of the
// heap.
func keep(
	t *testing.T, raw []byte, many int, like client.Object, reduce func(any) (any, error),
) (held []any, took int64) {
	t.Helper()
	held = make([]any, many)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range held {
		fresh := like.DeepCopyObject()
		err := json.Unmarshal(raw, fresh)
		if err == nil {
			held[i], err = reduce(fresh)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	return held, int64(after.HeapAlloc) - int64(before.HeapAlloc) //nolint:gosec // far below 2^63
}

// full is a benchmark that waits, with a spec that takes at most so many bytes and whatever else the API
// server accepts of who may create benchmarks. The strings of its selectors have the given length.
func full(t *testing.T, most, length int) *v1alpha1.NFSBenchmark {
	t.Helper()
	b := gen.Benchmark("b", gen.In("bench"), gen.Export("/vol/oradata", "a.example"), gen.Suspended)
	b.UID, b.Finalizers = "uid", []string{owned.Finalizer}
	b.Annotations = map[string]string{"a": strings.Repeat("x", 200<<10)}
	b.Labels = map[string]string{}
	for i := range 500 {
		b.Labels[fmt.Sprintf("nfsbench.io/x-%d", i)] = strings.Repeat("x", 63)
		b.Finalizers = append(b.Finalizers, fmt.Sprintf("x.example/%d", i))
		b.OwnerReferences = append(b.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "u"})
		b.ManagedFields = append(b.ManagedFields, metav1.ManagedFieldsEntry{Manager: "m", FieldsV1: metav1.NewFieldsV1("{}")})
	}
	long := func(i int) string { return fmt.Sprintf("%0*d", length, i%10) }
	selector := func() *metav1.LabelSelector {
		s := &metav1.LabelSelector{}
		for range 8 {
			e := metav1.LabelSelectorRequirement{Key: long(1), Operator: metav1.LabelSelectorOpIn}
			for i := range 32 {
				e.Values = append(e.Values, long(i))
			}
			s.MatchExpressions = append(s.MatchExpressions, e)
		}
		return s
	}
	b.Spec.Pods = &v1alpha1.Pods{Affinity: &corev1.Affinity{PodAffinity: &corev1.PodAffinity{}}}
	terms := &b.Spec.Pods.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	for {
		term := corev1.PodAffinityTerm{TopologyKey: "zone", LabelSelector: selector()}
		*terms = append(*terms, term)
		if size, err := pass.SpecBytes(b.Spec); err != nil {
			t.Fatal(err)
		} else if size > most {
			*terms = (*terms)[:len(*terms)-1]
			return b
		}
	}
}

// ofMaps is a benchmark that waits, with as many maps and lists of small elements as the CRD takes: they take more
// memory than strings of the same size.
func ofMaps(t *testing.T) *v1alpha1.NFSBenchmark {
	t.Helper()
	labels := map[string]string{}
	for i := range 15 { // more than one group of Go's maps
		labels[fmt.Sprintf("%x", i)] = ""
	}
	term := corev1.PodAffinityTerm{TopologyKey: "z", LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
	for range 8 {
		term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions,
			metav1.LabelSelectorRequirement{Key: "k", Operator: metav1.LabelSelectorOpExists})
	}
	term.NamespaceSelector = term.LabelSelector
	terms := slices.Repeat([]corev1.PodAffinityTerm{term}, 4)
	weighted := slices.Repeat([]corev1.WeightedPodAffinityTerm{{Weight: 1, PodAffinityTerm: term}}, 4)
	b := gen.Benchmark("b", gen.In("bench"), gen.Export("/vol/oradata", "a.example"), gen.Suspended)
	spread := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: "z", WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: term.LabelSelector,
	}
	b.Spec.Pods = &v1alpha1.Pods{TopologySpreadConstraints: slices.Repeat([]corev1.TopologySpreadConstraint{spread}, 8)}
	b.Spec.Pods.Affinity = &corev1.Affinity{
		PodAffinity: &corev1.PodAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: terms, PreferredDuringSchedulingIgnoredDuringExecution: weighted,
		},
		PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: terms, PreferredDuringSchedulingIgnoredDuringExecution: weighted,
		},
	}
	text, err := json.Marshal(b.Spec)
	if err != nil {
		t.Fatal(err)
	}
	checker, err := crdcheck.Compile(crd.NFSBenchmark)
	if err == nil {
		err = checker.CheckPart(text)
	}
	if size, _ := pass.SpecBytes(b.Spec); err != nil || size < pass.MaxSpecBytes*3/4 {
		t.Fatalf("the API server does not take it, or it is small: %d bytes, %v", size, err)
	}
	return b
}

// TestBenchmarksThatWaitLeaveTheManagerItsMemory: their author decides how long they wait. The manager
// holds 1,000 of the largest within half of the 256 MiB that the chart gives it.
func TestBenchmarksThatWaitLeaveTheManagerItsMemory(t *testing.T) {
	const most = 128 << 20 / 1000 // each
	suite := &v1alpha1.NFSBenchmarkSuite{Spec: v1alpha1.NFSBenchmarkSuiteSpec{Axes: []v1alpha1.Axis{{Values: []v1alpha1.AxisValue{{
		Patch: &kuberuntime.RawExtension{Raw: []byte(`{"x": "` + strings.Repeat("x", 1<<20) + `"}`)},
	}}}}}}
	for name, tc := range map[string]struct {
		object  client.Object
		reduce  func(any) (any, error)
		refused bool
		many    int64
	}{
		"long strings":  {full(t, pass.MaxSpecBytes, 63), reduceBenchmark, false, 100},
		"many strings":  {full(t, pass.MaxSpecBytes, 1), reduceBenchmark, false, 100},
		"many maps":     {ofMaps(t), reduceBenchmark, false, 1000},
		"too large":     {full(t, 1<<20, 63), reduceBenchmark, true, 100},
		"large patches": {suite, reduceSuite, true, 100},
	} {
		raw, err := json.Marshal(tc.object)
		if err != nil {
			t.Fatal(err)
		}
		held, took := keep(t, raw, int(tc.many), tc.object, tc.reduce)
		t.Logf("%s: %d of %d KiB take %d KiB", name, tc.many, len(raw)>>10, took>>10)
		if took > most*tc.many {
			t.Errorf("%s: %d take %d KiB, more than %d", name, tc.many, took>>10, most*tc.many>>10)
		}
		again, err := tc.reduce(held[0])
		if diff := cmp.Diff(held[0], again); err != nil || diff != "" {
			t.Errorf("%s: an object that was reduced already: %v %s", name, err, diff)
		}
		if refused := pass.CheckSize(held[0].(client.Object)); (refused != nil) != tc.refused { //nolint:forcetypeassert // as above
			t.Errorf("%s: refused %v", name, refused)
		}
		runtime.KeepAlive(held)
	}
}

// TestASpecThatFitsDoesNotGrowTooLarge: a pass over a benchmark without its spec would say that nothing was created, and
// leave behind what was.
func TestASpecThatFitsDoesNotGrowTooLarge(t *testing.T) {
	t.Parallel()
	b := full(t, pass.MaxSpecBytes-1100, 63)
	b.Spec.Pods.NodeSelector = map[string]string{"k": ""}
	size, err := pass.SpecBytes(fixed(b.Spec))
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.Pods.NodeSelector["k"] = strings.Repeat("x", pass.MaxSpecBytes-size)
	b.Spec.TTLSecondsAfterFinished = new(int32(math.MaxInt32))
	b.Spec.Cleanup = v1alpha1.Cleanup{
		OnSuccess: v1alpha1.CleanupRetain, OnFailure: v1alpha1.CleanupRetain, Leftovers: v1alpha1.LeftoversAbandon,
		Results: v1alpha1.CleanupRetain,
	}
	want := b.Spec.DeepCopy()
	if _, err := reduceBenchmark(b); err != nil || pass.CheckSize(b) != nil {
		t.Error(err, pass.CheckSize(b))
	}
	if diff := cmp.Diff(*want, b.Spec); diff != "" {
		t.Error("the cache lost a part of the spec:", diff)
	}
}

// TestWhatPassesReadOfASuiteStays: the annotations that people steer it by, and when it was last changed.
func TestWhatPassesReadOfASuiteStays(t *testing.T) {
	t.Parallel()
	at := func(seconds int64) *metav1.Time { return &metav1.Time{Time: time.Unix(seconds, 0)} }
	out, err := reduceSuite(&v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{
		Name: "s", Annotations: map[string]string{v1alpha1.AnnotationRerun: strings.Repeat("x", 1000), "a": "b", "nfsbench.io/spec-bytes": "1"},
		Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{
			{Manager: "a", Time: at(1)},
			{Manager: "b", Time: at(2), FieldsV1: metav1.NewFieldsV1("{}")},
			{Manager: "c", Time: at(3), Subresource: "status"},
		},
	}, Spec: v1alpha1.NFSBenchmarkSuiteSpec{Repetitions: 2}})
	want := &v1alpha1.NFSBenchmarkSuite{ObjectMeta: metav1.ObjectMeta{
		Name: "s", Annotations: map[string]string{v1alpha1.AnnotationRerun: strings.Repeat("x", 250) + "…"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Time: at(2)}},
	}, Spec: v1alpha1.NFSBenchmarkSuiteSpec{Repetitions: 2}}
	if diff := cmp.Diff(client.Object(want), out); err != nil || diff != "" {
		t.Error(err, diff)
	}
}
