package statuscheck

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// database: who has one says where it stands, and who has none says nothing.
func (l *list) database(b *v1alpha1.NFSBenchmark) {
	st, has := b.Status, b.Spec.Database != nil
	ready := find(b, v1alpha1.ConditionDatabaseReady)
	l.check((ready != nil) == has, "condition DatabaseReady is %+v; a database is declared: %t", ready, has)
	if ready != nil {
		loaded := st.Phase == v1alpha1.PhaseRunning || st.Phase == v1alpha1.PhaseSucceeded
		l.check(!loaded || ready.Status == metav1.ConditionTrue, "DatabaseReady is %s in phase %s", ready.Status, st.Phase)
		l.check(!st.Phase.IsFinished() || ready.Status != metav1.ConditionUnknown, "DatabaseReady is not settled at the end: %s", ready.Reason)
		l.check(ready.Status != metav1.ConditionFalse || ready.Message != "", "DatabaseReady is False and does not say why")
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
