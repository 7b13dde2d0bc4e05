package benchmark

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// setStatus computes the whole status from the facts of a pass. It does no I/O. Facts that a pass did not check keep
// the status of an earlier pass.
func setStatus(s *scope, err error) {
	st := &s.b.Status
	st.ObservedGeneration = s.b.Generation
	// Only spec fields that a run does not depend on can change, so the facts of an older generation are true of this one.
	underWay, finished := conditions()
	if isFinished(s.b) {
		pass.SetConditions(finished, s, err, &st.Conditions, s.b.Generation, s.now)
		return
	}
	setTimes(s)
	if err == nil && s.planHash != nil {
		st.PlanHash = *s.planHash
	}
	if err == nil || st.Phase == "" {
		st.Queue = nil
		if s.place != nil && s.place.Position > 0 {
			st.Queue = &v1alpha1.QueueStatus{Position: s.place.Position, Behind: s.place.Behind}
		}
		setResolved(s)
		setProgress(s)
		setNumbers(s)
	}
	pass.SetConditions(underWay, s, err, &st.Conditions, s.b.Generation, s.now)
	if err == nil || st.Phase == "" {
		// A pass that returned early does not know how far the run is.
		st.Phase = forward(st.Phase, phaseOf(s.b, s.stage))
	}
	st.Message = messageOf(s, err)
	if isFinished(s.b) {
		st.Queue, st.Progress = nil, nil
		st.Verdict, st.Failure = verdictOf(s), failureOf(s.outcome)
		if s.judgement != nil && s.judgement.Summary != nil { // otherwise there are no numbers to validate
			st.Validity = s.judgement.Validity
		}
	}
}

// isRetrying reports whether the last pass over a benchmark ended with an error.
func isRetrying(b *v1alpha1.NFSBenchmark) bool {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
	return c != nil && c.Reason == v1alpha1.ReasonRetrying
}

// phaseOf computes the phase from conditions and the stage of this pass.
func phaseOf(b *v1alpha1.NFSBenchmark, stage v1alpha1.Phase) v1alpha1.Phase {
	c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionSucceeded)
	switch {
	case c == nil || c.Status == metav1.ConditionUnknown:
		return cmp.Or(stage, v1alpha1.PhasePending)
	case c.Status == metav1.ConditionTrue:
		return v1alpha1.PhaseSucceeded
	case c.Reason == runfile.FailureCancelled:
		return v1alpha1.PhaseCancelled
	default:
		return v1alpha1.PhaseFailed
	}
}

// forward keeps the phase of a load under way from going back. Progress that somebody has deleted is unknown until the
// collectors publish it again, but the load has not gone back.
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
	switch {
	case s.gaveBack:
		st.HoldEndTime = nil
	case st.HoldEndTime == nil && !s.heldSince.IsZero():
		t := metav1.NewTime(s.heldSince.Add(s.policy.Limits.MaxHold.Duration + holdSlack))
		st.HoldEndTime = &t
	}
}

func setResolved(s *scope) {
	unknown := s.target == nil || len(s.target.Paths) == 0 && s.target.VolumeName == ""
	if unknown || s.plan == nil && s.b.Status.StartTime != nil {
		return
	}
	rs := &v1alpha1.ResolvedStatus{Export: s.target.Export, Paths: s.target.Paths, VolumeName: s.target.VolumeName}
	if sv := s.target.Survey; sv != nil {
		rs.Array = arrayWords(*sv)
	}
	if s.plan != nil {
		rs.MountOptions = s.plan.Engine.MountOptions
		rs.Oranfstab, _ = s.plan.Oranfstab() // the plan is valid
	}
	s.b.Status.Resolved = rs
}

// arrayWords describes the array and the place of the volume, such as "ONTAP 9.14.1, SVM svm1, volume oradata on aggr1
// of node fas-a".
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
	return pass.ClipTo(strings.TrimPrefix(words, ", "), 1024)
}

