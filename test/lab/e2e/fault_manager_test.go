package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// TestFaultsOfTwoManagersDisturbNoRun freezes the leader until another leads, lets
// it go on, and then kills the new one. Each fault finds a suite under way, and runs in
// several phases; that none of the writes of a run is a bad moment to die is tested
// write by write in test/integration. No other test runs beside it.
func TestFaultsOfTwoManagersDisturbNoRun(t *testing.T) {
	c := newCluster(t)
	needNodeHere(t, c)
	needArgo(t)
	c.scale(t, 2)
	w := c.suiteWorld(t)
	s := w.short(t, good, "failFast: false")
	var plots []*plot
	var runs []*v1alpha1.NFSBenchmark
	begin := func() *v1alpha1.NFSBenchmark {
		p := c.plot(t, 1)
		plots, runs = append(plots, p), append(runs, p.run(t))
		return runs[len(runs)-1]
	}

	c.comesTo(t, begin(), v1alpha1.PhaseRunning)
	c.comesTo(t, begin(), v1alpha1.PhasePreparing)
	begin()
	endings := time.Now() // from here until the kill, two managers end
	for _, b := range runs {
		if now := c.get(t, b); now.Status.Phase.IsFinished() {
			hasEvents(t, c, now, string(now.Status.Phase))
		}
	}
	first := c.leader(t)
	pid := managerProcess(t, first.pod)
	send(t, pid, syscall.SIGSTOP) // it believes to lead when it goes on
	t.Logf("leader %s is frozen: %s", first.identity, c.phases(t, runs))
	begin()
	second := c.otherLeader(t, first)
	send(t, pid, syscall.SIGCONT)
	poll(t, func() (bool, string) {
		return syscall.Kill(pid, 0) != nil, "the manager that was frozen goes on although another leads"
	})
	deposed := time.Now()
	c.comesTo(t, begin(), v1alpha1.PhasePreparing)
	begin()
	t.Logf("leader %s is killed: %s", second.identity, c.phases(t, runs))
	send(t, managerProcess(t, second.pod), syscall.SIGKILL)
	ended := time.Now()
	third := c.otherLeader(t, second)
	for i, b := range runs {
		done := c.undisturbed(t, b)
		// A manager that ends takes the events with it that it has not sent yet.
		at := done.Status.CompletionTime.Time // in whole seconds
		mayLose := !at.Before(endings.Truncate(time.Second)) && !at.After(ended)
		c.transitionsOnce(t, done, mayLose, func(e eventsv1.Event) bool {
			return third.pod.Name == first.pod.Name || !strings.Contains(e.ReportingInstance, first.pod.Name) || e.EventTime.Time.Before(deposed)
		})
		plots[i].noFiles(t)
	}
	if done := w.ends(t, s); done.Status.Phase != v1alpha1.SuiteSucceeded {
		t.Errorf("the suite is %s", suiteState(done))
	}
	ranOnce(t, w.benchmarks(t, s), 3, 1)
}

// comesTo waits until a run is in a phase or past it, for a short phase may pass between two looks.
func (c *cluster) comesTo(t *testing.T, b *v1alpha1.NFSBenchmark, p v1alpha1.Phase) {
	t.Helper()
	course := []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseQueued, v1alpha1.PhaseProvisioning, v1alpha1.PhasePreparing,
		v1alpha1.PhaseRunning, v1alpha1.PhaseCollecting, v1alpha1.PhaseSucceeded,
	}
	c.until(t, b, "phase "+string(p), func(b *v1alpha1.NFSBenchmark) bool {
		return slices.Index(course, b.Status.Phase) >= slices.Index(course, p)
	})
}

// phases are those of all runs, to see what a fault hits.
func (c *cluster) phases(t *testing.T, runs []*v1alpha1.NFSBenchmark) string {
	t.Helper()
	var out []string
	for _, b := range runs {
		out = append(out, string(c.get(t, b).Status.Phase))
	}
	return strings.Join(out, ", ")
}

