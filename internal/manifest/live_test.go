package manifest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/pod-security-admission/api"

	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestLiveMetricsAddAPortToTheCollectorAndNothingElse(t *testing.T) {
	b, p := gen.Benchmark("live"), runfile.Plan{Clients: 1}
	off := manifest.LoadJob(b, p, "", images())
	with := images()
	with.LiveMetricsPort = 9464
	on := manifest.LoadJob(b, p, "", with)

	spec := &on.Spec.Template.Spec
	want := []corev1.ContainerPort{{Name: "live-metrics", ContainerPort: 9464, Protocol: corev1.ProtocolTCP}}
	collector := &spec.InitContainers[0]
	if diff := cmp.Diff(want, collector.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	for _, problem := range validation.IsValidPortName(collector.Ports[0].Name) {
		t.Errorf("the name of the port: %s", problem)
	}
	n := len(collector.Args) - 2
	if diff := cmp.Diff([]string{"--metrics-address", ":9464"}, collector.Args[n:]); diff != "" {
		t.Errorf("arguments (-want +got):\n%s", diff)
	}
	if no := violations(t, pod{meta: on.Spec.Template.ObjectMeta, spec: *spec}, api.LevelRestricted); len(no) > 0 {
		t.Errorf("%q", no)
	}
	collector.Ports, collector.Args = nil, collector.Args[:n]
	if diff := cmp.Diff(off, on); diff != "" {
		t.Errorf("without that the Job is another (-off +on):\n%s", diff)
	}
}
