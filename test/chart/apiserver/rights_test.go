package apiserver

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/benchmark"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/chart"
	"github.com/nfsbench/nfsbench/test/gen"
)

// A patience that only a hanging operator exceeds.
const patience = 10 * time.Minute

const directBenchmark = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: direct, namespace: team-a}
spec:
  storage:
    export: {servers: [192.0.2.1], path: /vol}
  protocol: {client: DirectNFS}
  workload:
    raw: {pattern: Read}
`

const embeddedBenchmark = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: embedded, namespace: team-a}
spec:
  storage:
    embedded: {size: 8Gi, paths: 2}
  protocol: {client: DirectNFS}
  workload:
    raw: {pattern: Read}
`

const kernelBenchmark = `
apiVersion: nfsbench.io/v1alpha1
kind: NFSBenchmark
metadata: {name: kernel, namespace: team-a}
spec:
  storage:
    export: {servers: [192.0.2.2], path: /vol}
  protocol: {client: Kernel}
  workload:
    raw: {pattern: Read}
`

// TestTheChartsRightsSuffice runs the operator as the ServiceAccount of the
// chart, with the roles of the chart and nothing else.
func TestTheChartsRightsSuffice(t *testing.T) {
	admin, restConfig, _ := start(t)
	cases := map[string]struct {
		values     string
		namespaces []string
		leases     string
		kernel     func(*testing.T, *v1alpha1.NFSBenchmark) bool // what a kernel mount of an export comes to
	}{
		"cluster": {
			values: "default", leases: chart.Namespace,
			kernel: func(t *testing.T, b *v1alpha1.NFSBenchmark) bool {
				t.Helper()
				pv := &corev1.PersistentVolume{}
				return admin.Get(t.Context(), client.ObjectKey{Name: manifest.NamesOf(b).Volume}, pv) == nil
			},
		},
		"namespaces": {
			values: "namespaces", namespaces: []string{"team-a", "team-b"},
			kernel: func(_ *testing.T, b *v1alpha1.NFSBenchmark) bool {
				return b.Status.Phase == v1alpha1.PhaseFailed && strings.Contains(b.Status.Message, "install it with cluster scope")
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			grant(t, admin, chart.Helm(t, "-f", chart.Values(t, c.values)))
			runOperator(t, restConfig, c.namespaces, c.leases)

			direct := create(t, admin, directBenchmark)
			await(t, admin, direct, "start its load", func() bool { return direct.Status.StartTime != nil })
			kernel := create(t, admin, kernelBenchmark)
			await(t, admin, kernel, "meet its volume", func() bool { return c.kernel(t, kernel) })

			embedded := create(t, admin, embeddedBenchmark)
			await(t, admin, embedded, "start its server", func() bool {
				key := client.ObjectKey{Namespace: embedded.Namespace, Name: manifest.NamesOf(embedded).Server}
				return admin.Get(t.Context(), key, &corev1.Pod{}) == nil
			})

			for _, b := range []*v1alpha1.NFSBenchmark{direct, kernel, embedded} {
				remove(t, admin, b)
			}
		})
	}
}

// impersonated is the ServiceAccount of the chart.
func impersonated(restConfig *rest.Config) *rest.Config {
	as := rest.CopyConfig(restConfig)
	as.Impersonate = rest.ImpersonationConfig{UserName: "system:serviceaccount:" + chart.Namespace + ":nfsbench"}
	return as
}

// grant binds the rendered roles, in place of those of an earlier case.
func grant(t *testing.T, admin client.Client, manifests []byte) {
	t.Helper()
	for _, o := range chart.Objects(t, manifests) {
		if !strings.HasPrefix(o.GetAPIVersion(), rbacv1.GroupName) {
			continue
		}
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := admin.Delete(context.WithoutCancel(t.Context()), o); err != nil {
				t.Error(err)
			}
		})
	}
}

// runOperator is cmd/manager for the length of a test.
func runOperator(t *testing.T, restConfig *rest.Config, namespaces []string, leases string) {
	t.Helper()
	again := true
	mgr, err := ctrl.NewManager(impersonated(restConfig), ctrl.Options{
		Scheme:     schemeOf(t),
		Cache:      benchmark.CacheOptions(namespaces, leases),
		Client:     benchmark.ClientOptions(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &again},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := benchmark.NewReconciler(benchmark.Options{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Recorder: mgr.GetEventRecorder("nfsbench"),
		Clock: clock.RealClock{}, Images: manifest.Images{NFSBench: "nfsbench/nfsbench:test"}, LeaseNamespace: leases,
		Policy: gen.AnyExport,
	})
	if err := r.SetupWithManager(mgr, 1); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func schemeOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// create goes past the Go types, which would send zeros where users leave out.
func create(t *testing.T, admin client.Client, text string) *v1alpha1.NFSBenchmark {
	t.Helper()
	o := chart.Objects(t, []byte(text))[0]
	if err := admin.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	return &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}}
}

// await reads b until what is wanted of it is true.
func await(t *testing.T, admin client.Client, b *v1alpha1.NFSBenchmark, what string, done func() bool) {
	t.Helper()
	until(t, func() (bool, string) {
		if err := admin.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			t.Fatal(err)
		}
		status, _ := yaml.Marshal(b.Status)
		return done(), b.Name + " did not " + what + ":\n" + string(status)
	})
}

// remove deletes b and waits until the operator has let it go. Nobody here
// releases volumes and claims from their protection, so the test does.
func remove(t *testing.T, admin client.Client, b *v1alpha1.NFSBenchmark) {
	t.Helper()
	if err := admin.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	n := manifest.NamesOf(b)
	held := []client.Object{
		&corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: n.Claim}},
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: n.Volume}},
	}
	until(t, func() (bool, string) {
		for _, o := range held {
			err := admin.Get(t.Context(), client.ObjectKeyFromObject(o), o)
			if err == nil && !o.GetDeletionTimestamp().IsZero() {
				o.SetFinalizers(nil)
				err = admin.Update(t.Context(), o)
			}
			if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) {
				t.Fatal(err)
			}
		}
		err := admin.Get(t.Context(), client.ObjectKeyFromObject(b), b)
		return apierrors.IsNotFound(err), b.Name + " was not let go"
	})
	if err := admin.Get(t.Context(), client.ObjectKey{Name: n.Volume}, &corev1.PersistentVolume{}); !apierrors.IsNotFound(err) {
		t.Errorf("volume %s is left: %v", n.Volume, err)
	}
}

// until polls: the operator under test keeps its own time.
func until(t *testing.T, done func() (ok bool, why string)) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		ok, why := done()
		if ok {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("after %s: %s", patience, why)
		}
	}
}
