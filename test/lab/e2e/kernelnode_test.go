package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// kernelLabel is the label, and the taint, of the node of hack/vm/node.sh.
const kernelLabel = "nfsbench.io/kernel-nfs"

// newKernelNode finds the node whose kernel mounts NFS, or skips the test where
// there is none.
func newKernelNode(t *testing.T, c *cluster) string {
	t.Helper()
	name := os.Getenv("NFSBENCH_VMNODE")
	if name == "" {
		t.Skip("needs a node whose kernel mounts NFS: `make test-kernelnode` starts one in a virtual machine and sets NFSBENCH_VMNODE")
	}
	node := &corev1.Node{}
	if err := c.Get(t.Context(), client.ObjectKey{Name: name}, node); err != nil {
		t.Fatalf("node %s of NFSBENCH_VMNODE: %v", name, err)
	}
	return name
}

// onKernelNode is a small run of the operating system's client on that node.
func onKernelNode(b *v1alpha1.NFSBenchmark) {
	gen.Kernel(b)
	seconds(10)(b)
	onKernelLabel(b)
	w := b.Spec.Workload.Raw
	w.Pattern, w.BlockSize, w.FileSize = bench.PatternRandomRead, new(resource.MustParse("64Ki")), resource.MustParse("16Mi")
	w.Jobs, w.Depth, w.Directory = 2, 2, "e2e-"+b.Name
}

// onKernelLabel places the pods on that node, which no other pod may use.
func onKernelLabel(b *v1alpha1.NFSBenchmark) {
	b.Spec.Pods = &v1alpha1.Pods{
		NodeSelector: map[string]string{kernelLabel: "yes"},
		Tolerations:  []corev1.Toleration{{Key: kernelLabel, Operator: corev1.TolerationOpExists}},
	}
}

// TestKernelNodeMountsAnExportAsDeclared brings the operator's volumes to a
// kubelet, and looks at what the kernel then reports about the mount.
func TestKernelNodeMountsAnExportAsDeclared(t *testing.T) {
	c := newCluster(t)
	node, a, ns := newKernelNode(t, c), newArray(t), c.namespace(t)
	size, two, four := resource.MustParse("64Ki"), int32(2), int32(4)
	cases := map[string]struct {
		protocol bench.Protocol
		options  []string // of the kernel
		xfer     int64
	}{
		"v3":  {bench.Protocol{Version: bench.NFSv3, NConnect: &two}, []string{"vers=3", "nolock", "nconnect=2"}, 1 << 20},
		"v41": {bench.Protocol{Version: bench.NFSv41, NConnect: &four, TransferSize: &size}, []string{"vers=4.1", "nconnect=4"}, 64 << 10},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := c.create(t, gen.Benchmark(name, gen.In(ns), gen.Export(a.export, a.lifs...), onKernelNode, gen.TTL(3600), func(b *v1alpha1.NFSBenchmark) {
				p := &b.Spec.Protocol
				p.Version, p.NConnect, p.TransferSize = tc.protocol.Version, tc.protocol.NConnect, tc.protocol.TransferSize
			}))
			c.phase(t, b, v1alpha1.PhaseSucceeded)
			c.saysOn(t, b, node)
			c.patch(t, b, `{"spec":{"ttlSecondsAfterFinished":0}}`)
			done := c.cleanedUp(t, b)
			verified(t, done)
			load, window := c.mounted(t, done)
			for _, want := range append(tc.options, "hard", "proto=tcp", "timeo=600", "sec=sys") {
				if !slices.Contains(load.Options, want) {
					t.Errorf("the kernel mounted with %v, without %s", load.Options, want)
				}
			}
			if load.NFSVersion != string(tc.protocol.Version) || load.ReadSizeBytes != tc.xfer || load.WriteSizeBytes != tc.xfer {
				t.Errorf("the mount is %+v; want %s with %d bytes in a READ", load, tc.protocol.Version, tc.xfer)
			}
			if len(window.Transports) != int(*tc.protocol.NConnect) {
				t.Errorf("%d connections, want %d: %+v", len(window.Transports), *tc.protocol.NConnect, window.Transports)
			}
			if f := finding(done, "TransferSizeReduced"); f != nil {
				t.Errorf("nothing capped the transfer size: %s", f.Message)
			}
			a.hasNo(t, "e2e-"+name)
		})
	}
}