// messageOf describes the state in one sentence, for people.
func messageOf(s *scope, err error) string {
	switch {
	case s.outcome != nil && s.outcome.message != "":
		return pass.Clip(s.outcome.message)
	case s.outcome != nil && s.judgement != nil:
		return pass.Clip(s.judgement.Answer.String())
	case s.outcome != nil:
		return numberOf(s)
	case err != nil:
		return pass.Clip("trying again: " + err.Error())
	case s.moving != nil && s.waiting == s.surveying:
		m := s.moving
		return pass.Clip(fmt.Sprintf("moving volume %s to aggregate %s: %d %%", s.volumeName(), m.To, m.Percent))
	case s.waiting != nil:
		return pass.Clip(s.waiting.Message)
	case s.stage == v1alpha1.PhasePreparing && len(s.progress) == 0:
		return s.startMessage()
	case len(s.progress) > 0:
		return pass.Clip(progressMessage(s.plan, s.progress))
	default:
		return ""
	}
}

// conditions lists all conditions in the order in which they are computed. underWay holds those of a run in progress or
// of one that ends in this pass, finished those that still change afterwards.
func conditions() (underWay, finished []pass.Condition[*scope]) {
	storageProvisioned := func(s *scope, _ error) pass.State {
		if s.tridentSilent && s.outcome == nil {
			return pass.Unknown(s.storage.Reason, "")
		}
		return pass.StateOf(s.storage)
	}
	underWay = append([]pass.Condition[*scope]{
		{Type: v1alpha1.ConditionStorageProvisioned, State: storageProvisioned},
		{Type: v1alpha1.ConditionPreflightPassed, State: preflightPassed},
		{Type: v1alpha1.ConditionDatabaseReady, State: databaseReady},
		{Type: v1alpha1.ConditionProtocolVerified, State: protocolVerified},
		{Type: v1alpha1.ConditionResultsCollected, State: resultsCollected},
		{Type: v1alpha1.ConditionSucceeded, State: succeeded},
	}, pass.HealthConditions(healthOf)...)
	finished = []pass.Condition[*scope]{
		{Type: v1alpha1.ConditionCleanedUp, State: cleanedUp},
	}
	return underWay, finished
}

// preflightPassed computes the condition PreflightPassed. Only runs whose array can be queried have it.
func preflightPassed(s *scope, _ error) pass.State {
	switch {
	case !plan.HasSurvey(s.b):
		return pass.State{Absent: true}
	case s.preflight == nil && s.surveying != nil:
		return pass.Unknown(s.surveying.Reason, "")
	default:
		return pass.StateOf(s.preflight)
	}
}

// databaseReady reports whether the database accepts connections and is configured as declared. Only runs with a
// database have the condition. It stays true at the end of the run, unless the run ended because of the database.
func databaseReady(s *scope, _ error) pass.State {
	ready, o := pass.True(v1alpha1.ReasonDatabaseReady, ""), s.outcome
	wasReady := isTrue(s.b, v1alpha1.ConditionDatabaseReady)
	connected := func(p runfile.Progress) bool { return !p.Failed && isAfterConnect(p.Span) }
	switch {
	case s.b.Spec.Database == nil:
		return pass.State{Absent: true}
	case o == nil && wasReady:
		return pass.State{}
	case o == nil && (s.database != nil && s.database.Ready || slices.ContainsFunc(s.progress, connected)):
		return ready
	case o == nil && s.databaseStarts():
		return pass.Unknown(v1alpha1.ReasonDatabaseStarting,
			"the health script of the database does not say yet that it is ready; status.message tells for how long")
	case o == nil:
		return pass.State{}
	}
	wasReady = wasReady || s.result != nil && slices.ContainsFunc(s.result.Clients, func(c runfile.ClientResult) bool {
		return slices.ContainsFunc(c.Load.Spans, func(sp runfile.Span) bool { return isAfterConnect(sp.Kind) })
	})
	switch {
	case o.phase == v1alpha1.PhaseSucceeded:
		return ready
	case isOfDatabase(o.reason) || !wasReady && o.phase == v1alpha1.PhaseFailed:
		return pass.False(o.reason, "")
	case wasReady:
		return ready
	default:
		return pass.False(o.reason, "the run ended before its database was ready")
	}
}

