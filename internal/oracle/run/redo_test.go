package run

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestDatabasesOnDifferentExportsShareNoRedoLog, where a clone and the databases of one image have
// one DBID: ADD LOGFILE ... REUSE would overwrite the live log of another.
func TestDatabasesOnDifferentExportsShareNoRedoLog(t *testing.T) {
	t.Parallel()
	file := func(export string) string {
		r := &runner{plan: &runfile.Plan{
			Engine: runfile.Engine{Export: export}, Database: &runfile.Database{RedoDirectory: "/redo"},
		}}
		return fmt.Sprintf(r.redoPlan([]redoLog{{bytes: 64 << 20, members: []string{"/data/redo01.log"}, dbid: 7}}).file, 4)
	}
	if got := file("/vol/a"); !strings.HasPrefix(got, "/redo/nfsbench_7_") || got == file("/vol/b") {
		t.Errorf("the exports /vol/a and /vol/b have the redo logs %s and %s", got, file("/vol/b"))
	}
	if a, again := file("/vol/a"), file("/vol/./a/"); a != again {
		t.Errorf("one export has the redo logs %s and %s", a, again)
	}
}

// TestARedoLogIsOfWholeMebibytes: a group that is smaller than planned would never fit.
func TestARedoLogIsOfWholeMebibytes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64]int64{64 << 20: 64 << 20, 64<<20 + 512: 65 << 20} {
		r := &runner{plan: &runfile.Plan{Database: &runfile.Database{RedoDirectory: "/redo"}}}
		if got := r.redoPlan([]redoLog{{bytes: bytes, members: []string{"/data/redo01.log"}}}).bytes; got != want {
			t.Errorf("logs of %d bytes become %d, want %d", bytes, got, want)
		}
	}
}
