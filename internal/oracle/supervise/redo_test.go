package supervise

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/nfstest"
)

// redo gives the image a second volume, for the redo logs.
func (i *image) redo(export string) (directory string) {
	i.t.Helper()
	i.o.RedoExport, i.o.RedoDirectory = export, filepath.Join(i.base, "oraredo")
	if err := os.MkdirAll(i.o.RedoDirectory, 0o755); err != nil {
		i.t.Fatal(err)
	}
	return i.o.RedoDirectory
}

func (i *image) startAndEnd(generation int32) {
	i.t.Helper()
	r := i.start()
	r.ready(generation)
	if err := r.end(); err != nil {
		i.t.Error(err)
	}
}

// fails says that one of the checks failed, and with this word.
func fails(checks []runfile.Check, check, word string) bool {
	return slices.ContainsFunc(checks, func(c runfile.Check) bool {
		return c.Check == check && c.Result == runfile.CheckFail && strings.Contains(c.Message, word)
	})
}

// TestADatabaseIsNotOpenedWithoutItsRedoLogs: it would stop with ORA-00313.
func TestADatabaseIsNotOpenedWithoutItsRedoLogs(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.startAndEnd(1) // with its redo logs beside the data, which a later run may move
	directory := i.redo("/vol/redo")
	i.startAndEnd(2)
	for _, dir := range []string{i.data, directory} {
		if _, err := os.Stat(filepath.Join(dir, MarkerFile)); err != nil {
			t.Error(err)
		}
	}
	i.startAndEnd(3)
	for _, export := range []string{"", "/vol/other"} {
		i.o.RedoExport = export
		if i.o.RedoDirectory = directory; export == "" {
			i.o.RedoDirectory = ""
		}
		f := i.fails(runfile.FailureInvalidPlan)
		if !strings.Contains(f.Message, `export "/vol/redo"`) || !strings.Contains(f.Message, "set storage.export.redoPath to it") {
			t.Errorf("with %q: %s", export, f.Message)
		}
		if got := i.read(filepath.Join(i.data, redoFile)); got != "/vol/redo\n" {
			t.Errorf("with %q: the export that was kept is %q", export, got)
		}
		if !fails(Examine(t.Context(), i.o), checkFiles, "/vol/redo") {
			t.Errorf("with %q: an examination does not see where the redo logs are", export)
		}
		if !fails(Examine(t.Context(), i.o), checkFiles, "/vol/redo") {
			t.Errorf("with %q: an examination does not see where the redo logs are", export)
		}
	}
	if n := i.lines(i.base + "/starts"); n != 3 {
		t.Errorf("started %d times", n)
	}
}

// TestTheVolumeOfTheRedoLogsIsLookedAtAsThatOfTheData.
func TestTheVolumeOfTheRedoLogsIsLookedAtAsThatOfTheData(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.MinFreeBytes = 1 // of the data; the redo logs may be there already
	directory := i.redo("/vol/redo")
	i.write(directory+"/payroll.dbf", 0o644, "x")
	if f := i.fails(runfile.FailureForeignFiles); !strings.Contains(f.Message, "payroll.dbf") {
		t.Error(f.Message)
	}
	if _, err := os.Stat(filepath.Join(i.data, redoFile)); err == nil {
		t.Error("the data names an export whose redo logs it never had")
	}
	if !fails(Examine(t.Context(), i.o), checkFiles, "payroll.dbf") {
		t.Error("an examination does not see the files of somebody else")
	}
	if err := os.RemoveAll(directory); err != nil {
		t.Fatal(err)
	}
	if f := i.fails(runfile.FailureAccessDenied); !strings.Contains(f.Message, directory) {
		t.Error(f.Message)
	}
}

// TestTheExportOfTheRedoLogsIsAskedForToo, over the same paths.
func TestTheExportOfTheRedoLogsIsAskedForToo(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	v3 := &nfstest.Server{}
	v3.Start(t, "127.0.0.1")
	i.direct(runfile.NFSv3, "/export", v3.Port(), "127.0.0.1")
	i.redo("/denied")
	probes, _, err := i.o.withDefaults().probeServers(t.Context())
	if err != nil || len(probes) != 2 || probes[0].Problem != "" || probes[1].Problem == "" {
		t.Fatalf("%+v, %v", probes, err)
	}
	if got := problems(probes); !strings.HasPrefix(got, "127.0.0.1:/denied: ") {
		t.Error(got)
	}
}
