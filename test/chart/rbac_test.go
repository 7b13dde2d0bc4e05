package chart

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// grants are rules taken apart: one "group/resource verb" each, or "group/resource/name verb".
type grants map[string]bool

func grantsOf(rules []rbacv1.PolicyRule) grants {
	out := grants{}
	for _, r := range rules {
		for _, verb := range r.Verbs {
			for _, group := range r.APIGroups {
				for _, resource := range r.Resources {
					name := strings.Join(append([]string{""}, r.ResourceNames...), "/")
					out[group+"/"+resource+name+" "+verb] = true
				}
			}
			for _, url := range r.NonResourceURLs {
				out[url+" "+verb] = true
			}
		}
	}
	return out
}

func (g grants) without(prefixes ...string) grants {
	out := grants{}
	for k := range g {
		if !slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(k, p) }) {
			out[k] = true
		}
	}
	return out
}

// markers are the rules that the controllers' source asks for.
func markers(t *testing.T) grants {
	t.Helper()
	role := rbacv1.ClusterRole{}
	if err := yaml.UnmarshalStrict(Read(t, "config/rbac/role.yaml"), &role); err != nil {
		t.Fatal(err)
	}
	if len(role.Rules) == 0 {
		t.Fatal("config/rbac/role.yaml has no rules")
	}
	return grantsOf(role.Rules)
}

// rolesOf gives the grants of each Role and ClusterRole, by kind, namespace and name.
func rolesOf(t *testing.T, objects []*unstructured.Unstructured) map[string]grants {
	t.Helper()
	out := map[string]grants{}
	for _, o := range objects {
		if k := o.GetKind(); k != "Role" && k != "ClusterRole" {
			continue
		}
		role := rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role); err != nil {
			t.Fatal(err)
		}
		out[strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, "/")] = grantsOf(role.Rules)
	}
	return out
}

func TestTheOperatorMayDoWhatItsSourceAsksForAndNoMore(t *testing.T) {
	roles := rolesOf(t, Objects(t, Helm(t)))
	if diff := cmp.Diff(markers(t), roles["ClusterRole//nfsbench"]); diff != "" {
		t.Errorf("the markers in controllers/ (-) and the chart's ClusterRole (+) differ; run hack/generate.sh:\n%s", diff)
	}
}

func TestWithoutSuitesNothingOfArgoIsGranted(t *testing.T) {
	of := []string{"argoproj.io/", "nfsbench.io/nfsbenchmarksuites"}
	want := markers(t).without(of...)
	if len(want) == len(markers(t)) {
		t.Fatal("the markers name nothing of suites")
	}
	if diff := cmp.Diff(want, rolesOf(t, Objects(t, Helm(t, "--set", "suites.enabled=false")))["ClusterRole//nfsbench"]); diff != "" {
		t.Errorf("the markers but for suites (-) and the ClusterRole (+):\n%s", diff)
	}
	args := deployment(t, Helm(t, "--set", "suites.enabled=false")).Spec.Template.Spec.Containers[0].Args
	if !slices.Contains(args, "--suites=false") {
		t.Errorf("the manager would watch what it may not: %v", args)
	}
}

func TestUsersMayUseSuitesAsTheyUseBenchmarks(t *testing.T) {
	for name, role := range rolesOf(t, Objects(t, Helm(t))) {
		if !strings.HasSuffix(name, "-view") && !strings.HasSuffix(name, "-edit") {
			continue
		}
		for grant := range role {
			if other := strings.Replace(grant, "/nfsbenchmarks", "/nfsbenchmarksuites", 1); !strings.Contains(grant, "suites") && !role[other] {
				t.Errorf("%s: %s, but not %s", name, grant, other)
			}
		}
	}
}

// TestNobodyMayCreateBenchmarksUntilAnAdministratorSaysSo: the default roles of Kubernetes
// aggregate what has the label.
func TestNobodyMayCreateBenchmarksUntilAnAdministratorSaysSo(t *testing.T) {
	for value, want := range map[string]int{"false": 0, "true": 2} {
		args, got := []string{"--set", "rbac.aggregateToDefaultRoles=" + value}, 0
		if value == "false" {
			args = nil // the default
		}
		for _, o := range Objects(t, Helm(t, args...)) {
			for label := range o.GetLabels() {
				if strings.HasPrefix(label, "rbac.authorization.k8s.io/aggregate-to-") {
					got++
					break
				}
			}
		}
		if got != want {
			t.Errorf("aggregateToDefaultRoles %s: %d roles are aggregated, want %d", value, got, want)
		}
	}
}

