package suite

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// reasonRegressed is why a schedule is not well although its last run succeeded.
const reasonRegressed = string(v1alpha1.SuiteRegressed)

func setCondition(suite *v1alpha1.NFSBenchmarkSuite, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&suite.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: statussize.Clip(message), ObservedGeneration: suite.Generation,
	})
}

// setConditions computes every condition. Those of which a pass has learned nothing
// stay as they are.
func setConditions(s *scope, v seen, err error) {
	setFact(s, v1alpha1.ConditionMatrixValid, s.valid)
	setFact(s, v1alpha1.ConditionWorkflowsAvailable, s.argo)
	h := healthOf(s, v, err)
	setSucceeded(s, v, h)
	setKstatus(s, h)
	for i := range s.suite.Status.Conditions {
		s.suite.Status.Conditions[i].ObservedGeneration = s.suite.Generation
	}
}

func setFact(s *scope, kind string, f *fact) {
	switch {
	case f != nil && f.ok:
		setCondition(s.suite, kind, metav1.ConditionTrue, f.reason, f.message)
	case f != nil:
		setCondition(s.suite, kind, metav1.ConditionFalse, f.reason, f.message)
	case meta.FindStatusCondition(s.suite.Status.Conditions, kind) == nil:
		setCondition(s.suite, kind, metav1.ConditionUnknown, v1alpha1.ReasonPending, "")
	}
}

// health sets the conditions that generic tools read.
type health struct {
	kind            string
	reason, message string
}

// The kinds of health; those of kstatus.
const (
	inProgress = "InProgress"
	failed     = "Failed"
	current    = "Current"
	held       = "Held" // Current, and nothing is ready
)

// healthOf decides it once for all conditions. A suite without a schedule is in
// progress until its run is over. One with a schedule is what it was declared to be
// as soon as the schedule stands, and stays so while runs come and go; it has failed
// when the last run that ended has, or was found worse.
func healthOf(s *scope, v seen, err error) health {
	open := len(s.open()) > 0
	message := s.suite.Status.Message
	switch {
	case err != nil:
		return health{inProgress, v1alpha1.ReasonRetrying, err.Error()}
	case s.valid != nil && !s.valid.ok && (s.scheduled() || v.ended == nil && !open):
		return health{failed, v1alpha1.ReasonInvalidSpec, s.valid.message}
	case s.blocked != nil:
		return health{failed, s.blocked.reason, s.blocked.message}
	case s.argo != nil && !s.argo.ok:
		return health{inProgress, s.argo.reason, s.argo.message}
	case s.scheduled():
		return scheduleHealth(s, v)
	case s.suite.Status.Phase == v1alpha1.SuiteSuspended:
		return health{held, v1alpha1.ReasonSuspended, message}
	case open:
		return health{inProgress, v1alpha1.ReasonRunning, ""}
	case v.ended == nil && s.suite.Status.Phase.IsFinished(): // its record was removed
		return health{healthKind(s.suite.Status.Phase), reasonOf(s.suite.Status.Phase), message}
	case v.ended == nil:
		return health{inProgress, v1alpha1.ReasonPending, message}
	default:
		return health{healthKind(v.outcome.phase), v.outcome.reason, message}
	}
}

func healthKind(p v1alpha1.SuitePhase) string {
	if p == v1alpha1.SuiteSucceeded {
		return current
	}
	return failed
}

func scheduleHealth(s *scope, v seen) health {
	switch {
	case v.ended != nil && v.verdict == v1alpha1.SuiteRegressed:
		return health{failed, reasonRegressed, "run " + v.ended.name + " is worse than " + s.accepted + ": " + s.regression.Message}
	case v.ended != nil && v.outcome.phase == v1alpha1.SuiteFailed:
		return health{failed, v.outcome.reason, "run " + v.ended.name + ": " + v.outcome.message}
	case s.suite.Status.Phase == v1alpha1.SuiteSuspended:
		return health{held, v1alpha1.ReasonSuspended, s.suite.Status.Message}
	default:
		return health{current, v1alpha1.ReasonScheduled, ""}
	}
}

// setSucceeded sets whether the newest run succeeded.
func setSucceeded(s *scope, v seen, h health) {
	kind := v1alpha1.ConditionSucceeded
	switch {
	case v.ended == nil || v.ended != s.current():
		if h.kind == failed && !s.scheduled() {
			setCondition(s.suite, kind, metav1.ConditionFalse, h.reason, h.message)
			return
		}
		setCondition(s.suite, kind, metav1.ConditionUnknown, h.reason, "")
	case v.outcome.phase == v1alpha1.SuiteSucceeded:
		setCondition(s.suite, kind, metav1.ConditionTrue, v.outcome.reason, v.outcome.message)
	default:
		setCondition(s.suite, kind, metav1.ConditionFalse, v.outcome.reason, v.outcome.message)
	}
}

func setKstatus(s *scope, h health) {
	set := func(kind string, is bool, message string) {
		status := metav1.ConditionFalse
		if is {
			status = metav1.ConditionTrue
		}
		setCondition(s.suite, kind, status, h.reason, message)
	}
	message := func(of string) string {
		if h.kind == of {
			return h.message
		}
		return ""
	}
	set(v1alpha1.ConditionReconciling, h.kind == inProgress, message(inProgress))
	set(v1alpha1.ConditionStalled, h.kind == failed, message(failed))
	if h.kind == held {
		meta.RemoveStatusCondition(&s.suite.Status.Conditions, v1alpha1.ConditionReady)
		return
	}
	set(v1alpha1.ConditionReady, h.kind == current, h.message)
}
