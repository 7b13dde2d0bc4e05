package benchmark

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	crd "github.com/nfsbench/nfsbench/config/crd"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

const server = "10.0.0.5"

// victim waits for a server in a namespace of its own.
func victim() (b *v1alpha1.NFSBenchmark, s *scope) {
	b = gen.Benchmark("waits", gen.In("victim"), gen.UID("v"), gen.Export("/x", server))
	b.CreationTimestamp, b.Status.Phase = metav1.NewTime(noon), v1alpha1.PhaseQueued
	return b, &scope{b: b, now: noon, storagePart: storagePart{target: &plan.Target{Keys: plan.ServerKeys([]string{server})}}}
}

// hog is another benchmark, of a namespace that wants the server for itself.
func hog(mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	b := gen.Benchmark("hog", append([]gen.Mod{gen.In("hog"), gen.UID("h")}, mods...)...)
	b.Finalizers = []string{owned.Finalizer}
	return b
}

func leaseOf(b *v1alpha1.NFSBenchmark, since time.Time) *coordinationv1.Lease {
	return manifest.TargetLease(b, "operator", plan.ServerKeys([]string{server})[0], metav1.NewMicroTime(since))
}

func leases(t *testing.T, r *Reconciler, b *v1alpha1.NFSBenchmark) int {
	t.Helper()
	held, err := r.queue.Held(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	return len(held)
}

func passOver(t *testing.T, r *Reconciler, b *v1alpha1.NFSBenchmark) (ctrl.Result, error) {
	t.Helper()
	live := &v1alpha1.NFSBenchmark{}
	if err := r.Reader.Get(t.Context(), client.ObjectKeyFromObject(b), live); err != nil {
		t.Fatal(err)
	}
	return r.Reconcile(t.Context(), live)
}

// TestABenchmarkThatWaitsHasNoFinalizer, so that it can be deleted without the operator. It gets one in a pass of its
// own, before its first Lease.
func TestABenchmarkThatWaitsHasNoFinalizer(t *testing.T) {
	t.Parallel()
	b, _ := victim()
	holder := hog(gen.Export("/x", server))
	holder.Status.StartTime = new(metav1.NewTime(noon))
	lease := leaseOf(holder, noon)
	r := reconcilerWith(t, b, holder, lease)
	is := &v1alpha1.NFSBenchmark{}
	next := func(phase v1alpha1.Phase, finalizers, held int) {
		t.Helper()
		if _, err := passOver(t, r, b); err != nil {
			t.Fatal(err)
		}
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(b), is); err != nil {
			t.Fatal(err)
		}
		if is.Status.Phase != phase || len(is.Finalizers) != finalizers || leases(t, r, b) != held {
			t.Errorf("phase %s (%s), finalizers %v, %d leases; want %s, %d, %d", is.Status.Phase, is.Status.Message,
				is.Finalizers, leases(t, r, b), phase, finalizers, held)
		}
	}
	next(v1alpha1.PhaseQueued, 0, 0)
	for _, gone := range []client.Object{lease, holder} {
		gone.SetFinalizers(nil)
		_ = r.Client.Update(t.Context(), gone)
		if err := r.Client.Delete(t.Context(), gone); err != nil {
			t.Fatal(err)
		}
	}
	next(v1alpha1.PhaseQueued, 1, 0)
	next(v1alpha1.PhasePreparing, 1, 1)

	// A run that is kept gets it again, if somebody replaces the benchmark.
	is.Spec.Cleanup.OnFailure, is.Finalizers = v1alpha1.CleanupRetain, nil
	if err := r.Client.Update(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	is.Status.Phase = v1alpha1.PhaseFailed
	is.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: "X"}}
	if err := r.Client.Status().Update(t.Context(), is); err != nil {
		t.Fatal(err)
	}
	next(v1alpha1.PhaseFailed, 1, 1)
}

