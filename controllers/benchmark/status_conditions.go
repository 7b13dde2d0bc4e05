package benchmark

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

func setCondition(b *v1alpha1.NFSBenchmark, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: statussize.Clip(message), ObservedGeneration: b.Generation,
	})
}

func stampConditions(b *v1alpha1.NFSBenchmark) {
	for i := range b.Status.Conditions {
		b.Status.Conditions[i].ObservedGeneration = b.Generation
	}
}

// setConditions computes every condition of a run under way, or of one that
// ends in this pass.
func setConditions(s *scope, err error) {
	setStorageProvisioned(s)
	setPreflightPassed(s)
	setDatabaseReady(s)
	setProtocolVerified(s)
	setResultsCollected(s)
	setSucceeded(s, err)
	setKstatus(s, err)
}

func setStorageProvisioned(s *scope) {
	switch {
	case s.storage == nil && meta.FindStatusCondition(s.b.Status.Conditions, v1alpha1.ConditionStorageProvisioned) != nil:
	case s.storage == nil:
		setCondition(s.b, v1alpha1.ConditionStorageProvisioned, metav1.ConditionUnknown, v1alpha1.ReasonPending, "")
	case s.storage.ok:
		setCondition(s.b, v1alpha1.ConditionStorageProvisioned, metav1.ConditionTrue, s.storage.reason, s.storage.message)
	default:
		setCondition(s.b, v1alpha1.ConditionStorageProvisioned, metav1.ConditionFalse, s.storage.reason, s.storage.message)
	}
}

// setPreflightPassed says whether anything stands against the run. It is for
// runs whose array can be asked.
func setPreflightPassed(s *scope) {
	kind := v1alpha1.ConditionPreflightPassed
	switch {
	case !hasSurvey(s.b):
	case s.preflight != nil && s.preflight.ok:
		setCondition(s.b, kind, metav1.ConditionTrue, s.preflight.reason, s.preflight.message)
	case s.preflight != nil:
		setCondition(s.b, kind, metav1.ConditionFalse, s.preflight.reason, s.preflight.message)
	case s.surveying != nil:
		setCondition(s.b, kind, metav1.ConditionUnknown, s.surveying.reason, s.surveying.message)
	case meta.FindStatusCondition(s.b.Status.Conditions, kind) == nil:
		setCondition(s.b, kind, metav1.ConditionUnknown, v1alpha1.ReasonPending, "")
	}
}

func setProtocolVerified(s *scope) {
	if s.judgement == nil {
		setCondition(s.b, v1alpha1.ConditionProtocolVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotObserved, "the protocol is verified under load")
		return
	}
	e := s.judgement.Protocol
	switch {
	case e.Verified == nil:
		setCondition(s.b, v1alpha1.ConditionProtocolVerified, metav1.ConditionUnknown, v1alpha1.ReasonNotObserved, e.Message)
	case *e.Verified:
		setCondition(s.b, v1alpha1.ConditionProtocolVerified, metav1.ConditionTrue, v1alpha1.ReasonVerified, e.Message)
	default:
		setCondition(s.b, v1alpha1.ConditionProtocolVerified, metav1.ConditionFalse, v1alpha1.ReasonMismatch, e.Message)
	}
}

func setResultsCollected(s *scope) {
	switch {
	case s.outcome == nil:
		setCondition(s.b, v1alpha1.ConditionResultsCollected, metav1.ConditionUnknown, v1alpha1.ReasonNotObserved, "")
	case allFinal(s) && s.outcome.phase == v1alpha1.PhaseSucceeded:
		setCondition(s.b, v1alpha1.ConditionResultsCollected, metav1.ConditionTrue, v1alpha1.ReasonCollected, "")
	case s.result != nil && len(s.result.Clients) > 0:
		setCondition(s.b, v1alpha1.ConditionResultsCollected, metav1.ConditionFalse, v1alpha1.ReasonPartial, "the run did not come to its end; what was measured is partial")
	default:
		setCondition(s.b, v1alpha1.ConditionResultsCollected, metav1.ConditionFalse, v1alpha1.ReasonNotObserved, "the run ended before it measured anything")
	}
}

