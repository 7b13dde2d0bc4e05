package benchmark

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// setStatus turns what a pass learned into the whole status. It does no I/O.
// What a pass did not look at keeps what an earlier one found.
func setStatus(s *scope, err error) {
	st := &s.b.Status
	st.ObservedGeneration = s.b.Generation
	// Only what a run does not depend on can change in its spec, so what was
	// found of an older generation is true of this one.
	defer stampConditions(s.b)
	if isFinished(s.b) {
		setCleanedUp(s, err)
		return
	}
	setTimes(s)
	if err == nil || st.Phase == "" {
		setQueue(s)
		setResolved(s)
		setProgress(s)
		setNumbers(s)
	}
	setConditions(s, err)
	if err == nil || st.Phase == "" {
		// A pass that broke off has not seen how far the run is.
		st.Phase = forward(st.Phase, phaseOf(s.b, s.stage))
	}
	st.Message = messageOf(s, err)
	if isFinished(s.b) {
		st.Queue, st.Progress = nil, nil
		st.Verdict, st.Validity, st.Failure = verdictOf(s), validityOf(s), failureOf(s.outcome)
		fit(st)
	}
}

// isFinished reads the one condition that ends a run.
func isFinished(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded)
	return c != nil && c.Status != metav1.ConditionUnknown
}

// isCleanedUp says that nothing but the result is left, or that what is left
// will stay.
func isCleanedUp(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	return c != nil && (c.Status == metav1.ConditionTrue || c.Reason == v1alpha1.ReasonLeftBehind)
}

// isReleased says that a benchmark no longer needs its target.
func isReleased(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionCleanedUp)
	over := isFinished(b) || !b.DeletionTimestamp.IsZero()
	return over && c != nil && (c.Reason == v1alpha1.ReasonRetained || isCleanedUp(b))
}

// phaseOf computes the phase from conditions and the stage of this pass.
func phaseOf(b *v1alpha1.NFSBenchmark, stage v1alpha1.Phase) v1alpha1.Phase {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded)
	switch {
	case c == nil || c.Status == metav1.ConditionUnknown:
		if stage == "" {
			return v1alpha1.PhasePending
		}
		return stage
	case c.Status == metav1.ConditionTrue:
		return v1alpha1.PhaseSucceeded
	case c.Reason == v1alpha1.ReasonCancelled:
		return v1alpha1.PhaseCancelled
	default:
		return v1alpha1.PhaseFailed
	}
}

// forward keeps the phase of a load under way from going back. Progress that
// somebody has deleted is not known until it is published again, but the load
// is where it was.
func forward(was, is v1alpha1.Phase) v1alpha1.Phase {
	underWay := []v1alpha1.Phase{v1alpha1.PhasePreparing, v1alpha1.PhaseRunning, v1alpha1.PhaseCollecting}
	if slices.Index(underWay, is) >= 0 && slices.Index(underWay, was) > slices.Index(underWay, is) {
		return was
	}
	return is
}

func setTimes(s *scope) {
	st := &s.b.Status
	if st.StartTime == nil && s.load != nil {
		t := s.load.CreationTimestamp
		if t.IsZero() {
			t = metav1.NewTime(s.now)
		}
		st.StartTime = &t
	}
	if st.CompletionTime == nil && s.outcome != nil {
		t := metav1.NewTime(s.now)
		st.CompletionTime = &t
	}
}

func setQueue(s *scope) {
	s.b.Status.Queue = nil
	if s.place != nil && s.place.Position > 0 {
		s.b.Status.Queue = &v1alpha1.QueueStatus{Position: s.place.Position, Behind: s.place.Behind}
	}
}

func setResolved(s *scope) {
	if s.target == nil || len(s.target.Paths) == 0 && s.target.VolumeName == "" {
		return
	}
	rs := &v1alpha1.ResolvedStatus{
		Export:     s.target.Export,
		Paths:      s.target.Paths,
		VolumeName: s.target.VolumeName,
	}
	if sv := s.target.Survey; sv != nil {
		rs.Array = arrayWords(*sv)
	}
	if s.plan != nil {
		rs.MountOptions = s.plan.Engine.MountOptions
		rs.Oranfstab, _ = s.plan.Engine.Oranfstab() // the plan is valid
	}
	s.b.Status.Resolved = rs
}

// arrayWords is what the array is and where the volume is, such as "ONTAP 9.14.1, SVM
// svm1, volume oradata on aggr1 of node fas-a".
func arrayWords(sv runfile.Survey) string {
	words := sv.Array
	if v := sv.Volume; v != nil {
		words += ", volume " + v.Name
		if v.Aggregate != "" {
			words += " on " + v.Aggregate
		}
		if v.Node != "" {
			words += " of node " + v.Node
		}
	}
	return statussize.ClipTo(strings.TrimPrefix(words, ", "), 1024)
}

// messageOf is the state in one sentence, for people.
func messageOf(s *scope, err error) string {
	switch {
	case s.outcome != nil && s.outcome.message != "":
		return statussize.Clip(s.outcome.message)
	case s.outcome != nil:
		return statussize.Clip(headline(s))
	case err != nil:
		return statussize.Clip("trying again: " + err.Error())
	case s.moving != nil && s.waiting == s.surveying:
		return statussize.Clip(moveMessage(s))
	case s.waiting != nil:
		return statussize.Clip(s.waiting.message)
	case s.stage == v1alpha1.PhasePreparing && len(s.progress) == 0:
		return s.startMessage()
	case len(s.progress) > 0:
		return statussize.Clip(progressMessage(s.plan, s.progress))
	default:
		return ""
	}
}