func TestNothingIsMadeForABenchmarkWithoutAFinalizer(t *testing.T) {
	t.Parallel()
	b, _ := victim()
	r, made := reconcilerWith(t, b), manifest.ResultConfigMap(b)
	if err := r.Ensure(t.Context(), b, made); !errors.Is(err, owned.ErrNoFinalizer) {
		t.Errorf("got %v", err)
	}
	if found, err := owned.Find(t.Context(), r.Reader, made); found || err != nil {
		t.Errorf("it is there: %t, %v", found, err)
	}
}

// TestARunTakesWhatItStandsBeforeOthersFor: an address of its spec is taken.
func TestARunTakesWhatItStandsBeforeOthersFor(t *testing.T) {
	t.Parallel()
	b, _ := victim()
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}}
	pv.Spec.NFS = &corev1.NFSVolumeSource{Server: "192.0.2.1", Path: "/own"}
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "hog", Name: "c"}}
	pvc.Spec.VolumeName, pvc.Status.Phase = "pv", corev1.ClaimBound
	explicit := hog(gen.Claim("c"), gen.Paths([2]string{"", server}))
	r := reconcilerWith(t, b, pv, pvc)
	runs := &scope{b: explicit, names: manifest.NamesOf(explicit), now: noon}
	if n, err := r.resolve(t.Context(), runs); err != nil || n.Stop {
		t.Fatal(n, err, runs.waiting)
	}
	want := []string{"claim/hog/c", "server/10.0.0.5", "server/192.0.2.1"}
	if diff := gocmp.Diff(want, plan.DistinctKeys(runs.target.Keys)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestNoReasonToBePendingKeepsATarget, whichever of the API's: who waits for something else gives its target back, and
// is not in the queue.
func TestNoReasonToBePendingKeepsATarget(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../../api/v1alpha1/conditions.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	r, tried := reconcilerWith(t), 0
	ast.Inspect(file, func(n ast.Node) bool {
		c, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(c.Names[0].Name, "Reason") {
			return true
		}
		tried++
		b := hog(gen.Export("/x", server))
		b.Status.Phase, b.Status.HoldEndTime = v1alpha1.PhaseProvisioning, new(metav1.NewTime(noon.Add(time.Hour)))
		if err := r.Client.Create(t.Context(), leaseOf(b, noon)); err != nil {
			t.Fatal(err)
		}
		s := &scope{b: b, now: noon, stage: v1alpha1.PhasePending, waiting: &fact{Reason: c.Names[0].Name}}
		err := r.limitHold(t.Context(), s, &next{})
		setStatus(s, nil)
		if err != nil || leases(t, r, b) > 0 || b.Status.HoldEndTime != nil || wantsTarget(b, noon) {
			t.Errorf("%s: %d leases until %v, in the queue %v, %v", c.Names[0].Name, leases(t, r, b), b.Status.HoldEndTime,
				wantsTarget(b, noon), err)
		}
		return true
	})
	if tried < 40 {
		t.Errorf("only %d reasons found", tried)
	}
}

// TestALeaseThatNoStatusNamesIsGivenBack: the pass that took it could not write until when. Somebody may have removed
// the time from the Lease.
func TestALeaseThatNoStatusNamesIsGivenBack(t *testing.T) {
	t.Parallel()
	for since, want := range map[time.Duration]int{startPatience: 1, startPatience + time.Second: 0} {
		b := hog(gen.Export("/x", server), gen.Suspended)
		s := &scope{b: b, now: noon, stage: v1alpha1.PhasePending, waiting: &fact{}, storagePart: storagePart{keepsTarget: true}}
		r := reconcilerWith(t, b, leaseOf(b, noon.Add(-since)))
		if err := r.limitHold(t.Context(), s, &next{}); err != nil || leases(t, r, b) != want {
			t.Errorf("after %v: %d leases, %v", since, leases(t, r, b), err)
		}
	}
	b := hog(gen.Export("/x", server))
	undated := leaseOf(b, noon)
	undated.Spec.AcquireTime = nil
	r := reconcilerWith(t, undated)
	if err := r.limitHold(t.Context(), &scope{b: b, now: noon}, &next{}); err != nil || leases(t, r, b) > 0 {
		t.Errorf("without a time: %d leases, %v", leases(t, r, b), err)
	}
}

// TestARunThatDoesNotStartIsLookedAtInTime, although nothing may wake it, as when its plan is of a newer release than
// the operator.
func TestARunThatDoesNotStartIsLookedAtInTime(t *testing.T) {
	t.Parallel()
	b := hog(gen.Export("/x", server))
	b.Status.HoldEndTime = new(metav1.NewTime(noon.Add(24 * time.Hour)))
	s, n := &scope{b: b, now: noon, stage: v1alpha1.PhaseProvisioning}, next{}
	s.heldSince = noon.Add(-time.Minute)
	if err := reconcilerWith(t).limitHold(t.Context(), s, &n); err != nil || n.After == 0 || n.After > startPatience {
		t.Errorf("it is looked at after %v, %v", n.After, err)
	}
}

// TestALongQueueLeavesTheWorkersToOthers: a thousand that wait make at most two passes a second in all.
func TestALongQueueLeavesTheWorkersToOthers(t *testing.T) {
	t.Parallel()
	perSecond := 0.0
	for position := range int32(1000) {
		perSecond += 1 / checkPlace(position+1).Seconds()
	}
	if first := checkPlace(1); first != queueCheck || perSecond > 2 {
		t.Errorf("the first computes its place each %v, and all make %.1f passes a second", first, perSecond)
	}
}

// TestABenchmarkWhosePassesFailIsNotAhead of those that can run.
func TestABenchmarkWhosePassesFailIsNotAhead(t *testing.T) {
	t.Parallel()
	b, s := victim()
	other := hog(gen.Export("/x", server))
	other.CreationTimestamp = metav1.NewTime(noon.Add(-1000 * time.Hour))
	setStatus(&scope{b: other, now: noon, stage: v1alpha1.PhaseQueued}, nil)
	r := reconcilerWith(t, b, other)
	if place, err := r.queue.Place(t.Context(), s.b, s.target.Keys, s.now); err != nil || place.Position != 1 {
		t.Fatalf("position %d, %v", place.Position, err)
	}
	setStatus(&scope{b: other, now: noon}, errors.New("a Job of an earlier benchmark is in the way"))
	if other.Status.Phase != v1alpha1.PhaseQueued {
		t.Fatal(other.Status.Phase)
	}
	r = reconcilerWith(t, b, other)
	if place, err := r.queue.Place(t.Context(), s.b, s.target.Keys, s.now); err != nil || place.Position != 0 {
		t.Errorf("position %d behind %q, %v", place.Position, place.Behind, err)
	}
}

// running is a load of a tenant whose time ended a while ago, with what it left in the cluster.
func running(t *testing.T, ended time.Duration, mods ...gen.Mod) (b *v1alpha1.NFSBenchmark, left []client.Object) {
	t.Helper()
	b = hog(append(mods, gen.Export("/x", server))...)
	p, err := plan.Build(b, plan.Target{Export: "/x", Paths: runfile.ChannelsTo(server)})
	if err != nil {
		t.Fatal(err)
	}
	b.Spec.Workload = *p.Workload.DeepCopy() // with what the API server fills in
	var text strings.Builder
	if err := runfile.WritePlan(&text, p); err != nil {
		t.Fatal(err)
	}
	began := noon.Add(-25 * time.Hour)
	b.Status = v1alpha1.NFSBenchmarkStatus{
		Phase: v1alpha1.PhaseRunning, PlanHash: hashOf(text.String()), StartTime: new(metav1.NewTime(began)),
		HoldEndTime: new(metav1.NewTime(noon.Add(-ended))),
	}
	job := manifest.LoadJob(b, p, "", manifest.Images{})
	job.CreationTimestamp = metav1.NewTime(began)
	return b, []client.Object{b, job, manifest.PlanConfigMap(b, text.String(), ""), leaseOf(b, began)}
}

// podOf is a pod of the load, which runs.
func podOf(b *v1alpha1.NFSBenchmark) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: b.Namespace, Name: "load", Labels: manifest.Labels(b, manifest.ComponentLoad), CreationTimestamp: metav1.NewTime(noon),
	}}
	pod.Spec.NodeName, pod.Status.Phase = "node", corev1.PodRunning
	return pod
}

