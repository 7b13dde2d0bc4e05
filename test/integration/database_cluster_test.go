package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestADatabaseThatExistsIsLoadedWithoutAVolume(t *testing.T) {
	t.Parallel()
	for name, mod := range map[string]gen.Mod{"Direct": func(*v1alpha1.NFSBenchmark) {}, "Kernel": gen.Kernel} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create("demo", gen.External("scan.example:1521/"+w.ns), gen.SLOB(v1alpha1.SLOBRandomRead, 4), mod)
			b := w.until("demo", v1alpha1.PhaseRunning)
			w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "True", v1alpha1.ReasonDatabaseReady)
			if w.find(manifest.NamesOf(b).Claim, &corev1.PersistentVolumeClaim{}) {
				t.Error("there is a claim for a database that has its files already")
			}
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded)
			res, _ := w.judged(b)
			if o := res.Clients[0].Load.Oracle; w.rec.count(v1alpha1.ReasonRetained) != 0 || o == nil || o.Banner == "" {
				t.Errorf("events %q, database %+v", w.rec.events, o)
			}
		})
	}
}

func TestSchemasThatALoaderCouldNotDropAreTold(t *testing.T) {
	t.Parallel()
	failed := func(left bool, kinds ...string) runfile.ClientResult {
		c := gen.FailedClient(0, runfile.FailureCancelled, "stopped")
		for _, k := range kinds {
			c.Load.Spans = append(c.Load.Spans, runfile.Span{Kind: k, Start: time.Unix(1, 0), End: time.Unix(2, 0)})
		}
		c.Load.FilesLeft = left
		return c
	}
	cases := map[string]struct {
		client runfile.ClientResult
		status string // of CleanedUp
		reason string
	}{
		"NotLoaded":  {failed(false, runfile.SpanConnect, runfile.SpanDone), "True", v1alpha1.ReasonCleanedUp},
		"Dropped":    {failed(false, runfile.SpanFill, runfile.SpanClean, runfile.SpanDone), "True", v1alpha1.ReasonCleanedUp},
		"NotDropped": {failed(false, runfile.SpanFill, runfile.SpanMeasure, runfile.SpanDone), "False", v1alpha1.ReasonLeftBehind},
		"Refused":    {failed(true, runfile.SpanFill, runfile.SpanClean, runfile.SpanDone), "False", v1alpha1.ReasonLeftBehind},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.started(gen.External("scan.example:1521/"+w.ns), gen.SLOB(v1alpha1.SLOBRandomRead, 4))
			w.progress(b, 0, at(runfile.SpanFill, 10))
			w.settle("demo")
			w.final(b, tc.client)
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseFailed)
			w.wantCondition(b, v1alpha1.ConditionCleanedUp, tc.status, tc.reason)
			events := strings.Join(w.rec.events, "\n")
			if got := strings.Contains(events, "scan.example:1521/"+w.ns+": the next run"); got != (tc.status == "False") {
				t.Errorf("events: %s", events)
			}
			if left := w.ours(); len(left) != 1 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

func TestTwoRunsDoNotLoadOneDatabaseAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	connect := "scan.example:1521/" + strings.ToUpper(w.ns)
	w.create("first", gen.External(connect), gen.SLOB(v1alpha1.SLOBRandomRead, 4))
	w.until("first", v1alpha1.PhaseRunning)
	w.create("demo", gen.External(strings.ToLower(connect)+"?connect_timeout=15"), gen.SLOB(v1alpha1.SLOBRandomRead, 4))
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseQueued, w.ns+"/first")
	w.finish("first")
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestADatabaseOnAClaim(t *testing.T) {
	t.Parallel()
	t.Run("that binds late, by the kernel", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.claim(nil)
		w.create("demo", onOracle(gen.Claim("data"), gen.Kernel)...)
		b := w.until("demo", v1alpha1.PhaseRunning)
		w.wantMounted(b, "data")
	})
	t.Run("that binds late, by Direct NFS", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.claim(nil)
		w.create("demo", onOracle(gen.Claim("data"))...)
		w.wantPhase(w.settle("demo"), v1alpha1.PhasePending, "WaitForFirstConsumer", "need the export of its volume")
	})
	t.Run("that is bound, by Direct NFS", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.claim(nfs(newAddress()))
		w.create("demo", onOracle(gen.Claim("data"))...)
		b := w.until("demo", v1alpha1.PhaseRunning)
		w.wantMounted(b, "data")
		if !strings.Contains(b.Status.Resolved.Oranfstab, "export: /vol/pv mount: /opt/oracle/oradata") {
			t.Errorf("oranfstab:\n%s", b.Status.Resolved.Oranfstab)
		}
		w.finish("demo")
		w.delete("demo")
		w.finish("demo")
		if !w.find("data", &corev1.PersistentVolumeClaim{}) || !strings.Contains(strings.Join(w.rec.events, "\n"), "the database stays in claim data") {
			t.Errorf("the user's claim is gone, or nothing says what is in it: %q", w.rec.events)
		}
	})
}

