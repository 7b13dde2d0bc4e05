package integration

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/archive"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// Here the test plays what runs in a cluster beside the manager: the kubelet,
// the Job controller, the volume binder, the garbage collector and the
// collectors of a run.

// find reads an object of the world into obj and reports whether it is there.
func (w *world) find(name string, obj client.Object) bool {
	w.Helper()
	err := w.c.Get(w.Context(), client.ObjectKey{Namespace: w.ns, Name: name}, obj)
	if client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return err == nil
}

// patchStatus changes the status of an object as its controller does.
func (w *world) patchStatus(obj client.Object, change func()) {
	w.Helper()
	before := obj.DeepCopyObject().(client.Object)
	change()
	// A running manager may have removed it meanwhile.
	if err := w.c.Status().Patch(w.Context(), obj, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
		w.Fatalf("play the controller of %s: %v", obj.GetName(), err)
	}
}

// serverRuns makes the embedded server ready.
func (w *world) serverRuns(b *v1alpha1.NFSBenchmark) {
	w.Helper()
	pod := &corev1.Pod{}
	if !w.find(manifest.NamesOf(b).Server, pod) {
		w.Fatal("there is no embedded server")
	}
	w.patchStatus(pod, func() {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	})
}

// bindClaim binds a claim of the world to its volume.
func (w *world) bindClaim(name string) {
	w.Helper()
	pvc := &corev1.PersistentVolumeClaim{}
	if !w.find(name, pvc) {
		w.Fatalf("there is no claim %s", name)
	}
	w.patchStatus(pvc, func() { pvc.Status.Phase = corev1.ClaimBound })
}

// loadJob is the load Job of a benchmark; nil when there is none.
func (w *world) loadJob(b *v1alpha1.NFSBenchmark) *batchv1.Job {
	w.Helper()
	job := &batchv1.Job{}
	if !w.find(manifest.NamesOf(b).Load, job) {
		return nil
	}
	return job
}

// startPods makes the pods of a Job, as its controller does.
func (w *world) startPods(job *batchv1.Job) {
	w.Helper()
	for i := range *job.Spec.Completions {
		yes := true
		tpl := job.Spec.Template.DeepCopy()
		p := &corev1.Pod{ObjectMeta: tpl.ObjectMeta, Spec: tpl.Spec}
		p.Namespace, p.Name = job.Namespace, fmt.Sprintf("%s-%d", job.Name, i)
		p.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: &yes, BlockOwnerDeletion: &yes,
		}}
		if err := w.c.Create(w.Context(), p); err != nil && !apierrors.IsAlreadyExists(err) {
			w.Fatal(err)
		}
	}
}

// loadPods are the pods of the load Job, in order.
func (w *world) loadPods(b *v1alpha1.NFSBenchmark) []corev1.Pod {
	w.Helper()
	list := &corev1.PodList{}
	err := w.c.List(w.Context(), list, client.InNamespace(w.ns), client.MatchingLabels(manifest.Labels(b, manifest.ComponentLoad)))
	if err != nil {
		w.Fatal(err)
	}
	return list.Items
}

// podStatus sets the status of one pod.
func (w *world) podStatus(pod *corev1.Pod, change func(*corev1.PodStatus)) {
	w.Helper()
	w.patchStatus(pod, func() { change(&pod.Status) })
}

// running is the status of a load pod at work.
func running(st *corev1.PodStatus) {
	at := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	st.Phase = corev1.PodRunning
	st.InitContainerStatuses = []corev1.ContainerStatus{{Name: "collector", State: at}}
	st.ContainerStatuses = []corev1.ContainerStatus{{Name: "loader", State: at}}
}

// exited is the status of a load pod whose loader has ended so.
func exited(code int32, reason, message string, at metav1.Time) func(*corev1.PodStatus) {
	return func(st *corev1.PodStatus) {
		st.Phase = corev1.PodSucceeded
		if code != 0 {
			st.Phase = corev1.PodFailed
		}
		st.InitContainerStatuses = []corev1.ContainerStatus{{Name: "collector", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: at},
		}}}
		st.ContainerStatuses = []corev1.ContainerStatus{{Name: "loader", State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message, FinishedAt: at},
		}}}
	}
}

// jobEnds ends a Job: complete with reason "", failed otherwise.
func (w *world) jobEnds(job *batchv1.Job, reason, message string) {
	w.Helper()
	now := metav1.NewTime(w.clock.Now())
	w.patchStatus(job, func() {
		job.Status.StartTime = &job.CreationTimestamp
		before, end := batchv1.JobSuccessCriteriaMet, batchv1.JobComplete
		if reason != "" {
			before, end = batchv1.JobFailureTarget, batchv1.JobFailed
		} else {
			job.Status.CompletionTime = &now
		}
		for _, kind := range []batchv1.JobConditionType{before, end} {
			job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
				Type: kind, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: now, LastProbeTime: now,
			})
		}
	})
}

