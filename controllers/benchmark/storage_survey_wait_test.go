package benchmark

import (
	"testing"

	"github.com/nfsbench/nfsbench/internal/plan"
)

func TestAVolumeIsCalledAsTheArrayCallsIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason  string
		backend *plan.Backend
		want    string
	}{
		{"Trident says how", &plan.Backend{Volume: "trident_pvc_1"}, "trident_pvc_1"},
		{"Trident does not say", &plan.Backend{}, "/vol/oradata"},
		{"it is not of Trident", nil, "/vol/oradata"},
	} {
		s := &scope{target: &plan.Target{Export: "/vol/oradata", Backend: c.backend}}
		if got := s.volumeName(); got != c.want {
			t.Errorf("%s: %q, want %q", c.reason, got, c.want)
		}
	}
}
