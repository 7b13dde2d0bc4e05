package e2e

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// systemNamespace is where hack/test.sh installs the operator.
const systemNamespace = "nfsbench-system"

// cluster is how tests reach the cluster. All members may be used at once.
type cluster struct {
	client.Client
	config   *rest.Config
	typed    *kubernetes.Clientset
	metadata metadata.Interface
	// kinds are those that may hold what is left of a benchmark. They are asked for
	// once: kinds that a test installs later hold nothing of ours in its namespace.
	kinds func() ([]schema.GroupVersionResource, error)
}

var connect = sync.OnceValues(func() (*cluster, error) {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 400, 800
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	c := &cluster{config: config}
	if c.Client, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return nil, err
	}
	if c.typed, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	c.kinds = sync.OnceValues(func() ([]schema.GroupVersionResource, error) { return namespacedKinds(c.typed.Discovery()) })
	c.metadata, err = metadata.NewForConfig(config)
	return c, err
})

// newCluster reaches the cluster, or skips the test where there is none.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("NFSBENCH_E2E") != "1" {
		t.Skip("needs a cluster with the operator in it: `make test` makes one and sets NFSBENCH_E2E=1")
	}
	c, err := connect()
	if err != nil {
		t.Fatalf("no cluster, although NFSBENCH_E2E is 1: %v", err)
	}
	return c
}

// array is what a test has of an NFS server of hack/lab/ganesha.sh.
type array struct {
	lifs, lifs6                 []string // lifs6 have IPv6, on the same links
	export, denied              string
	unreachable, silent, folder string
}

// newArray finds the array that hack/test.sh has started, or skips the test where
// there is none.
func newArray(t *testing.T) array {
	t.Helper()
	a := array{
		lifs: strings.Fields(os.Getenv("LAB_LIFS")), lifs6: strings.Fields(os.Getenv("LAB_LIFS6")), export: os.Getenv("LAB_EXPORT"), denied: os.Getenv("LAB_DENIED"),
		unreachable: os.Getenv("LAB_UNREACHABLE"), silent: os.Getenv("LAB_SILENT"), folder: os.Getenv("LAB_DATA"),
	}
	if len(a.lifs) < 2 || a.folder == "" {
		t.Skip("needs NFS-Ganesha as an array with two LIFs: run `make test` as root, which starts it and sets LAB_LIFS and others")
	}
	return a
}

// directory is a folder of its own on the array for one test, and its path on
// this machine. As a storage administrator would, the test makes it before the
// run, writable for the user of the run.
func (a array) directory(t *testing.T, mode os.FileMode) (name, path string) {
	t.Helper()
	path, err := os.MkdirTemp(a.folder, "e2e-") //nolint:usetesting // it must be on the array
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path), path
}

// hasNo demands that a run has removed its directory from the array.
func (a array) hasNo(t *testing.T, directory string) {
	t.Helper()
	path := filepath.Join(a.folder, directory)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("directory %s is left on the export, with %v (%v)", directory, files(t, path), err)
	}
}

// kubectl runs kubectl as a user would and returns all that it prints.
func kubectl(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	bin := os.Getenv("KUBECTL")
	if bin == "" {
		bin = "kubectl"
	}
	cmd := exec.Command(bin, args...) // not bound to t.Context: dumps run after its end
	cmd.Stdin = strings.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// isHere reports whether a node is this machine, so that tests see its processes
// and files.
func isHere(n corev1.Node) bool {
	for _, a := range n.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && ownAddress(a.Address) {
			return true
		}
	}
	return false
}