// protocolVerified computes the condition ProtocolVerified. Only runs that measured something have it.
func protocolVerified(s *scope, _ error) pass.State {
	if s.judgement == nil {
		return pass.State{Absent: true}
	}
	switch e := s.judgement.Protocol; {
	case e.Verified == nil && s.judgement.Summary == nil:
		return pass.State{Absent: true}
	case e.Verified == nil:
		return pass.Unknown(v1alpha1.ReasonNotObserved, e.Message)
	case *e.Verified:
		return pass.True(v1alpha1.ReasonVerified, e.Message)
	default:
		return pass.False(v1alpha1.ReasonMismatch, e.Message)
	}
}

// resultsCollected computes the condition ResultsCollected. Only runs that have ended, and that have a result, have it.
func resultsCollected(s *scope, _ error) pass.State {
	switch {
	case s.outcome == nil:
		return pass.State{Absent: true}
	case allFinal(s) && s.outcome.phase == v1alpha1.PhaseSucceeded:
		return pass.True(v1alpha1.ReasonCollected, "")
	case s.result != nil && len(s.result.Clients) > 0:
		return pass.False(judge.Partial, "the run did not come to its end; what was measured is partial")
	default:
		return pass.State{Absent: true}
	}
}

// succeeded computes the condition Succeeded, whose message would be that of Ready.
func succeeded(s *scope, err error) pass.State {
	switch {
	case s.outcome == nil && err != nil:
		return pass.Unknown(v1alpha1.ReasonRetrying, "")
	case s.outcome == nil:
		reason, _ := underWay(s)
		return pass.Unknown(reason, "")
	case s.outcome.phase == v1alpha1.PhaseSucceeded:
		return pass.True(s.outcome.reason, "")
	default:
		return pass.False(s.outcome.reason, "")
	}
}

// healthOf makes GitOps engines see InProgress while the operator works, Failed when the run has failed for good, and
// Current when the result exists or the run is held back on purpose.
func healthOf(s *scope, err error) pass.Health {
	reason, message := underWay(s)
	if err != nil {
		reason, message = v1alpha1.ReasonRetrying, err.Error()
	}
	switch o := s.outcome; {
	case o == nil && s.waiting != nil && s.waiting.Reason == v1alpha1.ReasonSuspended:
		return pass.Health{Kind: pass.Held, Reason: reason, Message: message}
	case o == nil:
		return pass.Health{Kind: pass.InProgress, Reason: reason, Message: message}
	case o.phase == v1alpha1.PhaseSucceeded:
		return pass.Health{Kind: pass.Current, Reason: o.reason, Message: numberOf(s)}
	default:
		return pass.Health{Kind: pass.Failed, Reason: o.reason, Message: o.message}
	}
}

func cleanedUp(s *scope, err error) pass.State {
	c := s.cleanup
	switch {
	case err != nil && (c == nil || c.Reason == v1alpha1.ReasonCleaningUp):
		return pass.False(v1alpha1.ReasonCleaningUp, "trying again: "+err.Error())
	case c != nil && !c.OK && s.waiting != nil && c.Reason == v1alpha1.ReasonCleaningUp:
		return pass.False(c.Reason, s.waiting.Message)
	default:
		return pass.StateOf(c)
	}
}

// underWay returns why a run has not ended. It leaves out numbers that change every second: a condition is a state, and
// progress has its own field.
func underWay(s *scope) (reason, message string) {
	if s.waiting != nil {
		return s.waiting.Reason, s.waiting.Message
	}
	switch {
	case s.stage == "" || s.stage == v1alpha1.PhaseQueued:
		return v1alpha1.ReasonPending, ""
	case s.stage == v1alpha1.PhasePreparing && s.databaseStarts():
		return v1alpha1.ReasonDatabaseStarting, ""
	default: // reasons and phases have the same names
		return string(s.stage), ""
	}
}

