package integration

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Name: name} }

func isPreflight(c metav1.Condition) bool { return c.Type == v1alpha1.ConditionPreflightPassed }

// moving is the report of a move under way.
func moving(percent int32) runfile.Survey {
	return runfile.Survey{Source: "ontap", Move: &runfile.VolumeMove{To: "aggr_b", Percent: percent}}
}

func TestAMoveIsShownWithItsProgress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.asking(ontap(""))
	w.surveyed(b, moving(40))
	b = w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseProvisioning, "moving volume /vol/oradata to aggregate aggr_b: 40 %")
	w.wantCondition(b, v1alpha1.ConditionPreflightPassed, "Unknown", v1alpha1.ReasonMoving)
	if p := b.Status.Progress; p == nil || p.Step != "Move" || p.Percent != 40 {
		t.Errorf("progress %+v", p)
	}
	before := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded).Message
	w.surveyed(b, moving(80))
	b = w.settle("demo")
	if c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded); c.Message != before || b.Status.Progress.Percent != 80 {
		t.Errorf("a condition moves with the progress: %q, %+v", c.Message, b.Status.Progress)
	}
	done := surveyOf(b)
	done.Move = &runfile.VolumeMove{From: "aggr_b", To: "aggr_a", Seconds: 90, Percent: 100}
	w.surveyed(b, done)
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

func TestAMoveThatLosesItsPodIsToldToGoOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pod := w.asking(ontap(""))
	w.surveyed(b, moving(40))
	w.podStatus(pod, func(st *corev1.PodStatus) { st.Phase, st.Reason, st.Message = corev1.PodFailed, "Evicted", "no room" })
	w.wantFailed(v1alpha1.ReasonPodLost, "Evicted", "the move to aggregate aggr_b was at 40 %", "may go on")
}

func TestDeletionDuringASurveyLeavesNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		published *runfile.Survey
		told      int // events that name the move
	}{
		"Asking":   {nil, 0},
		"Moving":   {new(moving(40)), 1},
		"Answered": {new(gen.Survey("/vol/oradata", "10.97.0.61", "10.97.1.61")), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.asking(ontap(""))
			if tc.published != nil {
				w.surveyed(b, *tc.published)
			}
			w.delete("demo")
			if b := w.finish("demo"); b != nil {
				t.Errorf("it stays: %v", b.Finalizers)
			}
			if left := w.ours(); len(left) > 0 {
				t.Errorf("these are left: %q", left)
			}
			if n := w.rec.count(v1alpha1.ReasonMoving); n != tc.told {
				t.Errorf("%d events tell of a move, want %d: %q", n, tc.told, w.rec.events)
			}
			if tc.told > 0 && !strings.Contains(strings.Join(w.rec.events, "\n"), "aggregate aggr_b was at 40 % and goes on in the array") {
				t.Errorf("events: %q", w.rec.events)
			}
		})
	}
}

func TestASurveyOfSomebodyElseIsNotOurs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: "nfsb-demo-survey"}}
	job.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "x", Image: "x"}}}
	if err := w.c.Create(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	w.create("demo", ontap(""))
	w.wantFailed(v1alpha1.ReasonNameTaken, "nfsb-demo-survey", "another name")
	w.delete("demo")
	w.finish("demo")
	if !w.find("nfsb-demo-survey", job) {
		t.Error("the Job of somebody else was deleted")
	}
}

// TestThePasswordOfAnArrayIsNowhere looks for it in every object that there is
// after each step of a run, in the events and in the manager's log.
func TestThePasswordOfAnArrayIsNowhere(t *testing.T) {
	t.Parallel()
	const password, user = "Tr0ub4dor-f1ndme", "find-this-user"
	w := newWorld(t)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.ns, Name: "ontap-reader", Labels: map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed},
		},
		StringData: map[string]string{"username": user, "password": password},
	}
	if err := w.c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	logger := funcr.New(func(prefix, args string) { fmt.Fprintln(&said, prefix, args) }, funcr.Options{Verbosity: 10})
	w.create("demo", ontap(bench.PathsAll))
	objects := 0
	for range 60 {
		if b := w.get("demo"); b == nil {
			break
		} else if _, err := w.r.Reconcile(log.IntoContext(t.Context(), logger), b); err != nil {
			t.Fatal(err)
		}
		text := w.everything()
		objects = max(objects, strings.Count(text, `"uid"`))
		for _, word := range []string{password, user} {
			if strings.Contains(text, word) {
				t.Fatalf("an object holds %q", word)
			}
		}
		if w.robot("demo") == "" && w.get("demo").Status.Phase.IsFinished() {
			break
		}
	}
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	if told := strings.Join(w.rec.events, "\n") + said.String(); strings.Contains(told, password) || strings.Contains(told, user) {
		t.Errorf("it was told: %s", told)
	}
	if objects < 10 {
		t.Errorf("looked at %d objects only", objects)
	}
}

