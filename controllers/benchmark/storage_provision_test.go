package benchmark

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/trident"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAClassMountsTheVersionThatTheKernelUses: a client in user space ignores its options.
func TestAClassMountsTheVersionThatTheKernelUses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		client  gen.Mod
		options []string
		says    string // "" = the class can be used
	}{
		"the declared version":      {gen.Kernel, []string{"nfsvers=3"}, ""},
		"another version":           {gen.Kernel, []string{"nfsvers=4.1"}, "mounts with nfsvers=4.1"},
		"no version":                {gen.Kernel, nil, "leaves the version of NFS to be negotiated"},
		"another, and Direct NFS":   {func(*v1alpha1.NFSBenchmark) {}, []string{"nfsvers=4.1"}, ""},
		"no version and Direct NFS": {func(*v1alpha1.NFSBenchmark) {}, nil, ""},
	} {
		b := gen.Benchmark("demo", tc.client)
		class := &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "gold"}, Provisioner: trident.Driver, MountOptions: tc.options,
		}
		reason, message := classProblem(b, class)
		if (reason == "") != (tc.says == "") || !strings.Contains(message, tc.says) {
			t.Errorf("%s: %q %q, want %q", name, reason, message, tc.says)
		}
	}
}
