package gitops

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appv1 "github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/lua"
	"github.com/argoproj/argo-cd/v3/util/settings"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// actions are the names of a kind's actions, by their folders.
func actions(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scripts, kind, "actions", "*", "action.lua"))
	if err != nil || len(files) == 0 {
		t.Fatal("no actions", err)
	}
	var out []string
	for _, f := range files {
		out = append(out, filepath.Base(filepath.Dir(f)))
	}
	return out
}

// overrides are what Argo CD reads in its ConfigMap once the component has patched
// one that held something of its user's already.
func overrides(t *testing.T) map[string]appv1.ResourceOverride {
	t.Helper()
	disk := filesys.MakeFsInMemory()
	write := func(name, text string) {
		if err := disk.WriteFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kustomization.yaml", "argocd-cm.yaml"} {
		write("/argocd/"+name, read(t, filepath.Join(scripts, name)))
	}
	write("/mine/cm.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n  labels: {app.kubernetes.io/part-of: argocd}\ndata:\n  url: https://cd.example\n")
	write("/mine/kustomization.yaml", "resources: [cm.yaml]\ncomponents: [../argocd]\n")
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, "/mine")
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	var cm corev1.ConfigMap
	if err := yaml.UnmarshalStrict(text, &cm); err != nil {
		t.Fatal(err)
	}
	if cm.Data["url"] != "https://cd.example" {
		t.Errorf("the component removed what was there: %v", slices.Sorted(maps.Keys(cm.Data)))
	}
	cm.Namespace = "argocd"
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "argocd-secret", Namespace: "argocd", Labels: cm.Labels}}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	got, err := settings.NewSettingsManager(ctx, fake.NewClientset(&cm, secret), "argocd").GetResourceOverrides()
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// From the ConfigMap to the answer by Argo CD's own way: its settings, its choice
// of a script, its interpreter.
func TestArgoCDTakesTheScriptsOutOfItsConfigMap(t *testing.T) {
	found := overrides(t)
	eachCase(t, func(t *testing.T, c testCase, o *unstructured.Unstructured) {
		got, err := lua.ResourceHealthOverrides(found).GetResourceHealth(o)
		if err != nil || got == nil {
			t.Fatal("no health:", err)
		}
		if got.Status != c.argo || got.Message != c.message {
			t.Errorf("health is %s %q, want %s %q", got.Status, got.Message, c.argo, c.message)
		}
	})
}

// enabled are the actions that Argo CD offers for an object.
func enabled(t *testing.T, vm lua.VM, o *unstructured.Unstructured) []string {
	t.Helper()
	discover, err := vm.GetResourceActionDiscovery(o)
	if err != nil {
		t.Fatal(err)
	}
	all, err := vm.ExecuteResourceActionDiscovery(o, discover)
	if err != nil {
		t.Fatal(err)
	}
	if names := actions(t, o.GetKind()); len(all) != len(names) {
		t.Errorf("%d actions are offered, of the %d that there are", len(all), len(names))
	}
	var out []string
	for _, a := range all {
		if !a.Disabled {
			out = append(out, a.Name)
		}
	}
	slices.Sort(out)
	return out
}

func TestArgoCDOffersTheActionsThatMakeSense(t *testing.T) {
	vm := lua.VM{ResourceOverrides: overrides(t)}
	want := map[string]string{
		"no status": "stop", "held back": "resume", "under way, Running": "stop", "under way, and told to stop": "resume", "passed": "", "stopped": "",
		"once, Running": "stop suspend", "once, passed": "rerun", "once, failed": "rerun resubmit", "once, stopped": "rerun resubmit",
		"scheduled, no run yet": "suspend", "scheduled, another run": "stop suspend", "scheduled, passed": "suspend",
	}
	eachCase(t, func(t *testing.T, c testCase, o *unstructured.Unstructured) {
		words, ok := want[c.name]
		if o.GetKind() == "NFSBenchmarkSuite" && c.name == "no status" {
			words = "suspend"
		}
		if got := strings.Join(enabled(t, vm, o), " "); ok && got != words {
			t.Errorf("offered are %q, want %q", got, words)
		}
	})
	regressed := suite(v1alpha1.SuiteScheduled, "", v1alpha1.ReasonScheduled, "", weekly, func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Spec.Schedule.Suspend = true
		s.Status.Regression = &v1alpha1.RegressionStatus{}
		s.Status.History = []v1alpha1.SuiteHistoryEntry{{Run: "weekly-2"}, {Run: "weekly-1"}}
	})
	if got := enabled(t, vm, toUnstructured(t, regressed)); !slices.Equal(got, []string{"accept-run", "resume"}) {
		t.Errorf("offered after a regression, while it is suspended, are %q", got)
	}
}

