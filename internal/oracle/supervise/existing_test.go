package supervise

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// existing puts on the volume what an image of Oracle leaves when it has created a database.
func (i *image) existing(sid string) {
	i.t.Helper()
	i.write(filepath.Join(i.data, sid, "system01.dbf"), 0o640, "precious")
	i.write(filepath.Join(i.data, "."+sid+".created"), 0o640, "2026-01-01")
	i.write(filepath.Join(i.data, "dbconfig", sid, "spfile"+sid+".ora"), 0o640, "*.x=y")
	i.write(filepath.Join(i.data, "dbconfig", sid, "orapw"+sid), 0o640, "x")
}

// TestTheDatabaseOfSomebodyElseIsNotOpened, unless it is said that it may be, and
// then it stays somebody else's.
func TestTheDatabaseOfSomebodyElseIsNotOpened(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.existing("ORCLCDB")
	if f := i.fails(runfile.FailureForeignFiles); !strings.Contains(f.Message, "existingDatabase to Use") {
		t.Error(f.Message)
	}
	for _, folder := range []string{"", "dbs"} { // as 19c and 21c keep them, and as 26ai does
		i.o.UseExisting = true
		from, to := filepath.Join(i.data, "dbconfig", "ORCLCDB"), filepath.Join(i.data, "dbconfig", "ORCLCDB", folder)
		if err := os.MkdirAll(to, 0o750); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"spfileORCLCDB.ora", "orapwORCLCDB"} {
			if err := os.Rename(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				t.Fatal(err)
			}
		}
		before := i.lines(i.base + "/starts")
		r := i.start()
		r.await("ready", func(s runfile.DatabaseState) bool {
			return s.State == runfile.DatabaseReady && i.lines(i.base+"/starts") > before
		})
		if err := r.end(); err != nil {
			t.Error(err)
		}
		if name, err := Foreign(i.data); err != nil || name == "" {
			t.Errorf("it was taken for ours: %q, %v", name, err)
		}
		expect(t, Examine(t.Context(), i.o), checkFiles, runfile.CheckOK, "existingDatabase: Use")
	}
}