func TestTheChartAndKustomizeGrantTheSame(t *testing.T) {
	chart := rolesOf(t, Objects(t, Helm(t, "--no-hooks")))
	kustomize := rolesOf(t, Objects(t, Kustomize(t, "config/default")))
	pairs := map[string]string{ // of the chart: of config
		"ClusterRole//nfsbench":                "ClusterRole//nfsbench-manager",
		"ClusterRole//nfsbench-metrics-auth":   "ClusterRole//nfsbench-metrics-auth",
		"ClusterRole//nfsbench-metrics-reader": "ClusterRole//nfsbench-metrics-reader",
		"ClusterRole//nfsbench-view":           "ClusterRole//nfsbench-view",
		"ClusterRole//nfsbench-edit":           "ClusterRole//nfsbench-edit",
		"Role/nfsbench-system/nfsbench-leader": "Role/nfsbench-system/nfsbench-leader-election",
	}
	if len(chart) != len(pairs) || len(kustomize) != len(pairs) {
		t.Errorf("the chart has %d roles, config %d, and this test knows %d", len(chart), len(kustomize), len(pairs))
	}
	for a, b := range pairs {
		if diff := cmp.Diff(chart[a], kustomize[b]); diff != "" || len(chart[a]) == 0 {
			t.Errorf("%s of the chart (-) and %s of config (+):\n%s", a, b, diff)
		}
	}
}

func TestScopeNamespacesNeedsNoClusterWideRight(t *testing.T) {
	objects := Objects(t, Helm(t, "--no-hooks", "-f", Values(t, "namespaces"), "--set", "crds.install=true"))
	for _, o := range objects {
		if k := o.GetKind(); strings.HasPrefix(k, "Cluster") {
			t.Errorf("%s %s is rendered", k, o.GetName())
		}
		if o.GetNamespace() == "" && o.GetKind() != "CustomResourceDefinition" {
			t.Errorf("%s %s has no namespace", o.GetKind(), o.GetName())
		}
	}
	want := markers(t).without("/persistentvolumes ").without("storage.k8s.io/storageclasses ")
	got := rolesOf(t, objects)
	for _, namespace := range []string{"team-a", "team-b"} {
		if diff := cmp.Diff(want, got["Role/"+namespace+"/nfsbench"]); diff != "" {
			t.Errorf("in %s: the markers but for what is cluster-scoped (-) and the Role (+):\n%s", namespace, diff)
		}
	}
	leader := grants{"/events create": true, "/events patch": true}
	for _, verb := range []string{"get", "create", "update"} {
		leader["coordination.k8s.io/leases "+verb] = true
	}
	if diff := cmp.Diff(leader, got["Role/nfsbench-system/nfsbench-leader"]); diff != "" {
		t.Errorf("the leader's Role (-want +got):\n%s", diff)
	}
	if len(got["Role/nfsbench-system/nfsbench-policy"]) != 1 || len(got) != 4 {
		t.Errorf("%d Roles, want one in each of two namespaces, the leader's, and one to read the policy", len(got))
	}
}

// The pod of `helm test` is there for as long as the test lasts.
func TestThePodOfHelmTestMayDoLittle(t *testing.T) {
	got := rolesOf(t, Objects(t, Helm(t)))["Role/"+Namespace+"/nfsbench-test"]
	want := grants{"nfsbench.io/nfsbenchmarks create": true, "coordination.k8s.io/leases/manager.nfsbench.io get": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, o := range Objects(t, Helm(t)) {
		hook := o.GetAnnotations()["helm.sh/hook"]
		if (hook == "test") != (o.GetName() == "nfsbench-test") {
			t.Errorf("%s %s: hook %q", o.GetKind(), o.GetName(), hook)
		}
	}
}

func TestEveryRoleIsBoundToTheOperatorOrMeantForUsers(t *testing.T) {
	forUsers := map[string]bool{"nfsbench-view": true, "nfsbench-edit": true, "nfsbench-metrics-reader": true}
	for _, values := range []string{"default", "namespaces"} {
		objects := Objects(t, Helm(t, "--no-hooks", "-f", Values(t, values), "--set", "trident.enabled=true"))
		bound := map[string]bool{}
		for _, o := range objects {
			if !strings.HasSuffix(o.GetKind(), "RoleBinding") {
				continue
			}
			b := rbacv1.RoleBinding{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &b); err != nil {
				t.Fatal(err)
			}
			subject := rbacv1.Subject{Kind: "ServiceAccount", Name: "nfsbench", Namespace: Namespace}
			if diff := cmp.Diff([]rbacv1.Subject{subject}, b.Subjects); diff != "" {
				t.Errorf("%s %s binds somebody else:\n%s", o.GetKind(), o.GetName(), diff)
			}
			bound[b.RoleRef.Kind+"/"+o.GetNamespace()+"/"+b.RoleRef.Name] = true
		}
		for key := range rolesOf(t, objects) {
			name := key[strings.LastIndex(key, "/")+1:]
			if bound[key] == forUsers[name] {
				t.Errorf("%s: %s: bound to the operator: %t", values, key, bound[key])
			}
		}
	}
}
