package benchmark

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
)

// A class with late binding binds when a pod asks for the claim. A load through the
// kernel's mount can be that pod; whoever needs the export before the first pod cannot.
func TestAClaimThatIsNotBoundServesTheKernelAlone(t *testing.T) {
	t.Parallel()
	pending := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "data"}, Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
	}
	ontap := &v1alpha1.ArrayAccess{ONTAP: &v1alpha1.ONTAPAccess{}}
	for _, c := range []struct {
		reason   string
		client   bench.NFSClient
		array    *v1alpha1.ArrayAccess
		database *v1alpha1.Database
		serves   bool
	}{
		{"the kernel", bench.ClientKernel, nil, nil, true},
		{"the kernel, and the array is asked", bench.ClientKernel, ontap, nil, false},
		{"Direct NFS", bench.ClientDirectNFS, nil, nil, false},
		{"Direct NFS of a database, which the kernel mounts beside it", bench.ClientDirectNFS, nil, &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{}}, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			t.Parallel()
			b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{
				Namespace: "ns", Name: "demo", Finalizers: []string{owned.Finalizer},
			}}
			b.Spec.Storage = v1alpha1.Storage{Claim: &v1alpha1.ClaimStorage{Name: "data"}, Array: c.array}
			b.Spec.Protocol.Client, b.Spec.Database = c.client, c.database
			s := &scope{b: b}
			n, err := reconcilerWith(t, pending).resolveClaim(t.Context(), s)
			if err != nil || n.Stop == c.serves || (s.target != nil) != c.serves {
				t.Errorf("resolveClaim: %+v, %v, target %v", n, err, s.target)
			}
			if !c.serves && (s.waiting == nil || s.waiting.Reason != v1alpha1.ReasonClaimNotBound) {
				t.Errorf("it waits for %+v", s.waiting)
			}
		})
	}
}