// TestAHoldEndsAlthoughItsStatusCannotBeWritten: the tenant changes its benchmark at each pass, so that each write of
// the status conflicts.
func TestAHoldEndsAlthoughItsStatusCannotBeWritten(t *testing.T) {
	t.Parallel()
	for ended, want := range map[time.Duration]int{time.Minute: 1, deletePatience: 0} {
		b, left := running(t, ended)
		r := reconcilerWith(t, left...)
		inner, n := r.Client.(client.WithWatch), 0 //nolint:forcetypeassert // the client in memory is one
		r.Client = interceptor.NewClient(inner, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client,
			sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
		) error {
			live := &v1alpha1.NFSBenchmark{}
			if err := inner.Get(ctx, client.ObjectKeyFromObject(obj), live); err != nil {
				return err
			}
			n++
			live.Annotations = map[string]string{"n": strconv.Itoa(n)}
			if err := inner.Update(ctx, live); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
		}})
		for range 3 {
			if _, err := passOver(t, r, b); err != nil {
				t.Fatal(err)
			}
		}
		if leases(t, r, b) != want || n == 0 {
			t.Errorf("%v after its time: %d leases, %d writes", ended, leases(t, r, b), n)
		}
		if want == 0 && inner.Get(t.Context(), client.ObjectKeyFromObject(left[1]), &batchv1.Job{}) == nil {
			t.Error("the load goes on")
		}
		waits, s := victim()
		if err := inner.Create(t.Context(), waits); err != nil {
			t.Fatal(err)
		}
		if place, err := r.queue.Place(t.Context(), s.b, s.target.Keys, s.now); err != nil || int(place.Position) != want {
			t.Errorf("%v after its time: position %d, %v", ended, place.Position, err)
		}
	}
}

