package main

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"
)

func TestWhatATestProgramLeavesBehindIsEnded(t *testing.T) {
	if err := adoptOrphans(); err != nil {
		t.Fatal(err)
	}
	// The shell ends at once; what it started in a session of its own goes on.
	if err := exec.CommandContext(t.Context(), "sh", "-c", "setsid sleep 600 & exit 0").Run(); err != nil {
		t.Fatal(err)
	}
	left := childrenOf(os.Getpid())
	for end := time.Now().Add(10 * time.Second); len(left) == 0 && time.Now().Before(end); left = childrenOf(os.Getpid()) {
		time.Sleep(time.Millisecond)
	}
	if len(left) != 1 {
		t.Fatalf("children are %v, want the one that was left", left)
	}
	killOrphans()
	if now := childrenOf(os.Getpid()); slices.Contains(now, left[0]) {
		t.Errorf("%v still run", now)
	}
}
