package chart

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// ways are all ways to install the operator.
func ways(t *testing.T) map[string][]byte {
	t.Helper()
	return map[string][]byte{
		"default":    Helm(t),
		"namespaces": Helm(t, "-f", Values(t, "namespaces")),
		"everything": Helm(t, "-f", Values(t, "everything")),
		"kustomize":  Kustomize(t, "config/default"),
	}
}

func deployment(t *testing.T, manifests []byte) appsv1.Deployment {
	t.Helper()
	for _, o := range Objects(t, manifests) {
		if o.GetKind() != "Deployment" {
			continue
		}
		d := appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d); err != nil {
			t.Fatal(err)
		}
		return d
	}
	t.Fatal("no Deployment is rendered")
	return appsv1.Deployment{}
}

func TestTheOperatorMeetsTheRestrictedPodSecurityStandard(t *testing.T) {
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for name, manifests := range ways(t) {
		pod := deployment(t, manifests).Spec.Template
		for _, r := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s: %s", name, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
		c := pod.Spec.Containers[0]
		if ro := c.SecurityContext.ReadOnlyRootFilesystem; ro == nil || !*ro {
			t.Errorf("%s: the root file system is writable", name)
		}
	}
}

// TestThePlatformMayAssignTheUserOfTheOperator also holds the contexts of all ways to each
// other: the table in docs/security.md is made from that of kustomize.
func TestThePlatformMayAssignTheUserOfTheOperator(t *testing.T) {
	all := ways(t)
	want := deployment(t, all["kustomize"]).Spec.Template.Spec
	for name, manifests := range all {
		got := deployment(t, manifests).Spec.Template.Spec
		assigned := slices.Contains(got.Containers[0].Args, "--assigned-user")
		if assigned != (name == "everything") {
			t.Errorf("%s: the platform assigns the users of pods: %t", name, assigned)
		}
		pod := want.SecurityContext.DeepCopy()
		if assigned {
			pod.RunAsUser, pod.RunAsGroup = nil, nil
		}
		if diff := cmp.Diff(pod, got.SecurityContext); diff != "" {
			t.Errorf("%s: context of the pod (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(want.Containers[0].SecurityContext, got.Containers[0].SecurityContext); diff != "" {
			t.Errorf("%s: context of the container (-want +got):\n%s", name, diff)
		}
	}
}

func TestEveryArgumentIsAFlagOfTheManager(t *testing.T) {
	flags := []string{"zap-encoder", "zap-log-level", "zap-time-encoding", "zap-stacktrace-level", "zap-devel"}
	source := string(Read(t, "cmd/manager/main.go"))
	for _, m := range regexp.MustCompile(`flag\.\w+Var\(&o\.\w+, "([a-z-]+)"`).FindAllStringSubmatch(source, -1) {
		flags = append(flags, m[1])
	}
	if !slices.Contains(flags, "lease-namespace") {
		t.Fatal("no flags found in cmd/manager/main.go: has its form changed?")
	}
	for name, manifests := range ways(t) {
		for _, arg := range deployment(t, manifests).Spec.Template.Spec.Containers[0].Args {
			flag, _, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			if !slices.Contains(flags, flag) {
				t.Errorf("%s: the manager knows no --%s", name, flag)
			}
		}
	}
}

func TestArgumentsThatDependOnTheScope(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    []string
		want   []string
	}{
		"cluster": {
			"one place for the Leases of targets lets runs of all namespaces see each other", nil,
			[]string{"--lease-namespace=$(POD_NAMESPACE)", "--metrics-bind-address=:8443"},
		},
		"namespaces": {
			"secure metrics need a ClusterRole; Leases cannot be had elsewhere",
			[]string{"rbac.scope=namespaces", "rbac.namespaces={a,b}"},
			[]string{"--namespaces=a,b", "--lease-namespace=", "--metrics-bind-address=0"},
		},
		"namespaces, none given": {
			"the release's own",
			[]string{"rbac.scope=namespaces"},
			[]string{"--namespaces=" + Namespace, "--lease-namespace="},
		},
		"namespaces with plain metrics": {
			"nobody is asked",
			[]string{"rbac.scope=namespaces", "metrics.insecure=true"},
			[]string{"--metrics-bind-address=:8443", "--metrics-insecure"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var args []string
			for _, s := range c.set {
				args = append(args, "--set", s)
			}
			got := deployment(t, Helm(t, args...)).Spec.Template.Spec.Containers[0].Args
			for _, w := range c.want {
				if !slices.Contains(got, w) {
					t.Errorf("%s is missing in %v: %s", w, got, c.reason)
				}
			}
		})
	}
}
