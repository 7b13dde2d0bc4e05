package benchmark

import (
	"context"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlevent "sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// isSettled reports whether nothing remains to be done for a benchmark until somebody changes its spec or deletes it. A
// pass over a settled benchmark removes its finalizer and changes nothing else.
func isSettled(b *v1alpha1.NFSBenchmark) bool {
	return b.DeletionTimestamp.IsZero() && isFinished(b) && isTrue(b, v1alpha1.ConditionCleanedUp) &&
		b.Status.ObservedGeneration == b.Generation
}

// reduceBenchmark drops from the cached copy of a benchmark the fields that no pass reads: anybody who may create
// benchmarks can make them as large as the API server accepts, and the cache keeps waiting benchmarks for as long as
// their author likes. reduceBenchmark also drops a spec that is too large, and Reconcile refuses that benchmark.
func reduceBenchmark(in any) (any, error) {
	b, ok := in.(*v1alpha1.NFSBenchmark)
	if !ok {
		return in, nil
	}
	annotations, none := b.Annotations, v1alpha1.NFSBenchmarkSpec{}
	b.ObjectMeta = readMetadata(b.ObjectMeta)
	if b.Status.Resolved == nil { // a resolved spec has been accepted before
		var err error
		if b.Annotations, err = pass.TooLarge(fixed(b.Spec), none, annotations); err != nil {
			return nil, err
		}
		if b.Annotations != nil {
			b.Spec = none
		}
	}
	if isSettled(b) {
		reduceSettled(b)
	}
	return b, nil
}

// fixed returns the fields of a spec that never change. Only they count for its size: a spec that fit at first must not
// become too large when its author changes another field. The run would end without a clean-up.
func fixed(spec v1alpha1.NFSBenchmarkSpec) v1alpha1.NFSBenchmarkSpec {
	spec.Suspend, spec.Cleanup, spec.TTLSecondsAfterFinished = false, v1alpha1.Cleanup{}, nil
	return spec
}

// reduceSuite drops from the cached copy of a suite the fields that no pass reads, and a spec that is too large.
func reduceSuite(in any) (any, error) {
	s, ok := in.(*v1alpha1.NFSBenchmarkSuite)
	if !ok {
		return in, nil
	}
	asked, written, none := s.Annotations, lastWrite(s.ManagedFields), v1alpha1.NFSBenchmarkSuiteSpec{}
	s.ObjectMeta = readMetadata(s.ObjectMeta)
	s.ManagedFields = written
	var err error
	if s.Annotations, err = pass.TooLarge(s.Spec, none, asked); err != nil {
		return nil, err
	}
	if s.Annotations != nil {
		s.Spec = none
		return s, nil
	}
	s.Annotations = pass.Pick(asked, v1alpha1.AnnotationRerun, v1alpha1.AnnotationResubmit, v1alpha1.AnnotationAcceptRun)
	return s, nil
}

// readMetadata returns the metadata of a benchmark or suite that passes read.
func readMetadata(m metav1.ObjectMeta) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp,
	}
	if slices.Contains(m.Finalizers, owned.Finalizer) {
		out.Finalizers = []string{owned.Finalizer}
	}
	out.Labels = pass.Pick(m.Labels, v1alpha1.LabelSuite, v1alpha1.LabelSuiteRun, v1alpha1.LabelCell,
		v1alpha1.LabelRepetition, v1alpha1.LabelPosition, v1alpha1.LabelAttempt)
	return out
}

// lastWrite returns only the time of the newest change outside a subresource. Metrics use it to tell that a schedule is
// overdue.
func lastWrite(all []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	var last *metav1.Time
	for _, f := range all {
		if f.Subresource == "" && f.Time != nil && (last == nil || last.Before(f.Time)) {
			last = f.Time
		}
	}
	if last == nil {
		return nil
	}
	return []metav1.ManagedFieldsEntry{{Time: last}}
}

// reduceSettled drops unused fields from the cached copy of a settled benchmark: queues and phases
// read only benchmarks that are not settled, and suites and metrics read the rest. Reconcile writes
// nothing but the finalizers of a settled benchmark, so nothing is lost. A benchmark whose spec changes
// or that is deleted is not settled, and the watch brings the whole object.
func reduceSettled(b *v1alpha1.NFSBenchmark) {
	st := b.Status
	b.Spec = v1alpha1.NFSBenchmarkSpec{
		Protocol: bench.Protocol{Version: b.Spec.Protocol.Version, Client: b.Spec.Protocol.Client},
		Workload: kindOfLoad(b.Spec.Workload),
		Cleanup:  v1alpha1.Cleanup{Results: b.Spec.Cleanup.Results},
	}
	b.Status = v1alpha1.NFSBenchmarkStatus{
		ObservedGeneration: st.ObservedGeneration, Phase: st.Phase, Verdict: st.Verdict, Validity: st.Validity,
		StartTime: st.StartTime, CompletionTime: st.CompletionTime, Summary: st.Summary, Capacity: st.Capacity,
		ResultRef: st.ResultRef,
	}
	if st.Phase != v1alpha1.PhaseSucceeded {
		b.Status.Message = st.Message // a suite records it
	}
	if sum := b.Status.Summary; sum != nil { // drop the fields that repeat others for people
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
}

// kindOfLoad returns the fields of a workload that metrics report.
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

// ownerOnly keeps only the metadata of a ConfigMap that wakes its benchmark. Anybody who may create
// ConfigMaps can give them the operator's label, and as much metadata as the API server accepts.
func ownerOnly(in any) (any, error) {
	m, ok := in.(*metav1.PartialObjectMetadata)
	if !ok {
		return in, nil
	}
	owner := metav1.GetControllerOfNoCopy(m)
	m.ObjectMeta = metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion}
	if owner != nil && owner.Kind == "NFSBenchmark" && len(owner.Name) <= pass.LongestName &&
		owner.APIVersion == v1alpha1.GroupVersion.String() {
		m.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "NFSBenchmark", Name: owner.Name, Controller: owner.Controller,
		}}
	}
	return m, nil
}

// boundedObject drops the managed fields. Of an object that is too large it keeps only the fields that identify the
// object. The operator makes no object that large, and therefore does not use it.
func boundedObject(in any) (any, error) {
	obj, ok := in.(client.Object)
	sized, has := in.(interface{ Size() int }) // the size in protobuf
	if !ok || !has {
		return in, nil
	}
	obj.SetManagedFields(nil)
	if sized.Size() <= pass.MaxCachedBytes {
		// An empty element of a list is two bytes in Size, and fifty in memory.
		if n, err := pass.SpecBytes(in); err == nil && n <= pass.MaxCachedBytes {
			return in, nil
		}
	}
	small, ok := reflect.TypeAssert[client.Object](reflect.New(reflect.TypeOf(in).Elem()))
	if !ok {
		return in, nil
	}
	small.SetNamespace(obj.GetNamespace())
	small.SetName(obj.GetName())
	small.SetUID(obj.GetUID())
	small.SetResourceVersion(obj.GetResourceVersion())
	small.SetCreationTimestamp(obj.GetCreationTimestamp())
	small.SetDeletionTimestamp(obj.GetDeletionTimestamp())
	ours := slices.Collect(maps.Keys(manifest.Labels(&v1alpha1.NFSBenchmark{}, "")))
	small.SetLabels(pass.Pick(obj.GetLabels(), ours...))
	return small, nil
}

// unlessMeasuring ignores changes of the ConfigMaps of benchmarks that measure. Each client publishes its progress
// every two seconds. A benchmark that measures has a pass every five seconds and when one of its pods ends.
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
