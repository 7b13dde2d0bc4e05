package benchmark

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestARunThatFailsWaitsForResultsThatMayStillCome(t *testing.T) {
	t.Parallel()
	underWay, final := runfile.Progress{}, runfile.Progress{Final: true}
	for reason, tc := range map[string]struct {
		progress []runfile.Progress
		ended    time.Duration // since the pods ended
		waits    bool
	}{
		"nothing was ever heard, just now":   {nil, watchDelay - time.Second, true},
		"nothing was ever heard":             {nil, watchDelay, false},
		"all is there":                       {[]runfile.Progress{final, final}, watchDelay, false},
		"a collector may still publish":      {[]runfile.Progress{final, underWay}, resultGrace - time.Second, true},
		"a collector had its time and ended": {[]runfile.Progress{final, underWay}, resultGrace, false},
	} {
		s := &scope{b: gen.Benchmark("demo"), progress: tc.progress}
		if _, err := reconcilerWith(t).giveUp(t.Context(), s, outcome{phase: v1alpha1.PhaseFailed}, tc.ended); err != nil {
			t.Fatal(err)
		}
		if waits := s.outcome == nil; waits != tc.waits {
			t.Errorf("%s: waits %v, want %v", reason, waits, tc.waits)
		}
	}
}
