package benchmark

import "github.com/nfsbench/nfsbench/api/v1alpha1"

// failureOf says what kind of failure ended a run: a suite tries again what the
// infrastructure broke, and takes the rest for a result. Empty unless the run has
// failed: one that was cancelled was so on purpose.
func failureOf(o *outcome) v1alpha1.FailureKind {
	if o == nil || o.phase != v1alpha1.PhaseFailed {
		return ""
	}
	switch o.reason {
	case
		v1alpha1.ReasonImagePullFailed,  // registries are away for a while
		v1alpha1.ReasonUnschedulable,    // nodes come, and other pods go
		v1alpha1.ReasonPodRefused,       // a quota is full for a while
		v1alpha1.ReasonPodLost,          // a node failed or was drained, or a pod was evicted or deleted
		v1alpha1.ReasonTargetTaken,      // the lease was lost to another, because nobody renewed it
		v1alpha1.ReasonArrayUnreachable: // the management address did not answer
		return v1alpha1.FailureInfrastructure
	default:
		// Among them: Timeout, which is as often a storage that is too slow;
		// MountFailed and ClaimNotBound, for which an export or a volume has to be
		// set right; Forbidden and SecretNotFound, which no time mends; and the codes
		// of the load itself, LoaderCrashed too, for it would crash again.
		return v1alpha1.FailureBenchmark
	}
}