// scale sets how many managers there are, until the end of the test.
func (c *cluster) scale(t *testing.T, replicas int32) {
	t.Helper()
	list := &appsv1.DeploymentList{}
	if err := c.List(t.Context(), list, client.InNamespace(systemNamespace), client.MatchingLabels{"app.kubernetes.io/name": "nfsbench"}); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d deployments of the operator (%v)", len(list.Items), err)
	}
	d := &list.Items[0]
	set := func(n int32) {
		patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)
		out, err := kubectl(t, "", "-n", systemNamespace, "patch", "deployment", d.Name, "--type=merge", "-p", patch)
		if err != nil {
			t.Errorf("scale the operator: %v: %s", err, out)
		}
	}
	before := *d.Spec.Replicas
	t.Cleanup(func() {
		set(before)
		if out, err := kubectl(t, "", "-n", systemNamespace, "rollout", "status", "deployment", d.Name, "--timeout="+patience.String()); err != nil {
			t.Errorf("the operator is not as it was: %v: %s", err, out)
		}
	})
	set(replicas)
	poll(t, func() (bool, string) {
		n := 0
		for _, p := range c.managers(t) {
			if ready(p) {
				n++
			}
		}
		return n == int(replicas), fmt.Sprintf("%d managers are ready, not %d", n, replicas)
	})
}

// leader is the manager that leads. One that is started again in the same pod
// has another identity.
type leader struct {
	identity string
	pod      corev1.Pod
}

// leader reads the leader's Lease.
func (c *cluster) leader(t *testing.T) leader {
	t.Helper()
	var found leader
	poll(t, func() (bool, string) {
		l := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: systemNamespace, Name: "manager.nfsbench.io"}, l); err != nil {
			return false, err.Error()
		}
		found.identity = *l.Spec.HolderIdentity
		name, _, _ := strings.Cut(found.identity, "_")
		pods := c.managers(t)
		i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Name == name })
		if i >= 0 {
			found.pod = pods[i]
		}
		return i >= 0, "nobody leads; the last was " + name
	})
	return found
}

// otherLeader waits for a leader that is not this one.
func (c *cluster) otherLeader(t *testing.T, old leader) leader {
	t.Helper()
	began := time.Now()
	var now leader
	poll(t, func() (bool, string) {
		now = c.leader(t)
		return now.identity != old.identity, old.identity + " still leads"
	})
	t.Logf("manager %s leads after %v", now.identity, time.Since(began).Round(time.Second))
	return now
}

// managerProcess finds the process of a manager's pod.
func managerProcess(t *testing.T, p corev1.Pod) int {
	t.Helper()
	pids := processesOf(t, p, "/manager\x00")
	if len(pids) != 1 {
		t.Fatalf("%d processes of pod %s are managers: %v", len(pids), p.Name, pids)
	}
	return pids[0]
}

// transitionsOnce demands that each transition of a run has one event, by a manager
// that may write it. One that goes on where it was frozen may finish its pass before it
// notices. What it writes is then refused, or was not yet written by another. The event
// of the end must exist, unless mayLose says that the manager that owed it has ended.
func (c *cluster) transitionsOnce(t *testing.T, b *v1alpha1.NFSBenchmark, mayLose bool, may func(eventsv1.Event) bool) {
	t.Helper()
	if !mayLose {
		hasEvents(t, c, b, string(v1alpha1.PhaseSucceeded))
	}
	list := &eventsv1.EventList{}
	if err := c.List(t.Context(), list, client.InNamespace(b.Namespace)); err != nil {
		t.Fatal(err)
	}
	told := slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return !about(e, b) })
	slices.SortFunc(told, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	times := map[string]int32{}
	for _, e := range told {
		times[e.Reason]++
		if e.Series != nil {
			times[e.Reason] += e.Series.Count - 1
		}
		t.Logf("%s %s %s", e.EventTime.Format(time.TimeOnly), e.ReportingInstance, e.Reason)
		if !may(e) {
			t.Errorf("event %s was written at %v by a manager that no longer leads: %s", e.Reason, e.EventTime, e.ReportingInstance)
		}
	}
	for reason, n := range times {
		if n > 1 {
			t.Errorf("event %s was written %d times", reason, n)
		}
	}
}