// TestADatabaseThatHasEndedHasNoPlace: while a database may write, its Lease keeps others away. Once its pods are gone
// nothing does, although the status that ends the run cannot be written.
func TestADatabaseThatHasEndedHasNoPlace(t *testing.T) {
	t.Parallel()
	for name, pods := range map[string]int{"runs": 1, "has ended": 0} {
		b, left := running(t, time.Hour, gen.Oracle, gen.Calibrate(1))
		if pods > 0 {
			left = append(left, podOf(b))
		}
		r := reconcilerWith(t, left...)
		inner := r.Client.(client.WithWatch) //nolint:forcetypeassert // the client in memory is one
		r.Client = interceptor.NewClient(inner, interceptor.Funcs{SubResourcePatch: func(context.Context, client.Client, string,
			client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return errors.New("etcdserver: request is too large")
		}})
		for range 3 {
			_, _ = passOver(t, r, b)
		}
		waits, s := victim()
		waits.Finalizers = []string{owned.Finalizer}
		if err := inner.Create(t.Context(), waits); err != nil {
			t.Fatal(err)
		}
		place, _, err := r.queue.Take(t.Context(), s.b, s.target.Keys, nil, s.now)
		if err != nil || int(place.Position) != pods || leases(t, r, b) != pods {
			t.Errorf("it %s: %d leases, position %d, %v", name, leases(t, r, b), place.Position, err)
		}
	}
}

// TestALoadWhoseTimeIsOverIsNoTrace: it does not go on because the user keeps what a failed run made.
func TestALoadWhoseTimeIsOverIsNoTrace(t *testing.T) {
	t.Parallel()
	b, left := running(t, time.Second)
	b.Spec.Cleanup.OnFailure = v1alpha1.CleanupRetain
	r := reconcilerWith(t, append(left, podOf(b))...)
	for range 3 {
		if _, err := passOver(t, r, b); err != nil {
			t.Fatal(err)
		}
	}
	is := &v1alpha1.NFSBenchmark{}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(b), is); err != nil {
		t.Fatal(err)
	}
	if r.Client.Get(t.Context(), client.ObjectKeyFromObject(left[1]), &batchv1.Job{}) == nil || leases(t, r, b) > 0 {
		t.Errorf("the load goes on, with %d leases: %s", leases(t, r, b), is.Status.Message)
	}
}

