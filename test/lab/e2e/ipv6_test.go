package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/test/gen"
)

// needIPv6 skips a test where pods have no address of IPv6, as those of the operator show.
func needIPv6(t *testing.T, c *cluster) {
	t.Helper()
	pods := &corev1.PodList{}
	if err := c.List(t.Context(), pods, client.InNamespace(systemNamespace)); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if slices.ContainsFunc(p.Status.PodIPs, func(ip corev1.PodIP) bool { return strings.Contains(ip.IP, ":") }) {
			return
		}
	}
	t.Skip("needs a cluster whose pods have addresses of IPv6: `DUAL_STACK=1 hack/cluster/up.sh` starts one")
}

// TestABenchmarkOverIPv6UsesBothLIFs runs the native engine over two LIFs of IPv6.
func TestABenchmarkOverIPv6UsesBothLIFs(t *testing.T) {
	p := newPlot(t, 2)
	needIPv6(t, p.cluster)
	if len(p.lifs6) == 0 {
		t.Skip("needs a machine with IPv6")
	}
	for name, version := range map[string]bench.NFSVersion{
		"v3": bench.NFSv3, "v40": bench.NFSv40, "v41": bench.NFSv41,
	} {
		t.Run(name, func(t *testing.T) {
			b := p.create(t, p.benchmark("six-"+name, gen.Export(p.export, p.lifs6...), gen.Version(version)))
			done := p.succeeded(t, b)
			balanced(t, done, 2)
			verified(t, done)
			directions(t, done, true, false)
			var paths []string
			for _, path := range done.Status.Paths {
				paths = append(paths, path.Path)
				if !strings.Contains(path.Local, ":") {
					t.Errorf("the local address of path %s is %s", path.Path, path.Local)
				}
			}
			if diff := cmp.Diff(p.lifs6, paths); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
			for _, r := range p.results(t, done) {
				if got, want := r.Clients[0].Load.Mount.Source, "["+p.lifs6[0]+"]:"+p.export; got != want {
					t.Errorf("the source of the mount is %q, want %q", got, want)
				}
			}
		})
	}
}
