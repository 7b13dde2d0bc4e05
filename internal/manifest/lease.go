package manifest

import (
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// The annotations of a target's Lease, for people and for finding the holder.
const (
	AnnotationTarget = "nfsbench.io/target"
	AnnotationHolder = "nfsbench.io/holder" // namespace/name of the benchmark
)

// TargetLease says that a benchmark uses a target. Its holder is the UID of the
// benchmark: an object of the same name that came later is not the holder.
func TargetLease(b *v1alpha1.NFSBenchmark, namespace, key string, now metav1.MicroTime) *coordinationv1.Lease {
	holder := string(b.UID)
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace,
			Name:      LeaseName(key),
			Labels: map[string]string{
				LabelName:      "nfsbench",
				LabelManagedBy: ManagedBy,
				LabelUID:       string(b.UID),
			},
			Annotations: map[string]string{
				AnnotationTarget: key,
				AnnotationHolder: b.Namespace + "/" + b.Name,
			},
		},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder, AcquireTime: &now},
	}
}

// LeaseName is the name of a target's Lease. A key has a slash, so its name
// always carries a hash: claims "a/b-c" and "a-b/c" are two targets.
func LeaseName(key string) string {
	return label("nfsbench-target-"+key, 60)
}