// TestTheEndOfAHoldWaitsForItsNumbers, which another pass keeps from being read.
func TestTheEndOfAHoldWaitsForItsNumbers(t *testing.T) {
	t.Parallel()
	b, left := running(t, time.Second)
	r := reconcilerWith(t, append(left, podOf(b), manifest.ResultConfigMap(b))...)
	r.results.take("another", noon)
	if res, err := passOver(t, r, b); err != nil || res.RequeueAfter != busyPause {
		t.Errorf("%+v, %v", res, err)
	}
	is := &v1alpha1.NFSBenchmark{}
	if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(b), is); err != nil || isFinished(is) {
		t.Errorf("it has ended without them: %v", err)
	}
}

// TestOnlyChangesThatAPassLooksAtWakeIt: whoever may label a benchmark does not keep the workers busy.
func TestOnlyChangesThatAPassLooksAtWakeIt(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*v1alpha1.NFSBenchmark)
		wakes  bool
	}{
		"resync":     {func(b *v1alpha1.NFSBenchmark) { b.ResourceVersion = "1" }, true},
		"label":      {func(b *v1alpha1.NFSBenchmark) { b.Labels = map[string]string{"a": "b"} }, false},
		"annotation": {func(b *v1alpha1.NFSBenchmark) { b.Annotations = map[string]string{"a": "b"} }, false},
		"spec":       {func(b *v1alpha1.NFSBenchmark) { b.Generation++ }, true},
		"status":     {func(b *v1alpha1.NFSBenchmark) { b.Status.Phase = v1alpha1.PhaseFailed }, true},
		"finalizer":  {func(b *v1alpha1.NFSBenchmark) { b.Finalizers = nil }, true},
		"deletion":   {func(b *v1alpha1.NFSBenchmark) { b.DeletionTimestamp = new(metav1.NewTime(noon)) }, true},
	} {
		was := hog(gen.Export("/x", server))
		was.ResourceVersion = "1"
		is := was.DeepCopy()
		is.ResourceVersion = "2"
		tc.change(is)
		if got := changes().Update(ctrlevent.UpdateEvent{ObjectOld: was, ObjectNew: is}); got != tc.wakes {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestAFinishedRunThatHoldsItsTargetIsLookedAtAgain: nothing else wakes it.
func TestAFinishedRunThatHoldsItsTargetIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	b, left := running(t, -time.Hour)
	b.Status.Phase, b.Status.CompletionTime = v1alpha1.PhaseFailed, new(metav1.NewTime(noon.Add(-time.Second)))
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: metav1.ConditionFalse, Reason: "X"}}
	result := manifest.ResultConfigMap(b)
	result.BinaryData = map[string][]byte{runfile.ResultKey(0): []byte(`{"version":"nfsbench.io/result/v99"}`)}
	r := reconcilerWith(t, b, left[2], left[3], result)
	for range 2 {
		if res, err := passOver(t, r, b); err != nil || res.RequeueAfter == 0 || leases(t, r, b) == 0 {
			t.Errorf("%+v, %v, %d leases", res, err, leases(t, r, b))
		}
	}
}

// TestOnePassAtATimeHasResults in memory, and no worker waits for it.
func TestOnePassAtATimeHasResults(t *testing.T) {
	t.Parallel()
	b, left := running(t, -time.Hour)
	b.DeletionTimestamp = new(metav1.NewTime(noon.Add(-time.Hour)))
	r := reconcilerWith(t, b, left[2], left[3], manifest.ResultConfigMap(b))
	r.results.take("another", noon)
	if res, err := passOver(t, r, b); err != nil || res.RequeueAfter != busyPause {
		t.Errorf("beside another: %+v, %v", res, err)
	}
	r.results.giveBack()
	if res, err := passOver(t, r, b); err != nil || res.RequeueAfter == busyPause {
		t.Errorf("alone: %+v, %v", res, err)
	}
	if !r.results.take("another", noon) {
		t.Error("the pass has ended, and holds the lock")
	}
}

