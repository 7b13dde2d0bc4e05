// Package golden compares what a test made with a file that people have read.
//
// Run the tests with -update to write the files anew, and review the difference
// as a change of behaviour.
package golden

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

//nolint:gochecknoglobals // a flag of the test binary
var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Compare fails the test when got is not what the file holds. With -update it
// writes the file, and its folder, instead.
func Compare(t testing.TB, file string, got []byte) {
	t.Helper()
	if *update {
		err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, got, 0o644)) //nolint:gosec // sources are for everybody
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file) //nolint:gosec // a test names its own files
	if err != nil {
		t.Errorf("read golden file (run the test with -update to make it): %v", err)
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs; if that is meant, run the test with -update (-want +got):\n%s", file, diff)
	}
}