// transitions returns the events of a pass: those that phases queued, and those for changes between two states of the
// status.
func transitions(before, after *v1alpha1.NFSBenchmark, queued []event) []event {
	was, is, out := before.Status, after.Status, queued
	if was.Phase != is.Phase {
		message := is.Message
		if is.Phase == v1alpha1.PhaseCollecting {
			message = "" // the event of the end has the result, or the failure
		}
		out = append(out, pass.PhaseChanged(string(is.Phase), message, is.Phase == v1alpha1.PhaseFailed))
	}
	for _, kind := range []string{
		v1alpha1.ConditionProtocolVerified, v1alpha1.ConditionCleanedUp, v1alpha1.ConditionReconciling,
		v1alpha1.ConditionDatabaseReady,
	} {
		if c := pass.Changed(was.Conditions, is.Conditions, kind); c != nil {
			out = append(out, conditionEvent(*c, is.Message)...)
		}
	}
	return out
}

// conditionEvent returns the event of a condition with a new status or reason, and the message of the status; none for
// most.
func conditionEvent(c metav1.Condition, message string) []event {
	e := event{Reason: c.Reason, Action: c.Type, Note: c.Message, Warning: true}
	switch {
	case c.Type == v1alpha1.ConditionReconciling && c.Reason == v1alpha1.ReasonTargetTaken:
		e.Action, e.Note = "Reconcile", message
	case c.Type == v1alpha1.ConditionReconciling:
		return nil
	case c.Reason == v1alpha1.ReasonDatabaseStarting:
		e.Warning = false
		e.Note = "the container of the database runs; the load begins when its health script says that it is ready"
	case c.Reason == v1alpha1.ReasonDatabaseReady:
		e.Warning, e.Note = false, "the database takes connections"
	case c.Type == v1alpha1.ConditionDatabaseReady: // the failure of the run says why
		return nil
	case c.Status != metav1.ConditionFalse, c.Reason == v1alpha1.ReasonRetained, c.Reason == v1alpha1.ReasonCleaningUp:
		return nil
	}
	return []event{e}
}

// leftBehind returns the event about objects that a deletion could not remove.
func leftBehind(what string) event {
	return event{Reason: v1alpha1.ReasonLeftBehind, Action: "Delete", Note: what, Warning: true}
}

// failureOf returns the kind of failure that ended a run; "" if the run has not failed, because a cancelled run was
// stopped on purpose. A suite repeats a run that the infrastructure broke, and records every other failure as a result.
func failureOf(o *outcome) v1alpha1.FailureKind {
	if o == nil || o.phase != v1alpha1.PhaseFailed {
		return ""
	}
	switch o.reason {
	case
		v1alpha1.ReasonImagePullFailed, // a registry may be down for a while
		v1alpha1.ReasonUnschedulable,   // nodes may join, and other pods end
		v1alpha1.ReasonPodRefused,      // a quota may be full for a while
		v1alpha1.ReasonPodLost,         // a node failed or was drained, or a pod was evicted or deleted
		v1alpha1.ReasonTargetTaken,     // nobody renewed the Lease, and another benchmark took it
		v1alpha1.ReasonTridentBusy,     // Trident works on another backend
		runfile.SurveyUnreachable:      // the management address did not answer
		return v1alpha1.FailureInfrastructure
	default:
		// These include Timeout, which often means that the storage is too slow; MountFailed and ClaimNotBound,
		// for which an export or a volume must be corrected; Forbidden and SecretNotFound, which do not resolve
		// over time; and the codes of the load itself, also LoaderCrashed, because it would crash again.
		return v1alpha1.FailureBenchmark
	}
}

// workloadWords describes the load, such as "Raw Read 1Mi, 4 jobs x depth 8".
func workloadWords(p runfile.Plan) string {
	load, _ := p.Words()
	if p.Clients > 1 {
		load = append(load, human.Count(p.Clients, "client"))
	}
	return strings.Join(load, ", ")
}

// protocolWords describes the protocol in words.
func protocolWords(p runfile.Plan) string {
	words := string(p.Engine.NFSVersion) + " " + string(p.Engine.Client)
	if n := len(p.Engine.Channels); n > 1 {
		words += fmt.Sprintf(" %d paths", n)
	}
	return words
}

// numberOf describes the numbers of a run that has ended.
func numberOf(s *scope) string {
	if s.judgement == nil {
		return "finished"
	}
	return s.judgement.Answer.Number
}
