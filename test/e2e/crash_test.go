package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAManagerThatIsKilledLosesNothing ends the operator without warning while
// files are filled, and again while the load runs. The run must not notice: its
// one pod is the same from its beginning to its end.
func TestAManagerThatIsKilledLosesNothing(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	b := c.create(t, gen.Benchmark("orphan", gen.In(c.namespace(t)), gen.Export(a.export, a.lifs...), seconds(20),
		fileSize("1Gi"), directory("e2e-orphan")))

	c.until(t, b, time.Minute, "the fill", func(b *v1alpha1.NFSBenchmark) bool {
		return b.Status.Progress != nil && b.Status.Progress.Step == runfile.SpanFill
	})
	began := c.onePod(t, b)
	c.killManager(t)
	c.phase(t, b, v1alpha1.PhaseRunning, 2*time.Minute)
	if now := c.onePod(t, b); now.UID != began.UID {
		t.Errorf("the load began in pod %s and runs in %s", began.Name, now.Name)
	}
	c.killManager(t)

	done := c.succeeded(t, b)
	results := c.results(t, done)
	if len(results) != 1 {
		t.Fatalf("%d results, not one", len(results))
	}
	load := results[0].Clients[0].Load
	if load.Partial || load.Failure != nil {
		t.Errorf("partial: %v, failure: %+v", load.Partial, load.Failure)
	}
	if start := load.Spans[0].Start; start.After(began.CreationTimestamp.Add(30 * time.Second)) {
		t.Errorf("the load began at %v, its first pod at %v: it ran twice", start, began.CreationTimestamp)
	}
	verified(t, done)
	balanced(t, done, 2)
	a.hasNo(t, "e2e-orphan")
}

// onePod is the one pod that generates the load of a run.
func (c *cluster) onePod(t *testing.T, b *v1alpha1.NFSBenchmark) corev1.Pod {
	t.Helper()
	pods := c.loadPods(t, b)
	if len(pods) != 1 {
		t.Fatalf("%d load pods, not one", len(pods))
	}
	return pods[0]
}

// killManager ends every manager at once and without warning, and waits until
// its successor is ready.
func (c *cluster) killManager(t *testing.T) {
	t.Helper()
	old := map[string]bool{}
	for _, p := range c.managers(t) {
		old[string(p.UID)] = true
		if err := c.Delete(t.Context(), &p, client.GracePeriodSeconds(0)); err != nil {
			t.Fatal(err)
		}
	}
	if len(old) == 0 {
		t.Fatalf("no manager runs in namespace %s", systemNamespace)
	}
	poll(t, time.Minute, func() (bool, string) {
		for _, p := range c.managers(t) {
			if !old[string(p.UID)] && ready(p) {
				return true, ""
			}
		}
		return false, "no new manager is ready"
	})
}

func (c *cluster) managers(t *testing.T) []corev1.Pod {
	t.Helper()
	list, err := c.typed.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=nfsbench"})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

func ready(p corev1.Pod) bool {
	for _, cond := range p.Status.Conditions {
		if cond.Type == corev1.PodReady {
			return cond.Status == corev1.ConditionTrue
		}
	}
	return false
}

// TestALoaderThatIsKilledLeavesWhatItMeasured ends the loader as the kernel does
// when memory runs out.
func TestALoaderThatIsKilledLeavesWhatItMeasured(t *testing.T) {
	c := newCluster(t)
	a := newArray(t)
	needNodeHere(t, c)
	b := c.create(t, gen.Benchmark("crash", gen.In(c.namespace(t)), gen.Export(a.export, a.lifs...), seconds(120), directory("e2e-crash")))
	c.until(t, b, time.Minute, "a measured second", func(b *v1alpha1.NFSBenchmark) bool {
		p := b.Status.Progress
		return b.Status.Phase == v1alpha1.PhaseRunning && p != nil && p.Step == runfile.SpanMeasure
	})
	time.Sleep(8 * time.Second) // the loader saves what it has every few seconds
	kill(t, c.onePod(t, b), "load")

	failed := c.finished(t, b, failsWithin)
	wantFailure(t, failed, runfile.FailureLoaderCrashed, "loader", "killed by signal 9", "last seen in Measure")
	partialResult(t, c, failed, runfile.FailureLoaderCrashed)
	c.cleanedUp(t, b)
	a.hasNo(t, "e2e-crash")
}
