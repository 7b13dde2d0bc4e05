package manifest_test

import (
	"slices"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
)

// The kubelet would make a folder of a key that the ConfigMap of the plan does not have.
func TestNoOranfstabIsMountedWhereThePlanHasNone(t *testing.T) {
	for want, mod := range map[bool]gen.Mod{true: func(*v1alpha1.NFSBenchmark) {}, false: gen.NoOranfstab} {
		b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(enterprise19, v1alpha1.EditionEnterprise), mod)
		database := databaseOf(loadPod(t, b))
		if _, got := mounts(database)["/etc/oranfstab"]; got != want {
			t.Errorf("an oranfstab is mounted: %v, want %v", got, want)
		}
		// What reads the plan needs it in both cases.
		if _, mounted := mounts(database)["/etc/nfsbench"]; slices.Contains(database.Args, "--plan") && !mounted {
			t.Errorf("with an oranfstab %v: the plan is not mounted, and an argument names it", want)
		}
	}
}
