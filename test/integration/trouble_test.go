package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// started is a benchmark whose load pods exist and do not run yet.
func (w *world) started(mods ...gen.Mod) (*v1alpha1.NFSBenchmark, []corev1.Pod) {
	w.Helper()
	w.create("demo", mods...)
	for range 20 {
		b := w.settle("demo")
		if job := w.loadJob(b); job != nil {
			w.startPods(job)
			return b, w.loadPods(b)
		}
		w.robot("demo")
	}
	w.Fatal("the load does not start")
	return nil, nil
}

// loading is a benchmark whose first load pod runs and has come so far.
func (w *world) loading(so runfile.Progress) (*v1alpha1.NFSBenchmark, []corev1.Pod) {
	w.Helper()
	b, pods := w.started()
	w.podStatus(&pods[0], running)
	w.progress(b, 0, so)
	w.settle("demo")
	return b, pods
}

// wantFailed passes once and wants the run to have failed for a reason that a
// stranger understands: the message has all the words.
func (w *world) wantFailed(reason string, words ...string) *v1alpha1.NFSBenchmark {
	w.Helper()
	b := w.settle("demo")
	w.wantPhase(b, v1alpha1.PhaseFailed, words...)
	w.wantCondition(b, v1alpha1.ConditionSucceeded, "False", reason)
	w.wantCondition(b, v1alpha1.ConditionStalled, "True", reason)
	if w.rec.count("Failed") != 1 {
		w.Errorf("events are %q, want one Failed", w.rec.events)
	}
	return b
}

func waitingFor(container, reason, message string) func(*corev1.PodStatus) {
	return func(st *corev1.PodStatus) {
		st.Phase = corev1.PodPending
		st.ContainerStatuses = []corev1.ContainerStatus{{
			Name: container, Image: "nfsbench:test",
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

// warn records a warning about an object, as the kubelet and controllers do.
func (w *world) warn(kind string, obj client.Object, reason, message string) {
	w.Helper()
	w.tell(corev1.EventTypeWarning, kind, obj, reason, message)
}

func (w *world) tell(eventType, kind string, obj client.Object, reason, message string) {
	w.Helper()
	e := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: w.ns, GenerateName: "event-"},
		InvolvedObject: corev1.ObjectReference{Kind: kind, Namespace: w.ns, Name: obj.GetName(), UID: obj.GetUID()},
		Reason:         reason, Message: message, Type: eventType, LastTimestamp: metav1.NewTime(w.clock.Now()),
	}
	if err := w.c.Create(w.Context(), e); err != nil {
		w.Fatal(err)
	}
}

func TestAPodThatCannotStartEndsTheRunWithinAMinute(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		mods   []gen.Mod
		pod    func(*corev1.PodStatus)
		event  string
		after  time.Duration // when it is over
		reason string
		words  []string
	}{
		"ImagePull": {
			pod: waitingFor("loader", "ImagePullBackOff", "not found"), after: 31 * time.Second,
			reason: v1alpha1.ReasonImagePullFailed, words: []string{"image nfsbench:test cannot be pulled", "pull secrets", "not found"},
		},
		"BadImageName": {
			pod: waitingFor("loader", "InvalidImageName", "bad"), after: time.Second,
			reason: v1alpha1.ReasonImagePullFailed, words: []string{"check the image name"},
		},
		"Config": {
			pod: waitingFor("loader", "CreateContainerConfigError", `configmap "x" not found`), after: 31 * time.Second,
			reason: v1alpha1.ReasonContainerFailed, words: []string{"cannot start", `configmap "x" not found`},
		},
		"Mount": {
			mods: []gen.Mod{gen.Kernel}, pod: func(st *corev1.PodStatus) { st.Phase = corev1.PodPending },
			event: "mount.nfs: access denied by server", after: 46 * time.Second,
			reason: v1alpha1.ReasonMountFailed, words: []string{"cannot be mounted", "export policy", "access denied by server"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			_, pods := w.started(tc.mods...)
			w.podStatus(&pods[0], tc.pod)
			if tc.event != "" {
				w.warn("Pod", &pods[0], "FailedMount", tc.event)
			}
			if tc.after > 10*time.Second {
				w.step(10 * time.Second)
				b := w.settle("demo")
				w.wantPhase(b, v1alpha1.PhasePreparing, tc.words...) // it is told before it is fatal
			}
			w.step(tc.after)
			if tc.after >= time.Minute {
				t.Error("takes longer than a minute")
			}
			w.wantFailed(tc.reason, tc.words...)
		})
	}
}

func TestNoNodeForThePod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, pods := w.started()
	w.podStatus(&pods[0], func(st *corev1.PodStatus) {
		st.Phase = corev1.PodPending
		st.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/3 nodes: insufficient cpu",
		}}
	})
	w.step(time.Minute)
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing, "no node takes", "insufficient cpu")
	w.step(5 * time.Minute) // an autoscaler had its time
	w.wantFailed(v1alpha1.ReasonUnschedulable, "insufficient cpu")
}

func TestPodsThatTheClusterRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create("demo")
	b := w.settle("demo")
	w.warn("Job", w.loadJob(b), "FailedCreate", `pods "x" is forbidden: exceeded quota: small`)
	w.step(10 * time.Second)
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing, "exceeded quota")
	w.step(21 * time.Second)
	w.wantFailed(v1alpha1.ReasonPodRefused, "the cluster refuses the pods", "exceeded quota: small")
}

func TestAServerPodThatTheClusterRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.faults.fail = func(write string) error {
		if write != "create Pod nfsb-demo-server" {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "nfsb-demo-server", errors.New("exceeded quota: small"))
	}
	w.create("demo", gen.Embedded("1Gi", 1))
	w.wantFailed(v1alpha1.ReasonPodRefused, "the cluster refuses to create Pod", "exceeded quota: small")
}

func TestRestrictedNamespacesTakeOurPods(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.label("pod-security.kubernetes.io/enforce", "restricted")
	w.create("demo", gen.Embedded("1Gi", 1), gen.Kernel)
	w.wantPhase(w.finish("demo"), v1alpha1.PhaseSucceeded)
}

// label sets a label of the namespace.
func (w *world) label(key, value string) {
	w.Helper()
	ns := &corev1.Namespace{}
	if err := w.c.Get(w.Context(), client.ObjectKey{Name: w.ns}, ns); err != nil {
		w.Fatal(err)
	}
	ns.Labels[key] = value
	if err := w.c.Update(w.Context(), ns); err != nil {
		w.Fatal(err)
	}
}

func TestALoaderThatIsKilledForItsMemory(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		publish bool
		want    string
	}{
		"TheCollectorTells":   {"The collector saw the crash, Kubernetes knows its cause", true, runfile.FailureLoaderCrashed},
		"TheCollectorDiesToo": {"Only Kubernetes is left to tell", false, v1alpha1.ReasonContainerFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pods := w.started()
			w.podStatus(&pods[0], running)
			w.progress(b, 0, at(runfile.SpanMeasure, 60))
			w.wantPhase(w.settle("demo"), v1alpha1.PhaseRunning)
			if tc.publish {
				w.final(b, gen.FailedClient(0, runfile.FailureLoaderCrashed, "the loader ended without a final event"))
				w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "to end")
			}
			w.podStatus(&w.loadPods(b)[0], exited(137, "OOMKilled", "", metav1.NewTime(w.clock.Now())))
			if !tc.publish {
				w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "waiting for the last results", "out of memory")
				w.step(36 * time.Second)
			}
			w.wantFailed(tc.want, "out of memory", "limits.memory")
		})
	}
}

// The Job stops the pods that did not crash, and their order in the list says nothing.
func TestACrashOfOneOfTwoClientsIsTheReason(t *testing.T) {
	for _, crashed := range []int32{0, 1} {
		t.Run(fmt.Sprintf("client %d crashed", crashed), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, pods := w.started(gen.Clients(2))
			for i := range pods {
				w.podStatus(&pods[i], running)
			}
			w.final(b, gen.FailedClient(crashed, runfile.FailureLoaderCrashed, "the loader ended without a final event"))
			w.final(b, gen.FailedClient(1-crashed, runfile.FailureCancelled, "the run was stopped before its end"))
			end := metav1.NewTime(w.clock.Now())
			w.podStatus(&pods[1-crashed], exited(1, "Error", "nfsbench: Cancelled: the run was stopped before its end", end))
			w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "to end")
			w.podStatus(&pods[crashed], exited(137, "Error", "", end))
			w.wantFailed(runfile.FailureLoaderCrashed, "killed by signal 9")
		})
	}
}

