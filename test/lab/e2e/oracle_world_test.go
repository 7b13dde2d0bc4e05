package e2e

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
	"github.com/nfsbench/nfsbench/test/lab/csi"
)

// standinImage is the image that hack/oracle/standin.sh makes.
const standinImage = "localhost/nfsbench/oracle-standin:dev"

// databaseSecret is the Secret with the password of SYS.
const databaseSecret = "oracle-password"

// databaseUser is oracle:oinstall of Oracle's packages.
const databaseUser = 54321

// oracleWorld is a plot whose export the kubelet shows to pods although this kernel
// has no NFS client, for runs with images of the stand-in for Oracle.
type oracleWorld struct {
	*cluster
	array
	ns string
}

// newOracleWorld lets the test run beside others, with LIFs of its own.
func newOracleWorld(t *testing.T, lifs int) *oracleWorld {
	t.Helper()
	c := needOracle(t)
	return c.oracleWorld(t, shared.take(t, lifs))
}

// needOracle lets a test with the stand-in for Oracle run beside others, or skips it
// where there is no stand-in.
func needOracle(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	needNodeHere(t, c)
	if os.Getenv("NFSBENCH_ORACLE_STANDIN") != "1" {
		t.Skip("needs the images of the stand-in for Oracle: `make test` builds them and sets NFSBENCH_ORACLE_STANDIN=1")
	}
	t.Parallel()
	return c
}

// oracleWorld makes a namespace with the password of databases on an array.
func (c *cluster) oracleWorld(t *testing.T, a array) *oracleWorld {
	t.Helper()
	w := &oracleWorld{cluster: c, array: a}
	w.serve(t)
	w.ns = c.namespaceOf(t, "baseline") // goes first, while its volumes can be unmounted
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: databaseSecret, Labels: map[string]string{v1alpha1.LabelAllowUse: v1alpha1.UseAllowed}},
		StringData: map[string]string{"password": "first-Pa55word"},
	}
	if err := c.Create(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return w
}

// volumes tells the one stand-in for csi-driver-nfs of this process which
// folders the exports of the servers are.
type volumes struct {
	mu      sync.Mutex
	plugin  *csi.Plugin
	users   int
	folders map[string]string // by server and export
}

var published = &volumes{folders: map[string]string{}}

func (v *volumes) folder(server, share string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for export, folder := range v.folders {
		if below, ok := strings.CutPrefix(server+":"+share, export); ok {
			return filepath.Join(folder, below), nil
		}
	}
	return "", fmt.Errorf("no test serves %s:%s", server, share)
}

// driverObject tells Kubernetes how the plug-in wants to be treated.
func driverObject() *storagev1.CSIDriver {
	no, none := false, storagev1.NoneFSGroupPolicy
	return &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: csi.Driver},
		Spec:       storagev1.CSIDriverSpec{AttachRequired: &no, FSGroupPolicy: &none},
	}
}

// begin starts the plug-in for the first who wants it.
func (v *volumes) begin(ctx context.Context, c client.Client, kubelet, node string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.users++
	if v.plugin != nil {
		return nil
	}
	if err := c.Create(ctx, driverObject()); err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	p, err := csi.Start(ctx, csi.Options{Kubelet: kubelet, Node: node, Folder: v.folder})
	v.plugin = p
	return err
}

// end stops it with the last.
func (v *volumes) end(ctx context.Context, c client.Client) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.users--; v.users > 0 || v.plugin == nil {
		return nil
	}
	p := v.plugin
	v.plugin = nil
	return errors.Join(p.Stop(), client.IgnoreNotFound(c.Delete(ctx, driverObject())))
}

// serve lets the kubelet mount what this array exports.
func (w *oracleWorld) serve(t *testing.T) {
	t.Helper()
	nodes := &corev1.NodeList{}
	if err := w.List(t.Context(), nodes); err != nil {
		t.Fatal(err)
	}
	published.mu.Lock()
	for _, lif := range w.lifs {
		published.folders[lif+":"+w.export] = w.folder
	}
	published.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := published.begin(ctx, w.Client, kubeletFolder(t), nodes.Items[0].Name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := published.end(context.WithoutCancel(t.Context()), w.Client); err != nil {
			t.Error(err)
		}
	})
}

