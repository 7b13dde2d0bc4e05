package benchmark

import (
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// CacheOptions keep in memory what the operator made and nothing else: a
// cluster's other pods and ConfigMaps are none of its business. Objects of
// users, such as their claims, are read past the cache.
//
// Volumes and classes are read past the cache too, because an operator that may
// see some namespaces only must not watch them: see ClientOptions. So are
// Trident's objects, whose kinds need not be there.
//
// The managedFields of a benchmark are longer than its status, and only those of a
// suite are read.
//
// No namespaces means all. The Leases' namespace is watched as well.
func CacheOptions(namespaces []string, leases string) cache.Options {
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{manifest.LabelManagedBy: manifest.ManagedBy}), Transform: cache.TransformStripManagedFields()}
	lease := ours
	o := cache.Options{DefaultNamespaces: inNamespaces(namespaces)}
	if leases != "" {
		lease.Namespaces = inNamespaces([]string{leases})
	}
	o.ByObject = map[client.Object]cache.ByObject{
		&v1alpha1.NFSBenchmark{}:        {Transform: ours.Transform},
		&batchv1.Job{}:                  ours,
		&corev1.ConfigMap{}:             {Label: ours.Label, Transform: withoutResults},
		&corev1.PersistentVolumeClaim{}: ours,
		&corev1.Pod{}:                   ours,
		&corev1.Service{}:               ours,
		&corev1.ServiceAccount{}:        ours,
		&rbacv1.Role{}:                  ours,
		&rbacv1.RoleBinding{}:           ours,
		&coordinationv1.Lease{}:         lease,
	}
	return o
}

// withoutResults drops the results from what is kept of a ConfigMap. Each is read once,
// when its run ends; those of all runs would fill the memory.
func withoutResults(in any) (any, error) {
	if cm, ok := in.(*corev1.ConfigMap); ok {
		maps.DeleteFunc(cm.BinaryData, func(key string, _ []byte) bool { return key != runfile.KeySuitePoints })
	}
	return cache.TransformStripManagedFields()(in)
}

func inNamespaces(names []string) map[string]cache.Config {
	if len(names) == 0 {
		return nil
	}
	out := map[string]cache.Config{}
	for _, n := range names {
		out[n] = cache.Config{}
	}
	return out
}

// ClientOptions belong to CacheOptions.
func ClientOptions() client.Options {
	return client.Options{Cache: &client.CacheOptions{DisableFor: []client.Object{&corev1.PersistentVolume{}, &storagev1.StorageClass{}}}}
}