func TestWhatTheLoaderSaysBecomesTheReason(t *testing.T) {
	t.Parallel()
	for _, code := range []string{
		runfile.FailureUnreachable, runfile.FailureAccessDenied, runfile.FailureNoSuchExport, runfile.FailureNotNFS,
		runfile.FailureForeignFiles, runfile.FailureNoSpace, runfile.FailureIO, runfile.FailureVerify,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b, _ := w.loading(at(runfile.SpanConnect, 0))
			w.final(b, gen.FailedClient(0, code, "the server said "+code+": do something"))
			b = w.wantFailed(code, "do something")
			if b.Status.Verdict != bench.VerdictInconclusive {
				t.Errorf("verdict is %s", b.Status.Verdict)
			}
			w.wantCondition(b, v1alpha1.ConditionResultsCollected, "False", judge.Partial)
		})
	}
}

func TestAJobDeletedByHandIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.loading(at(runfile.SpanFill, 10))
	if err := w.c.Delete(w.Context(), w.loadJob(b), client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing, "was deleted while the benchmark ran", "waiting for the last results")
	w.collectGarbage()
	w.wantFailed(v1alpha1.ReasonPodLost, "was deleted while the benchmark ran")
	if w.loadJob(b) != nil {
		t.Error("the load was started again")
	}
}

func TestTheDeadlineOfTheJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.loading(at(runfile.SpanFill, 10))
	w.jobEnds(w.loadJob(b), batchv1.JobReasonDeadlineExceeded, "Job was active longer than specified deadline")
	_ = w.c.Delete(w.Context(), &w.loadPods(b)[0], client.GracePeriodSeconds(0))
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseCollecting, "waiting for the last results")
	w.step(36 * time.Second)
	w.wantFailed(runfile.FailureTimeout, "took longer than", "spec.run.timeoutSeconds")
}

func TestAJobThatIsCompleteWithoutResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.started()
	w.jobEnds(w.loadJob(b), "", "")
	w.step(10 * time.Second)
	w.wantFailed(v1alpha1.ReasonContainerFailed, "published no result", "collector")
}

func TestOneOfSeveralClientsCannotStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pods := w.started(gen.Clients(2))
	w.podStatus(&pods[0], running)
	w.podStatus(&pods[1], waitingFor("loader", "ErrImagePull", "no such host"))
	ready := at(runfile.SpanWait, 30)
	ready.Ready = true
	w.progress(b, 0, ready)
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing)
	w.step(35 * time.Second)
	// The other client would wait for it as long as the run may take.
	w.wantFailed(v1alpha1.ReasonImagePullFailed, "no such host")
}

func TestAnEmbeddedServerThatCannotRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.create("demo", gen.Embedded("1Gi", 1))
	w.settle("demo")
	pod := &corev1.Pod{}
	w.find(manifest.NamesOf(b).Server, pod)
	w.podStatus(pod, waitingFor("server", "ErrImagePull", "no such image"))
	w.wantPhase(w.settle("demo"), v1alpha1.PhaseProvisioning, "no such image")
	w.step(31 * time.Second)
	b = w.wantFailed(v1alpha1.ReasonImagePullFailed, "the embedded NFS server does not run", "no such image")
	w.wantCondition(b, v1alpha1.ConditionStorageProvisioned, "False", v1alpha1.ReasonImagePullFailed)
	if strings.Contains(b.Status.Message, "\n") {
		t.Error("several lines")
	}
}

func TestSeveralClientsAreReleasedTogetherAndOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, pods := w.started(gen.Clients(2))
	for i := range pods {
		w.podStatus(&pods[i], running)
	}
	released := func() string { return w.results(b).Data[runfile.KeyRelease] }
	ready := at(runfile.SpanWait, 30)
	ready.Ready = true
	w.progress(b, 0, ready)
	w.settle("demo")
	if released() != "" {
		t.Fatal("released before all are there")
	}
	w.progress(b, 1, at(runfile.SpanFill, 20))
	w.settle("demo")
	if released() != "" {
		t.Fatal("released before all are ready")
	}
	w.progress(b, 1, ready)
	w.settle("demo")
	first := released()
	if first == "" {
		t.Fatal("not released although all are ready")
	}
	w.step(time.Second)
	w.settle("demo")
	if released() != first {
		t.Error("released again")
	}
}
