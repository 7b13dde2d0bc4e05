package integration

import (
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestADatabaseIsCreatedLoadedAndStaysOnItsExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, pods := w.started(onOracle(gen.Repetitions(2))...)
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePreparing, "starting the pod of the database")
	w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "Unknown", v1alpha1.ReasonPending)
	w.wantMounted(b, manifest.NamesOf(b).Claim)
	if b.Status.Resolved == nil || len(b.Status.Resolved.Paths) != 2 || !strings.Contains(b.Status.Resolved.Oranfstab, "mount: /opt/oracle/oradata") {
		t.Errorf("resolved to %+v", b.Status.Resolved)
	}

	since := w.clock.Now()
	w.podStatus(&pods[0], databaseStarted(since, false))
	w.settle("demo")
	w.clock.SetTime(since.Add(20*time.Minute + 12*time.Second)) // longer than any other pod may take
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePreparing, "creating or opening the database, 20m10s")
	w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "Unknown", v1alpha1.ReasonDatabaseStarting)
	w.wantCondition(b, v1alpha1.ConditionReconciling, "True", v1alpha1.ReasonDatabaseStarting)

	w.podStatus(&pods[0], databaseStarted(since, true))
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhasePreparing, "starting the load pods")
	w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "True", v1alpha1.ReasonDatabaseReady)

	b = w.finish("demo")
	w.wantPhase(b, v1alpha1.PhaseSucceeded, "with 4 users")
	w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "True", v1alpha1.ReasonDatabaseReady)
	w.wantCondition(b, v1alpha1.ConditionProtocolVerified, "True", v1alpha1.ReasonVerified)
	w.wantCondition(b, v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
	stays := "the database stays in " + b.Spec.Storage.Export.Servers[0] + ":/vol/oradata, in the folders ORCLCDB and dbconfig"
	if !slices.ContainsFunc(b.Status.Conditions, func(c metav1.Condition) bool { return strings.Contains(c.Message, stays) }) {
		t.Errorf("no condition says %q: %+v", stays, b.Status.Conditions)
	}
	if w.rec.count(v1alpha1.ReasonRetained) != 1 || w.rec.count(v1alpha1.ReasonDatabaseReady) != 1 {
		t.Errorf("events are %q, want one Retained and one DatabaseReady", w.rec.events)
	}
	st := b.Status
	res, j := w.judged(b)
	o := res.Clients[0].Load.Oracle
	if o.Banner == "" || o.ReadyMilliseconds == nil || *o.ReadyMilliseconds/1000 != 754 ||
		len(j.Database.Channels) != 2 || len(st.Steps) != 2 || len(j.Repetitions) != 2 {
		t.Errorf("database %+v, judged %+v, status %+v", o, j, st)
	}
	if w.find(manifest.NamesOf(b).Clean, &batchv1.Job{}) {
		t.Error("a Job removes files from under a database")
	}
}

// wantMounted fails the test unless the load Job mounts a claim.
func (w *world) wantMounted(b *v1alpha1.NFSBenchmark, claim string) {
	w.Helper()
	if !slices.ContainsFunc(w.loadJob(b).Spec.Template.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == claim
	}) {
		w.Errorf("the load does not mount claim %s", claim)
	}
}

func TestOnStorageOfItsOwnADatabaseGoesWithIt(t *testing.T) {
	t.Parallel()
	for name, mods := range map[string][]gen.Mod{
		"Direct": {gen.Embedded("10Gi", 2)},
		"Kernel": {gen.Embedded("10Gi", 1), gen.Kernel},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.creating(onOracle(mods...)...)
			w.wantPhase(w.get("demo"), v1alpha1.PhasePreparing, "creating the database")
			w.wantMounted(b, manifest.NamesOf(b).Claim)
			b = w.finish("demo")
			w.wantPhase(b, v1alpha1.PhaseSucceeded)
			w.wantCondition(b, v1alpha1.ConditionProtocolVerified, "True", v1alpha1.ReasonVerified)
			if w.rec.count(v1alpha1.ReasonRetained) != 0 {
				t.Errorf("events are %q", w.rec.events)
			}
			if got := w.ours(); len(got) != 1 {
				t.Errorf("left: %q, want the result only", got)
			}
		})
	}
}

func TestADatabaseThatIsNotReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mods   []gen.Mod
		pod    func(*world) func(*corev1.PodStatus)
		after  time.Duration
		reason string
		words  []string
	}{
		"ItSaysSo": {
			pod: func(w *world) func(*corev1.PodStatus) {
				return databaseEnds(1, "Error", "nfsbench: DatabaseNotReady: the database was not ready after 45m0s: DBCA is at 36 %\n", w.clock.Now())
			},
			after: 45 * time.Minute, reason: runfile.FailureDatabaseNotReady, words: []string{"DBCA is at 36 %"},
		},
		"ItHangs": {
			after: 46*time.Minute + time.Second, reason: runfile.FailureDatabaseNotReady, words: []string{"not ready within 45m0s", "startupTimeoutSeconds"},
		},
		"ItHadLess": {
			mods:  []gen.Mod{gen.OracleMod(func(c *v1alpha1.DatabaseContainer) { c.StartupTimeoutSeconds = 60 })},
			after: 2*time.Minute + time.Second, reason: runfile.FailureDatabaseNotReady, words: []string{"not ready within 1m0s"},
		},
		"Oradism": {
			pod: func(w *world) func(*corev1.PodStatus) {
				return databaseEnds(1, "Error", "nfsbench: OradismNotSetuid: /opt/oracle/bin/oradism is -rwxr-x---: chmod 4750 in the image\n", w.clock.Now())
			},
			after: time.Second, reason: runfile.FailureOradism, words: []string{"chmod 4750"},
		},
		"NoSpace": {
			pod: func(w *world) func(*corev1.PodStatus) {
				return databaseEnds(1, "Error", "DBT-06604\nnfsbench: NoSpace: the database ran out of space; make the volume larger\n", w.clock.Now())
			},
			after: time.Second, reason: runfile.FailureNoSpace, words: []string{"make the volume larger"},
		},
		"OutOfMemory": {
			pod:   func(w *world) func(*corev1.PodStatus) { return databaseEnds(137, "OOMKilled", "", w.clock.Now()) },
			after: time.Second, reason: runfile.FailureDatabaseEnded, words: []string{"spec.database.container.resources.limits.memory"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, pod := w.creating(onOracle(tc.mods...)...)
			const before = time.Second
			w.step(max(tc.after-before, 0))
			w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing, "creating or opening the database")
			w.step(before + time.Second)
			if tc.pod != nil {
				w.podStatus(pod, tc.pod(w))
			}
			b := w.wantFailed(tc.reason, tc.words...)
			w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "False", tc.reason)
			w.wantCondition(w.finish("demo"), v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
		})
	}
}

