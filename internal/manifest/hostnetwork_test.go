package manifest_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/test/gen"
)

// Two databases of one node would share a port: the scheduler must know of it.
func TestTheNodesNetworkIsForLoadPodsThatAskForIt(t *testing.T) {
	for want, mod := range map[bool]gen.Mod{true: gen.HostNetwork, false: func(*v1alpha1.NFSBenchmark) {}} {
		b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise), mod)
		pod := loadPod(t, b)
		spec, ports := pod.spec, find(t, pod, manifest.ContainerDatabase).Ports
		if spec.HostNetwork != want || (spec.DNSPolicy == corev1.DNSClusterFirstWithHostNet) != want || (len(ports) == 1 && ports[0].HostPort == 1521) != want {
			t.Errorf("host network %v, want %v; DNS %s, ports %v", spec.HostNetwork, want, spec.DNSPolicy, ports)
		}
		if clean := manifest.CleanJob(gen.Benchmark("demo", mod), "", manifest.Images{NFSBench: "x"}); clean.Spec.Template.Spec.HostNetwork {
			t.Error("a pod that loads nothing has the node's network")
		}
	}
}
