package memory

import (
	"runtime"
	"testing"
)

func TestWhatWasAllocatedAndFreedCounts(t *testing.T) {
	got := Allocated(func() {
		for range 10 {
			runtime.KeepAlive(make([]byte, 1<<20))
		}
	})
	if got < 10<<20 || got > 10<<20+Slack {
		t.Errorf("%d bytes counted, want 10 MiB and no more than the slack above", got)
	}
}
