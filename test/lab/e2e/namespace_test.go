package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

const ours = manifest.LabelManagedBy + "=" + manifest.ManagedBy

// namespace makes a namespace that admits restricted pods only. At the end of
// the test it deletes the benchmarks in it, demands that nothing of them is
// left, and deletes it.
func (c *cluster) namespace(t *testing.T) string {
	t.Helper()
	return c.namespaceOf(t, "restricted")
}

// namespaceOf is namespace for another Pod Security Standard.
func (c *cluster) namespaceOf(t *testing.T, standard string) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "nfsbench-e2e-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": standard},
	}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatalf("create a namespace: %v", err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context()) // which has no end: what is waited for has its own
		if t.Failed() {
			c.dump(t, ns.Name)
		}
		c.nothingLeft(ctx, t, ns.Name)
		if err := c.Delete(ctx, ns); err != nil {
			t.Errorf("delete namespace %s: %v", ns.Name, err)
		}
	})
	return ns.Name
}

// nothingLeft deletes all benchmarks of a namespace and waits until nothing of them
// is left, in it or out of it.
func (c *cluster) nothingLeft(ctx context.Context, t *testing.T, ns string) {
	t.Helper()
	uids := c.deleteBenchmarks(ctx, t, ns)
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		left, err := c.leftovers(ctx, ns, uids)
		if err == nil && len(left) == 0 {
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Errorf("left behind in %s: %s (%v)", ns, strings.Join(left, ", "), err)
			c.dump(t, ns)
			return
		}
	}
}

func (c *cluster) deleteBenchmarks(ctx context.Context, t *testing.T, ns string) []string {
	t.Helper()
	list := &v1alpha1.NFSBenchmarkList{}
	if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
		t.Errorf("list benchmarks: %v", err)
	}
	uids := make([]string, 0, len(list.Items))
	for i := range list.Items {
		uids = append(uids, string(list.Items[i].UID))
		if err := c.Delete(ctx, &list.Items[i]); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete benchmark: %v", err)
		}
	}
	return uids
}

// leftovers are the benchmarks of a namespace and, when those are gone, all objects of
// any kind that carry our label in it, and the volumes and Leases of benchmarks that
// were in it. What a benchmark has made may go after it, so that looking at all kinds
// before would cost much and say nothing.
func (c *cluster) leftovers(ctx context.Context, ns string, uids []string) ([]string, error) {
	var left []string
	benchmarks := &v1alpha1.NFSBenchmarkList{}
	if err := c.List(ctx, benchmarks, client.InNamespace(ns)); err != nil {
		return nil, err
	}
	for _, b := range benchmarks.Items {
		if len(uids) == 0 || slices.Contains(uids, string(b.UID)) {
			left = append(left, "NFSBenchmark "+b.Name+" "+state(&b))
		}
	}
	if len(left) > 0 {
		return left, nil
	}
	left, err := c.labelled(ctx, ns)
	if err != nil {
		return nil, err
	}
	volumes := &corev1.PersistentVolumeList{}
	if err := c.List(ctx, volumes, client.MatchingLabels{manifest.LabelManagedBy: manifest.ManagedBy}); err != nil {
		return nil, err
	}
	for _, v := range volumes.Items {
		if slices.Contains(uids, v.Labels[manifest.LabelUID]) || (v.Spec.ClaimRef != nil && v.Spec.ClaimRef.Namespace == ns) {
			left = append(left, "PersistentVolume "+v.Name)
		}
	}
	leases := &coordinationv1.LeaseList{}
	if err := c.List(ctx, leases, client.InNamespace(systemNamespace)); err != nil {
		return nil, err
	}
	for _, l := range leases.Items {
		if strings.HasPrefix(l.Annotations[manifest.AnnotationHolder], ns+"/") {
			left = append(left, "Lease "+l.Name+" of "+l.Annotations[manifest.AnnotationHolder])
		}
	}
	return left, nil
}

// labelled are the objects of a namespace that carry our label, of whatever
// kind the API server knows.
func (c *cluster) labelled(ctx context.Context, ns string) ([]string, error) {
	kinds, err := c.kinds()
	if err != nil {
		return nil, err
	}
	var left []string
	for _, k := range kinds {
		list, err := c.metadata.Resource(k).Namespace(ns).List(ctx, metav1.ListOptions{LabelSelector: ours})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", k.Resource, err)
		}
		for _, o := range list.Items {
			left = append(left, k.Resource+" "+o.Name)
		}
	}
	return left, nil
}

// namespacedKinds asks the API server for the kinds of objects that can be listed and
// deleted in a namespace.
func namespacedKinds(d discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	groups, err := d.ServerPreferredNamespacedResources()
	if err != nil {
		return nil, err
	}
	var kinds []schema.GroupVersionResource
	for _, g := range groups {
		gv, err := schema.ParseGroupVersion(g.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, r := range g.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "delete") {
				kinds = append(kinds, gv.WithResource(r.Name))
			}
		}
	}
	return kinds, nil
}

// dump writes down what a person would look at first.
func (c *cluster) dump(t *testing.T, ns string) {
	t.Helper()
	for _, args := range [][]string{
		{"-n", ns, "describe", "nfsbenchmarks"},
		{"-n", ns, "get", "pods,jobs,pvc", "-o", "wide"},
		{"-n", ns, "get", "events", "--sort-by=.lastTimestamp"},
		{"-n", ns, "logs", "--selector", ours, "--all-containers", "--prefix", "--tail=40", "--ignore-errors"},
		{"-n", systemNamespace, "logs", "--selector", "app.kubernetes.io/name=nfsbench", "--tail=60"},
	} {
		out, _ := kubectl(t, "", args...)
		t.Logf("kubectl %s\n%s", strings.Join(args, " "), out)
	}
}

// deleteAtEnd deletes an object of the test's own that no namespace holds.
func (c *cluster) deleteAtEnd(t *testing.T, obj client.Object) {
	t.Helper()
	t.Cleanup(func() {
		if err := c.Delete(context.WithoutCancel(t.Context()), obj); client.IgnoreNotFound(err) != nil {
			t.Errorf("delete %s: %v", obj.GetName(), err)
		}
	})
}
