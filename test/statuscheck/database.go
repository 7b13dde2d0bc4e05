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
		want := "Native"
		if has {
			want = "Oracle"
		}
		l.check(s.Engine == want, "summary.engine is %q, want %s", s.Engine, want)
		l.check(s.Workload != "", "summary.workload is empty")
	}
	if d := st.Database; d != nil {
		l.databaseLists(*d)
		l.check(has || d.Banner == "" && d.Servers == nil && d.Files == nil, "database %+v of a run without one", d)
	}
}

// databaseLists: each entry once, and none without what it is about.
func (l *list) databaseLists(d v1alpha1.DatabaseStatus) {
	once(l, "database.parameters", d.Parameters, func(p v1alpha1.DatabaseParameter) string { return p.Name })
	once(l, "database.channels", d.Channels, func(c v1alpha1.DirectNFSChannel) string {
		return fmt.Sprint(c.Instance, c.Server, c.Path, c.Local)
	})
	for _, c := range d.Channels {
		l.check(c.Path != "" && c.Sends != nil && c.Receives != nil, "database.channels: %+v says nothing", c)
	}
	for _, f := range d.Files {
		l.check(f.SmallReadNanoseconds == nil || f.SmallReads != nil && *f.SmallReads > 0, "database.files: %d has a latency of no read", f.Number)
	}
	counted := false
	for _, c := range d.Calibrations {
		l.check(!c.Warmup || !counted, "database.calibrations: a warm-up after one that counts")
		counted = counted || !c.Warmup
		l.check(c.MaxIOPS == nil || *c.MaxIOPS > 0, "database.calibrations: maxIOPS is 0: what is not known is absent")
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
