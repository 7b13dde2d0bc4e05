// Package apiserver lets a real API server judge what the project ships: schema,
// CEL rules, field names, and the warnings of Pod Security. It writes nothing
// but the CRD and namespaces, into a server of its own.
package apiserver

import (
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/crdcheck"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/test/chart"
)

// warnings keeps what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.list
	w.list = nil
	return out
}

// start runs an API server with the CRD and the namespaces that the renderings
// use, all of which warn of pods that are not restricted.
func start(t *testing.T) (client.Client, *rest.Config, *warnings) {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Skip("KUBEBUILDER_ASSETS is not set; try: export KUBEBUILDER_ASSETS=$(hack/cluster/envtest.sh)")
	}
	server := &envtest.Environment{CRDDirectoryPaths: []string{chart.Path(t, "config/crd/bases")}, ErrorIfCRDPathMissing: true}
	config, err := server.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := &warnings{}
	config = rest.CopyConfig(config)
	config.WarningHandlerWithContext = w
	c, err := client.New(config, client.Options{Scheme: schemeOf(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{chart.Namespace, "team-a", "team-b", "netapp"} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{"pod-security.kubernetes.io/warn": "restricted"},
		}}
		if err := c.Create(t.Context(), ns); err != nil {
			t.Fatal(err)
		}
	}
	return c, config, w
}

func dryRun(t *testing.T, c client.Client, o *unstructured.Unstructured) error {
	t.Helper()
	return c.Patch(t.Context(), o, client.Apply, client.DryRunAll, client.ForceOwnership, //nolint:staticcheck // Apply of client.Client has no field validation
		client.FieldOwner("nfsbench-test"), client.FieldValidation(metav1.FieldValidationStrict))
}

func TestTheAPIServerAcceptsWhatWeShip(t *testing.T) {
	c, _, w := start(t)
	all := map[string][]byte{
		"chart, default":    chart.Helm(t),
		"chart, namespaces": chart.Helm(t, "-f", chart.Values(t, "namespaces")),
		// Without the kinds of the Prometheus operator, whose CRDs are not there.
		"chart, everything": chart.Helm(t, "-f", chart.Values(t, "everything"), "--set", "metrics.serviceMonitor.enabled=false",
			"--set", "metrics.podMonitor.enabled=false,metrics.rules.enabled=false,dashboards.namespace="),
		"kustomize": chart.Kustomize(t, "config/default"),
		"samples":   chart.Kustomize(t, "config/samples"),
	}
	for name, manifests := range all {
		t.Run(name, func(t *testing.T) {
			objects := chart.Objects(t, manifests)
			if len(objects) < 4 {
				t.Fatalf("only %d objects", len(objects))
			}
			for _, o := range objects {
				if o.GroupVersionKind().Group == v1alpha1.GroupVersion.Group {
					o.SetNamespace(chart.Namespace)
				}
				written := o.DeepCopy()
				if err := dryRun(t, c, o); err != nil {
					t.Errorf("%s %s: %v", o.GetKind(), o.GetName(), err)
				}
				if o.GetKind() == "NFSBenchmarkSuite" {
					wantSameCells(t, written, o)
				}
				for _, text := range w.take() {
					t.Errorf("%s %s: warning: %s", o.GetKind(), o.GetName(), text)
				}
			}
		})
	}
	t.Run("it would refuse and warn", func(t *testing.T) { refusals(t, c, w) })
}

// wantSameCells compares what the patches of a suite make of it before and after
// the API server has stored it: a null that removes something must not get lost.
func wantSameCells(t *testing.T, written, stored *unstructured.Unstructured) {
	t.Helper()
	var cells [2][]string
	for i, o := range []*unstructured.Unstructured{written, stored} {
		s := &v1alpha1.NFSBenchmarkSuite{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, s); err != nil {
			t.Fatal(err)
		}
		m, err := matrix.Expand(s)
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		check, err := crdcheck.New()
		if err != nil {
			t.Fatal(err)
		}
		if err := matrix.Check(m, s, check); err != nil {
			t.Errorf("%s: %v", s.Name, err)
		}
		for _, c := range m.Cells {
			cells[i] = append(cells[i], string(c.Written))
		}
	}
	if diff := cmp.Diff(cells[0], cells[1]); diff != "" {
		t.Errorf("%s: cells of what was written (-) and of what is stored (+):\n%s", written.GetName(), diff)
	}
}

// refusals shows that the test above can fail.
func refusals(t *testing.T, c client.Client, w *warnings) {
	t.Helper()
	sample := string(chart.Read(t, "config/samples/demo.yaml"))
	bad := chart.Objects(t, []byte(strings.Replace(sample, "size: 2Gi", "size: 1Mi", 1)))[0]
	bad.SetNamespace(chart.Namespace)
	if err := dryRun(t, c, bad); err == nil || !strings.Contains(err.Error(), "take more than 90 % of the storage") {
		t.Errorf("a CEL rule does not hold: %v", err)
	}
	for _, o := range chart.Objects(t, chart.Helm(t)) {
		if o.GetKind() != "Deployment" {
			continue
		}
		unstructured.RemoveNestedField(o.Object, "spec", "template", "spec", "securityContext")
		if err := dryRun(t, c, o); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.take(); !slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "PodSecurity") }) {
		t.Errorf("no warning of a pod that is not restricted, only %q", got)
	}
}
