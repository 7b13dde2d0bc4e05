// Package statuscheck is a linter for the status of an NFSBenchmark. Tests call
// it after every pass, so that a rule broken for one pass only is found too.
package statuscheck

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// maxStatusBytes is what a status may take of its object, as JSON.
const maxStatusBytes = 32 << 10

// order is how far a phase is on the way of a run.
func order() []v1alpha1.Phase {
	return []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseProvisioning, v1alpha1.PhasePreparing,
		v1alpha1.PhaseRunning, v1alpha1.PhaseCollecting, v1alpha1.PhaseSucceeded, v1alpha1.PhaseFailed, v1alpha1.PhaseCancelled,
	}
}

// Problems lists what is wrong with the status after a pass, given the one
// before it; before is nil where there was none. A nil list is a good status.
func Problems(before, after *v1alpha1.NFSBenchmark) []string {
	l := &list{}
	l.scalars(after)
	l.conditions(after)
	l.succeeded(after)
	l.kstatus(after)
	l.numbers(after)
	l.database(after)
	l.steps(after)
	if before != nil {
		l.transition(before, after)
	}
	return l.problems
}

type list struct{ problems []string }

func (l *list) check(ok bool, format string, args ...any) {
	if !ok {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

func (l *list) scalars(b *v1alpha1.NFSBenchmark) {
	st := b.Status
	over := st.Phase.IsFinished()
	l.check(slices.Contains(order(), st.Phase), "phase %q is none of the phases", st.Phase)
	l.check(st.ObservedGeneration == b.Generation, "observedGeneration is %d, the spec's is %d", st.ObservedGeneration, b.Generation)
	l.check((st.CompletionTime != nil) == over, "completionTime is %v in phase %s", st.CompletionTime, st.Phase)
	l.check((st.Verdict != "") == over, "verdict is %q in phase %s", st.Verdict, st.Phase)
	l.check((st.Failure != "") == (st.Phase == v1alpha1.PhaseFailed), "failure is %q in phase %s", st.Failure, st.Phase)
	l.check(st.Validity == "" || over, "validity is %q in phase %s", st.Validity, st.Phase)
	l.check((st.Queue != nil) == (st.Phase == v1alpha1.PhaseQueued), "queue is %+v in phase %s", st.Queue, st.Phase)
	l.check(st.Queue == nil || (st.Queue.Position > 0 && st.Queue.Behind != ""), "queue %+v has no place or no head", st.Queue)
	l.check(st.Progress == nil || !over, "progress is shown in phase %s", st.Phase)
	l.check(!strings.Contains(st.Message, "\n"), "message has several lines: %q", st.Message)
	l.check(!over || st.Message != "", "a finished run says nothing")
	gone := regexp.MustCompile(`kubectl (-n \S+ )?(logs|describe (pvc|pod|job|tbc|tvol|storageclass))`)
	l.check(!over || !gone.MatchString(st.Message), "a finished run points at what its clean-up removes: %q", st.Message)
}

// conditions: all that belong to the phase, each well formed and current.
func (l *list) conditions(b *v1alpha1.NFSBenchmark) {
	want := []string{v1alpha1.ConditionStorageProvisioned, v1alpha1.ConditionSucceeded}
	if !isHeld(b) {
		want = append(want, v1alpha1.ConditionReady)
	}
	if b.Status.Phase == v1alpha1.PhaseSucceeded {
		want = append(want, v1alpha1.ConditionProtocolVerified, v1alpha1.ConditionResultsCollected)
	}
	l.wellFormed(b.Status.Conditions, b.Generation, string(b.Status.Phase), want)
	for _, c := range b.Status.Conditions {
		again := c.Type != v1alpha1.ConditionReady && !isHeld(b) && c.Message != "" && strings.Contains(b.Status.Message, c.Message)
		l.check(!again, "%s repeats what Ready and status.message say: %q", c.Type, c.Message)
	}
}

// wellFormed: the wanted conditions are there, and all are current and can be read.
func (l *list) wellFormed(all []metav1.Condition, generation int64, phase string, want []string) {
	for _, kind := range want {
		l.check(meta.FindStatusCondition(all, kind) != nil, "condition %s is missing in phase %s", kind, phase)
	}
	camel := regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	for _, c := range all {
		l.check(camel.MatchString(c.Reason), "the reason of %s is not CamelCase: %q", c.Type, c.Reason)
		l.check(c.ObservedGeneration == generation, "condition %s is of generation %d, the spec of %d", c.Type, c.ObservedGeneration, generation)
		l.check(!strings.Contains(c.Message, "\n"), "the message of %s has several lines: %q", c.Type, c.Message)
		abnormal := c.Type == v1alpha1.ConditionStalled || c.Type == v1alpha1.ConditionReconciling && c.Reason != v1alpha1.ReasonSuspended
		l.check(!abnormal || c.Status == metav1.ConditionTrue, "%s is %s: kstatus takes an absent one for False", c.Type, c.Status)
	}
}

// succeeded: the phase says the same as the condition.
func (l *list) succeeded(b *v1alpha1.NFSBenchmark) {
	want := metav1.ConditionUnknown
	switch b.Status.Phase {
	case v1alpha1.PhaseSucceeded:
		want = metav1.ConditionTrue
	case v1alpha1.PhaseFailed, v1alpha1.PhaseCancelled:
		want = metav1.ConditionFalse
		l.check(b.Status.Verdict == bench.VerdictInconclusive, "the verdict of a run that did not end is %s", b.Status.Verdict)
	default:
		l.check(find(b, v1alpha1.ConditionCleanedUp) == nil, "CleanedUp is set in phase %s", b.Status.Phase)
	}
	l.check(status(b, v1alpha1.ConditionSucceeded) == want, "Succeeded is %s in phase %s", status(b, v1alpha1.ConditionSucceeded), b.Status.Phase)
}

// kstatus computes what generic tools see, by their rules, and compares it with
// what a user would say.
func (l *list) kstatus(b *v1alpha1.NFSBenchmark) {
	want := "InProgress"
	switch b.Status.Phase {
	case v1alpha1.PhaseSucceeded:
		want = "Current"
	case v1alpha1.PhaseFailed, v1alpha1.PhaseCancelled:
		want = "Failed"
	default:
		if isHeld(b) {
			want = "Current"
		}
	}
	l.check(kstatusOf(b) == want, "kstatus is %s in phase %s, want %s", kstatusOf(b), b.Status.Phase, want)
	both := status(b, v1alpha1.ConditionStalled) == metav1.ConditionTrue && status(b, v1alpha1.ConditionReconciling) == metav1.ConditionTrue
	l.check(!both, "Stalled and Reconciling are both True")
}

// kstatusOf applies the rules of kstatus to a custom resource: generation,
// then Stalled, Reconciling and Ready.
func kstatusOf(b *v1alpha1.NFSBenchmark) string {
	switch {
	case b.Status.ObservedGeneration != b.Generation, status(b, v1alpha1.ConditionReconciling) == metav1.ConditionTrue:
		return "InProgress"
	case status(b, v1alpha1.ConditionStalled) == metav1.ConditionTrue:
		return "Failed"
	case find(b, v1alpha1.ConditionReady) != nil && status(b, v1alpha1.ConditionReady) != metav1.ConditionTrue:
		return "InProgress"
	default:
		return "Current"
	}
}

// numbers: what is not known is absent, and all of it fits.
func (l *list) numbers(b *v1alpha1.NFSBenchmark) {
	raw, err := json.Marshal(b.Status)
	if err != nil {
		l.check(false, "the status has no JSON: %v", err)
		return
	}
	l.check(len(raw) <= maxStatusBytes, "the status takes %d bytes, more than %d", len(raw), maxStatusBytes)
	var tree struct {
		Summary map[string]any `json:"summary"`
	}
	if err := json.Unmarshal(raw, &tree); err != nil {
		l.check(false, "the status cannot be read back: %v", err)
		return
	}
	for name, v := range tree.Summary {
		// A small share is rounded to zero, and most runs have no pause.
		known := strings.HasPrefix(name, "clientCPU") || name == "wirePercent" || name == "longestPauseMicroseconds"
		l.check(v != float64(0) || known, "summary.%s is 0: what is not known is absent", name)
	}
}

// transition: what is settled stays, and a run goes forward only.
func (l *list) transition(before, after *v1alpha1.NFSBenchmark) {
	was, is := before.Status, after.Status
	if was.StartTime != nil {
		l.check(was.StartTime.Equal(is.StartTime), "startTime moved from %v to %v", was.StartTime, is.StartTime)
		l.check(slices.Index(order(), was.Phase) <= slices.Index(order(), is.Phase) || is.Phase.IsFinished(),
			"the phase of a started run went back from %s to %s", was.Phase, is.Phase)
	}
	if !was.Phase.IsFinished() {
		return
	}
	l.check(was.Phase == is.Phase, "the phase of a finished run became %s after %s", is.Phase, was.Phase)
	a, b := find(before, v1alpha1.ConditionSucceeded), find(after, v1alpha1.ConditionSucceeded)
	l.check(a != nil && b != nil && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message, "Succeeded changed after the end: %+v to %+v", a, b)
	l.check(was.CompletionTime.Equal(is.CompletionTime), "completionTime moved from %v to %v", was.CompletionTime, is.CompletionTime)
	l.check(was.Verdict == is.Verdict && was.Validity == is.Validity, "verdict or validity changed after the end")
	l.check(equality.Semantic.DeepEqual(was.Summary, is.Summary), "the summary changed after the end")
	if status(before, v1alpha1.ConditionCleanedUp) == metav1.ConditionTrue {
		l.check(status(after, v1alpha1.ConditionCleanedUp) == metav1.ConditionTrue, "CleanedUp flipped back")
	}
}

func isHeld(b *v1alpha1.NFSBenchmark) bool {
	c := find(b, v1alpha1.ConditionReconciling)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == v1alpha1.ReasonSuspended
}

func find(b *v1alpha1.NFSBenchmark, kind string) *metav1.Condition {
	return meta.FindStatusCondition(b.Status.Conditions, kind)
}

func messageOf(b *v1alpha1.NFSBenchmark, kind string) string {
	if c := find(b, kind); c != nil {
		return c.Message
	}
	return ""
}

func status(b *v1alpha1.NFSBenchmark, kind string) metav1.ConditionStatus {
	return statusIn(b.Status.Conditions, kind)
}

func statusIn(all []metav1.Condition, kind string) metav1.ConditionStatus {
	if c := meta.FindStatusCondition(all, kind); c != nil {
		return c.Status
	}
	return ""
}

// database: who has one says where it stands, and who has none says nothing.
func (l *list) database(b *v1alpha1.NFSBenchmark) {
	st, has := b.Status, b.Spec.Database != nil
	ready := find(b, v1alpha1.ConditionDatabaseReady)
	l.check((ready != nil) == has, "condition DatabaseReady is %+v; a database is declared: %t", ready, has)
	if ready != nil {
		loaded := st.Phase == v1alpha1.PhaseRunning || st.Phase == v1alpha1.PhaseSucceeded
		l.check(!loaded || ready.Status == metav1.ConditionTrue, "DatabaseReady is %s in phase %s", ready.Status, st.Phase)
		l.check(!st.Phase.IsFinished() || ready.Status != metav1.ConditionUnknown, "DatabaseReady is not settled at the end: %s", ready.Reason)
		l.check(ready.Status != metav1.ConditionFalse || ready.Message != "" || messageOf(b, v1alpha1.ConditionReady) != "", "DatabaseReady is False and nothing says why")
		digits := strings.ContainsAny(ready.Message, "0123456789")
		l.check(ready.Reason != v1alpha1.ReasonDatabaseStarting || !digits, "a condition is a state and no clock: %q", ready.Message)
	}
	if s := st.Summary; s != nil {
		l.check(s.Workload != "", "summary.workload is empty")
	}
}

// steps: each level of load once, and at most one knee of a kind.
func (l *list) steps(b *v1alpha1.NFSBenchmark) {
	once(l, "steps", b.Status.Steps, func(s v1alpha1.StepStatus) string { return fmt.Sprint(s.Kind, " ", s.Users) })
	knees := map[string]int{}
	for _, s := range b.Status.Steps {
		l.check(s.Users > 0, "steps: %s with %d users", s.Kind, s.Users)
		l.check(s.IOPS == nil || *s.IOPS > 0, "steps: the IOPS of %d users are 0: what is not known is absent", s.Users)
		if s.Knee {
			knees[s.Kind]++
		}
	}
	for kind, n := range knees {
		l.check(n == 1, "steps: %d knees of %s", n, kind)
	}
}

func once[T any](l *list, what string, all []T, key func(T) string) {
	var seen []string
	for _, v := range all {
		l.check(!slices.Contains(seen, key(v)), "%s: %s is there twice", what, key(v))
		seen = append(seen, key(v))
	}
}
