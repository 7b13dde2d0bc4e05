package oracle_test

import (
	"os"
	"runtime"
	"testing"

	"github.com/nfsbench/nfsbench/test/kit/waiting"
)

// TestMain gives the servers in this process processors of their own beside the threads
// of the data plane, which wait in system calls.
func TestMain(m *testing.M) {
	runtime.GOMAXPROCS(64)
	os.Exit(waiting.Run(m))
}
