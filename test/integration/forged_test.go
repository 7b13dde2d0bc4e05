package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// forgedPlan is a plan that a tenant writes for a benchmark that it has created.
func (w *world) forgedPlan(b *v1alpha1.NFSBenchmark, change func(*runfile.Plan)) *corev1.ConfigMap {
	w.Helper()
	e := b.Spec.Storage.Export
	p, err := plan.Build(b, plan.Target{
		Export: e.Path, Addresses: e.Servers, Paths: []bench.ResolvedPath{{Path: e.Servers[0]}, {Path: e.Servers[1]}},
	})
	if err != nil {
		w.Fatal(err)
	}
	change(&p)
	var text strings.Builder
	if err := runfile.WritePlan(&text, p); err != nil {
		w.Fatal(err)
	}
	return manifest.PlanConfigMap(b, text.String(), "")
}

// wantEnded fails the test unless the run has failed for this reason, no load runs or ran, and its
// target is free.
func (w *world) wantEnded(reason string, words ...string) {
	w.Helper()
	b := w.wantFailed(reason, words...)
	if n := w.leases(b); n > 0 {
		w.Errorf("%d Leases are left", n)
	}
	if job := w.loadJob(b); job != nil {
		w.Errorf("a load runs with %d clients for %d s", *job.Spec.Parallelism, *job.Spec.ActiveDeadlineSeconds)
	}
}

// TestAPlanOfATenantIsNotUsed: whoever may write ConfigMaps knows names and labels of the run, and
// the UID of the benchmark.
func TestAPlanOfATenantIsNotUsed(t *testing.T) {
	t.Parallel()
	labelled := func(cm *corev1.ConfigMap) { cm.OwnerReferences = nil }
	owned := func(*corev1.ConfigMap) {}
	for name, tc := range map[string]struct {
		change func(*runfile.Plan)
		as     func(*corev1.ConfigMap)
		reason string
	}{
		"MorePodsForLonger": {func(p *runfile.Plan) { p.Clients, p.Schedule.TimeoutSeconds = 1024, 7*24*3600 }, labelled, v1alpha1.ReasonPlanChanged},
		"MorePodsWithOwner": {func(p *runfile.Plan) { p.Clients, p.Schedule.TimeoutSeconds = 1024, 7*24*3600 }, owned, v1alpha1.ReasonPlanChanged},
		"ClientsWithoutEnd": {func(p *runfile.Plan) { p.Clients = 2147483647 }, owned, v1alpha1.ReasonPlanChanged},
		"AnotherSurvey":     {func(p *runfile.Plan) { p.Survey = &runfile.Survey{Array: "ONTAP"} }, owned, v1alpha1.ReasonPlanChanged},
		"AnotherRelease": {func(*runfile.Plan) {}, func(cm *corev1.ConfigMap) {
			cm.Data[manifest.PlanKey] = `{"version":"nfsbench.io/plan/v99"}`
		}, v1alpha1.ReasonPlanChanged},
		"AMegabyte": {func(*runfile.Plan) {}, func(cm *corev1.ConfigMap) {
			cm.Data[manifest.PlanKey] = strings.Repeat("[", 1<<20-1000)
		}, v1alpha1.ReasonPlanChanged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.create("demo", gen.Suspended)
			w.settle("demo")
			cm := w.forgedPlan(b, tc.change)
			tc.as(cm)
			if err := w.c.Create(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
			w.wantEnded(tc.reason, cm.Name)
		})
	}
}

// TestAPlanThatIsReplacedEndsTheRun: at each moment after its hash is in the status.
func TestAPlanThatIsReplacedEndsTheRun(t *testing.T) {
	t.Parallel()
	const seconds = `"durationSeconds": `
	t.Run("BeforeItIsWritten", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		b := w.create("demo")
		for b.Status.PlanHash == "" {
			if _, err := w.pass("demo"); err != nil {
				t.Fatal(err)
			}
			b = w.get("demo")
		}
		if w.find(manifest.NamesOf(b).Plan, &corev1.ConfigMap{}) {
			t.Fatal("the plan was written before its hash")
		}
		if err := w.c.Create(t.Context(), w.forgedPlan(b, func(p *runfile.Plan) { p.Clients = 64 })); err != nil {
			t.Fatal(err)
		}
		w.wantEnded(v1alpha1.ReasonPlanChanged, "status.planHash")
	})
	t.Run("WhileARunWaits", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.claim(nfs(newAddress()))
		user := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "user"}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "x", Image: "x"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}},
		}}
		if err := w.c.Create(t.Context(), user); err != nil {
			t.Fatal(err)
		}
		w.create("demo", gen.Claim("data"), gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 1))
		b := w.settle("demo")
		w.wantCondition(b, v1alpha1.ConditionReconciling, "True", v1alpha1.ReasonClaimInUse)
		w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
		w.settle("demo")
		w.replacePlan(b, seconds, seconds+"1")
		w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
		w.wantEnded(v1alpha1.ReasonPlanChanged, "status.planHash")
	})
	t.Run("UnderLoad", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.create("demo")
		b := w.until("demo", v1alpha1.PhaseRunning)
		w.replacePlan(b, seconds, seconds+"1")
		b = w.finish("demo")
		w.wantPhase(b, v1alpha1.PhaseFailed, "status.planHash")
		w.wantCondition(b, v1alpha1.ConditionCleanedUp, "False", v1alpha1.ReasonLeftBehind)
		w.wantEnded(v1alpha1.ReasonPlanChanged)
	})
}
