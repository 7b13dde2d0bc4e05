package benchmark

import (
	"context"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// isSettled says that nothing remains to be done for a benchmark until somebody changes its
// spec or deletes it. A pass over it would change nothing.
func isSettled(b *v1alpha1.NFSBenchmark) bool {
	return b.DeletionTimestamp.IsZero() && controllerutil.ContainsFinalizer(b, Finalizer) &&
		isFinished(b) && isTrue(b, v1alpha1.ConditionCleanedUp) && b.Status.ObservedGeneration == b.Generation
}

// reduceSettled drops unused fields from the cached copy of a settled benchmark: queues and phases
// read only benchmarks that are not settled, and suites and metrics read the rest. Reconcile never
// writes a settled benchmark, so nothing is lost. A benchmark whose spec changes or that is deleted
// is not settled, and the watch brings the whole object.
func reduceSettled(in any) (any, error) {
	out, err := cache.TransformStripManagedFields()(in)
	b, ok := out.(*v1alpha1.NFSBenchmark)
	if err != nil || !ok || !isSettled(b) {
		return out, err
	}
	st := b.Status
	b.ObjectMeta = metav1.ObjectMeta{
		Namespace: b.Namespace, Name: b.Name, UID: b.UID, ResourceVersion: b.ResourceVersion, Generation: b.Generation,
		CreationTimestamp: b.CreationTimestamp, Finalizers: []string{Finalizer}, Labels: b.Labels,
	}
	maps.DeleteFunc(b.Labels, func(key, _ string) bool { return !strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") })
	b.Spec = v1alpha1.NFSBenchmarkSpec{
		Protocol: bench.Protocol{Version: b.Spec.Protocol.Version, Client: b.Spec.Protocol.Client},
		Workload: kindOfLoad(b.Spec.Workload),
	}
	b.Status = v1alpha1.NFSBenchmarkStatus{
		ObservedGeneration: st.ObservedGeneration, Phase: st.Phase, Verdict: st.Verdict, Validity: st.Validity,
		StartTime: st.StartTime, CompletionTime: st.CompletionTime, Summary: st.Summary, Capacity: st.Capacity,
		ResultRef: st.ResultRef,
	}
	if st.Phase != v1alpha1.PhaseSucceeded {
		b.Status.Message = st.Message // the record of a suite has it
	}
	if sum := b.Status.Summary; sum != nil { // without what is there twice, for people
		sum.Workload, sum.Protocol, sum.Paths, sum.StorageCPU, sum.MeanLatency, sum.P99Latency = "", "", "", "", "", ""
		sum.Capacity = ""
		sum.ThroughputMegabytesPerSecond = nil
	}
	for _, c := range st.Conditions {
		if c.Type == v1alpha1.ConditionSucceeded || c.Type == v1alpha1.ConditionCleanedUp {
			b.Status.Conditions = append(b.Status.Conditions, metav1.Condition{Type: c.Type, Status: c.Status, Reason: c.Reason})
		}
	}
	for _, f := range st.Findings {
		b.Status.Findings = append(b.Status.Findings, bench.Finding{Code: f.Code})
	}
	for _, n := range st.StorageNodes {
		b.Status.StorageNodes = append(b.Status.StorageNodes,
			v1alpha1.StorageNodeStatus{Name: n.Name, CPUPermille: n.CPUPermille})
	}
	b.Status.Conditions = slices.Clip(b.Status.Conditions)
	return b, nil
}

// kindOfLoad is what metrics say about a workload.
func kindOfLoad(w bench.Workload) bench.Workload {
	switch {
	case w.Raw != nil:
		return bench.Workload{Raw: &bench.RawWorkload{Pattern: w.Raw.Pattern}}
	case w.SLOB != nil:
		return bench.Workload{SLOB: &bench.SLOBWorkload{Access: w.SLOB.Access}}
	case w.Calibrate != nil:
		return bench.Workload{Calibrate: &bench.CalibrateWorkload{}}
	default:
		return bench.Workload{}
	}
}

// longestName is the longest name of an object.
const longestName = 253

// ownerOnly keeps only the metadata of a ConfigMap that wakes its benchmark. Anybody who may create
// ConfigMaps can give them the operator's label, and as much metadata as the API server accepts.
func ownerOnly(in any) (any, error) {
	m, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	owner := metav1.GetControllerOfNoCopy(m)
	m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if owner != nil && owner.Kind == "NFSBenchmark" && len(owner.Name) <= longestName &&
		owner.APIVersion == v1alpha1.GroupVersion.String() {
		m.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "NFSBenchmark", Name: owner.Name, Controller: owner.Controller,
		}}
	}
	return m, nil
}

// unlessMeasuring ignores changes of the ConfigMaps of benchmarks that measure. Each client
// publishes its progress every two seconds, while such a benchmark has a pass every five, and
// when one of its pods ends.
func (r *Reconciler) unlessMeasuring() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e ctrlevent.UpdateEvent) bool {
		owner := metav1.GetControllerOfNoCopy(e.ObjectNew)
		if owner == nil {
			return false
		}
		b := &v1alpha1.NFSBenchmark{}
		key := client.ObjectKey{Namespace: e.ObjectNew.GetNamespace(), Name: owner.Name}
		err := r.Client.Get(context.Background(), key, b)
		return err != nil || b.Status.Phase != v1alpha1.PhaseRunning && !isSettled(b)
	}}
}
