package diagnose_test

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

var born = time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)

func pod(change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "load-0", UID: "u", CreationTimestamp: metav1.NewTime(born)}}
	p.Status.Phase = corev1.PodPending
	for _, c := range change {
		c(&p)
	}
	return p
}

func phase(ph corev1.PodPhase) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Status.Phase = ph } }

func waiting(reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "loader", Image: "img", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}
	}
}

func exited(code int32, reason, message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodFailed
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "loader", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}},
		}}
	}
}

func crashLoop(p *corev1.Pod) {
	p.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "collector", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 2, Message: "no plan"}},
	}}
}

func loaderRuns(p *corev1.Pod) {
	p.Status.Phase = corev1.PodRunning
	p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "loader", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
}

func restarts(n int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Status.InitContainerStatuses[0].RestartCount = n }
}

func disrupted(reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.NodeName = "n1"
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reason, Message: "told by " + reason,
		})
	}
}

func unschedulable(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes\nhave it",
	}}
}

func evicted(p *corev1.Pod) {
	p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted", "low on disk"
}

func event(_, reason, message string) corev1.Event {
	return corev1.Event{InvolvedObject: corev1.ObjectReference{UID: "u"}, Reason: reason, Message: message}
}

func TestPods(t *testing.T) {
	mount := []corev1.Event{{InvolvedObject: corev1.ObjectReference{UID: "other"}, Reason: "FailedMount", Message: "not mine"}, event("u", "FailedMount", "access denied")}
	cases := map[string]struct {
		reason string // why it must be so
		pods   []corev1.Pod
		events []corev1.Event
		after  time.Duration
		want   string // reason of the trouble; "" = none
		fatal  bool
		says   []string
	}{
		"None":        {"No pods, no trouble", nil, nil, time.Hour, "", false, nil},
		"Running":     {"A pod may run forever", []corev1.Pod{pod(phase(corev1.PodRunning))}, nil, time.Hour, "", false, nil},
		"Succeeded":   {"The end is no trouble", []corev1.Pod{pod(phase(corev1.PodSucceeded))}, nil, time.Hour, "", false, nil},
		"Starting":    {"A pod needs its time", []corev1.Pod{pod()}, nil, time.Minute, "", false, nil},
		"NeverStarts": {"But not forever", []corev1.Pod{pod()}, nil, 6 * time.Minute, runfile.FailureTimeout, true, []string{"has not started within 5m0s: no event says why", "spec.cleanup.onFailure Retain"}},
		"PullEarly":   {"A registry may be slow", []corev1.Pod{pod(waiting("ErrImagePull", "x"))}, nil, 30 * time.Second, v1alpha1.ReasonImagePullFailed, false, nil},
		"PullLate":    {"And then is not", []corev1.Pod{pod(waiting("ImagePullBackOff", "x"))}, nil, 31 * time.Second, v1alpha1.ReasonImagePullFailed, true, []string{"image img", "pull secrets"}},
		"BadImage":    {"No time fixes a bad name", []corev1.Pod{pod(waiting("InvalidImageName", "x"))}, nil, 0, v1alpha1.ReasonImagePullFailed, true, nil},
		"NeverPull":   {"Nor a policy", []corev1.Pod{pod(waiting("ErrImageNeverPull", "x"))}, nil, 0, v1alpha1.ReasonImagePullFailed, true, nil},
		"ConfigEarly": {"A ConfigMap may come", []corev1.Pod{pod(waiting("CreateContainerConfigError", "no cm"))}, nil, time.Second, v1alpha1.ReasonContainerFailed, false, []string{"no cm"}},
		"ConfigLate":  {"Or not", []corev1.Pod{pod(waiting("CreateContainerConfigError", "no cm"))}, nil, time.Minute, v1alpha1.ReasonContainerFailed, true, nil},
		"Creating":    {"This is how all pods begin", []corev1.Pod{pod(waiting("ContainerCreating", ""))}, nil, time.Minute, "", false, nil},
		"CrashLoop":   {"A sidecar that keeps crashing tells its last word", []corev1.Pod{pod(crashLoop)}, nil, 0, v1alpha1.ReasonContainerFailed, true, []string{"container collector", "no plan"}},
		"CrashBesideLoad": {
			"A sidecar may recover while the load goes on",
			[]corev1.Pod{pod(crashLoop, loaderRuns)},
			nil, time.Hour,
			v1alpha1.ReasonContainerFailed, false,
			[]string{"container collector", "no plan", "the load goes on"},
		},
		"CrashTooOften": {
			"But not forever",
			[]corev1.Pod{pod(crashLoop, loaderRuns, restarts(3))},
			nil, time.Hour,
			v1alpha1.ReasonContainerFailed, true,
			[]string{"container collector", "no plan"},
		},
		"Drained": {
			"A pod that a drain evicts still runs, to save what it has",
			[]corev1.Pod{pod(phase(corev1.PodRunning), disrupted("EvictionByEvictionAPI"))},
			nil, time.Hour,
			v1alpha1.ReasonPodLost, true,
			[]string{"pod load-0 was taken from node n1", "evicted", "kubectl drain", "run the benchmark again"},
		},
		"NotDrained": {
			"Other conditions are true of every pod that runs", []corev1.Pod{pod(phase(corev1.PodRunning), func(p *corev1.Pod) {
				p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}, {Type: corev1.DisruptionTarget, Status: corev1.ConditionFalse}}
			})}, nil, time.Hour, "", false, nil,
		},
		"DrainedAndOver": {
			"Who took the pod says more than its exit code",
			[]corev1.Pod{pod(exited(1, "Error", ""), disrupted("EvictionByEvictionAPI"))},
			nil, 0,
			v1alpha1.ReasonPodLost, true,
			[]string{"kubectl drain"},
		},
		"Preempted":      {"Another pod was more important", []corev1.Pod{pod(phase(corev1.PodRunning), disrupted("PreemptionByScheduler"))}, nil, 0, v1alpha1.ReasonPodLost, true, []string{"higher priority"}},
		"NodeDown":       {"The node is not there", []corev1.Pod{pod(phase(corev1.PodRunning), disrupted("DeletionByTaintManager"))}, nil, 0, v1alpha1.ReasonPodLost, true, []string{"its node was tainted"}},
		"NodeGone":       {"And never will be", []corev1.Pod{pod(phase(corev1.PodRunning), disrupted("DeletionByPodGC"))}, nil, 0, v1alpha1.ReasonPodLost, true, []string{"its node is gone"}},
		"NodeShutsDown":  {"It may come back", []corev1.Pod{pod(phase(corev1.PodRunning), disrupted("TerminationByKubelet"))}, nil, 0, v1alpha1.ReasonPodLost, true, []string{"shut down"}},
		"NoNodeEarly":    {"An autoscaler may bring a node", []corev1.Pod{pod(unschedulable)}, nil, 5 * time.Minute, v1alpha1.ReasonUnschedulable, false, []string{"0/1 nodes have it"}},
		"NoNodeLate":     {"Or not", []corev1.Pod{pod(unschedulable)}, nil, 301 * time.Second, v1alpha1.ReasonUnschedulable, true, nil},
		"MountEarly":     {"A first mount may fail", []corev1.Pod{pod()}, mount, 30 * time.Second, v1alpha1.ReasonMountFailed, false, []string{"access denied"}},
		"MountLate":      {"A second does not", []corev1.Pod{pod()}, mount, 31 * time.Second, v1alpha1.ReasonMountFailed, true, []string{"export policy"}},
		"MountOfAnother": {"Events of others do not matter", []corev1.Pod{pod()}, mount[:1], time.Minute, "", false, nil},
		"MountOver":      {"An old warning about a pod that runs does not matter", []corev1.Pod{pod(phase(corev1.PodRunning))}, mount, time.Hour, "", false, nil},
		"Exit":           {"The exit code and the last words", []corev1.Pod{pod(exited(3, "Error", "a\nb"))}, nil, 0, v1alpha1.ReasonContainerFailed, true, []string{"exit code 3", "a b"}},
		"OOM":            {"What to do about it", []corev1.Pod{pod(exited(137, "OOMKilled", ""))}, nil, 0, v1alpha1.ReasonContainerFailed, true, []string{"out of memory", "limits.memory"}},
		"Evicted":        {"Kubernetes ended it", []corev1.Pod{pod(evicted)}, nil, 0, v1alpha1.ReasonPodLost, true, []string{"Evicted", "low on disk"}},
		"FailedMute":     {"Nothing says why", []corev1.Pod{pod(phase(corev1.PodFailed))}, nil, 0, v1alpha1.ReasonContainerFailed, true, []string{"no container says why"}},
		"ToldToStop": {
			"Kubernetes stops all pods of a Job of which one failed: the one that failed says why",
			[]corev1.Pod{pod(exited(1, "Error", "nfsbench: Cancelled: the run was stopped before its end")), pod(exited(137, "Error", ""))},
			nil, 0,
			v1alpha1.ReasonContainerFailed, true,
			[]string{"killed by signal 9"},
		},
		"WorstFirst": {"The fatal trouble of the second pod hides that of the first", []corev1.Pod{pod(unschedulable), pod(exited(1, "Error", ""))}, nil, time.Second, v1alpha1.ReasonContainerFailed, true, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, diagnose.Pods(tc.pods, tc.events, born.Add(tc.after), diagnose.DefaultGrace()), tc.reason, tc.want, tc.fatal, tc.says)
		})
	}
}

