package integration

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// ours lists every object of ours that there is, as "Kind name", without the
// benchmarks.
func (w *world) ours() []string {
	w.Helper()
	lists := []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.ServiceAccountList{},
		&corev1.PersistentVolumeClaimList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{}, &coordinationv1.LeaseList{},
		&networkingv1.NetworkPolicyList{},
	}
	managed := client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}
	var out []string
	for _, l := range lists {
		if err := w.c.List(w.Context(), l, client.InNamespace(w.ns), managed); err != nil {
			w.Fatal(err)
		}
		out = append(out, namesIn(w, l)...)
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := w.c.List(w.Context(), volumes, managed); err != nil {
		w.Fatal(err)
	}
	for _, v := range volumes.Items {
		if v.Spec.ClaimRef.Namespace == w.ns {
			out = append(out, "PersistentVolume "+v.Name)
		}
	}
	slices.Sort(out)
	return out
}

func namesIn(w *world, list client.ObjectList) []string {
	w.Helper()
	items, err := meta.ExtractList(list)
	if err != nil {
		w.Fatal(err)
	}
	var out []string
	for _, i := range items {
		out = append(out, describe(i))
	}
	return out
}

func TestDeletionOfARetainedRunRemovesFilesAndChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Kernel, gen.Cleanup(v1alpha1.CleanupRetain, v1alpha1.CleanupRetain))
	b := w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded)
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonRetained)
	if w.loadJob(b) == nil {
		t.Error("the Job is gone although it is to be kept")
	}
	if n := w.leases(b); n != 0 {
		t.Errorf("a finished run holds %d leases", n)
	}
	w.delete("demo")
	w.settle("demo")
	w.collectGarbage()
	w.settle("demo")
	if !w.find(manifest.NamesOf(b).Clean, &batchv1.Job{}) {
		t.Error("nothing removes the files that were kept")
	}
	w.finish("demo")
	if left := w.ours(); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

func TestAFailedRunMayBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.started(gen.Cleanup(v1alpha1.CleanupDelete, v1alpha1.CleanupRetain))
	w.final(b, gen.FailedClient(0, runfile.FailureAccessDenied, "no"))
	b = w.wantFailed(runfile.FailureAccessDenied)
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonRetained)
	if w.loadJob(b) == nil {
		t.Error("the Job is gone although it is to be kept")
	}
	// The user has seen enough; the status is then of the new generation.
	w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Cleanup.OnFailure = v1alpha1.CleanupDelete })
	b = w.finish("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
}

func TestTimeToLive(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.TTL(60))
	b := w.finish("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonRetained)
	res, err := w.pass("demo")
	if err != nil || res.RequeueAfter <= 0 || res.RequeueAfter > time.Minute {
		t.Errorf("wakes after %v (%v), want the rest of the minute", res.RequeueAfter, err)
	}
	end := b.Status.CompletionTime
	w.clock.SetTime(end.Add(59 * time.Second))
	w.settle("demo")
	if w.loadJob(b) == nil {
		t.Fatal("removed before its time")
	}
	w.clock.SetTime(end.Add(time.Minute))
	b = w.finish("demo")
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
	if got := w.ours(); len(got) != 1 || got[0] != "ConfigMap nfsb-demo-result" {
		t.Errorf("left: %q, want the result only", got)
	}
}

func TestFilesThatCannotBeRemovedAreTold(t *testing.T) {
	t.Parallel()
	ends := map[string]func(*world, *batchv1.Job){
		"Fails": func(w *world, j *batchv1.Job) { w.jobEnds(j, "BackoffLimitExceeded", "no") },
		"Hangs": func(w *world, _ *batchv1.Job) { w.step(61 * time.Second) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.started()
			w.progress(b, 0, at(runfile.SpanFill, 10))
			broken := gen.FailedClient(0, runfile.FailureIO, "it broke")
			broken.Load.Spans = []runfile.Span{{Kind: runfile.SpanFill, Start: w.clock.Now()}}
			broken.Load.FilledBytes = 1 << 20
			w.final(b, broken)
			w.settle("demo")
			w.collectGarbage()
			w.settle("demo")
			clean := &batchv1.Job{}
			if !w.find(manifest.NamesOf(b).Clean, clean) {
				t.Fatal("nothing removes the files of a run that broke")
			}
			end(w, clean)
			b = w.settle("demo")
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
			if got := w.ours(); len(got) != 1 {
				t.Errorf("left: %q, want the result only", got)
			}
			if w.rec.count(v1alpha1.ReasonLeftBehind) != 1 {
				t.Errorf("events are %q, want one LeftBehind", w.rec.events)
			}
		})
	}
}

