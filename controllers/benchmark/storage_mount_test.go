package benchmark

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/test/gen"
)

// The volume of a claim, and Trident, say which address the node has mounted.
func TestTheMountDecidesWhereThereIsNoOranfstab(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mod  gen.Mod
		want int
	}{"with": {func(*v1alpha1.NFSBenchmark) {}, 2}, "without": {gen.NoOranfstab, 1}} {
		b := gen.Benchmark("demo", gen.Calibrate(1), gen.Claim("data"), gen.Container("registry.example/oracle:19", v1alpha1.EditionEnterprise), c.mod)
		target := &plan.Target{Addresses: []string{"10.0.1.61", "10.0.2.61"}}
		if err := choosePaths(b, target); err != nil || len(target.Paths) != c.want || target.Paths[0].Path != "10.0.1.61" {
			t.Errorf("%s an oranfstab: %+v, %v", name, target.Paths, err)
		}
	}
}

func TestTheNodeItselfIsNoServerForAPod(t *testing.T) {
	t.Parallel()
	for _, client := range []bench.NFSClient{bench.ClientDirectNFS, bench.ClientKernel} {
		for address, refused := range map[string]bool{
			"127.0.0.1": true, "127.0.0.2": true, "::1": true, "::ffff:127.0.0.1": true, "localhost": true,
			"10.0.1.61": false, "fs-1.efs.example": false,
		} {
			b := gen.Benchmark("demo", gen.Calibrate(1), gen.Claim("data"), gen.Container("registry.example/oracle:19", v1alpha1.EditionEnterprise))
			b.Spec.Protocol.Client = client
			err := volumePaths(b, &plan.Target{VolumeName: "pv1", Export: "/", Addresses: []string{address}})
			if told := err != nil && strings.Contains(err.Error(), `"pv1" is mounted from `+address+`:/, which is the node itself`); told != (refused && client == bench.ClientDirectNFS) {
				t.Errorf("%s with %s: %v", address, client, err)
			}
		}
	}
}
