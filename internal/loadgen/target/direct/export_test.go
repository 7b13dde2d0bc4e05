package direct

import "github.com/nfsbench/nfsbench/internal/loadgen/target"

// UncommittedBytes tells tests how much of a file waits for a COMMIT.
func UncommittedBytes(f target.File) int64 {
	return f.(*file).f.UncommittedBytes() //nolint:forcetypeassert // tests open nothing else
}
