package integration

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
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
			w.create("demo", gen.External("scan.example:1521/"+w.ns), gen.SLOB(bench.SLOBRandomRead, 4), mod)
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
			b, _ := w.started(gen.External("scan.example:1521/"+w.ns), gen.SLOB(bench.SLOBRandomRead, 4))
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
	w.create("first", gen.External(connect), gen.SLOB(bench.SLOBRandomRead, 4))
	w.until("first", v1alpha1.PhaseRunning)
	w.create("demo", gen.External(strings.ToLower(connect)+"?connect_timeout=15"), gen.SLOB(bench.SLOBRandomRead, 4))
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
		w.wantPhase(w.settle("demo"), v1alpha1.PhasePending, "not Bound", "a pod asks for it")
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
	for end := time.Now().Add(patience); apierrors.IsForbidden(err) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
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
			mods := []gen.Mod{gen.SLOB(bench.SLOBRandomRead, 4), tc.mod}
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
	// A node that does not answer never says that the pod is gone.
	w.step(24 * time.Hour)
	if b = w.settle("demo"); b == nil || w.leases(b) == 0 {
		t.Fatal("somebody else gets the target while the database may run")
	}
	if !strings.Contains(b.Status.Message, "pod "+pod.Name) || !strings.Contains(b.Status.Message, "delete pod "+pod.Name+" --force") {
		t.Errorf("the message names neither the pod nor what to do: %s", b.Status.Message)
	}
	w.find(pod.Name, pod)
	w.unprotect(pod)
	if w.settle("demo") != nil || w.leases(b) != 0 {
		t.Error("the benchmark stays without its pod, or keeps the target")
	}
}

// TestARunThatIsKeptHoldsItsTargetUntilTheDatabaseHasEnded, where a node does not answer.
func TestARunThatIsKeptHoldsItsTargetUntilTheDatabaseHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	retain := func(b *v1alpha1.NFSBenchmark) { b.Spec.Cleanup.OnFailure = v1alpha1.CleanupRetain }
	b, pod := w.creating(onOracle(retain)...)
	w.jobEnds(w.loadJob(b), "DeadlineExceeded", "too long")
	w.step(time.Hour)
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseFailed)
	if w.leases(b) == 0 {
		t.Error("somebody else gets the target while the database may run")
	}
	w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase = corev1.PodFailed })
	w.settle("demo")
	if w.leases(b) != 0 {
		t.Error("it keeps the target although its database has ended")
	}
}

// podOnClaim is a pod of somebody else that mounts a claim.
func podOnClaim(namespace, name, claim string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "db", Image: "x"}},
			Volumes: []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
			}}},
		},
	}
}

// TestADatabaseDoesNotStartOnAClaimThatAPodUses: it may be another database.
func TestADatabaseDoesNotStartOnAClaimThatAPodUses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.claim(nfs(newAddress()))
	other := podOnClaim(w.ns, "postgres-0", "data")
	if err := w.c.Create(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.create("demo", onOracle(gen.Claim("data"))...)
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePending, "pod postgres-0 uses claim", "spec.storage.claim")
	if w.leases(b) > 0 {
		t.Error("it has its target although it waits for another pod")
	}
	if w.loadJob(w.get("demo")) != nil {
		t.Error("the database has started")
	}
	if err := w.c.Delete(t.Context(), other, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	w.settle("demo")
	if w.loadJob(w.get("demo")) == nil {
		t.Error("the database does not start when the claim is free")
	}
}

// TestAClaimAndAnExportOfOneServerAreOneTarget: the kernel mounts both, and they may be the same
// files.
func TestAClaimAndAnExportOfOneServerAreOneTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := newAddress()
	w.claim(nfs(server))
	w.create("a-claim", gen.Claim("data"), gen.Kernel)
	w.until("a-claim", v1alpha1.PhaseRunning)
	w.create("b-export", gen.Export("/vol/pv", server), gen.Kernel)
	w.wantQueued("b-export", 1, "a-claim")
}
