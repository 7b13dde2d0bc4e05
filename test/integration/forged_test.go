package integration

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
		"MorePodsForLonger": {func(p *runfile.Plan) { p.Clients, p.Schedule.TimeoutSeconds = 1024, 7*24*3600 }, labelled, v1alpha1.ReasonNameTaken},
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

// forgeries are objects as the operator makes them for an embedded server, by what a tenant changes.
func forgeries(b *v1alpha1.NFSBenchmark) map[string]func() client.Object {
	images := manifest.Images{NFSBench: "nfsbench:test", PullPolicy: corev1.PullIfNotPresent}
	account, role, binding := manifest.CollectorAccess(b)
	pod := func(change func(*corev1.Pod)) func() client.Object {
		return func() client.Object {
			p := manifest.ServerPod(b, images)
			change(p)
			return p
		}
	}
	return map[string]func() client.Object{
		"spec.containers[0].image": pod(func(p *corev1.Pod) { p.Spec.Containers[0].Image = "evil/nfs-server" }),
		"spec.containers[1]": pod(func(p *corev1.Pod) {
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: "x", Image: "evil/nfs-server"})
		}),
		"spec.hostNetwork":                           pod(func(p *corev1.Pod) { p.Spec.HostNetwork = true }),
		"metadata.labels." + manifest.LabelComponent: pod(func(p *corev1.Pod) { p.Labels[manifest.LabelComponent] = "x" }),
		"spec.selector.app": func() client.Object {
			s := manifest.PathServices(b)[0]
			s.Spec.Selector = map[string]string{"app": "evil"}
			return s
		},
		"spec.ingress[0].ports": func() client.Object {
			p := manifest.NetworkPolicies(b, images)[1]
			p.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}}
			return p
		},
		"spec.volumeName": func() client.Object {
			c := manifest.Claim(b)
			c.Spec.VolumeName = "another"
			return c
		},
		"automountServiceAccountToken": func() client.Object { account.AutomountServiceAccountToken = nil; return account },
		"rules[1]": func() client.Object {
			role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}})
			return role
		},
		"subjects[1]": func() client.Object {
			binding.Subjects = append(binding.Subjects, rbacv1.Subject{Kind: "User", APIGroup: rbacv1.GroupName, Name: "eve"})
			return binding
		},
	}
}

// TestAnObjectThatIsThereIsUsedOnlyIfItIsWhatTheOperatorMakes: with the labels of the operator and
// the benchmark as its owner.
func TestAnObjectThatIsThereIsUsedOnlyIfItIsWhatTheOperatorMakes(t *testing.T) {
	t.Parallel()
	for field := range forgeries(gen.Benchmark("demo", gen.Embedded("2Gi", 1), gen.Kernel)) {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.create("demo", gen.Embedded("2Gi", 1), gen.Kernel, gen.Suspended)
			w.settle("demo")
			obj := forgeries(b)[field]()
			if err := w.c.Create(t.Context(), obj); err != nil {
				t.Fatal(err)
			}
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
			for range 20 {
				if b = w.settle("demo"); b.Status.Phase.IsFinished() {
					break
				}
				w.robot("demo")
			}
			w.wantPhase(b, v1alpha1.PhaseFailed, obj.GetName(), field+" differs", "delete it")
			w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", v1alpha1.ReasonNameTaken)
		})
	}
}

// TestAJobThatIsThereIsUsedOnlyIfItIsWhatTheOperatorMakes: the load of a tenant would have the
// account of the collector.
func TestAJobThatIsThereIsUsedOnlyIfItIsWhatTheOperatorMakes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create("demo", gen.Suspended)
	w.settle("demo")
	p, err := runfile.ReadKeptPlan(strings.NewReader(w.forgedPlan(b, func(*runfile.Plan) {}).Data[manifest.PlanKey]))
	if err != nil {
		t.Fatal(err)
	}
	job := manifest.LoadJob(b, p, "", manifest.Images{NFSBench: "nfsbench:test", PullPolicy: corev1.PullIfNotPresent})
	job.Spec.Template.Spec.Containers[0].Image = "evil/loader"
	w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = false })
	w.faults.fail = func(write string) error { // just before the operator makes its own
		if write == "create Job "+job.Name && !w.find(job.Name, &batchv1.Job{}) {
			return w.c.Create(t.Context(), job)
		}
		return nil
	}
	for b.Status.PlanHash == "" || !w.find(job.Name, &batchv1.Job{}) {
		if _, err := w.pass("demo"); err != nil && !strings.Contains(err.Error(), "already exists") {
			t.Fatal(err)
		}
		b = w.get("demo")
	}
	w.wantFailed(v1alpha1.ReasonNameTaken, job.Name, "spec.template.spec.containers[0].image differs")
}

// TestWhatTheOperatorMadeIsComparedOnce: with what the API server makes of it, by the first manager
// that did not make it, and again when somebody changes it.
func TestWhatTheOperatorMadeIsComparedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Embedded("2Gi", 1), gen.Kernel)
	w.settle("demo") // waits for its server
	if w.faults.dryRuns != 0 {
		t.Errorf("%d dry runs of what the manager made itself", w.faults.dryRuns)
	}
	w.restart()
	b := w.settle("demo")
	compared := w.faults.dryRuns
	if compared < 4 || b.Status.Phase.IsFinished() {
		t.Fatalf("a new manager compared %d objects: %s", compared, b.Status.Message)
	}
	for range 3 {
		w.step(time.Minute)
		if _, err := w.pass("demo"); err != nil {
			t.Fatal(err)
		}
	}
	if w.faults.dryRuns != compared {
		t.Errorf("%d dry runs in steady passes", w.faults.dryRuns-compared)
	}
	b = w.until("demo", v1alpha1.PhaseRunning)
	svc := &corev1.Service{}
	if !w.find(manifest.NamesOf(b).PathService(0), svc) {
		t.Fatal("there is no Service")
	}
	svc.Spec.Selector["app"] = "evil"
	if err := w.c.Update(t.Context(), svc); err != nil {
		t.Fatal(err)
	}
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, svc.Name, "spec.selector.app differs")
}

// TestANewManagerOfARunUnderWayTakesWhatAnotherReleaseMade: it may make other objects. What changes from
// then on was changed by somebody.
func TestANewManagerOfARunUnderWayTakesWhatAnotherReleaseMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo", gen.Embedded("2Gi", 1))
	b := w.until("demo", v1alpha1.PhaseRunning)
	policy := &networkingv1.NetworkPolicy{}
	if !w.find(manifest.NamesOf(b).Clients, policy) {
		t.Fatal("there is no NetworkPolicy")
	}
	policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{}} // as the older release made it
	if err := w.c.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	w.step(time.Minute)
	w.restart()
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning)
	if !w.find(policy.Name, policy) {
		t.Fatal("the NetworkPolicy is gone")
	}
	policy.Spec.PodSelector = metav1.LabelSelector{}
	if err := w.c.Update(t.Context(), policy); err != nil {
		t.Fatal(err)
	}
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseFailed, policy.Name, "spec.ingress differs")
}
