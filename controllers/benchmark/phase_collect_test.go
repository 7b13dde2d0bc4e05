package benchmark

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestOnlyResultsOfOurPodsAreRead: anybody with ConfigMaps in the namespace can write one
// of the name, and one of an earlier benchmark of the name may still be there.
func TestOnlyResultsOfOurPodsAreRead(t *testing.T) {
	t.Parallel()
	for owner, want := range map[types.UID]bool{"1": true, "2": false, "": false} {
		cm := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "result"},
			Data:       map[string]string{runfile.KeyRelease: "now"},
		}
		if owner != "" {
			cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "nfsbench.io/v1alpha1", Kind: "NFSBenchmark", Name: "demo", UID: owner}}
		}
		s := &scope{b: &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "demo", UID: "1"}}, plan: &runfile.Plan{}}
		s.names.Result = "result"
		if err := reconcilerWith(t, cm).readResults(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		if (s.result != nil) != want || s.released != want {
			t.Errorf("result of owner %q: read %v, released %v; want %v", owner, s.result != nil, s.released, want)
		}
	}
}