// TestASurveyOfManyAddressesCostsLittle: an array of the tenant may name thousands, and each is held against the policy
// in each pass.
func TestASurveyOfManyAddressesCostsLittle(t *testing.T) {
	const addresses, most = 100, 64 << 10
	b := full(t, pass.MaxSpecBytes, 1)
	b.Spec.Protocol.Client = bench.ClientKernel
	p, err := gen.AnyExport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sv := &runfile.Survey{LIFs: slices.Repeat([]runfile.LIF{{Address: server}}, addresses)}
	r, left := reconcilerWith(t), 0
	s := &scope{b: b, storagePart: storagePart{policy: p, target: &plan.Target{Survey: sv, Export: "/vol/oradata"}}}
	took := memory.Allocated(func() { left = len(r.mountable(s).LIFs) })
	if left != addresses || took > addresses*most {
		t.Errorf("%d of %d are left, and each took %d bytes, more than %d", left, addresses, took/addresses, most)
	}
}

// TestNamespacesTakeTurnsToHaveResults: one with many results that take long does not keep another from its own.
func TestNamespacesTakeTurnsToHaveResults(t *testing.T) {
	t.Parallel()
	turns, now := &resultTurns{}, noon
	want := func(namespace string, may bool) {
		t.Helper()
		if turns.take(namespace, now) != may {
			t.Errorf("%s may have results: %v", namespace, !may)
		}
		now = now.Add(time.Second)
	}
	want("many", true)
	want("few", false)
	turns.giveBack()
	want("many", false) // it had them, and the other asks
	want("few", true)
	want("many", false)
	turns.giveBack()
	want("few", false)
	want("many", true)
	turns.giveBack()
	now = now.Add(2 * asksAgain) // few asks no more
	want("many", true)
}

// TestWhatADeletedRunLostItsOwnerOfGoesWithIt, as after --cascade=orphan, and the claim that keeps its volume.
func TestWhatADeletedRunLostItsOwnerOfGoesWithIt(t *testing.T) {
	t.Parallel()
	b, left := running(t, -time.Hour)
	b.DeletionTimestamp = new(metav1.NewTime(noon))
	left[1].SetOwnerReferences(nil)
	alive := b.DeepCopy()
	alive.DeletionTimestamp = nil
	if !owned.IsOrphan(b, left[1]) || owned.IsOrphan(alive, left[1]) {
		t.Error("the label says whose an object is, and not only of a benchmark that is deleted")
	}
	b.Spec.Cleanup.Results = v1alpha1.CleanupRetain
	result := manifest.ResultConfigMap(b)
	result.SetOwnerReferences(nil)
	result.BinaryData = map[string][]byte{runfile.ResultKey(0): []byte("x")}
	r := reconcilerWith(t, append(left, result)...)
	if _, err := r.removeResult(t.Context(), &scope{b: b, names: manifest.NamesOf(b), now: noon}); err != nil {
		t.Fatal(err)
	}
	kept := &corev1.ConfigMapList{}
	if err := r.Client.List(t.Context(), kept, client.InNamespace(b.Namespace)); err != nil || len(kept.Items) != 2 {
		t.Errorf("of plan, result and kept result %d are left, %v", len(kept.Items), err)
	}
	if _, err := passOver(t, r, b); err != nil || r.Client.Get(t.Context(), client.ObjectKeyFromObject(left[1]), &batchv1.Job{}) == nil {
		t.Errorf("the load goes on: %v", err)
	}

	b = hog(gen.Kernel, gen.Export("/x", server))
	names := manifest.NamesOf(b)
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "hog", Name: names.Claim, UID: "claim"}}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{
		Name: names.Volume, Labels: manifest.Labels(b, manifest.ComponentVolume), Finalizers: []string{"kubernetes.io/pv-protection"},
	}}
	pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "hog", Name: names.Claim, UID: "claim"}
	r = reconcilerWith(t, b, pvc, pv)
	if _, err := r.remove(t.Context(), &scope{b: b, names: names, now: noon}); err != nil {
		t.Fatal(err)
	}
	if r.Client.Get(t.Context(), client.ObjectKeyFromObject(pvc), &corev1.PersistentVolumeClaim{}) == nil {
		t.Error("a claim without an owner keeps the volume")
	}
}

