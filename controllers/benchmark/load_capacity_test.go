package benchmark

import (
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestALongLevelIsNotLookedAtEverySecond(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		seconds int32
		missing int
		want    time.Duration
	}{
		{4, 2, time.Second},
		{16, 2, 2 * time.Second},
		{3600, 2, soon},
		{3600, 1, time.Second}, // one client has reported, so the other will soon
	} {
		if got := untilReports(runfile.CapacityLevel{Seconds: tc.seconds}, tc.missing, 2); got != tc.want {
			t.Errorf("level of %d s, %d of 2 clients missing: %v, want %v", tc.seconds, tc.missing, got, tc.want)
		}
	}
}
