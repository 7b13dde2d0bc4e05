package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
)

// redo gives the image a second volume, for the redo logs.
func (i *image) redo(export string) (directory string) {
	i.t.Helper()
	i.o.Export, i.o.RedoExport, i.o.RedoDirectory = "/vol/data", export, filepath.Join(i.base, "oraredo")
	if err := os.MkdirAll(i.o.RedoDirectory, 0o755); err != nil {
		i.t.Fatal(err)
	}
	return i.o.RedoDirectory
}

func (i *image) startAndEnd(generation int32) {
	i.t.Helper()
	r := i.start()
	r.ready(generation)
	r.ends()
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
		i.fails(runfile.FailureInvalidPlan, `export "/vol/redo"`, "set storage.export.redoPath to it", "remove "+filepath.Join(i.data, redoFile))
		if got := i.read(filepath.Join(i.data, redoFile)); got != "/vol/redo\n/vol/data\n" {
			t.Errorf("with %q: the export that was kept is %q", export, got)
		}
		if !has(Examine(t.Context(), i.o), checkFiles, runfile.CheckFail, "/vol/redo") {
			t.Errorf("with %q: an examination does not see where the redo logs are", export)
		}
	}
	i.started(3)
}

// TestACopyOfAVolumeIsNotLedToTheRedoLogsOfTheOriginal, which its control file names.
func TestACopyOfAVolumeIsNotLedToTheRedoLogsOfTheOriginal(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	directory := i.redo("/vol/redo")
	i.startAndEnd(1)
	i.o.Export = "/vol/./data/" // the same one
	i.startAndEnd(2)
	for _, redo := range []string{"/vol/redo", "/vol/redo2", ""} {
		for _, export := range []string{"/vol/clone", ""} {
			i.o.Export, i.o.RedoExport, i.o.RedoDirectory = export, redo, directory
			if redo == "" {
				i.o.RedoDirectory = ""
			}
			m := i.fails(runfile.FailureInvalidPlan, "copy", `"/vol/redo"`, `"/vol/data"`, "two databases", "empty export",
				filepath.Join(i.data, redoFile)).Message
			if strings.Contains(m, "set storage.export.redoPath") {
				t.Errorf("%q with %q: %s", export, redo, m)
			}
		}
	}
	i.started(2)
}

// TestTheFileOfTheRedoLogsIsReadAsAStrangersFile.
func TestTheFileOfTheRedoLogsIsReadAsAStrangersFile(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.redo("/vol/redo")
	file := filepath.Join(i.data, redoFile)
	for _, text := range []string{
		"", "/vol/redo\n", "vol\n/vol/data\n", "/vol/redo\n/vol/../data\n", "/vol/redo\n/vol/data\n/x\n",
		"/vol/redo\n/" + strings.Repeat("x", maxRedoFile) + "\n", "/vol/redo\r\n/vol/data\n",
	} {
		i.write(file, 0o644, text)
		err := i.o.checkRedo()
		if err == nil || len(err.Error()) > 1000 || !strings.Contains(err.Error(), file) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	i.write(file, 0o644, "/vol/redo\n/vol/"+strings.Repeat("x", 4000)+"\n")
	if err := i.o.checkRedo(); err == nil || len(err.Error()) > 2000 {
		t.Errorf("a long path: %v", err)
	}
}

// TestADatabaseThatWasNotReadyHasNoRedoLogsElsewhere: a start that fails, or that finds the volume
// in use, leaves no file that a later run is refused for.
func TestADatabaseThatWasNotReadyHasNoRedoLogsElsewhere(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	directory := i.redo("/vol/redo")
	other := i.o
	other.Owner = "ns/a"
	i.o.Owner, i.o.HeartbeatInterval = "ns/b", time.Minute
	if err := other.writeHeartbeat(1, 0); err != nil {
		t.Fatal(err)
	}
	r := i.start()
	r.looks()
	r.ends()
	for _, name := range []string{filepath.Join(i.data, MarkerFile), filepath.Join(directory, MarkerFile)} {
		if _, err := os.Lstat(name); err == nil {
			t.Errorf("%s was written while another database used the volume", name)
		}
	}
	i.remove(filepath.Join(i.data, HeartbeatFile))
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\nexit 1\n")
	i.fails(runfile.FailureDatabaseEnded)
	if _, err := os.Lstat(filepath.Join(i.data, redoFile)); err == nil {
		t.Error("a database that was never ready names the export of its redo logs")
	}
}

// TestTheVolumeOfTheRedoLogsIsLookedAtAsThatOfTheData.
func TestTheVolumeOfTheRedoLogsIsLookedAtAsThatOfTheData(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.MinFreeBytes = 1 // of the data; the redo logs may be there already
	directory := i.redo("/vol/redo")
	i.write(directory+"/payroll.dbf", 0o644, "x")
	for _, i.o.UseExisting = range []bool{true, false} { // which is for the volume of the data
		if f := i.fails(runfile.FailureForeignFiles); !strings.Contains(f.Message, "payroll.dbf") ||
			strings.Contains(f.Message, "Missing") || strings.Contains(f.Message, "existingDatabase") {
			t.Error(f.Message)
		}
	}
	if _, err := os.Stat(filepath.Join(i.data, redoFile)); err == nil {
		t.Error("the data names an export whose redo logs it never had")
	}
	if !has(Examine(t.Context(), i.o), checkFiles, runfile.CheckFail, "payroll.dbf") {
		t.Error("an examination does not see the files of somebody else")
	}
	i.remove(directory)
	i.fails(runfile.FailureAccessDenied, directory)
}

// TestTheExportOfTheRedoLogsIsAskedForToo, over the same paths.
func TestTheExportOfTheRedoLogsIsAskedForToo(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	v3 := &faulty.Server{}
	v3.Start(t, "127.0.0.1")
	i.direct(bench.NFSv3, "/export", v3.Port(), "127.0.0.1")
	i.redo("/denied")
	probes, _, err := i.o.withDefaults().probeServers(t.Context())
	if err != nil || len(probes) != 2 || probes[0].Problem != "" || probes[1].Problem == "" {
		t.Fatalf("%+v, %v", probes, err)
	}
	if got := problems(probes); !strings.HasPrefix(got, "127.0.0.1:/denied: ") {
		t.Error(got)
	}
}

// TestTheExportOfTheRedoLogsIsNotAskedForWhereThatOfTheDataIsRefused, so that all attempts together
// keep their bound.
func TestTheExportOfTheRedoLogsIsNotAskedForWhereThatOfTheDataIsRefused(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.direct(bench.NFSv41, "/export", refusing(t), "127.0.0.1")
	i.redo("/denied")
	if probes, _, err := i.o.withDefaults().probeServers(t.Context()); err == nil || len(probes) != 1 {
		t.Errorf("%+v, %v", probes, err)
	}
}
