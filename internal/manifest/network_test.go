package manifest_test

import (
	"slices"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// connects evaluates policies of one namespace as Kubernetes defines them: a pod that some
// policy selects accepts what a rule of one of these allows.
func connects(t *testing.T, policies []*networkingv1.NetworkPolicy, from, to map[string]string, sameNamespace bool, port int32) bool {
	t.Helper()
	selects := func(s *metav1.LabelSelector, pod map[string]string) bool {
		selector, err := metav1.LabelSelectorAsSelector(s)
		if err != nil {
			t.Fatal(err)
		}
		return selector.Matches(labels.Set(pod))
	}
	closed := false
	for _, p := range policies {
		if !selects(&p.Spec.PodSelector, to) {
			continue
		}
		closed = true
		for _, rule := range p.Spec.Ingress {
			peer := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(f networkingv1.NetworkPolicyPeer) bool {
				return sameNamespace && f.NamespaceSelector == nil && f.IPBlock == nil && selects(f.PodSelector, from)
			})
			if peer && slices.ContainsFunc(rule.Ports, func(q networkingv1.NetworkPolicyPort) bool { return q.Port.IntVal == port }) {
				return true
			}
		}
	}
	return !closed
}

func TestOnlyPodsOfARunConnectToItsPods(t *testing.T) {
	t.Parallel()
	const nfs, second, portmap, counters, live = 12049, 12050, 10111, 8080, 9464
	b := gen.Benchmark("demo", gen.Embedded("1Gi", 2), gen.UID("1"))
	kernel := gen.Benchmark("demo", gen.Embedded("1Gi", 1), gen.UID("1"), gen.Kernel)
	other := gen.Benchmark("demo", gen.Embedded("1Gi", 2), gen.UID("2"))
	pod := func(b *v1alpha1.NFSBenchmark, component string) map[string]string {
		return manifest.Labels(b, component)
	}
	server, load := pod(b, manifest.ComponentServer), pod(b, manifest.ComponentLoad)
	for name, tc := range map[string]struct {
		of        *v1alpha1.NFSBenchmark
		from, to  map[string]string
		elsewhere bool
		port      int32
		want      bool
	}{
		"a loader reads":                      {b, load, server, false, nfs, true},
		"by the second path":                  {b, load, server, false, second, true},
		"a loader asks the portmapper":        {b, load, server, false, portmap, true},
		"a collector asks for counters":       {b, load, server, false, counters, true},
		"the survey":                          {b, pod(b, manifest.ComponentSurvey), server, false, nfs, true},
		"another benchmark reads":             {b, pod(other, manifest.ComponentLoad), server, false, nfs, false},
		"a pod of a tenant reads":             {b, map[string]string{"app": "x"}, server, false, nfs, false},
		"a pod with our labels, elsewhere":    {b, load, server, true, nfs, false},
		"a loader uses another port":          {b, load, server, false, 22, false},
		"a tenant connects to a loader":       {b, map[string]string{"app": "x"}, load, false, live, false},
		"a loader connects to a loader":       {b, load, load, false, live, false},
		"the pods of others stay as they are": {b, load, pod(other, manifest.ComponentLoad), false, live, true},
		"a node mounts":                       {kernel, nil, server, true, nfs, true},
		"a node asks for counters":            {kernel, nil, server, true, counters, false},
	} {
		got := connects(t, manifest.NetworkPolicies(tc.of, manifest.Images{}), tc.from, tc.to, !tc.elsewhere, tc.port)
		if got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
	prometheus := map[string]string{"app": "prometheus"}
	withLive := manifest.NetworkPolicies(b, manifest.Images{LiveMetricsPort: live})
	if !connects(t, withLive, prometheus, load, false, live) || connects(t, withLive, prometheus, load, false, live+1) {
		t.Error("with live metrics, Prometheus connects to their port and to no other")
	}
	if len(manifest.NetworkPolicies(gen.Benchmark("x"), manifest.Images{})) != 1 {
		t.Error("without an embedded server there is a policy for one")
	}
}
