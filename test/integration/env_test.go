package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const assets = "KUBEBUILDER_ASSETS"

// What all tests share: one API server, set up by TestMain.
var (
	restConfig *rest.Config
	scheme     = runtime.NewScheme()
	serial     atomic.Int32
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run is TestMain with defers.
func run(m *testing.M) int {
	ctrl.SetLogger(logr.Discard())
	log.SetLogger(logr.Discard())
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, "build the scheme:", err)
			return 1
		}
	}
	if os.Getenv(assets) == "" {
		return m.Run() // each test says why it skips
	}
	env := &envtest.Environment{CRDDirectoryPaths: []string{crdFolder(), filepath.Join("..", "trident", "crds")}, ErrorIfCRDPathMissing: true}
	// With its watch cache an API server answers a list only when the cache has
	// caught up, which takes up to a tenth of a second after every write.
	// Fairness between clients costs time, and there is one client.
	// A certificate is verified with each request, which takes a tenth of its time; a token is looked up.
	tokens, err := tokenFile()
	if err != nil {
		fmt.Fprintln(os.Stderr, "make a token:", err)
		return 1
	}
	defer func() { _ = os.Remove(tokens) }()
	env.ControlPlane.GetAPIServer().Configure().Set("watch-cache", "false").Set("enable-priority-and-fairness", "false").
		Set("token-auth-file", tokens)
	cfg, err := startQuickly(env)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start the API server:", err)
		return 1
	}
	defer func() { _ = env.Stop() }()
	restConfig = rest.AnonymousClientConfig(cfg)
	restConfig.QPS, restConfig.Burst, restConfig.BearerToken = -1, -1, token
	debug.SetGCPercent(300) // as startQuickly
	return m.Run()
}

// token is that of an administrator of the API server of the tests.
const token = "administrator"

// tokenFile writes the file in which the API server finds token.
func tokenFile() (name string, err error) {
	f, err := os.CreateTemp("", "nfsbench-tokens-")
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintln(f, token+",administrator,administrator,system:masters")
	return f.Name(), errors.Join(err, f.Close())
}

// startQuickly starts the API server and etcd with less garbage collection, which is
// a fifth of what they do: memory is there, and processor time is what the tests wait
// for.
func startQuickly(env *envtest.Environment) (*rest.Config, error) {
	before, was := os.LookupEnv("GOGC")
	if err := os.Setenv("GOGC", "800"); err != nil {
		return nil, err
	}
	cfg, err := env.Start()
	if was {
		return cfg, errors.Join(err, os.Setenv("GOGC", before))
	}
	return cfg, errors.Join(err, os.Unsetenv("GOGC"))
}

func crdFolder() string { return filepath.Join("..", "..", "config", "crd", "bases") }

// apiClient is a client without a cache. It skips the test where there is no
// API server.
func apiClient(t *testing.T) client.WithWatch {
	t.Helper()
	// Read here too: what is read before m.Run does not count for the test cache.
	if os.Getenv(assets) == "" || restConfig == nil {
		t.Skipf("%s is not set: run make test, or export %s=$(hack/cluster/envtest.sh)", assets, assets)
	}
	c, err := client.NewWithWatch(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newNamespace makes a namespace for one test.
func newNamespace(t *testing.T, c client.Client) string {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "it-"}}
	if err := c.Create(t.Context(), ns); err != nil {
		t.Fatal(err)
	}
	return ns.Name
}

// newAddress gives an address in a /24 that no other test uses: benchmarks of
// one server wait for each other, across namespaces.
func newAddress() string {
	n := serial.Add(1)
	return fmt.Sprintf("10.%d.%d.61", 100+n/250, n%250)
}