func TestNoPods(t *testing.T) {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "load", UID: "u", CreationTimestamp: metav1.NewTime(born)}}
	refused := []corev1.Event{event("u", "FailedCreate", "exceeded quota")}
	cases := map[string]struct {
		reason string
		events []corev1.Event
		after  time.Duration
		want   string
		fatal  bool
		says   []string
	}{
		"Early":        {"The Job controller needs its time", nil, time.Minute, "", false, nil},
		"RefusedEarly": {"Told at once", refused, time.Second, v1alpha1.ReasonPodRefused, false, []string{"exceeded quota"}},
		"RefusedLate":  {"And given up within a minute", refused, 31 * time.Second, v1alpha1.ReasonPodRefused, true, []string{"refuses the pods of job load"}},
		"OtherEvent":   {"Other warnings say nothing of it", []corev1.Event{event("u", "Odd", "x")}, time.Minute, "", false, nil},
		"OddLate":      {"What was said is kept", []corev1.Event{event("u", "Odd", "x")}, 6 * time.Minute, runfile.FailureTimeout, true, []string{"no pods after 5m0s: Odd: x"}},
		"Never":        {"No controller works", nil, 6 * time.Minute, runfile.FailureTimeout, true, []string{"no event says why"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			check(t, diagnose.NoPods(job, tc.events, born.Add(tc.after), diagnose.DefaultGrace()), tc.reason, tc.want, tc.fatal, tc.says)
		})
	}
}