// TestTheClassOfAnotherBenchmarkIsNotUsed, although the policy allows every class.
func TestTheClassOfAnotherBenchmarkIsNotUsed(t *testing.T) {
	t.Parallel()
	other := gen.Benchmark("x", gen.In("other"), gen.UID("o"), gen.TridentBackend("svm"))
	name := manifest.TridentName(other)
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: manifest.Labels(other, manifest.ComponentVolume)}}
	_, err := reconcilerWith(t, class).readClass(t.Context(), &scope{b: gen.Benchmark("b", gen.StorageClass(name))}, "")
	if err == nil || !strings.Contains(err.Error(), "another benchmark") {
		t.Error(err)
	}
}

// TestAnObjectThatCannotBeComparedIsNotUsed: the run waits, and says why.
func TestAnObjectThatCannotBeComparedIsNotUsed(t *testing.T) {
	t.Parallel()
	b := hog(gen.Export("/x", server))
	made := manifest.NetworkPolicies(b, manifest.Images{})[0]
	r := reconcilerWith(t, b, made)
	quota := apierrors.NewForbidden(networkingv1.Resource("networkpolicies"), made.Name, errors.New("exceeded quota"))
	inner := r.Client.(client.WithWatch) //nolint:forcetypeassert // the client in memory is one
	objects := owned.New(interceptor.NewClient(inner, interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch,
		_ client.Object, opts ...client.CreateOption,
	) error {
		if len((&client.CreateOptions{}).ApplyOptions(opts).DryRun) == 0 {
			t.Error("it is created")
		}
		return quota
	}}), inner, noon)
	err := objects.Ensure(t.Context(), b, manifest.NetworkPolicies(b, manifest.Images{})[0])
	if bad := (*pass.Invalid)(nil); !errors.Is(err, quota) || errors.As(err, &bad) || !strings.Contains(err.Error(), made.Name) {
		t.Error(err)
	}
}

// TestAFarLargerObjectIsNotCompared: to take it apart costs the memory of the manager.
func TestAFarLargerObjectIsNotCompared(t *testing.T) {
	t.Parallel()
	b := hog(gen.Export("/x", server))
	want := manifest.NetworkPolicies(b, manifest.Images{})[0]
	is := want.DeepCopy()
	is.Spec.Ingress = make([]networkingv1.NetworkPolicyIngressRule, 50_000)
	err := reconcilerWith(t).Adopt(t.Context(), b, want, is)
	if err == nil || !strings.Contains(err.Error(), "far larger") {
		t.Error(err)
	}
}

// TestEmptyElementsCountInTheCache: each takes two bytes on the wire.
func TestEmptyElementsCountInTheCache(t *testing.T) {
	t.Parallel()
	p := manifest.NetworkPolicies(hog(gen.Export("/x", server)), manifest.Images{})[0]
	p.Spec.Ingress = make([]networkingv1.NetworkPolicyIngressRule, 40_000)
	if p.Size() > pass.MaxCachedBytes {
		t.Fatal(p.Size())
	}
	out, err := boundedObject(p)
	if kept, is := out.(*networkingv1.NetworkPolicy); err != nil || !is || len(kept.Spec.Ingress) > 0 || kept.Name != p.Name {
		t.Errorf("%T, %v", out, err)
	}
}

