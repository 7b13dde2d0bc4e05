package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTridentIsUsedWithTheLeastRights: in Trident's namespace what a benchmark
// needs, in the cluster classes only, and no Secret anywhere.
func TestTridentIsUsedWithTheLeastRights(t *testing.T) {
	of := func(resource string, verbs ...string) grants {
		out := grants{}
		for _, v := range verbs {
			out[resource+" "+v] = true
		}
		return out
	}
	space := of("trident.netapp.io/tridentbackendconfigs", "get", "list", "create", "delete")
	space["apps/deployments/trident-controller get"], space["/pods list"] = true, true
	for _, r := range []string{"tridentbackends", "tridentvolumes"} {
		for k := range of("trident.netapp.io/"+r, "get", "list") {
			space[k] = true
		}
	}
	classes := of("storage.k8s.io/storageclasses", "get", "create", "delete")

	with := []string{"--set", "trident.enabled=true", "--set", "trident.namespace=netapp"}
	cases := map[string]struct {
		got       map[string]grants
		namespace string
		cluster   grants
	}{
		"the chart":                     {rolesOf(t, Objects(t, Helm(t, with...))), "netapp", classes},
		"the chart in scope namespaces": {rolesOf(t, Objects(t, Helm(t, append(with, "-f", Values(t, "namespaces"))...))), "netapp", nil},
		"kustomize":                     {rolesOf(t, Objects(t, Kustomize(t, "config/rbac/trident"))), "trident", classes},
	}
	for name, c := range cases {
		if diff := cmp.Diff(space, c.got["Role/"+c.namespace+"/nfsbench-trident"]); diff != "" {
			t.Errorf("%s: in Trident's namespace (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(c.cluster, c.got["ClusterRole//nfsbench-trident"]); diff != "" {
			t.Errorf("%s: in the cluster (-want +got):\n%s", name, diff)
		}
		for role, rights := range c.got {
			for right := range rights {
				// The manager reads the labels of Secrets that benchmarks name.
				secrets := strings.Contains(right, "/secrets ") && (right != "/secrets get" || strings.Contains(role, "trident"))
				if secrets || strings.Contains(right, "*") {
					t.Errorf("%s: %s may %s", name, role, right)
				}
			}
		}
	}
	for role := range rolesOf(t, Objects(t, Helm(t))) {
		if strings.Contains(role, "trident") {
			t.Errorf("without trident.enabled there is %s", role)
		}
	}
}