// kubeletFolder is the --root-dir of the kubelet that runs here.
func kubeletFolder(t *testing.T) string {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lines {
		line, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			continue
		}
		args := strings.Split(string(line), "\x00")
		if filepath.Base(args[0]) != "kubelet" {
			continue
		}
		for i, a := range args {
			if a == "--root-dir" {
				return args[i+1]
			}
		}
	}
	t.Fatal("no kubelet with --root-dir runs here")
	return ""
}

// volume makes a folder on the array for one database, a volume of csi-driver-nfs
// that is it, and a claim of the same name that is bound to it. Runs whose volumes
// and paths have no LIF in common do not wait for each other.
func (w *oracleWorld) volume(t *testing.T, name, lif string) {
	t.Helper()
	folder := filepath.Join(w.folder, w.ns+"-"+name)
	if err := os.Mkdir(folder, 0o750); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chown(folder, databaseUser, databaseUser); err != nil {
		t.Fatal(err)
	}
	size, none := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("4Gi")}, ""
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: w.ns + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef: &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: w.ns, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: csi.Driver, VolumeHandle: w.ns + "-" + name,
				VolumeAttributes: map[string]string{"server": lif, "share": w.export + "/" + w.ns + "-" + name},
			}},
		},
	}
	if err := w.Create(t.Context(), pv); err != nil {
		t.Fatal(err)
	}
	w.deleteAtEnd(t, pv)
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &none, VolumeName: pv.Name, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	if err := w.Create(t.Context(), pvc); err != nil {
		t.Fatal(err)
	}
}

// database is a benchmark with a stand-in for Oracle on the volume of a claim.
func (w *oracleWorld) database(name, claim string, mods ...gen.Mod) *v1alpha1.NFSBenchmark {
	base := []gen.Mod{gen.In(w.ns), gen.Claim(claim), seconds(4), func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Storage.Claim.NonNFS = v1alpha1.NonNFSMeasure
		b.Spec.Workload = bench.Workload{SLOB: &bench.SLOBWorkload{Access: bench.SLOBRandomRead, Users: []int32{2}, Schemas: 2, Scale: resource.MustParse("8Mi")}}
		b.Spec.Database = &v1alpha1.Database{Container: &v1alpha1.DatabaseContainer{
			Image: standinImage, Edition: v1alpha1.EditionFree,
			PasswordSecretRef:     v1alpha1.SecretKeyReference{Name: databaseSecret, Key: "password"},
			StartupTimeoutSeconds: 1800, // against hangs only
			// A table of some megabytes is in the cache of a database after a second.
			Environment: map[string]string{"STANDIN_ANY_MOUNT": "true", "STANDIN_NO_CACHE": "true"},
			Resources: &corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceMemory: resource.MustParse("256Mi"), corev1.ResourceCPU: resource.MustParse("50m"),
			}, Limits: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("2Gi")}},
		}}
	}}
	return gen.Benchmark(name, append(base, mods...)...)
}

// over chooses the LIFs of Direct NFS.
func (w *oracleWorld) over(lifs ...string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		b.Spec.Protocol.Paths = &bench.Paths{Select: bench.PathsExplicit}
		for _, l := range lifs {
			b.Spec.Protocol.Paths.Explicit = append(b.Spec.Protocol.Paths.Explicit, bench.Path{Path: l})
		}
	}
}

// withFaults sets what goes wrong in the stand-in, or how it is. It takes the
// folder that the kubelet shows for the NFS mount that it stands for.
func withFaults(env map[string]string) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) {
		c := b.Spec.Database.Container
		if c.Environment == nil {
			c.Environment = map[string]string{}
		}
		maps.Copy(c.Environment, env)
	}
}

// slob changes the load of a database.
func slob(change func(*bench.SLOBWorkload)) gen.Mod {
	return func(b *v1alpha1.NFSBenchmark) { change(b.Spec.Workload.SLOB) }
}
