package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

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
	poll(t, func() (bool, string) {
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