// TestNoResultMakesAStatusThatTheAPIServerRefuses: a run without an end would keep its target. Each text and each
// number of a result is hostile once.
func TestNoResultMakesAStatusThatTheAPIServerRefuses(t *testing.T) {
	t.Parallel()
	schema := statusSchema(t)
	clean := finishedScope(t)
	whole := clean.result.Clients[0]
	clean.plan.Survey = new(gen.Survey("/vol/oradata", "10.0.1.61", "10.0.2.61"))
	gen.OfArray(&whole, *clean.plan)
	gen.Texts(&whole, func(s string) string { return cmp.Or(s, "x") }) // so that each is in the JSON
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	tried, shown := 0, 0
	for _, hostile := range []any{strings.Repeat("ä", 5000), json.Number("-9007199254740993"), json.Number("2147483647")} {
		eachLeaf(t, text, hostile, func(changed []byte) {
			var c runfile.ClientResult
			if json.Unmarshal(changed, &c) != nil {
				return // nor would the manager read it
			}
			tried++
			s := *clean
			s.b, s.result = gen.Benchmark("demo"), &runfile.Result{Version: runfile.ResultVersion, Plan: *clean.plan}
			s.result.Clients = []runfile.ClientResult{c}
			s.judgement = new(judge.Judge(*s.result))
			setStatus(&s, nil)
			shown += len(s.b.Status.Paths)
			for _, problem := range schema(s.b.Status) {
				t.Errorf("%.300s", problem)
			}
		})
	}
	if tried < 100 || shown < tried {
		t.Errorf("only %d results were read, with %d paths in the status", tried, shown)
	}
}

// statusSchema gives what the API server has against a status.
func statusSchema(t *testing.T) func(v1alpha1.NFSBenchmarkStatus) []error {
	t.Helper()
	def := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(crd.NFSBenchmark, def); err != nil {
		t.Fatal(err)
	}
	of, props := def.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"], &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&of, props, nil); err != nil {
		t.Fatal(err)
	}
	v, _, err := validation.NewSchemaValidator(props)
	if err != nil {
		t.Fatal(err)
	}
	return func(status v1alpha1.NFSBenchmarkStatus) (problems []error) {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range validation.ValidateCustomResource(nil, object, v) {
			problems = append(problems, problem)
		}
		return problems
	}
}

// eachLeaf gives use a JSON text for each scalar in it, which is replaced by another.
func eachLeaf(t *testing.T, text []byte, by any, use func([]byte)) {
	t.Helper()
	var root any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	var visit func(v any, set func(any))
	visit = func(v any, set func(any)) {
		switch v := v.(type) {
		case map[string]any:
			for name, field := range v {
				visit(field, func(is any) { v[name] = is })
			}
		case []any:
			for i, element := range v {
				visit(element, func(is any) { v[i] = is })
			}
		default:
			set(by)
			changed, err := json.Marshal(root)
			if err != nil {
				t.Fatal(err)
			}
			use(changed)
			set(v)
		}
	}
	visit(root, func(any) {})
}

// TestAStatusThatIsRefusedEndsTheRun: what is in it came from strangers.
func TestAStatusThatIsRefusedEndsTheRun(t *testing.T) {
	t.Parallel()
	b, left := running(t, -time.Hour)
	r := reconcilerWith(t, left...)
	inner := r.Client.(client.WithWatch) //nolint:forcetypeassert // the client in memory is one
	refused := 0
	r.Client = interceptor.NewClient(inner, interceptor.Funcs{SubResourcePatch: func(ctx context.Context, c client.Client,
		sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption,
	) error {
		if is, ok := obj.(*v1alpha1.NFSBenchmark); ok && is.Status.Resolved != nil {
			refused++
			return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("NFSBenchmark").GroupKind(), is.Name, nil)
		}
		return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
	}})
	before := &v1alpha1.NFSBenchmark{}
	if err := inner.Get(t.Context(), client.ObjectKeyFromObject(b), before); err != nil {
		t.Fatal(err)
	}
	s := &scope{b: before.DeepCopy(), names: manifest.NamesOf(b), now: noon}
	s.b.Status.Resolved = &v1alpha1.ResolvedStatus{Export: "hostile"}
	if _, err := r.finish(t.Context(), s, before, ctrl.Result{}, nil); err != nil || refused != 1 {
		t.Errorf("%v, refused %d times", err, refused)
	}
	is := &v1alpha1.NFSBenchmark{}
	if err := inner.Get(t.Context(), client.ObjectKeyFromObject(b), is); err != nil {
		t.Fatal(err)
	}
	if !isFinished(is) || is.Status.Phase != v1alpha1.PhaseFailed || !strings.Contains(is.Status.Message, "cannot be written") {
		t.Errorf("%s: %s", is.Status.Phase, is.Status.Message)
	}
}
