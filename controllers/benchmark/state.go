package benchmark

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// isFinished reports whether the condition Succeeded has ended the run.
func isFinished(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// isCleanedUp reports whether nothing but the result is left, or whether the rest will stay.
func isCleanedUp(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonLeftBehind)
}

// isReleased reports whether a benchmark no longer needs its target. The operator removes its finalizer from a deleted
// benchmark last; a finalizer of somebody else may keep the object for as long as its tenant likes.
func isReleased(b *v1alpha1.NFSBenchmark) bool {
	if !b.DeletionTimestamp.IsZero() && !controllerutil.ContainsFinalizer(b, owned.Finalizer) {
		return true
	}
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	over := isFinished(b) || !b.DeletionTimestamp.IsZero()
	return over && c != nil && (c.Reason == v1alpha1.ReasonRetained || isCleanedUp(b))
}

// storageGoes reports whether the storage of a run, with all its contents, is removed with the run.
func storageGoes(b *v1alpha1.NFSBenchmark) bool {
	st := b.Spec.Storage
	return st.Embedded != nil || st.Trident != nil || st.StorageClass != nil
}

// claimOf returns the name of the claim that the pods mount; "" if they mount none.
func claimOf(b *v1alpha1.NFSBenchmark) string {
	switch {
	case !plan.NeedsVolume(b):
		return ""
	case b.Spec.Storage.Claim != nil:
		return b.Spec.Storage.Claim.Name
	default:
		return manifest.NamesOf(b).Claim
	}
}

func exportsOf(b *v1alpha1.NFSBenchmark) string {
	switch st := b.Spec.Storage; {
	case st.Export != nil:
		source := runfile.MountSource(st.Export.Servers[0], st.Export.Path)
		if redo := plan.RedoExport(b); redo != "" {
			source += " (redo logs: " + redo + ")"
		}
		return source
	case st.Claim != nil:
		return "claim " + st.Claim.Name
	case st.StorageClass != nil:
		return "a volume of class " + st.StorageClass.Name
	default:
		return "the embedded server"
	}
}
