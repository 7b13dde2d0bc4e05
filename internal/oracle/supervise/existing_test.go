package supervise

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestTheDatabaseOfSomebodyElseIsNotOpened, unless it is said that it may be, and
// then it stays somebody else's.
func TestTheDatabaseOfSomebodyElseIsNotOpened(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"FREE", "dbconfig", "base"} {
		i := newImage(t)
		i.o.SID = "free"
		if err := os.Mkdir(filepath.Join(i.data, folder), 0o750); err != nil {
			t.Fatal(err)
		}
		f := i.fails(runfile.FailureForeignFiles)
		for _, want := range []string{strconv.Quote(folder), "existingDatabase to Use"} {
			if !strings.Contains(f.Message, want) {
				t.Errorf("%q is not in %q", want, f.Message)
			}
		}
		i.o.UseExisting = true
		r := i.start()
		r.ready(1)
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if name, err := Foreign(i.data); err != nil || name != folder {
			t.Errorf("it was taken for ours: %q, %v", name, err)
		}
	}
}

// TestWhatWasCreatedForABenchmarkIsKnownAgain by the file that the first start leaves.
func TestWhatWasCreatedForABenchmarkIsKnownAgain(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.SID = "FREE"
	for generation := range int32(2) {
		r := i.start()
		r.ready(generation + 1)
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if err := os.MkdirAll(filepath.Join(i.data, "FREE"), 0o750); err != nil {
			t.Fatal(err)
		}
		if name, err := Foreign(i.data); err != nil || name != "" {
			t.Errorf("start %d: %q, %v", generation, name, err)
		}
	}
}