// plan reads the plan that the manager wrote.
func (w *world) plan(b *v1alpha1.NFSBenchmark) runfile.Plan {
	w.Helper()
	cm := &corev1.ConfigMap{}
	if !w.find(manifest.NamesOf(b).Plan, cm) {
		w.Fatal("there is no plan")
	}
	p, err := runfile.ReadKeptPlan(strings.NewReader(cm.Data[manifest.PlanKey]))
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// progress publishes what a client does.
func (w *world) progress(b *v1alpha1.NFSBenchmark, index int32, p runfile.Progress) {
	w.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		w.Fatal(err)
	}
	w.publish(b, func(cm *corev1.ConfigMap) { cm.Data[runfile.ProgressKey(index)] = string(raw) })
}

// at is a progress in a span.
func at(span string, percent int32) runfile.Progress {
	return runfile.Progress{Event: runfile.Event{Span: span, Repetition: 1, Percent: percent, BytesPerSecond: 200e6}}
}

// final publishes the last word of a client.
func (w *world) final(b *v1alpha1.NFSBenchmark, c runfile.ClientResult) {
	w.Helper()
	p := at(runfile.SpanDone, 100)
	p.Final, p.Failed = true, c.Load.Failure != nil
	raw, err := json.Marshal(p)
	if err != nil {
		w.Fatal(err)
	}
	var packed bytes.Buffer
	_, err = runfile.WriteResultGzip(&packed, runfile.Result{Plan: w.plan(b), Clients: []runfile.ClientResult{c}})
	if err != nil {
		w.Fatal(err)
	}
	w.publish(b, func(cm *corev1.ConfigMap) {
		cm.Data[runfile.ProgressKey(c.Index)] = string(raw)
		cm.BinaryData[runfile.ResultKey(c.Index)] = packed.Bytes()
	})
}

// measured publishes the good result of a client.
func (w *world) measured(b *v1alpha1.NFSBenchmark, index int32) {
	w.Helper()
	w.final(b, gen.Client(w, w.plan(b), index, w.clock.Now()))
}

func (w *world) publish(b *v1alpha1.NFSBenchmark, change func(*corev1.ConfigMap)) {
	w.Helper()
	cm := w.results(b)
	if cm == nil {
		w.Fatal("there is no ConfigMap for the results")
	}
	if cm.Data == nil {
		cm.Data = map[string]string{}
	}
	if cm.BinaryData == nil {
		cm.BinaryData = map[string][]byte{}
	}
	change(cm)
	if err := w.c.Update(w.Context(), cm); err != nil {
		w.Fatal(err)
	}
}

// results is the result ConfigMap; nil when there is none.
func (w *world) results(b *v1alpha1.NFSBenchmark) *corev1.ConfigMap {
	w.Helper()
	cm := &corev1.ConfigMap{}
	if !w.find(manifest.NamesOf(b).Result, cm) {
		return nil
	}
	return cm
}

// collectGarbage removes pods whose Job is gone and results whose benchmark is gone, and lets go what waits for its
// protection only.
func (w *world) collectGarbage() (did bool) {
	w.Helper()
	pods, maps := &corev1.PodList{}, &corev1.ConfigMapList{}
	claims := &corev1.PersistentVolumeClaimList{}
	volumes := &corev1.PersistentVolumeList{}
	for _, l := range []client.ObjectList{pods, claims, maps} {
		if err := w.c.List(w.Context(), l, client.InNamespace(w.ns)); err != nil {
			w.Fatal(err)
		}
	}
	if err := w.c.List(w.Context(), volumes); err != nil {
		w.Fatal(err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		owner := metav1.GetControllerOf(p)
		if owner != nil && owner.Kind == "Job" && !w.find(owner.Name, &batchv1.Job{}) || !p.DeletionTimestamp.IsZero() {
			_ = w.c.Delete(w.Context(), p, client.GracePeriodSeconds(0))
			did = true
		}
	}
	for i := range maps.Items {
		m := &maps.Items[i]
		if owner := metav1.GetControllerOf(m); owner != nil && owner.Kind == "NFSBenchmark" && w.get(owner.Name) == nil {
			_ = w.c.Delete(w.Context(), m)
			did = true
		}
	}
	for i := range claims.Items {
		did = w.unprotect(&claims.Items[i]) || did
	}
	for i := range volumes.Items {
		if v := &volumes.Items[i]; v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == w.ns {
			did = w.unprotect(v) || did
		}
	}
	return did
}

func (w *world) unprotect(obj client.Object) bool {
	w.Helper()
	if obj.GetDeletionTimestamp().IsZero() || len(obj.GetFinalizers()) == 0 {
		return false
	}
	obj.SetFinalizers(nil)
	if err := w.c.Update(w.Context(), obj); client.IgnoreNotFound(err) != nil {
		w.Fatal(err)
	}
	return true
}

// judged is the result of a run, read as the plugin reads it, and what is judged of it.
func (w *world) judged(b *v1alpha1.NFSBenchmark) (runfile.Result, judge.Judgement) {
	w.Helper()
	res, err := archive.Result(w.Context(), w.c, b)
	if err != nil {
		w.Fatal(err)
	}
	return res, judge.Judge(res)
}