// TestNoImageIsStartedOnFilesThatItMayDelete: what it would not be certain to open is refused by the
// run and by the examination, which say the same.
func TestNoImageIsStartedOnFilesThatItMayDelete(t *testing.T) {
	t.Parallel()
	const deletes, stays = "would delete", "not get it started"
	remove := func(name string) func(*image) {
		return func(i *image) {
			if err := os.RemoveAll(filepath.Join(i.data, name)); err != nil {
				i.t.Fatal(err)
			}
		}
	}
	rename := func(from, to string) func(*image) {
		return func(i *image) {
			if err := os.Rename(filepath.Join(i.data, from), filepath.Join(i.data, to)); err != nil {
				i.t.Fatal(err)
			}
		}
	}
	link := func(name string) func(*image) {
		return func(i *image) {
			path, to := filepath.Join(i.data, name), filepath.Join(i.base, "elsewhere")
			if err := errors.Join(os.Rename(path, to), os.Symlink(to, path)); err != nil {
				i.t.Fatal(err)
			}
		}
	}
	folder := func(name string) func(*image) {
		return func(i *image) {
			remove(name)(i)
			if err := os.Mkdir(filepath.Join(i.data, name), 0o750); err != nil {
				i.t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		change       func(*image)
		missing, say string
	}{
		"made by DBCA, or copied without hidden files": {remove(".ORCLCDB.created"), ".ORCLCDB.created", deletes + " "},
		"a datafile in capitals, deep below": {func(i *image) {
			remove(".ORCLCDB.created")(i)
			remove("ORCLCDB/system01.dbf")(i)
			i.write(i.data+"/ORCLCDB/A/datafile/O1_MF.DBF", 0o640, "x")
		}, ".ORCLCDB.created", "O1_MF.DBF"},
		"the file is a folder":          {folder(".ORCLCDB.created"), ".ORCLCDB.created", deletes},
		"the file is a link":            {link(".ORCLCDB.created"), ".ORCLCDB.created", deletes},
		"the file is of another SID":    {rename(".ORCLCDB.created", ".PROD.created"), ".ORCLCDB.created", deletes},
		"the file has small letters":    {rename(".ORCLCDB.created", ".orclcdb.created"), ".ORCLCDB.created", deletes},
		"the folder is of another SID":  {rename("ORCLCDB", "PROD"), "ORCLCDB", "create a new database"},
		"the folder has small letters":  {rename("ORCLCDB", "orclcdb"), "ORCLCDB", "create a new database"},
		"the folder is a link":          {link("ORCLCDB"), "ORCLCDB", "system01.dbf"},
		"the folder is a file":          {func(i *image) { remove("ORCLCDB")(i); i.write(i.data+"/ORCLCDB", 0o640, "") }, "ORCLCDB", "create"},
		"the folder is empty":           {folder("ORCLCDB"), "*.dbf", stays},
		"no spfile":                     {remove("dbconfig/ORCLCDB/spfileORCLCDB.ora"), "spfileORCLCDB.ora", stays},
		"no password file":              {remove("dbconfig/ORCLCDB/orapwORCLCDB"), "orapwORCLCDB", stays},
		"the SID of the container":      {func(i *image) { i.o.Env = append(i.o.Env, "ORACLE_SID=prod") }, "/PROD", "create a new database"},
		"a command of the user":         {func(i *image) { remove(".ORCLCDB.created")(i); i.o.StartCommand = []string{i.base + "/runOracle.sh"} }, ".created", deletes},
		"a marker that no run has left": {func(i *image) { remove(".ORCLCDB.created")(i); folder(MarkerFile)(i) }, ".created", deletes},
		"a marker that leads to nowhere": {func(i *image) {
			remove(".ORCLCDB.created")(i)
			i.write(i.data+"/"+MarkerFile, 0o640, "")
			link(MarkerFile)(i)
		}, ".created", deletes},
		"nothing but another folder": {func(i *image) {
			remove("ORCLCDB")(i)
			remove(".ORCLCDB.created")(i)
			remove("dbconfig")(i)
			i.write(i.data+"/u02/x", 0o640, "")
		}, "/ORCLCDB", "create"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.existing("ORCLCDB")
			i.o.UseExisting = true
			tc.change(i)
			f := i.fails(runfile.FailureForeignFiles)
			for _, want := range []string{tc.missing, tc.say} {
				if !strings.Contains(f.Message, want) {
					t.Errorf("%q is not in %q", want, f.Message)
				}
			}
			expect(t, Examine(t.Context(), i.o), checkFiles, runfile.CheckFail, f.Message)
			if n := i.lines(i.base + "/starts"); n > 0 {
				t.Errorf("the image was started %d times", n)
			}
		})
	}
}

// TestARestartLooksAgainForWhatItMayDelete.
func TestARestartLooksAgainForWhatItMayDelete(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.existing("ORCLCDB")
	i.o.UseExisting = true
	r := i.start()
	r.ready(1)
	if err := os.Remove(filepath.Join(i.data, ".ORCLCDB.created")); err != nil {
		t.Fatal(err)
	}
	i.write(filepath.Join(i.run, runfile.DatabaseWishFile), 0o644, "2\n")
	s := r.await("failed", func(s runfile.DatabaseState) bool { return s.State == runfile.DatabaseFailed })
	if s.Failure.Code != runfile.FailureForeignFiles || i.lines(i.base+"/starts") != 1 {
		t.Errorf("%+v after %d starts", s.Failure, i.lines(i.base+"/starts"))
	}
}

// TestACreationOfOursThatWasInterruptedBeginsAgain: the image deletes what it has left.
func TestACreationOfOursThatWasInterruptedBeginsAgain(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(filepath.Join(i.data, MarkerFile), 0o640, "")
	i.write(filepath.Join(i.data, "ORCLCDB", "system01.dbf"), 0o640, "")
	for _, use := range []bool{true, false} {
		i.o.UseExisting = use
		expect(t, Examine(t.Context(), i.o), checkFiles, runfile.CheckOK, "none that were not created")
	}
	r := i.start()
	r.ready(1)
	if err := r.end(); err != nil {
		t.Error(err)
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
