package nfs

import (
	"os"
	"runtime"
	"testing"
)

// TestMain gives the server in this process processors of its own beside the threads of
// a stream, which wait in system calls. With two processors the scheduler takes
// milliseconds to notice that, for each I/O.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(64)
	os.Exit(m.Run())
}