// everything is all objects of the world but Secrets, as JSON.
func (w *world) everything() string {
	w.Helper()
	var out strings.Builder
	for _, l := range []client.ObjectList{
		&v1alpha1.NFSBenchmarkList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.EventList{},
		&corev1.ServiceAccountList{}, &corev1.PersistentVolumeClaimList{}, &rbacv1.RoleList{}, &rbacv1.RoleBindingList{},
	} {
		if err := w.c.List(w.Context(), l, client.InNamespace(w.ns)); err != nil {
			w.Fatal(err)
		}
		raw, err := json.Marshal(l)
		if err != nil {
			w.Fatal(err)
		}
		out.Write(raw)
	}
	return out.String()
}

func TestTheCollectorsSecretMayGoMissingToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pods := w.started(ontap(""))
	mounts := manifest.LoadJob(b, w.plan(b), "", manifest.Images{}).Spec.Template.Spec.InitContainers[0].VolumeMounts
	if last := mounts[len(mounts)-1]; last.MountPath != "/etc/nfsbench/secrets/array" {
		t.Errorf("the collector has no Secret: %+v", mounts)
	}
	w.podStatus(&pods[0], func(st *corev1.PodStatus) { st.Phase = corev1.PodPending })
	w.warn("Pod", &pods[0], "FailedMount", `MountVolume.SetUp failed for volume "array-credentials" : secret "ontap-reader" not found`)
	w.step(45 * time.Second)
	w.wantFailed(v1alpha1.ReasonSecretNotFound, `Secret "ontap-reader"`)
}

func TestRunsOnOneArrayWaitForEachOtherWhateverTheirAddresses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	same := ontap("")
	b, _ := w.asking(same)
	w.create("next", same)
	w.wantPhase(w.settle("next"), v1alpha1.PhaseQueued, "behind "+w.ns+"/demo, which is Provisioning: ")
	w.create("other", ontap(""))
	w.wantPhase(w.settle("other"), v1alpha1.PhaseProvisioning, "asking the array")
	w.surveyed(b, surveyOf(b))
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
	w.wantPhase(w.settle("next"), v1alpha1.PhaseProvisioning, "asking the array")
}

// TestNoSurveyOfARunUnderWayIsMadeOrBelievedAgain: somebody who puts the report
// of a move, or of a failure, in its place neither moves nor ends anything.
func TestNoSurveyOfARunUnderWayIsMadeOrBelievedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.started(ontap(""))
	request := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: manifest.NamesOf(b).Survey}}
	if err := w.c.Delete(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if job := w.surveyJob(b); job != nil {
		_ = w.c.Delete(t.Context(), job)
	}
	w.surveyed(b, moving(40))
	b = w.settle("demo")
	if job := w.surveyJob(b); job != nil && job.DeletionTimestamp.IsZero() {
		t.Error("the array is asked to move a volume under load")
	}
	w.surveyed(b, runfile.Survey{Problem: &runfile.SurveyProblem{Reason: runfile.SurveyFailed, Message: "no"}})
	if b = w.settle("demo"); b.Status.Phase.IsFinished() {
		t.Errorf("the run ended: %s", b.Status.Message)
	}
	w.publish(b, func(cm *corev1.ConfigMap) { cm.Data[runfile.KeySurvey] = `{"version":"nfsbench.io/survey/v99"}` })
	if b = w.settle("demo"); b.Status.Phase.IsFinished() {
		t.Errorf("the run ended: %s", b.Status.Message)
	}
}
