package benchmark

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

// Whoever else may use the name of our Lease: it is not taken from him.
func TestALeaseOfSomebodyElseIsNotFree(t *testing.T) {
	t.Parallel()
	s := &scope{b: &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "1"}}}
	for _, c := range []struct {
		reason, manager, holder string
		free                    bool
	}{
		{"we hold it", manifest.ManagedBy, "1", true},
		{"another tool made it", "another-tool", "2", false},
		{"somebody made it by hand", "", "2", false},
	} {
		held := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{manifest.LabelManagedBy: c.manager}}}
		held.Spec.HolderIdentity = &c.holder
		got, err := reconcilerWith(t).otherHolder(t.Context(), s, held)
		if err != nil || (got == "") != c.free || !c.free && !strings.Contains(got, "ns/x") {
			t.Errorf("%s: held by %q, %v", c.reason, got, err)
		}
	}
}