func TestTheTimeOfARunIsOverBeforeItsDatabaseIsReady(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]bool{"CollectorTells": true, "NobodyTells": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pod := w.creating(onOracle()...)
			w.jobEnds(w.loadJob(b), batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
			if publish {
				w.final(b, gen.FailedClient(0, runfile.FailureLoaderCrashed, "the loader ended before it reported anything"))
			}
			_ = w.c.Delete(t.Context(), pod, client.GracePeriodSeconds(0))
			w.step(40 * time.Second)
			b = w.wantFailed(runfile.FailureDatabaseNotReady, "not ready when the time of the run was over", "startupTimeoutSeconds")
			w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "False", runfile.FailureDatabaseNotReady)
		})
	}
}

func TestWhatTheDatabaseRefusesBecomesTheReason(t *testing.T) {
	t.Parallel()
	cases := map[string]string{ // DatabaseReady by the code of the failure
		runfile.FailurePassword: "False", runfile.FailurePrivilege: "False", runfile.FailureParameter: "False", runfile.FailureAsyncIO: "False",
		runfile.FailureOracleClient: "False", runfile.FailureTimedStatistics: "False",
		runfile.FailureNoSpace: "True", runfile.FailureSQL: "True", runfile.FailureDirectNFSInactive: "True", runfile.FailureBusy: "True", runfile.FailureRedo: "True",
	}
	for code, ready := range cases {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pod := w.creating(onOracle()...)
			w.podStatus(pod, databaseStarted(w.clock.Now(), true))
			w.progress(b, 0, at(runfile.SpanConnect, 0))
			w.wantCondition(w.settle("demo"), v1alpha1.ConditionDatabaseReady, "True", v1alpha1.ReasonDatabaseReady)
			w.final(b, gen.FailedClient(0, code, "ORA-01017: the password of sys is refused: correct Secret oracle"))
			b = w.wantFailed(code, "correct Secret oracle")
			reason := code
			if ready == "True" {
				reason = v1alpha1.ReasonDatabaseReady
			}
			w.wantCondition(b, v1alpha1.ConditionDatabaseReady, ready, reason)
		})
	}
}

func TestADatabaseThatEndsUnderLoad(t *testing.T) {
	t.Parallel()
	load := func(w *world) (*v1alpha1.NFSBenchmark, *corev1.Pod) {
		b, pod := w.creating(onOracle()...)
		w.podStatus(pod, databaseStarted(w.clock.Now(), true))
		w.progress(b, 0, at(runfile.SpanMeasure, 50))
		w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning)
		return b, pod
	}
	lost := gen.FailedClient(0, runfile.FailureDatabaseEnded, "ORA-03113: the connection is gone")
	t.Run("Kubernetes knows why", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		b, pod := load(w)
		w.podStatus(pod, databaseEnds(137, "OOMKilled", "", w.clock.Now()))
		w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning, "resources.limits.memory") // the load may have a word to say
		w.final(b, lost)
		b = w.wantFailed(runfile.FailureDatabaseEnded, "resources.limits.memory", "ORA-03113")
		w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "False", runfile.FailureDatabaseEnded)
	})
	t.Run("The load does not notice", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		_, pod := load(w)
		w.podStatus(pod, databaseEnds(1, "Error", "nfsbench: DatabaseEnded: the start command ended with exit status 1\n", w.clock.Now()))
		w.settle("demo")
		w.step(31 * time.Second)
		w.wantFailed(runfile.FailureDatabaseEnded, "the start command ended")
	})
	t.Run("Only the load knows", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		b, pod := load(w)
		w.final(b, lost)
		w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "waiting for the pod of a database that ended")
		w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase = corev1.PodFailed })
		w.wantFailed(runfile.FailureDatabaseEnded, "ORA-03113")
	})
}

func TestARunIsSuspendedWhileItsDatabaseIsCreated(t *testing.T) {
	t.Parallel()
	for name, publish := range map[string]bool{"CollectorTells": true, "NobodyTells": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.creating(onOracle()...)
			w.update("demo", func(b *v1alpha1.NFSBenchmark) { b.Spec.Suspend = true })
			if publish {
				w.final(b, gen.FailedClient(0, runfile.FailureLoaderCrashed, "the loader ended before it reported anything"))
			} else {
				w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "stopping the load")
				w.collectGarbage()
			}
			b = w.settle("demo")
			w.wantPhase(b, v1alpha1.PhaseCancelled, "spec.suspend")
			w.wantCondition(b, v1alpha1.ConditionDatabaseReady, "False", runfile.FailureCancelled)
			w.wantCondition(w.finish("demo"), v1alpha1.ConditionCleanedUp, "True", v1alpha1.ReasonCleanedUp)
		})
	}
}