// saysOn demands that the load ran on that node, and that the logs of its pod, which is kept, can be read through
// the API server.
func (c *cluster) saysOn(t *testing.T, b *v1alpha1.NFSBenchmark, node string) {
	t.Helper()
	pods := c.loadPods(t, b)
	if len(pods) != 1 || pods[0].Spec.NodeName != node {
		t.Fatalf("%d load pods; want one, on node %s", len(pods), node)
	}
	poll(t, func() (bool, string) {
		out, err := kubectl(t, "", "-n", b.Namespace, "logs", pods[0].Name, "-c", manifest.ContainerLoader)
		return err == nil && strings.TrimSpace(out) != "", fmt.Sprintf("logs of the loader: %q, %v", out, err)
	})
}

// mounted is what the loader saw of its mount, and what the kernel counted on it
// while the load was measured. All of it must have been direct.
func (c *cluster) mounted(t *testing.T, b *v1alpha1.NFSBenchmark) (runfile.MountFacts, runfile.MountCounters) {
	t.Helper()
	client := c.results(t, b)[0].Clients[0]
	if client.Load.Mount == nil || client.Observed == nil || len(client.Observed.Windows) == 0 {
		t.Fatalf("the result does not tell of a mount: %+v", client)
	}
	windows := client.Observed.Windows
	counted := windows[len(windows)-1].Mount
	if counted == nil || counted.DirectReadBytes == 0 || counted.ServerReadBytes == 0 || counted.NormalReadBytes != 0 {
		t.Fatalf("the kernel counted %+v; want direct reads and no others", counted)
	}
	return *client.Load.Mount, *counted
}

// TestKernelNodeMeasuresAClaimAsItIsMounted runs on a claim that somebody else made:
// once it is declared as it is mounted, and once it is not.
func TestKernelNodeMeasuresAClaimAsItIsMounted(t *testing.T) {
	c := newCluster(t)
	newKernelNode(t, c)
	a, ns := newArray(t), c.namespace(t)
	c.bind(t, ns, "oradata", a.lifs[0], a.export, "nfsvers=4.1", "rsize=65536", "wsize=65536")
	right := c.create(t, gen.Benchmark("right", gen.In(ns), gen.Claim("oradata"), onKernelNode, gen.Version(bench.NFSv41)))
	wrong := c.create(t, gen.Benchmark("wrong", gen.In(ns), gen.Claim("oradata"), onKernelNode, gen.Version(bench.NFSv3)))

	done := c.phase(t, right, v1alpha1.PhaseSucceeded)
	verified(t, done)
	if m, _ := c.mounted(t, done); m.NFSVersion != "NFSv4.1" || m.ReadSizeBytes != 64<<10 {
		t.Errorf("the mount is %+v", m)
	}

	done = c.phase(t, wrong, v1alpha1.PhaseSucceeded)
	cond := meta.FindStatusCondition(done.Status.Conditions, v1alpha1.ConditionProtocolVerified)
	if cond == nil || cond.Status != metav1.ConditionFalse {
		t.Fatalf("NFSv3 was declared, NFSv4.1 mounted, and ProtocolVerified is %+v", cond)
	}
	mustSay(t, cond.Message, "NFSv3 was declared", "mounted with NFSv4.1")
	if done.Status.Validity != bench.ValidityInvalid || finding(done, "ProtocolMismatch") == nil {
		t.Errorf("validity %s, findings %+v", done.Status.Validity, done.Status.Findings)
	}
}

// TestKernelNodeExplainsAMountThatTheServerRefuses shows the words of a real kubelet.
func TestKernelNodeExplainsAMountThatTheServerRefuses(t *testing.T) {
	c := newCluster(t)
	newKernelNode(t, c)
	a, ns := newArray(t), c.namespace(t)
	c.bind(t, ns, "denied", a.lifs[1], a.denied, "nfsvers=3", "nolock")
	b := c.create(t, gen.Benchmark("denied", gen.In(ns), gen.Claim("denied"), onKernelNode))
	failed := c.finished(t, b)
	wantFailure(t, failed, v1alpha1.ReasonMountFailed, "export policy", "access denied by server", a.denied)
	c.cleanedUp(t, b)
}

// bind makes a volume with these mount options and a claim that is bound to it.
func (c *cluster) bind(t *testing.T, ns, name, server, path string, options ...string) {
	t.Helper()
	size, none := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}, ""
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	pv := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, MountOptions: options, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:               &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: ns, Name: name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: server, Path: path}},
		},
	}
	if err := c.Create(t.Context(), pv); err != nil {
		t.Fatal(err)
	}
	c.deleteAtEnd(t, pv)
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &none, VolumeName: pv.Name, Resources: corev1.VolumeResourceRequirements{Requests: size},
		},
	}
	if err := c.Create(t.Context(), pvc); err != nil {
		t.Fatal(err)
	}
}