func check(t *testing.T, got *diagnose.Trouble, why, want string, fatal bool, says []string) {
	t.Helper()
	if (got == nil) != (want == "") || got != nil && (got.Reason != want || got.Fatal != fatal) {
		t.Fatalf("%s: got %+v, want %q, fatal %t", why, got, want, fatal)
	}
	for _, s := range says {
		if !strings.Contains(got.Message, s) {
			t.Errorf("%s: %q does not say %q", why, got.Message, s)
		}
	}
	if got != nil && strings.Contains(got.Message, "\n") {
		t.Errorf("several lines: %q", got.Message)
	}
}

func TestNoKindOfTroubleButANodeTakesLongerThanAMinute(t *testing.T) {
	g := diagnose.DefaultGrace()
	for name, d := range map[string]time.Duration{"image": g.ImagePull, "mount": g.Mount, "refused": g.Refused} {
		if d <= 0 || d > 50*time.Second {
			t.Errorf("%s takes %s", name, d)
		}
	}
}

func TestLongMessagesAreCut(t *testing.T) {
	got := diagnose.Pods([]corev1.Pod{pod(exited(1, "Error", strings.Repeat("ä", 2000)))}, nil, born, diagnose.DefaultGrace())
	if len(got.Message) > 600 || !strings.HasSuffix(got.Message, "…") || strings.ContainsRune(got.Message, '\uFFFD') {
		t.Errorf("got %d bytes: %q", len(got.Message), got.Message)
	}
}
