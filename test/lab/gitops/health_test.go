package gitops

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/runtime/cel"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/test/kit/golden"
)

const (
	root    = "../../.."
	scripts = root + "/config/gitops/argocd"
	flux    = root + "/config/gitops/flux/health-checks.yaml"
)

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// eachCase runs a test for every object.
func eachCase(t *testing.T, test func(t *testing.T, c testCase, o *unstructured.Unstructured)) {
	t.Helper()
	for kind, cases := range kinds() {
		for _, c := range cases {
			t.Run(kind+"/"+c.name, func(t *testing.T) { test(t, c, toUnstructured(t, c.object)) })
		}
	}
}

// The same script runs with the base library alone when it comes from argocd-cm,
// and with more when it is part of Argo CD.
func TestArgoCDSeesTheHealthOfEveryObject(t *testing.T) {
	eachCase(t, func(t *testing.T, c testCase, o *unstructured.Unstructured) {
		script := read(t, filepath.Join(scripts, o.GetKind(), "health.lua"))
		for _, open := range []bool{false, true} {
			got, err := lua.VM{UseOpenLibs: open}.ExecuteHealthLua(o, script)
			if err != nil {
				t.Fatalf("libraries %t: %v", open, err)
			}
			if got.Status != c.argo || got.Message != c.message {
				t.Errorf("libraries %t: health is %s %q, want %s %q", open, got.Status, got.Message, c.argo, c.message)
			}
		}
	})
}

func TestFluxSeesTheHealthOfEveryObject(t *testing.T) {
	var k kustomizev1.Kustomization
	if err := yaml.UnmarshalStrict([]byte(read(t, flux)), &k); err != nil {
		t.Fatal(err)
	}
	build, err := cel.NewStatusReader(k.Spec.HealthCheckExprs)
	if err != nil {
		t.Fatal(err)
	}
	reader := build(nil)
	eachCase(t, func(t *testing.T, c testCase, o *unstructured.Unstructured) {
		got, err := reader.ReadStatusForObject(t.Context(), nil, o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != c.flux {
			t.Errorf("status is %s (%v), want %s", got.Status, got.Error, c.flux)
		}
	})
}

// What Flux, kubectl and others that know nothing of us go by.
func TestKstatusSeesTheConditionsOfEveryObject(t *testing.T) {
	eachCase(t, func(t *testing.T, c testCase, o *unstructured.Unstructured) {
		got, err := status.Compute(o)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != c.plain {
			t.Errorf("status is %s: %s, want %s", got.Status, got.Message, c.plain)
		}
	})
}

// Every answer of an engine has a row, so that none is believed untested.
func TestTheTableHasEveryAnswer(t *testing.T) {
	for kind, cases := range kinds() {
		seen := map[string]bool{}
		for _, c := range cases {
			seen["argo "+string(c.argo)], seen["flux "+string(c.flux)], seen["plain "+string(c.plain)] = true, true, true
		}
		for _, want := range []string{
			"argo Healthy", "argo Progressing", "argo Degraded", "argo Suspended",
			"flux Current", "flux InProgress", "flux Failed", "plain Current", "plain InProgress", "plain Failed",
		} {
			if !seen[want] {
				t.Errorf("no %s is %s", kind, want)
			}
		}
	}
}

// healthTest is health_test.yaml, as Argo CD reads it for the scripts it carries.
type healthTest struct {
	Tests []healthTestRow `json:"tests"`
}

type healthTestRow struct {
	HealthStatus healthTestStatus `json:"healthStatus"`
	InputPath    string           `json:"inputPath"`
}

type healthTestStatus struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// The folder can be copied into Argo CD's resource_customizations as it is.
func TestTheFolderForArgoCDHoldsTheCases(t *testing.T) {
	for kind, cases := range kinds() {
		var want healthTest
		for _, c := range cases {
			if c.file == "" {
				continue
			}
			input := "testdata/" + c.file + ".yaml"
			golden.Compare(t, filepath.Join(scripts, kind, input), encode(t, toUnstructured(t, c.object).Object))
			want.Tests = append(want.Tests, healthTestRow{healthTestStatus{string(c.argo), c.message}, input})
		}
		golden.Compare(t, filepath.Join(scripts, kind, "health_test.yaml"), encode(t, want))
		files, err := filepath.Glob(filepath.Join(scripts, kind, "testdata", "*.yaml"))
		if err != nil || len(files) != len(want.Tests) {
			t.Errorf("%s/testdata has %d files for %d cases: %v", kind, len(files), len(want.Tests), err)
		}
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	out, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// documents are the manifests of a file.
func documents(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	var out []*unstructured.Unstructured
	for i, part := range bytes.Split([]byte("\n"+read(t, file)), []byte("\n---\n")) {
		u := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(part, &u.Object); err != nil {
			t.Fatal(fmt.Errorf("document %d of %s: %w", i, file, err))
		}
		if len(u.Object) > 0 {
			out = append(out, u)
		}
	}
	return out
}
