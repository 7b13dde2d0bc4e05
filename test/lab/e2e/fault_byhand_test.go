package e2e

import (
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// deletedByHand takes objects from a run, of which the API server, the kubelet, the
// Job controller and the garbage collector each have a part.
func deletedByHand() map[string]func(*plot) {
	return map[string]func(*plot){
		"the results, the plan and the rights are deleted while it measures": loseObjects,
		"the results are deleted while clients wait for each other":          loseResultsOfWaiting,
		"the Job is deleted while it measures": func(p *plot) {
			stop(p, []string{"Job nfsb-fault-load was deleted"}, lasting(600), runfile.SpanMeasure, p.deleteJob)
		},
		"the pod is evicted while it measures": func(p *plot) { stop(p, evicted(), lasting(600), runfile.SpanMeasure, p.evict) },
		"the pod is evicted while it fills":    func(p *plot) { stop(p, evicted(), fileSize("512Mi"), runfile.SpanFill, p.evict) },
	}
}

// evicted are the words that a user needs whose node was drained.
func evicted() []string { return []string{"evicted", "kubectl drain", "run the benchmark again"} }

// evict does to the load pod what kubectl drain does to each pod of a node.
func (p *plot) evict(t *testing.T, b *v1alpha1.NFSBenchmark) error {
	t.Helper()
	pod := p.onePod(t, b)
	return p.typed.PolicyV1().Evictions(pod.Namespace).Evict(t.Context(),
		&policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
}

// loseObjects deletes each object that a run makes and needs. The run makes them
// again, and its load does not notice.
func loseObjects(p *plot) {
	t := p.t
	b := p.run(t, lasting(15))
	held := p.running(t, b, 1)[0].hold(t, runfile.SpanMeasure) // a run that is over makes nothing again
	n := manifest.NamesOf(b)
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: b.Namespace, Name: name} }
	p.lose(t,
		&corev1.ConfigMap{ObjectMeta: named(n.Result)},
		&corev1.ConfigMap{ObjectMeta: named(n.Plan)},
		&rbacv1.Role{ObjectMeta: named(n.Collector)},
	)
	send(t, held, syscall.SIGCONT)
	p.undisturbed(t, b)
}

// loseResultsOfWaiting deletes the object by which clients learn that all of them
// are ready.
func loseResultsOfWaiting(p *plot) {
	t := p.t
	b := p.run(t, gen.Clients(2), fileSize("64Mi"))
	pods := p.running(t, b, 2)
	held := pods[1].hold(t, runfile.SpanFill)
	pods[0].await(t, runfile.SpanWait)
	results := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: manifest.NamesOf(b).Result}}
	poll(t, func() (bool, string) {
		err := p.Get(t.Context(), client.ObjectKeyFromObject(results), results)
		return err == nil && len(results.Data) > 0, "no client has published its progress"
	})
	p.lose(t, results)
	send(t, held, syscall.SIGCONT)
	p.undisturbed(t, b)
}

// lose deletes objects at once and waits until they are made again.
func (p *plot) lose(t *testing.T, objects ...client.Object) {
	t.Helper()
	before := map[client.Object]types.UID{}
	for _, o := range objects {
		if err := p.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		before[o] = o.GetUID()
		if err := p.Delete(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range objects {
		poll(t, func() (bool, string) {
			err := p.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			return err == nil && o.GetUID() != before[o], o.GetName() + " is not made again"
		})
	}
}

// deleteJob does what kubectl delete job does.
func (c *cluster) deleteJob(t *testing.T, b *v1alpha1.NFSBenchmark) error {
	t.Helper()
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(jobKind)
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: loadJob(b)}, job); err != nil {
		t.Fatal(err)
	}
	return c.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground))
}

// stop ends a load from outside in a span of its course, which no other load may
// follow.
func stop(p *plot, words []string, mod gen.Mod, span string, how func(*testing.T, *v1alpha1.NFSBenchmark) error) {
	t := p.t
	t.Helper()
	b := p.run(t, mod)
	pod := p.running(t, b, 1)[0]
	pod.await(t, span)
	if span == runfile.SpanMeasure {
		pod.measured(t)
	}
	if err := how(t, b); err != nil {
		t.Fatal(err)
	}
	failed := p.finished(t, b)
	if span == runfile.SpanMeasure {
		words = append(words, "partial")
	}
	wantFailure(t, failed, v1alpha1.ReasonPodLost, words...)
	if span == runfile.SpanMeasure {
		partialResult(t, p.cluster, failed, runfile.FailureCancelled)
	}
	p.cleanedUp(t, b)
	p.noFiles(t)
	p.startedOnce(t, b)
}
