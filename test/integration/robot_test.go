package integration

import (
	"encoding/json"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// robot does the next thing that the cluster around a run would do, and says
// what; "" when there is nothing to do. It keeps no memory: like everybody in a
// cluster it looks at what there is.
func (w *world) robot(name string) string {
	w.Helper()
	b := w.get(name)
	if w.array != nil {
		if did := w.array.step(w); did != "" {
			return did
		}
	}
	if b == nil {
		return w.sweepUp()
	}
	n := manifest.NamesOf(b)
	pod, pvc, clean := &corev1.Pod{}, &corev1.PersistentVolumeClaim{}, &batchv1.Job{}
	switch {
	case w.find(n.Server, pod) && pod.Status.Phase != corev1.PodRunning && pod.DeletionTimestamp.IsZero():
		w.serverRuns(b)
		return "the embedded server is ready"
	case w.array == nil && b.Spec.Storage.StorageClass == nil && w.find(n.Claim, pvc) && pvc.Status.Phase != corev1.ClaimBound && pvc.DeletionTimestamp.IsZero():
		w.bindClaim(n.Claim)
		return "the claim is bound to its volume"
	case w.find(n.Clean, clean) && len(clean.Status.Conditions) == 0:
		w.jobEnds(clean, "", "")
		return "the files are removed"
	}
	if job := (&batchv1.Job{}); w.find(n.Survey, job) && job.DeletionTimestamp.IsZero() && len(job.Status.Conditions) == 0 {
		return w.robotSurvey(b, job)
	}
	if job := w.loadJob(b); job != nil && job.DeletionTimestamp.IsZero() && len(job.Status.Conditions) == 0 {
		return w.robotLoad(b, job)
	}
	return w.sweepUp()
}

func (w *world) sweepUp() string {
	w.Helper()
	if w.collectGarbage() {
		return "what nobody needs goes"
	}
	return ""
}

// robotLoad takes a run one step further.
func (w *world) robotLoad(b *v1alpha1.NFSBenchmark, job *batchv1.Job) string {
	w.Helper()
	pods := w.loadPods(b)
	if len(pods) == 0 {
		w.startPods(job)
		return "the Job has its pods"
	}
	if did := w.robotDatabase(b, pods); did != "" {
		return did
	}
	if pods[0].Status.Phase != corev1.PodRunning {
		for i := range pods {
			w.podStatus(&pods[i], running)
		}
		return "the pods run"
	}
	cm := w.results(b)
	clients := *job.Spec.Completions
	was := runfile.Progress{}
	_ = json.Unmarshal([]byte(cm.Data[runfile.ProgressKey(0)]), &was)
	_, released := cm.Data[runfile.KeyRelease]
	next, percent := "", int32(0)
	switch was.Span {
	case "":
		next, percent = runfile.SpanConnect, 0
	case runfile.SpanConnect:
		next, percent = runfile.SpanFill, 10
	case runfile.SpanFill:
		next, percent = runfile.SpanWait, 30
	case runfile.SpanWait:
		if clients > 1 && !released {
			return ""
		}
		next, percent = runfile.SpanBaseline, 35
	case runfile.SpanBaseline:
		next, percent = runfile.SpanMeasure, 50
	case runfile.SpanMeasure:
		next, percent = runfile.SpanVerify, 90
	default:
		return w.robotEnd(b, job, pods, was)
	}
	for i := range clients {
		p := at(next, percent)
		p.Ready = next == runfile.SpanWait
		w.progress(b, i, p)
	}
	return "every client is at " + next
}

func (w *world) robotEnd(b *v1alpha1.NFSBenchmark, job *batchv1.Job, pods []corev1.Pod, was runfile.Progress) string {
	w.Helper()
	if !was.Final {
		for i := range *job.Spec.Completions {
			w.measured(b, i)
		}
		return "every client has published its result"
	}
	for i := range pods {
		w.podStatus(&pods[i], exited(0, "Completed", "", metav1.NewTime(w.clock.Now())))
	}
	w.jobEnds(job, "", "")
	return "the Job is complete"
}

// finish lets the manager and the cluster take turns until both are done.
func (w *world) finish(name string) *v1alpha1.NFSBenchmark {
	w.Helper()
	for range 60 {
		b := w.settle(name)
		if w.robot(name) == "" {
			return b
		}
	}
	w.Fatalf("%s does not come to an end", name)
	return nil
}

// until lets both take turns until the benchmark is in a phase.
func (w *world) until(name string, phase v1alpha1.Phase) *v1alpha1.NFSBenchmark {
	w.Helper()
	for range 60 {
		if b := w.settle(name); b.Status.Phase == phase {
			return b
		}
		if w.robot(name) == "" {
			w.Fatalf("%s stops at %s before it is %s", name, w.get(name).Status.Phase, phase)
		}
	}
	w.Fatalf("%s never is %s", name, phase)
	return nil
}
