package e2e

import (
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestKernelNodeRunsADatabaseOnARealMount brings a database to a node whose kernel
// mounts the export: beside Direct NFS the mount stays flat, without it the mount
// carries the load.
func TestKernelNodeRunsADatabaseOnARealMount(t *testing.T) {
	c := newCluster(t)
	newKernelNode(t, c)
	if os.Getenv("NFSBENCH_ORACLE_STANDIN") != "1" {
		t.Skip("needs the images of the stand-in for Oracle: `make test` builds them and sets NFSBENCH_ORACLE_STANDIN=1")
	}
	a, ns := newArray(t), c.namespaceOf(t, "baseline")
	folder, path := a.directory(t, 0o750)
	if err := os.Chown(path, databaseUser, databaseUser); err != nil {
		t.Fatal(err)
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: databaseSecret, Labels: map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed}},
		StringData: map[string]string{"password": "first-Pa55word"},
	}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	w := &oracleWorld{cluster: c, ns: ns}
	for _, tc := range []struct {
		name   string
		client gen.Mod
		method string
	}{
		{"dnfs", func(*v1alpha1.NFSBenchmark) {}, "DNFS_LIB"},
		{"knfs", gen.Kernel, "OS_LIB"},
	} {
		b := w.database(tc.name, "unused", gen.Export(a.export+"/"+folder, a.lifs[0]), tc.client, onEmulatedNode)
		done := w.ran(t, b)
		verifiedByAll(t, done)
		_, j := judged(t, done)
		if f := j.Database.Files; len(f) == 0 || f[0].AccessMethod != tc.method {
			t.Errorf("%s: V$IOSTAT_FILE says %+v; want %s", tc.name, f, tc.method)
		}
		said := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionProtocolVerified).Message
		if !strings.Contains(said, "mount") {
			t.Errorf("%s: the counters of the kernel's mount are no evidence in %q", tc.name, said)
		}
		counted := c.results(t, done)[0].Clients[0].Observed.Windows
		moved := counted[len(counted)-1].Mount
		if moved == nil {
			t.Fatalf("%s: the mount was not observed", tc.name)
		}
		if carried := moved.ServerReadBytes > 1<<20; carried != (tc.method == "OS_LIB") {
			t.Errorf("%s: the mount moved %d bytes", tc.name, moved.ServerReadBytes)
		}
	}
}

// onEmulatedNode places a run on the node of hack/vm/node.sh, which is slow.
func onEmulatedNode(b *v1alpha1.NFSBenchmark) {
	b.Spec.Storage.Claim = nil
	onKernelLabel(b)
	b.Spec.Workload.SLOB.Scale = resource.MustParse("8Mi")
	seconds(15)(b)
}
