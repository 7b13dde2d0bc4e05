package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"
)

// TestStoredObjectsMoveToTheNextVersionOfTheAPI walks the steps of docs/releases.md to v1beta1 on
// a copy of the CRDs in a group of its own: serve both, store the new one, rewrite, serve it alone.
func TestStoredObjectsMoveToTheNextVersionOfTheAPI(t *testing.T) {
	apiClient(t) // skips without an API server
	extensions := runtime.NewScheme()
	if err := apiextensionsv1.AddToScheme(extensions); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(restConfig, client.Options{Scheme: extensions})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../api/v1alpha1/testdata/stored/*/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stored objects: %v", err)
	}
	for i, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			// A group of its own for each: the other tests need the real one as it is, and a CRD takes
			// a while to go.
			object := storedObject(t, file)
			object.SetAPIVersion(fmt.Sprintf("next%d.nfsbench.io/v1alpha1", i))
			crd := nextCRD(t, object.GroupVersionKind())
			install(t, crd)
			t.Cleanup(func() { _ = c.Delete(context.WithoutCancel(t.Context()), crd) })
			old := object.DeepCopy()
			create(t, c, old)

			beta := crd.Spec.Versions[0].DeepCopy()
			beta.Name = "v1beta1"
			crd.Spec.Versions[0].Storage = false
			crd.Spec.Versions = append(crd.Spec.Versions, *beta)
			install(t, crd)
			requireSame(t, c, object, "v1beta1", "served beside v1alpha1")

			rewritten := inVersion(object, "v1beta1")
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(object), rewritten); err != nil {
				t.Fatal(err)
			}
			if err := c.Update(t.Context(), rewritten); err != nil {
				t.Fatalf("rewrite it in v1beta1: %v", err)
			}
			requireSame(t, c, object, "v1alpha1", "stored as v1beta1")

			stored := &apiextensionsv1.CustomResourceDefinition{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(crd), stored); err != nil {
				t.Fatal(err)
			}
			stored.Status.StoredVersions = []string{"v1beta1"}
			if err := c.Status().Update(t.Context(), stored); err != nil {
				t.Fatal(err)
			}
			crd.Spec.Versions = crd.Spec.Versions[1:]
			install(t, crd)
			requireSame(t, c, object, "v1beta1", "served alone")
		})
	}
}

func storedObject(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(file) //nolint:gosec // of the repository
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := o.UnmarshalJSON(text); err != nil { // with whole numbers as int64, as the client reads them
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"kind": o.GetKind(), "metadata": map[string]any{"name": o.GetName(), "namespace": "default"},
		"spec": o.Object["spec"], "status": o.Object["status"],
	}}
}

// inVersion is a copy of the object in another version of the API.
func inVersion(o *unstructured.Unstructured, version string) *unstructured.Unstructured {
	o = o.DeepCopy()
	o.SetAPIVersion(o.GroupVersionKind().Group + "/" + version)
	return o
}

// nextCRD is a copy of the CRD of a kind in another group.
func nextCRD(t *testing.T, kind schema.GroupVersionKind) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	plural := strings.ToLower(kind.Kind) + "s"
	text, err := os.ReadFile(filepath.Join(crdFolder(), "nfsbench.io_"+plural+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(text, crd); err != nil {
		t.Fatal(err)
	}
	crd.Name, crd.Spec.Group = plural+"."+kind.Group, kind.Group
	return crd
}

// install creates or updates a CRD and waits until the API server serves it.
func install(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	_, err := envtest.InstallCRDs(restConfig, envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd.DeepCopy()}})
	if err != nil {
		t.Fatal(err)
	}
}

// create creates an object with its status.
func create(t *testing.T, c client.Client, o *unstructured.Unstructured) {
	t.Helper()
	status := o.Object["status"]
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	o.Object["status"] = status
	if err := c.Status().Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// requireSame fails unless a version of the API shows the spec and the status that were created.
func requireSame(t *testing.T, c client.Client, want *unstructured.Unstructured, version, when string) {
	t.Helper()
	got := inVersion(want, version)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(want), got); err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for _, part := range []string{"spec", "status"} {
		if diff := cmp.Diff(want.Object[part], got.Object[part]); diff != "" {
			t.Errorf("%s, %s differs in %s (-want +got):\n%s", when, part, version, diff)
		}
	}
}
