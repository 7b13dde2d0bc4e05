package e2e

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// deletedByHand takes an object from a run while it measures, or before.
func deletedByHand() map[string]func(*plot) {
	measuring := func(object func(manifest.Names) client.Object) func(*plot) {
		return func(p *plot) { lose(p.t, p, runfile.SpanMeasure, object) }
	}
	result := func(n manifest.Names) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n.Result}}
	}
	return map[string]func(*plot){
		"the results are deleted by hand": measuring(result),
		"the plan is deleted by hand": measuring(func(n manifest.Names) client.Object {
			return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: n.Plan}}
		}),
		"the rights of the collector are deleted by hand": measuring(func(n manifest.Names) client.Object {
			return &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: n.Collector}}
		}),
		"the results are deleted while clients wait for each other": func(p *plot) {
			t := p.t
			lose(t, p, runfile.SpanWait, result, gen.Clients(2))
		},
		"the lease is deleted by hand":  loseLease,
		"the lease is taken by another": loseLeaseToAnother,
		"the Job is deleted by hand": func(p *plot) {
			t := p.t
			stop(t, p, []string{"Job nfsb-fault-load was deleted"}, func(b *v1alpha1.NFSBenchmark) error {
				job := p.job(t, b)
				return p.Delete(t.Context(), job, client.PropagationPolicy(metav1.DeletePropagationBackground))
			})
		},
		"the pod is deleted by hand": func(p *plot) {
			t := p.t
			stop(t, p, []string{"told to stop before its end", "somebody deleted it"}, func(b *v1alpha1.NFSBenchmark) error {
				return p.Delete(t.Context(), &p.loadPods(t, b)[0])
			})
		},
	}
}

// lose deletes an object in a span of the run, which must not notice.
func lose(t *testing.T, p *plot, span string, object func(manifest.Names) client.Object, mods ...gen.Mod) {
	t.Helper()
	b := p.run(t, mods...)
	obj := object(manifest.NamesOf(b))
	obj.SetNamespace(b.Namespace)
	pods := p.running(t, b, int(b.Spec.Clients))
	if span == runfile.SpanWait {
		awaitReady(t, p, b, pods)
	} else {
		pods[0].await(t, span)
	}
	if err := p.Delete(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	poll(t, 20*time.Second, func() (bool, string) {
		err := p.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
		return err == nil, obj.GetName() + " is not made again"
	})
	if span == runfile.SpanWait {
		resume(t, pods)
	}
	p.undisturbed(t, b)
}

func (c *cluster) job(t *testing.T, b *v1alpha1.NFSBenchmark) client.Object {
	t.Helper()
	job := &metav1.PartialObjectMetadata{}
	job.SetGroupVersionKind(jobKind)
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: loadJob(b)}, job); err != nil {
		t.Fatal(err)
	}
	return job
}

// stop ends a load from outside while it measures.
func stop(t *testing.T, p *plot, words []string, how func(*v1alpha1.NFSBenchmark) error) {
	t.Helper()
	b := p.run(t, lasting(60))
	p.running(t, b, 1)[0].await(t, runfile.SpanMeasure)
	time.Sleep(3 * time.Second) // a partial result that is worth keeping
	if err := how(b); err != nil {
		t.Fatal(err)
	}
	failed := p.finished(t, b, endsWithin)
	wantFailure(t, failed, v1alpha1.ReasonPodLost, append(words, "partial")...)
	partialResult(t, p.cluster, failed, runfile.FailureCancelled)
	p.cleanedUp(t, b)
	p.noFiles(t)
	p.startedOnce(t, b)
}

func (p *plot) lease(t *testing.T) *coordinationv1.Lease {
	t.Helper()
	l := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: systemNamespace, Name: manifest.LeaseName("server/" + p.address)}
	if err := p.Get(t.Context(), key, l); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		t.Fatal(err)
	}
	return l
}

func loseLease(p *plot) {
	t := p.t
	b := p.run(t, lasting(10))
	p.running(t, b, 1)[0].await(t, runfile.SpanMeasure)
	if err := p.Delete(t.Context(), p.lease(t)); err != nil {
		t.Fatal(err)
	}
	poll(t, 10*time.Second, func() (bool, string) {
		l := p.lease(t)
		return l != nil && *l.Spec.HolderIdentity == string(b.UID), "the run does not take its lease again"
	})
	p.undisturbed(t, b)
	if l := p.lease(t); l != nil {
		t.Errorf("the lease is left: %+v", l.Spec)
	}
}

func loseLeaseToAnother(p *plot) {
	t := p.t
	b := p.run(t, lasting(10))
	p.running(t, b, 1)[0].await(t, runfile.SpanMeasure)
	who, l := "somebody", p.lease(t)
	if err := p.Delete(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	theirs := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &who},
	}
	if err := p.Create(t.Context(), theirs); err != nil {
		t.Fatalf("somebody else is slower than the operator: %v", err)
	}
	t.Cleanup(func() { _ = p.Delete(context.WithoutCancel(t.Context()), theirs) })
	told := p.until(t, b, 10*time.Second, "reason "+v1alpha1.ReasonTargetTaken, func(b *v1alpha1.NFSBenchmark) bool {
		c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling)
		return c != nil && c.Reason == v1alpha1.ReasonTargetTaken
	})
	mustSay(t, told.Status.Message, "the run goes on", theirs.Name, "may be shared")
	p.undisturbed(t, b)
	if l := p.lease(t); l == nil || *l.Spec.HolderIdentity != who {
		t.Errorf("the lease of somebody else is %+v now", l)
	}
}
