package faults

import (
	"os"
	"runtime"
	"testing"
)

// TestMain gives the servers in this process processors of their own beside the
// threads of the data plane, as they would have on a machine of their own.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(64)
	os.Exit(m.Run())
}