func setSucceeded(s *scope, err error) {
	switch {
	case s.outcome == nil && err != nil:
		setCondition(s.b, v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, v1alpha1.ReasonRetrying, err.Error())
	case s.outcome == nil:
		reason, message := underWay(s)
		setCondition(s.b, v1alpha1.ConditionSucceeded, metav1.ConditionUnknown, reason, message)
	case s.outcome.phase == v1alpha1.PhaseSucceeded:
		setCondition(s.b, v1alpha1.ConditionSucceeded, metav1.ConditionTrue, s.outcome.reason, s.outcome.message)
	default:
		setCondition(s.b, v1alpha1.ConditionSucceeded, metav1.ConditionFalse, s.outcome.reason, s.outcome.message)
	}
}

// setKstatus sets the three conditions that generic tools understand: GitOps
// engines see InProgress while we work, Failed when it is over for good, and
// Current when the result is there, or when a run is held back on purpose.
func setKstatus(s *scope, err error) {
	reason, message := underWay(s)
	if err != nil {
		reason, message = v1alpha1.ReasonRetrying, err.Error()
	}
	held := s.waiting != nil && s.waiting.reason == v1alpha1.ReasonSuspended
	switch {
	case s.outcome == nil && held:
		setCondition(s.b, v1alpha1.ConditionReconciling, metav1.ConditionFalse, reason, message)
		setCondition(s.b, v1alpha1.ConditionStalled, metav1.ConditionFalse, reason, "")
		meta.RemoveStatusCondition(&s.b.Status.Conditions, v1alpha1.ConditionReady)
	case s.outcome == nil:
		setCondition(s.b, v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
		setCondition(s.b, v1alpha1.ConditionStalled, metav1.ConditionFalse, reason, "")
		setCondition(s.b, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	case s.outcome.phase == v1alpha1.PhaseSucceeded:
		setCondition(s.b, v1alpha1.ConditionReconciling, metav1.ConditionFalse, s.outcome.reason, "")
		setCondition(s.b, v1alpha1.ConditionStalled, metav1.ConditionFalse, s.outcome.reason, "")
		setCondition(s.b, v1alpha1.ConditionReady, metav1.ConditionTrue, s.outcome.reason, headline(s))
	default:
		setCondition(s.b, v1alpha1.ConditionReconciling, metav1.ConditionFalse, s.outcome.reason, "")
		setCondition(s.b, v1alpha1.ConditionStalled, metav1.ConditionTrue, s.outcome.reason, s.outcome.message)
		setCondition(s.b, v1alpha1.ConditionReady, metav1.ConditionFalse, s.outcome.reason, s.outcome.message)
	}
}

// underWay is why a run has not ended. Numbers that change with every second
// stay out of it: a condition is a state, and progress has its own field.
func underWay(s *scope) (reason, message string) {
	if s.waiting != nil {
		return s.waiting.reason, s.waiting.message
	}
	switch s.stage {
	case v1alpha1.PhaseProvisioning:
		return v1alpha1.ReasonProvisioning, ""
	case v1alpha1.PhasePreparing:
		if s.databaseStarts() {
			return v1alpha1.ReasonDatabaseStarting, ""
		}
		return v1alpha1.ReasonPreparing, ""
	case v1alpha1.PhaseRunning:
		return v1alpha1.ReasonRunning, ""
	case v1alpha1.PhaseCollecting:
		return v1alpha1.ReasonCollecting, ""
	default:
		return v1alpha1.ReasonPending, ""
	}
}

// setCleanedUp is the one condition that still moves after the end.
func setCleanedUp(s *scope, err error) {
	switch {
	case s.cleanup == nil && err == nil:
	case err != nil && (s.cleanup == nil || s.cleanup.reason == v1alpha1.ReasonCleaningUp):
		setCondition(s.b, v1alpha1.ConditionCleanedUp, metav1.ConditionFalse, v1alpha1.ReasonCleaningUp, "trying again: "+err.Error())
	case s.cleanup.ok:
		setCondition(s.b, v1alpha1.ConditionCleanedUp, metav1.ConditionTrue, s.cleanup.reason, s.cleanup.message)
	case s.waiting != nil && s.cleanup.reason == v1alpha1.ReasonCleaningUp:
		setCondition(s.b, v1alpha1.ConditionCleanedUp, metav1.ConditionFalse, s.cleanup.reason, s.waiting.message)
	default:
		setCondition(s.b, v1alpha1.ConditionCleanedUp, metav1.ConditionFalse, s.cleanup.reason, s.cleanup.message)
	}
}
