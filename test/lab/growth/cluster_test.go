package growth

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/ports"
)

const (
	root         = "../../.."
	namespace    = "bench"
	leases       = "nfsbench-system"
	managerUser  = "nfsbench-manager" // the name in testdata/audit-policy.yaml
	nodes        = 5
	envAssets    = "KUBEBUILDER_ASSETS"
	envBinaries  = "NFSBENCH_GROWTH_BIN"     // kube-controller-manager and kube-scheduler
	envReport    = "NFSBENCH_GROWTH_REPORT"  // where the figures are written to, if anywhere
	envManager   = "NFSBENCH_GROWTH_MANAGER" // a manager to measure instead of this source's
	startPatient = 90 * time.Second
)

// cluster is a Kubernetes without kubelets: API server, etcd, Job controller,
// garbage collector, scheduler, and kwok for the nodes.
type cluster struct {
	c     client.WithWatch // of an administrator
	env   *envtest.Environment
	dir   string // logs
	audit string // the API server's record of the manager's requests
}

// skipWithout skips the test where the programs of a cluster are not there.
func skipWithout(t *testing.T) {
	t.Helper()
	for _, name := range []string{envAssets, envBinaries} {
		if os.Getenv(name) == "" {
			t.Skipf("%s is not set: run make measure ARGS=measure-growth", name)
		}
	}
}

// newCluster starts one.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	k := &cluster{dir: t.TempDir()}
	k.audit = filepath.Join(k.dir, "audit.log")
	k.startAPI(t)
	k.prepare(t)
	admin := k.kubeconfig(t, "cluster-programs", "system:masters")
	binaries := os.Getenv(envBinaries)
	start(t, k.dir, "controller-manager", filepath.Join(binaries, "kube-controller-manager"), "--kubeconfig", admin,
		"--controllers=job-controller,garbage-collector-controller", "--leader-elect=false",
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports.Reserve(t).Port()), "--kube-api-qps=300", "--kube-api-burst=600")
	start(t, k.dir, "scheduler", filepath.Join(binaries, "kube-scheduler"), "--kubeconfig", admin,
		"--leader-elect=false", "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", ports.Reserve(t).Port()))
	start(t, k.dir, "kwok", filepath.Join(root, "hack", "tool.sh"), "kwok", "--kubeconfig", admin, "--config", filepath.Join("testdata", "kwok.yaml"), "--manage-all-nodes")
	k.waitForNodes(t)
	return k
}

func (k *cluster) startAPI(t *testing.T) {
	t.Helper()
	policy, err := filepath.Abs(filepath.Join("testdata", "audit-policy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	k.env = &envtest.Environment{
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases"), filepath.Join("testdata", "argo")},
		ErrorIfCRDPathMissing: true,
	}
	k.env.ControlPlane.GetAPIServer().Configure().
		Append("disable-admission-plugins", "TaintNodesByCondition"). // nobody would take the taint off
		Append("audit-policy-file", policy).Append("audit-log-path", k.audit).Append("audit-log-maxsize", "2000")
	cfg, err := k.env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() { _ = k.env.Stop() })
	cfg.QPS, cfg.Burst = -1, -1
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	if k.c, err = client.NewWithWatch(cfg, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
}

// kubeconfig makes a user and writes the file by which it is one.
func (k *cluster) kubeconfig(t *testing.T, name string, groups ...string) string {
	t.Helper()
	user, err := k.env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{})
	if err != nil {
		t.Fatalf("add user %s: %v", name, err)
	}
	raw, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(k.dir, name+".kubeconfig")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// prepare makes namespaces, nodes, and the manager's rights: those that it is
// installed with, and no more.
func (k *cluster) prepare(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "config", "rbac", "role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(raw, role); err != nil {
		t.Fatal(err)
	}
	objects := []client.Object{role, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: managerUser}},
	}}
	for _, name := range []string{namespace, leases} {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for i := range nodes {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("fake-%d", i)}})
	}
	for _, o := range objects {
		if err := k.c.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

// waitForNodes waits until pods can be scheduled.
func (k *cluster) waitForNodes(t *testing.T) {
	t.Helper()
	eventually(t, startPatient, "all nodes are ready", func() bool {
		list := &corev1.NodeList{}
		if err := k.c.List(t.Context(), list); err != nil {
			return false
		}
		ready := 0
		for _, n := range list.Items {
			for _, c := range n.Status.Conditions {
				if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue && len(n.Spec.Taints) == 0 {
					ready++
				}
			}
		}
		return ready == nodes
	})
}

// buildManager builds what is to be measured, as it is built for its image.
func buildManager(t *testing.T) string {
	t.Helper()
	if given := os.Getenv(envManager); given != "" {
		return given
	}
	binary := filepath.Join(t.TempDir(), "manager")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "./cmd/manager")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the manager: %v\n%s", err, out)
	}
	return binary
}

// startManager runs the manager as a process of its own.
func (k *cluster) startManager(t *testing.T, binary string) *manager {
	t.Helper()
	address := ports.Reserve(t).String()
	m := &manager{url: "http://" + address + "/metrics"}
	m.process = start(t, k.dir, "manager", binary, "--kubeconfig", k.kubeconfig(t, managerUser),
		"--image=nfsbench:growth", "--lease-namespace="+leases, "--zap-encoder=json",
		"--metrics-bind-address="+address, "--metrics-insecure", "--health-probe-bind-address=0")
	eventually(t, startPatient, "the manager shows its metrics", func() bool {
		if m.ended() {
			t.Fatalf("the manager has ended:\n%s", m.tail(10))
		}
		_, err := m.scrape()
		return err == nil
	})
	return m
}

// eventually polls until ok, or ends the test.
func eventually(t *testing.T, patience time.Duration, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Fatalf("after %s this is still not so: %s", patience, what)
}
