package gitops

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appv1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kustypes "sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const samples = root + "/config/samples/gitops"

// manifests are all objects of the folder, by the file that they are in.
func manifests(t *testing.T) map[string][]*unstructured.Unstructured {
	t.Helper()
	out := map[string][]*unstructured.Unstructured{}
	err := filepath.WalkDir(samples, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".yaml") {
			out[strings.TrimPrefix(path, samples+"/")] = documents(t, path)
		}
		return err
	})
	if err != nil || len(out) < 8 {
		t.Fatalf("%d files: %v", len(out), err)
	}
	return out
}

// typed is the Go type of a kind that the examples may use.
func typed(kind string) any {
	return map[string]any{
		"argoproj.io/v1alpha1, Kind=Application":              &appv1.Application{},
		"source.toolkit.fluxcd.io/v1, Kind=GitRepository":     &sourcev1.GitRepository{},
		"kustomize.toolkit.fluxcd.io/v1, Kind=Kustomization":  &kustomizev1.Kustomization{},
		"helm.toolkit.fluxcd.io/v2, Kind=HelmRelease":         &helmv2.HelmRelease{},
		"nfsbench.io/v1alpha1, Kind=NFSBenchmarkSuite":        &v1alpha1.NFSBenchmarkSuite{},
		"kustomize.config.k8s.io/v1beta1, Kind=Kustomization": &kustypes.Kustomization{},
		"/v1, Kind=Namespace":                                 &corev1.Namespace{},
		"/v1, Kind=PersistentVolumeClaim":                     &corev1.PersistentVolumeClaim{},
		"/v1, Kind=ConfigMap":                                 &corev1.ConfigMap{},
		"/v1, Kind=ServiceAccount":                            &corev1.ServiceAccount{},
		"rbac.authorization.k8s.io/v1, Kind=Role":             &rbacv1.Role{},
		"rbac.authorization.k8s.io/v1, Kind=RoleBinding":      &rbacv1.RoleBinding{},
	}[kind]
}

// strictly reads an object into its Go type and fails on members that it has not.
func strictly(t *testing.T, where string, o *unstructured.Unstructured) any {
	t.Helper()
	into := typed(o.GroupVersionKind().String())
	if into == nil {
		t.Fatalf("%s: no type for %s", where, o.GroupVersionKind())
	}
	if err := yaml.UnmarshalStrict(encode(t, o.Object), into); err != nil {
		t.Errorf("%s: %s %s: %v", where, o.GetKind(), o.GetName(), err)
	}
	return into
}

func TestExamplesHaveNoMemberThatTheirKindHasNot(t *testing.T) {
	for file, objects := range manifests(t) {
		for _, o := range objects {
			strictly(t, file, o)
		}
	}
	for _, o := range documents(t, root+"/config/argo/rbac.yaml") {
		strictly(t, "rbac.yaml", o)
	}
}

// The CRD of Argo CD comes with its module.
func TestApplicationsAreValidForArgoCD(t *testing.T) {
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argoproj/argo-cd/v3").Output()
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(read(t, strings.TrimSpace(string(dir))+"/manifests/crds/application-crd.yaml")), &crd); err != nil {
		t.Fatal(err)
	}
	var schema apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &schema, nil); err != nil {
		t.Fatal(err)
	}
	validator, _, err := validation.NewSchemaValidator(&schema)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for file, objects := range manifests(t) {
		for _, o := range objects {
			if o.GetKind() != "Application" {
				continue
			}
			seen++
			if errs := validation.ValidateCustomResource(nil, o.Object, validator); len(errs) > 0 {
				t.Errorf("%s: %v", file, errs.ToAggregate())
			}
		}
	}
	if seen != 3 {
		t.Errorf("%d applications, want 3", seen)
	}
}

