package plan_test

import (
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/test/gen"
)

// TestAnImageThatIsMadeForRootIsRefused by its name, before it is pulled.
func TestAnImageThatIsMadeForRootIsRefused(t *testing.T) {
	for image, refused := range map[string]bool{
		"container-registry.oracle.com/database/express:18.4.0-xe": true,
		"registry.example/oracle/database:11.2.0.2-xe":             true,
		"container-registry.oracle.com/database/express:21.3.0-xe": false,
		"container-registry.oracle.com/database/express:latest":    false,
	} {
		b := gen.Benchmark("demo", gen.Calibrate(1), gen.Container(image, v1alpha1.EditionExpress))
		_, err := plan.Build(b, target("10.0.1.61"))
		if (err != nil && strings.Contains(err.Error(), "made to run as root")) != refused {
			t.Errorf("%s: %v", image, err)
		}
	}
}