func TestANamespaceThatRefusesADatabaseIsSaidWithItsLabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.label("pod-security.kubernetes.io/enforce", "restricted")
	w.create("demo", onOracle()...)
	b := w.settle("demo")
	for w.loadJob(b) == nil {
		w.robot("demo")
		b = w.settle("demo")
	}
	job := w.loadJob(b)
	pod := &corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.Namespace, pod.Name = w.ns, "refused"
	err := w.c.Create(t.Context(), pod)
	if err == nil {
		t.Fatal("the API server takes the pod in a restricted namespace")
	}
	w.warn("Job", job, "FailedCreate", "Error creating: "+err.Error()) // what the Job controller makes of it
	w.step(10 * time.Second)
	words := []string{"enforces the Pod Security Standard restricted", "oradism", "setPermissions", "pod-security.kubernetes.io/enforce=baseline"}
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing, words...)
	w.step(21 * time.Second)
	w.wantFailed(v1alpha1.ReasonPodRefused, words...)

	w.label("pod-security.kubernetes.io/enforce", "baseline")
	pod.ResourceVersion = ""
	// The API server hears of the label a moment later than whoever set it.
	err = w.c.Create(t.Context(), pod)
	for end := time.Now().Add(10 * time.Second); apierrors.IsForbidden(err) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		err = w.c.Create(t.Context(), pod)
	}
	if err != nil {
		t.Errorf("the advice does not help: %v", err)
	}
	_ = w.c.Delete(t.Context(), pod, client.GracePeriodSeconds(0))
}

func TestASecretOfADatabaseThatIsMissing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mod   gen.Mod
		told  string
		words []string
	}{
		"Secret":   {gen.Oracle, `MountVolume.SetUp failed for volume "database-credentials" : secret "oracle" not found`, []string{`no Secret "oracle"`, "spec.database.container.passwordSecretRef"}},
		"Key":      {gen.Oracle, `MountVolume.SetUp failed for volume "database-credentials" : references non-existent secret key: password`, []string{`Secret "oracle"`, `no key "password"`, "passwordSecretRef"}},
		"External": {gen.External("db.example:1521/x"), `MountVolume.SetUp failed for volume "database-credentials" : references non-existent secret key: username`, []string{`Secret "oracle"`, `no key "username"`, "spec.database.external.credentialsSecretRef"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			mods := []gen.Mod{gen.SLOB(v1alpha1.SLOBRandomRead, 4), tc.mod}
			if name == "External" {
				mods = append(mods, gen.External("db.example:1521/"+w.ns))
			}
			_, pods := w.started(mods...)
			w.podStatus(&pods[0], func(st *corev1.PodStatus) { st.Phase = corev1.PodPending })
			w.warn("Pod", &pods[0], "FailedMount", tc.told)
			w.step(12 * time.Second)
			w.wantFailed(v1alpha1.ReasonSecretNotFound, tc.words...)
		})
	}
}

func TestADeletionGivesADatabaseTheTimeToShutDown(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pod := w.creating(onOracle(gen.OracleMod(func(c *v1alpha1.DatabaseContainer) { c.ShutdownTimeoutSeconds = 1200 }))...)
	pod.Finalizers = []string{"test/holds"}
	if err := w.c.Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	w.delete("demo")
	w.settle("demo")
	if err := w.c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.step(20 * time.Minute)
	if w.settle("demo") == nil {
		t.Fatal("the benchmark is gone while its database shuts down")
	}
	if len(w.loadPods(b)) != 1 {
		t.Fatal("the pod is gone")
	}
	w.step(4 * time.Minute)
	if w.settle("demo") != nil {
		t.Error("the benchmark stays forever")
	}
	if !strings.Contains(strings.Join(w.rec.events, "\n"), "within 23m0s: waiting for the database to shut down, for 20m0s at most") {
		t.Errorf("events: %q", w.rec.events)
	}
	w.find(pod.Name, pod)
	w.unprotect(pod)
}