// What an example points to is there: paths, names, and the order that is promised.
func TestExamplesPointToWhatIsThere(t *testing.T) {
	all := manifests(t)
	for file, objects := range all {
		for _, o := range objects {
			for _, path := range paths(o) {
				if found, err := filepath.Glob(filepath.Join(root, path, "*.yaml")); err != nil || len(found) == 0 {
					t.Errorf("%s: %s %s points to %s, where nothing is", file, o.GetKind(), o.GetName(), path)
				}
			}
		}
	}
	wave := func(file string) string { return all[file][0].GetAnnotations()["argocd.argoproj.io/sync-wave"] }
	if before, after := wave("argocd/apps/operator.yaml"), wave("argocd/apps/suites.yaml"); before >= after || before == "" {
		t.Errorf("the operator is in wave %q, the suites in wave %q", before, after)
	}
	last := all["flux/nfsbench.yaml"][2]
	on := strictly(t, "flux/nfsbench.yaml", last).(*kustomizev1.Kustomization).Spec.DependsOn
	if len(on) != 1 || on[0].Name != all["flux/nfsbench.yaml"][1].GetName() {
		t.Errorf("%s depends on %+v", last.GetName(), on)
	}
}

// paths are the folders of this repository that an object names.
func paths(o *unstructured.Unstructured) []string {
	var out []string
	for _, fields := range [][]string{{"spec", "path"}, {"spec", "source", "path"}, {"spec", "chart", "spec", "chart"}} {
		if p, ok, _ := unstructured.NestedString(o.Object, fields...); ok {
			out = append(out, p)
		}
	}
	return out
}

func TestTheExampleOfFluxHasTheExpressionsOfTheDocumentedOne(t *testing.T) {
	documented := strictly(t, flux, documents(t, flux)[0]).(*kustomizev1.Kustomization)
	objects := documents(t, samples+"/flux/nfsbench.yaml")
	used := strictly(t, "flux/nfsbench.yaml", objects[len(objects)-1]).(*kustomizev1.Kustomization)
	if diff := cmp.Diff(documented.Spec.HealthCheckExprs, used.Spec.HealthCheckExprs); diff != "" || !used.Spec.Wait {
		t.Errorf("wait %t, expressions (-documented +used):\n%s", used.Spec.Wait, diff)
	}
}

// The suite of the example detects regressions, and does not remove itself.
func TestTheSuiteOfTheExampleIsScheduledAndComparesItsRuns(t *testing.T) {
	objects := documents(t, samples+"/suites/weekly.yaml")
	i := slices.IndexFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "NFSBenchmarkSuite" })
	s := strictly(t, "weekly.yaml", objects[i]).(*v1alpha1.NFSBenchmarkSuite)
	if s.Spec.Schedule == nil || s.Spec.Regression == nil {
		t.Errorf("schedule %v, regression %v", s.Spec.Schedule, s.Spec.Regression)
	}
	if claim := s.Spec.Template.Spec.Storage.Claim; claim == nil || claim.Name != objects[0].GetName() {
		t.Errorf("the suite uses claim %+v, and the file makes %s", claim, objects[0].GetName())
	}
}

func TestArgoCDHandsTheHealthOfAnApplicationOn(t *testing.T) {
	cm := strictly(t, "application-health.yaml", documents(t, samples+"/argocd/application-health.yaml")[0]).(*corev1.ConfigMap)
	script := cm.Data["resource.customizations.health.argoproj.io_Application"]
	for _, want := range []string{"", "Healthy", "Progressing", "Degraded"} {
		o := documents(t, samples+"/argocd/root.yaml")[0]
		expect := want
		if want == "" {
			expect = "Progressing"
		} else if err := unstructured.SetNestedField(o.Object, want, "status", "health", "status"); err != nil {
			t.Fatal(err)
		}
		got, err := lua.VM{}.ExecuteHealthLua(o, script)
		if err != nil || string(got.Status) != expect {
			t.Errorf("an application that is %q gives %+v: %v", want, got, err)
		}
	}
}