// act runs an action of the ConfigMap and gives the object that Argo CD would write.
func act(t *testing.T, vm lua.VM, name string, o *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	action, err := vm.GetResourceAction(o, name)
	if err != nil {
		t.Fatal(err)
	}
	out, err := vm.ExecuteResourceAction(o, action.ActionLua, nil)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if len(out) != 1 || out[0].K8SOperation != lua.PatchOperation {
		t.Fatalf("%s makes %+v, want one patch", name, out)
	}
	return out[0].UnstructuredObj
}

func TestActionsChangeWhatTheySayAndNoMore(t *testing.T) {
	vm := lua.VM{ResourceOverrides: overrides(t)}
	held := benchmark(v1alpha1.PhasePending, "", v1alpha1.ReasonSuspended, "", suspended)
	one := suite(v1alpha1.SuiteCancelled, "", runfile.FailureCancelled, "", func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Spec.Shutdown = v1alpha1.ShutdownStop
	})
	clock := suite(v1alpha1.SuiteScheduled, "", v1alpha1.ReasonScheduled, "", weekly, func(s *v1alpha1.NFSBenchmarkSuite) {
		s.Spec.Suspend, s.Spec.Schedule.Suspend = true, true
		s.Status.Regression = &v1alpha1.RegressionStatus{}
		s.Status.History = []v1alpha1.SuiteHistoryEntry{{Run: "weekly-2"}, {Run: "weekly-1"}}
	})
	for name, c := range map[string]struct {
		object *unstructured.Unstructured
		want   string
	}{
		"stop":              {toUnstructured(t, benchmark(v1alpha1.PhaseRunning, "", v1alpha1.ReasonRunning, "")), "spec.suspend=true"},
		"resume":            {toUnstructured(t, held), "spec.suspend=false"},
		"suite suspend":     {toUnstructured(t, one), "spec.suspend=true"},
		"suite resume":      {toUnstructured(t, clock), "spec.schedule.suspend=false spec.suspend=false"},
		"suite stop":        {toUnstructured(t, suite(v1alpha1.SuiteRunning, "", v1alpha1.ReasonRunning, "")), "spec.shutdown=Stop"},
		"suite rerun":       {toUnstructured(t, one), "metadata.annotations.nfsbench.io/rerun=TIME spec.shutdown=<nil>"},
		"suite resubmit":    {toUnstructured(t, one), "metadata.annotations.nfsbench.io/resubmit=TIME spec.shutdown=<nil>"},
		"suite accept-run":  {toUnstructured(t, clock), "metadata.annotations.nfsbench.io/accept-run=weekly-2"},
		"suite resume once": {toUnstructured(t, one), "spec.suspend=false"},
	} {
		words := strings.Fields(strings.TrimPrefix(name, "suite "))
		before := flatten("", c.object.Object)
		after := flatten("", act(t, vm, words[0], c.object.DeepCopy()).Object)
		if got := strings.Join(changes(before, after), " "); got != c.want {
			t.Errorf("%s: changed are %q, want %q\n%s", name, got, c.want, cmp.Diff(before, after))
		}
	}
}

// changes are the members that differ, sorted, with what they became.
func changes(before, after map[string]string) []string {
	all := map[string]bool{}
	for k := range before {
		all[k] = true
	}
	for k := range after {
		all[k] = true
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(all)) {
		is, ok := after[k]
		switch {
		case is == before[k] && ok:
		case !ok:
			out = append(out, k+"=<nil>")
		case len(is) == len("2026-11-22T10:00:00Z") && strings.HasSuffix(is, "Z"):
			out = append(out, k+"=TIME")
		default:
			out = append(out, k+"="+is)
		}
	}
	return out
}

// flatten names each scalar of an object by its path.
func flatten(path string, v any) map[string]string {
	out := map[string]string{}
	switch v := v.(type) {
	case map[string]any:
		for k, member := range v {
			maps.Copy(out, flatten(strings.TrimPrefix(path+"."+k, "."), member))
		}
	case []any:
		for i, member := range v {
			maps.Copy(out, flatten(fmt.Sprint(path, "[", i, "]"), member))
		}
	default:
		out[path] = fmt.Sprint(v)
	}
	return out
}
