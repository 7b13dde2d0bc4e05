package integration

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// onOracle is a ramp in a database of its own, over two paths of Direct NFS.
func onOracle(mods ...gen.Mod) []gen.Mod {
	return append([]gen.Mod{gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 1, 4)}, mods...)
}

// databaseStarted is the status of a load pod whose database runs since then; the
// load waits until it is ready.
func databaseStarted(since time.Time, ready bool) func(*corev1.PodStatus) {
	return func(st *corev1.PodStatus) {
		st.Phase = corev1.PodPending
		at := corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
		st.InitContainerStatuses = []corev1.ContainerStatus{
			{Name: manifest.ContainerTools, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
			{Name: manifest.ContainerCollector, State: at},
			{Name: manifest.ContainerDatabase, State: at, Started: &ready},
		}
		if ready {
			st.Phase = corev1.PodRunning
			st.ContainerStatuses = []corev1.ContainerStatus{{Name: manifest.ContainerLoader, State: at}}
		}
	}
}

// databaseEnds changes the status of a pod to one whose database has ended so,
// and is started again.
func databaseEnds(code int32, reason, message string, at time.Time) func(*corev1.PodStatus) {
	return func(st *corev1.PodStatus) {
		for i := range st.InitContainerStatuses {
			c := &st.InitContainerStatuses[i]
			if c.Name != manifest.ContainerDatabase {
				continue
			}
			began := c.State.Running.StartedAt
			c.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: reason, Message: message, StartedAt: began, FinishedAt: metav1.NewTime(at),
			}
			c.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
			c.RestartCount++
		}
	}
}

// robotDatabase creates the database of a pod, and makes it ready; "" when there
// is none, or it is.
func (w *world) robotDatabase(b *v1alpha1.NFSBenchmark, pods []corev1.Pod) string {
	w.Helper()
	if b.Spec.Database == nil || b.Spec.Database.Container == nil {
		return ""
	}
	switch d := diagnose.DatabaseOf(pods); {
	case d == nil:
		w.podStatus(&pods[0], databaseStarted(w.clock.Now(), false))
		return "the database is created"
	case d.Running && !d.Ready:
		w.podStatus(&pods[0], databaseStarted(d.Since, true))
		return "the database is ready"
	default:
		return ""
	}
}

// creating is a benchmark whose database is being created since now.
func (w *world) creating(mods ...gen.Mod) (*v1alpha1.NFSBenchmark, *corev1.Pod) {
	w.Helper()
	b, pods := w.started(mods...)
	w.podStatus(&pods[0], databaseStarted(w.clock.Now(), false))
	w.wantPhase(w.settle("demo"), v1alpha1.PhasePreparing, "the database, 0s")
	return b, &pods[0]
}