func TestSuspendBeforeTheStartHoldsTheRunBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Suspended)
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePending, "spec.suspend")
	if got := w.ours(); len(got) > 0 {
		t.Errorf("made although held back: %q", got)
	}
	w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

// TestABenchmarkThatHasMadeNothingIsDeletedWithoutTheOperator, whatever it waits for.
func TestABenchmarkThatHasMadeNothingIsDeletedWithoutTheOperator(t *testing.T) {
	t.Parallel()
	address := newAddress()
	for name, tc := range map[string]struct {
		mods    []gen.Mod
		prepare func(*world)
		phase   v1alpha1.Phase
	}{
		"suspended": {mods: []gen.Mod{gen.Suspended}, phase: v1alpha1.PhasePending},
		"policy": {
			prepare: func(w *world) { w.policyErr = errors.New("policy.yaml: unknown field") }, phase: v1alpha1.PhasePending,
		},
		"secret": {
			mods:    []gen.Mod{gen.ONTAP("192.0.2.1", "svm1", "ontap-reader")},
			prepare: (*world).removeSecret, phase: v1alpha1.PhasePending,
		},
		"claim": {mods: []gen.Mod{gen.Claim("later")}, phase: v1alpha1.PhasePending},
		"refused": {
			prepare: func(w *world) { w.maxHold = time.Second }, phase: v1alpha1.PhaseFailed,
		},
		"queue": {
			mods: []gen.Mod{gen.Export("/x", address)},
			prepare: func(w *world) {
				w.create("first", gen.Export("/x", address))
				w.until("first", v1alpha1.PhaseRunning)
			},
			phase: v1alpha1.PhaseQueued,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			demo := w.create("demo", tc.mods...)
			if tc.prepare != nil {
				tc.prepare(w)
			}
			others := w.ours()
			w.wantPhase(w.settle("demo"), tc.phase)
			if made := w.ours(); !slices.Equal(made, others) {
				t.Errorf("it made something: %q, beside %q", made, others)
			}
			w.delete("demo")
			if b := w.get("demo"); b != nil || w.leases(demo) != 0 {
				t.Errorf("it stays: %t, with %d leases", b != nil, w.leases(demo))
			}
		})
	}
}

func TestSuspendDuringTheRunKeepsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Repetitions(2))
	w.until("demo", v1alpha1.PhaseRunning)
	w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseCollecting, "stopping the load")
	if w.loadJob(b) != nil {
		t.Error("the load still runs")
	}
	part := gen.Client(t, w.plan(b), 0, w.clock.Now())
	part.Load.Partial = true
	part.Load.Failure = &runfile.Failure{Code: runfile.FailureCancelled, Message: "stopped"}
	part.Load.Repetitions = part.Load.Repetitions[:1]
	w.final(b, part)
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseCancelled, "partial")
	w.wantCondition(b, v1alpha1.ConditionResultsCollected, "False", judge.Partial)
	if b.Status.Summary.ThroughputBytesPerSecond == nil {
		t.Error("what was measured is lost")
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseCancelled)
}

func TestAPassThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Embedded("1Gi", 2), gen.Clients(2))
	for range 60 {
		w.settle("demo") // fails when a pass keeps writing
		events := len(w.rec.events)
		w.step(time.Second)
		if _, err := w.pass("demo"); err != nil {
			t.Fatal(err)
		}
		if len(w.faults.writes) > 0 || len(w.rec.events) > events {
			t.Errorf("wrote %q, told %q", w.faults.writes, w.rec.events[events:])
		}
		if w.robot("demo") == "" {
			break
		}
	}
	want := []string{"Provisioning", "Preparing", "Running", "Collecting", "Succeeded"}
	if got := w.rec.reasons(); !slices.Equal(got, want) {
		t.Errorf("events are %q, want one for each phase: %q", got, want)
	}
}

func TestAFailedStatusPatchIsReturnedAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	boom := errors.New("boom")
	w.create("demo")
	if _, err := w.pass("demo"); err != nil { // finalizer
		t.Fatal(err)
	}
	w.faults.fail = func(write string) error {
		if strings.HasPrefix(write, "patch status") {
			return boom
		}
		if strings.HasPrefix(write, "create ConfigMap") {
			return errors.New("bang")
		}
		return nil
	}
	_, err := w.pass("demo")
	if !errors.Is(err, boom) || strings.Contains(err.Error(), "bang") {
		t.Errorf("got %v, want the failed status patch alone", err)
	}
	if len(w.rec.events) > 0 {
		t.Errorf("told %q of a status that nobody can read", w.rec.events)
	}
}

func TestAnErrorIsToldAndDoesNotTakeTheRunBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	w.until("demo", v1alpha1.PhaseRunning)
	w.faults.unread = errors.New("the API server is away")
	_, err := w.pass("demo")
	if err == nil {
		t.Error("the error is swallowed")
	}
	b := w.get("demo")
	w.wantPhase(b, v1alpha1.PhaseRunning, "trying again", "the API server is away")
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "Unknown", v1alpha1.ReasonRetrying)
	if b.Status.Progress == nil || b.Status.Resolved == nil {
		t.Error("what was known is forgotten")
	}
	w.faults.unread = nil
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestACacheThatIsBehindNeitherStartsTwiceNorGivesUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	old := w.until("demo", v1alpha1.PhasePreparing)
	job := w.loadJob(old)
	w.faults.blind = true // what was made a moment ago is not seen yet
	for _, b := range []*v1alpha1.NFSBenchmark{old.DeepCopy(), w.get("demo")} {
		if _, err := w.r.Reconcile(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	before := old.DeepCopy()
	before.Status = v1alpha1.NFSBenchmarkStatus{} // a copy from before the start
	if _, err := w.r.Reconcile(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.faults.blind = false
	if again := w.loadJob(old); again == nil || again.UID != job.UID {
		t.Error("the load was started twice")
	}
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing)
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)

	end := w.get("demo")
	if _, err := w.r.Reconcile(t.Context(), old.DeepCopy()); err != nil { // a copy from before the end
		t.Fatal(err)
	}
	if now := w.get("demo"); now.ResourceVersion != end.ResourceVersion {
		t.Errorf("an old copy changed a finished run: %s", now.Status.Message)
	}
}

func TestAnObjectOfSomebodyElseIsNeverTouched(t *testing.T) {
	t.Parallel()
	named := func(w *world, name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: w.ns, Name: name} }
	cases := map[string]func(*world) client.Object{
		"Plan": func(w *world) client.Object {
			return &corev1.ConfigMap{ObjectMeta: named(w, "nfsb-demo-plan"), Data: map[string]string{"a": "b"}}
		},
		"Result": func(w *world) client.Object {
			return &corev1.ConfigMap{ObjectMeta: named(w, "nfsb-demo-result"), Data: map[string]string{"a": "b"}}
		},
		"Account": func(w *world) client.Object {
			return &corev1.ServiceAccount{ObjectMeta: named(w, "nfsb-demo-collector")}
		},
	}
	for name, foreign := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			obj := foreign(w)
			if err := w.c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			w.create("demo")
			w.wantFailed(v1alpha1.ReasonNameTaken, obj.GetName(), "another name")
			w.delete("demo")
			w.finish("demo")
			version := obj.GetResourceVersion()
			if !w.find(obj.GetName(), obj) || obj.GetResourceVersion() != version {
				t.Error("the object was changed or deleted")
			}
		})
	}
}

func TestABenchmarkMadeAgainUnderItsName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	w.finish("demo")
	w.delete("demo")
	w.finish("demo")
	w.create("demo")
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}
