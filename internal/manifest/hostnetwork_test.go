package manifest_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

// Two databases of one node would share a port: the scheduler must know of it. Before Kubernetes
// 1.34 it does not count the ports of init containers.
func TestTheNodesNetworkIsForLoadPodsThatAskForIt(t *testing.T) {
	for want, mod := range map[bool]gen.Mod{true: gen.HostNetwork, false: func(*v1alpha1.NFSBenchmark) {}} {
		b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise), mod)
		spec := loadPod(t, b).spec
		if spec.HostNetwork != want || (spec.DNSPolicy == corev1.DNSClusterFirstWithHostNet) != want {
			t.Errorf("host network %v, want %v; DNS %s", spec.HostNetwork, want, spec.DNSPolicy)
		}
		if ports := spec.Containers[0].Ports; (len(ports) == 1 && ports[0].HostPort == 1521) != want {
			t.Errorf("host network %v: the ports that every scheduler counts are %v", want, ports)
		}
		if clean := manifest.CleanJob(gen.Benchmark("demo", mod), "", manifest.Images{NFSBench: "x"}); clean.Spec.Template.Spec.HostNetwork {
			t.Error("a pod that loads nothing has the node's network")
		}
	}
}

// Two load pods without a database may share a node.
func TestNothingElseTakesAPortOfTheNode(t *testing.T) {
	b, with := gen.Benchmark("demo", gen.HostNetwork), images()
	with.LiveMetricsPort = 9464
	spec := manifest.LoadJob(b, runfile.Plan{Clients: 2}, "", with).Spec.Template.Spec
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		if len(c.Ports) > 0 || slices.Contains(c.Args, "--metrics-address") {
			t.Errorf("container %s has ports %v and arguments %q", c.Name, c.Ports, c.Args)
		}
	}
}
