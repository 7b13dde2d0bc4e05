package targettest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// DirectIODir makes a directory on a file system that knows O_DIRECT, for as long as the test runs. It skips the test
// where there is none.
func DirectIODir(tb testing.TB) string {
	tb.Helper()
	for _, parent := range []string{tb.TempDir(), "/var/tmp", "."} {
		dir, err := os.MkdirTemp(parent, "nfsbench-test-") //nolint:usetesting // that one may lie on a file system without O_DIRECT
		if err != nil {
			continue
		}
		tb.Cleanup(func() { _ = os.RemoveAll(dir) })
		f, err := os.OpenFile(filepath.Join(dir, "probe"), os.O_CREATE|os.O_RDWR|unix.O_DIRECT, 0o600)
		if err == nil {
			if err := errors.Join(f.Close(), os.Remove(f.Name())); err != nil {
				tb.Fatal(err)
			}
			return dir
		}
	}
	tb.Skip("neither the temporary directory nor /var/tmp nor this one lies on a file system with O_DIRECT")
	return ""
}
