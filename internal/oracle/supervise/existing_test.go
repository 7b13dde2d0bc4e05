package supervise

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// existing puts on the volume what an image of Oracle leaves when it has created a database.
func (i *image) existing() {
	i.t.Helper()
	const sid = "ORCLCDB"
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
	i.existing()
	i.fails(runfile.FailureForeignFiles, "existingDatabase to Use")
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
		r.ends()
		if name, err := foreignIn(i.data); err != nil || name == "" {
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
		return func(i *image) { i.remove(filepath.Join(i.data, name)) }
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
		"the file is a folder":              {folder(".ORCLCDB.created"), ".ORCLCDB.created", deletes},
		"the file is a link":                {link(".ORCLCDB.created"), ".ORCLCDB.created", deletes},
		"the file belongs to another SID":   {rename(".ORCLCDB.created", ".PROD.created"), ".ORCLCDB.created", deletes},
		"the file has small letters":        {rename(".ORCLCDB.created", ".orclcdb.created"), ".ORCLCDB.created", deletes},
		"the folder belongs to another SID": {rename("ORCLCDB", "PROD"), "ORCLCDB", "create a new database"},
		"the folder has small letters":      {rename("ORCLCDB", "orclcdb"), "ORCLCDB", "create a new database"},
		"the folder is a link":              {link("ORCLCDB"), "ORCLCDB", "system01.dbf"},
		"the folder is a file":              {func(i *image) { remove("ORCLCDB")(i); i.write(i.data+"/ORCLCDB", 0o640, "") }, "ORCLCDB", "create"},
		"the folder is empty":               {folder("ORCLCDB"), "*.dbf", stays},
		"no spfile":                         {remove("dbconfig/ORCLCDB/spfileORCLCDB.ora"), "spfileORCLCDB.ora", stays},
		"no password file":                  {remove("dbconfig/ORCLCDB/orapwORCLCDB"), "orapwORCLCDB", stays},
		"the SID of the container":          {func(i *image) { i.o.Env = append(i.o.Env, "ORACLE_SID=prod") }, "/PROD", "create a new database"},
		"a command of the user":             {func(i *image) { remove(".ORCLCDB.created")(i); i.o.StartCommand = []string{i.base + "/runOracle.sh"} }, ".created", deletes},
		"a marker that no run has left":     {func(i *image) { remove(".ORCLCDB.created")(i); folder(MarkerFile)(i) }, ".created", deletes},
		"a marker that leads to nowhere": {func(i *image) {
			remove(".ORCLCDB.created")(i)
			i.mark(ownDatabase{SID: "ORCLCDB"})
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
			i.existing()
			i.o.UseExisting = true
			tc.change(i)
			i.refuses(tc.missing, tc.say)
		})
	}
}

// refuses checks that neither a run nor the doctor accepts the files on the volume, that the image is not started,
// and that the message says what is wanted. It returns the message.
func (i *image) refuses(say ...string) (message string) {
	i.t.Helper()
	message = i.fails(runfile.FailureForeignFiles, say...).Message
	expect(i.t, Examine(i.t.Context(), i.o), checkFiles, runfile.CheckFail, message)
	i.started(0)
	return message
}

// TestARestartLooksAgainForFilesOfOthers: for those that it may delete, and for a copy that somebody
// has made meanwhile.
func TestARestartLooksAgainForFilesOfOthers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, meanwhile func(*image) }{
		"may delete": {
			func(i *image) { i.existing(); i.o.UseExisting = true },
			func(i *image) { i.remove(filepath.Join(i.data, ".ORCLCDB.created")) },
		},
		"a copy": {
			func(i *image) { i.creates(7) },
			func(i *image) { i.write(filepath.Join(i.data, "PROD/system01.dbf"), 0o640, systemFile(9)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			c.before(i)
			r := i.start()
			r.ready(1)
			c.meanwhile(i)
			i.asksFor("2\n")
			r.failed(runfile.FailureForeignFiles)
			i.started(1)
		})
	}
}

// mark writes the marker of a volume.
func (i *image) mark(own ...ownDatabase) {
	i.t.Helper()
	text, err := json.Marshal(marker{Databases: own})
	if err != nil {
		i.t.Fatal(err)
	}
	i.write(filepath.Join(i.data, MarkerFile), 0o640, string(text))
}

// marked returns the entry of a database in the marker.
func (i *image) marked(sid string) ownDatabase {
	i.t.Helper()
	m, err := i.o.readMarker()
	if err != nil {
		i.t.Fatal(err)
	}
	if d := m.find(sid); d != nil {
		return *d
	}
	return ownDatabase{}
}

// fileOf is the beginning of a datafile (0x0b) or control file (0x15) of a database.
func fileOf(kind byte, blockBytes int, id uint32) string {
	b := make([]byte, 2*blockBytes)
	header := b[blockBytes:]
	header[0] = kind
	binary.LittleEndian.PutUint32(header[4:], 1<<22|1)
	binary.LittleEndian.PutUint32(header[28:], id)
	return string(b)
}

func systemFile(id uint32) string { return fileOf(0x0b, 8192, id) }

// bigEndianFile is that of a datafile whose machine has the other byte order.
func bigEndianFile(id uint32) string {
	b := []byte(fileOf(0x0b, 8192, 0))
	binary.BigEndian.PutUint32(b[8192+4:], 1<<22|1)
	binary.BigEndian.PutUint32(b[8192+28:], id)
	return string(b)
}

// creates is a start script that makes or opens a database with this DBID, as those of Oracle do.
func (i *image) creates(id uint32) {
	i.t.Helper()
	i.write(i.base+"/system01.dbf", 0o640, systemFile(id))
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `data=$ORACLE_BASE/oradata
if ! test -f $data/.ORCLCDB.created || ! test -d $data/ORCLCDB; then
  rm -rf $data/ORCLCDB; mkdir -p $data/ORCLCDB $data/dbconfig/ORCLCDB
  cp $ORACLE_BASE/system01.dbf $data/ORCLCDB; echo created >> "$ORACLE_BASE/creations"
  while test -f $ORACLE_BASE/hold; do sleep 0.02; done
  touch $data/.ORCLCDB.created $data/dbconfig/ORCLCDB/spfileORCLCDB.ora $data/dbconfig/ORCLCDB/orapwORCLCDB
fi
touch`, 1))
}

// TestTheMarkerNamesWhatARunCreates: the SID before the image starts, the DBID while the image creates the
// database, and at its end that it is complete.
func TestTheMarkerNamesWhatARunCreates(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.creates(7)
	i.write(i.base+"/hold", 0o640, "")
	i.write(i.base+"/runOracle.sh", 0o755, "#!/bin/sh\ncp $ORACLE_BASE/oradata/"+MarkerFile+" $ORACLE_BASE/first\n"+i.read(i.base+"/runOracle.sh"))
	r := i.start()
	await := func(want ownDatabase) {
		t.Helper()
		i.until(fmt.Sprintf("%+v in the marker", want), func() bool { return reflect.DeepEqual(i.marked("ORCLCDB"), want) })
	}
	await(ownDatabase{SID: "ORCLCDB", DBIDs: []uint32{7}})
	if first := i.read(i.base + "/first"); !strings.Contains(first, `"sid": "ORCLCDB"`) || !strings.Contains(first, "nfsbench") {
		t.Errorf("before the start the marker was %s", first)
	}
	i.remove(i.base + "/hold")
	await(ownDatabase{SID: "ORCLCDB", Created: true, DBIDs: []uint32{7}})
	r.ready(1)
	r.ends()
	i.startAndEnd(2)
	i.write(filepath.Join(i.data, "ORCLCDB/users01.dbf"), 0o640, systemFile(8)) // of somebody else
	i.fails(runfile.FailureForeignFiles)
	if n := i.lines(i.base + "/creations"); n != 1 {
		t.Errorf("created %d times", n)
	}
}

// TestADatabaseThatIsCopiedToAVolumeOfOursIsForeign: the marker was there before it.
func TestADatabaseThatIsCopiedToAVolumeOfOursIsForeign(t *testing.T) {
	t.Parallel()
	half, whole := ownDatabase{SID: "ORCLCDB", DBIDs: []uint32{7}}, ownDatabase{SID: "ORCLCDB", Created: true, DBIDs: []uint32{7}}
	cases := map[string]struct {
		own   ownDatabase
		files map[string]string
		say   []string
	}{
		"of another SID": {whole, map[string]string{"PROD/system01.dbf": systemFile(9)}, []string{"PROD/system01.dbf", "DBID 9"}},
		"of the same SID": {
			whole,
			map[string]string{"ORCLCDB/system01.dbf": systemFile(9), ".ORCLCDB.created": ""},
			[]string{"ORCLCDB/system01.dbf", "DBID 9", "spfileORCLCDB.ora", "not get it started"},
		},
		"over one of ours that is half made": {
			half,
			map[string]string{"ORCLCDB/system01.dbf": systemFile(9)},
			[]string{"DBID 9", ".ORCLCDB.created", "would delete", "ORCLCDB with system01.dbf"},
		},
		"where ours began and has no file yet": {
			ownDatabase{SID: "ORCLCDB"}, map[string]string{"ORCLCDB/system01.dbf": systemFile(9)}, []string{"DBID 9", "would delete"},
		},
		"one file of it beside ours": {
			half, map[string]string{"ORCLCDB/system01.dbf": systemFile(7), "ORCLCDB/PDB1/USERS.DBF": systemFile(9)}, []string{"USERS.DBF", "DBID 9"},
		},
		"with other blocks":       {half, map[string]string{"ORCLCDB/a.dbf": fileOf(0x0b, 32<<10, 9)}, []string{"DBID 9"}},
		"with a name of the user": {half, map[string]string{"ORCLCDB/PDB1/users.ora": systemFile(9)}, []string{"users.ora", "DBID 9"}},
		"of another byte order":   {half, map[string]string{"ORCLCDB/a.dbf": bigEndianFile(9)}, []string{"a.dbf", "DBID 9"}},
		"a control file":          {half, map[string]string{"ORCLCDB/control01.ctl": fileOf(0x15, 16<<10, 9)}, []string{"control01.ctl", "DBID 9"}},
		"a file without DBID":     {whole, map[string]string{"backup/payroll.dbf": "x"}, []string{"backup/payroll.dbf"}},
		"a file in the root":      {whole, map[string]string{"payroll.dbf": "x"}, []string{"payroll.dbf"}},
		"the file of an image":    {whole, map[string]string{".PROD.created": ""}, []string{".PROD.created"}},
		"the files of its start":  {whole, map[string]string{"dbconfig/PROD/spfilePROD.ora": ""}, []string{"dbconfig/PROD"}},
		"in the folder of the SID to be created": {
			ownDatabase{SID: "FREE"}, map[string]string{"ORCLCDB/backup.bkp": "x"}, []string{"ORCLCDB/backup.bkp", "create a new database"},
		},
		"complete, and without the file of the image": {
			whole,
			map[string]string{"ORCLCDB/system01.dbf": systemFile(7)},
			[]string{"is complete", ".ORCLCDB.created", "would delete"},
		},
	}
	for name, tc := range cases {
		for _, use := range []bool{false, true} {
			for _, command := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, use existing %t, a command of the user %t", name, use, command), func(t *testing.T) {
					t.Parallel()
					i := newImage(t)
					i.o.UseExisting = use
					if command {
						i.o.StartCommand = []string{i.base + "/runOracle.sh"}
					}
					i.mark(tc.own)
					for name, text := range tc.files {
						i.write(filepath.Join(i.data, name), 0o640, text)
					}
					message := i.refuses(tc.say...)
					_, err := os.Lstat(filepath.Join(i.data, "ORCLCDB"))
					_, createdErr := os.Lstat(filepath.Join(i.data, ".ORCLCDB.created"))
					begun := err == nil || createdErr == nil
					if got := strings.Contains(message, "Missing: "); got != (use || begun) {
						t.Errorf("it says what is missing: %t; %s", got, message)
					}
				})
			}
		}
	}
}

// TestACopyThatARunMayUseIsNotTakenForOurs, although the marker names its SID.
func TestACopyThatARunMayUseIsNotTakenForOurs(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	own := ownDatabase{SID: "ORCLCDB", DBIDs: []uint32{7}}
	i.mark(own)
	i.existing()
	i.write(filepath.Join(i.data, "ORCLCDB/system01.dbf"), 0o640, systemFile(9))
	i.fails(runfile.FailureForeignFiles, "existingDatabase to Use")
	i.o.UseExisting = true
	i.startAndEnd(1)
	if got := i.marked("ORCLCDB"); !reflect.DeepEqual(got, own) {
		t.Errorf("the marker says %+v", got)
	}
}

// TestASIDThatIsAPathStartsNothing: the image would delete what it leads to.
func TestASIDThatIsAPathStartsNothing(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.Env = append(i.o.Env, "ORACLE_SID=../x")
	if f := i.fails(runfile.FailureInvalidPlan); !strings.Contains(f.Message, "../X") || i.lines(i.base+"/starts") > 0 {
		t.Error(f.Message)
	}
}

// TestACreationOfOursThatWasInterruptedBeginsAgain: the image deletes what it has left, also files
// that have no header yet.
func TestACreationOfOursThatWasInterruptedBeginsAgain(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"a DBID that was seen": systemFile(7), "no DBID yet": systemFile(0), "no header yet": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newImage(t)
			i.creates(8)
			i.mark(ownDatabase{SID: "FREE", Created: true, DBIDs: []uint32{5}}, ownDatabase{SID: "ORCLCDB", DBIDs: []uint32{7}})
			i.write(filepath.Join(i.data, "ORCLCDB/system01.dbf"), 0o640, text)
			i.write(filepath.Join(i.data, "fast_recovery_area/ORCLCDB/control02.ctl"), 0o640, "")
			i.write(filepath.Join(i.data, "FREE/system01.dbf"), 0o640, systemFile(5))
			for _, use := range []bool{true, false} {
				i.o.UseExisting = use
				expect(t, Examine(t.Context(), i.o), checkFiles, runfile.CheckOK, "none that were not created")
			}
			r := i.start()
			r.await("created", func(runfile.DatabaseState) bool { return i.marked("ORCLCDB").Created })
			r.ends()
			if got := i.marked("ORCLCDB"); !slices.Equal(got.DBIDs, []uint32{8}) || i.lines(i.base+"/creations") != 1 {
				t.Errorf("the marker says %+v", got)
			}
			if got := i.marked("FREE"); !got.Created || !slices.Equal(got.DBIDs, []uint32{5}) {
				t.Errorf("the marker says %+v of the other database", got)
			}
		})
	}
}

// TestADatabaseOfOursThatSomebodyRemovedIsCreatedAgain, and it is half made until the creation has ended: the
// image's file that the removal left belongs to the removed database.
func TestADatabaseOfOursThatSomebodyRemovedIsCreatedAgain(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.mark(ownDatabase{SID: "ORCLCDB", Created: true, DBIDs: []uint32{7}})
	i.write(filepath.Join(i.data, ".ORCLCDB.created"), 0o640, "")
	i.creates(6)
	i.write(i.base+"/hold", 0o640, "")
	r := i.start()
	r.await("seen", func(runfile.DatabaseState) bool { return slices.Equal(i.marked("ORCLCDB").DBIDs, []uint32{6}) })
	if i.marked("ORCLCDB").Created {
		t.Error("a database that is being created counts as complete")
	}
	i.write(filepath.Join(i.data, "ORCLCDB/system01.dbf"), 0o640, systemFile(8)) // with its last DBID
	i.remove(i.base + "/hold")
	r.ready(1)
	if got := i.marked("ORCLCDB"); !got.Created || !slices.Equal(got.DBIDs, []uint32{8}) {
		t.Fatalf("the marker says %+v", got)
	}
	r.ends()
	i.startAndEnd(2)
}

// TestTheDBIDIsKeptBetweenTheHealthChecks, and the last one when the image has ended.
func TestTheDBIDIsKeptBetweenTheHealthChecks(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.HealthInterval = time.Hour
	i.creates(7)
	i.write(i.base+"/hold", 0o640, "")
	i.write(i.base+"/last", 0o640, systemFile(8))
	script := strings.Replace(i.read(i.base+"/runOracle.sh"), "exit 0' TERM",
		"cp $ORACLE_BASE/last $ORACLE_BASE/oradata/ORCLCDB/system01.dbf; exit 0' TERM", 1)
	i.write(i.base+"/runOracle.sh", 0o755, script)
	r := i.start()
	r.await("seen", func(runfile.DatabaseState) bool { return slices.Equal(i.marked("ORCLCDB").DBIDs, []uint32{7}) })
	r.ends()
	if got := i.marked("ORCLCDB"); got.Created || !slices.Contains(got.DBIDs, 8) {
		t.Errorf("the marker says %+v", got)
	}
}

// TestTheMarkerIsNotWrittenThroughALink that somebody has left in its place.
func TestTheMarkerIsNotWrittenThroughALink(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	file := i.base + "/precious"
	i.write(file, 0o640, "precious")
	if err := os.Symlink(file, filepath.Join(i.data, MarkerFile+".part")); err != nil {
		t.Fatal(err)
	}
	i.mark(ownDatabase{SID: "ORCLCDB"})
	i.startAndEnd(1)
	if text := i.read(file); text != "precious" {
		t.Errorf("the file behind the link has %q", text)
	}
}

// TestTheMarkerIsReadAsAStrangersFile: one that is not as a run writes it names no database, and so
// each file is foreign.
func TestTheMarkerIsReadAsAStrangersFile(t *testing.T) {
	t.Parallel()
	many := make([]ownDatabase, maxDatabases+1)
	for n := range many {
		many[n].SID = fmt.Sprintf("S%d", n)
	}
	text := func(own ...ownDatabase) string {
		raw, err := json.Marshal(marker{Databases: own})
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	for name, content := range map[string]string{
		"empty": "", "a sentence": "The database on this volume was created for a benchmark.\n", "no database": text(),
		"a path": text(ownDatabase{SID: "../ORCLCDB"}), "no SID": text(ownDatabase{}), "too many databases": text(many...),
		"too many DBIDs": text(ownDatabase{SID: "ORCLCDB", DBIDs: make([]uint32, maxIDs+1)}),
		"too long":       text(ownDatabase{SID: "ORCLCDB"}) + strings.Repeat(" ", maxMarker),
		"no DBID":        `{"databases":[{"sid":"ORCLCDB","dbids":[-1]}]}`,
	} {
		i := newImage(t)
		i.write(filepath.Join(i.data, MarkerFile), 0o640, content)
		for _, file := range []string{"", "ORCLCDB/system01.dbf"} {
			if file != "" {
				i.write(filepath.Join(i.data, file), 0o640, systemFile(0))
			}
			if found, err := foreignIn(i.data); err != nil || found == "" {
				t.Errorf("%s: %q, %v", name, found, err)
			}
		}
	}
}

// TestAVolumeOfAnySizeIsLookedAtWithinBounds: with more files than are looked at, it is not ours.
func TestAVolumeOfAnySizeIsLookedAtWithinBounds(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.mark(ownDatabase{SID: "ORCLCDB"})
	deep := filepath.Join(i.data, "ORCLCDB", strings.Repeat("d/", maxDepth+2))
	if err := os.MkdirAll(deep, 0o750); err != nil {
		t.Fatal(err)
	}
	if found, err := foreignIn(i.data); err != nil || found == "" {
		t.Errorf("deep: %q, %v", found, err)
	}
	i.fails(runfile.FailureForeignFiles, "would delete", "(more than 10000 entries, which are not all looked at)")
	loop := filepath.Join(i.base, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	if found, err := findDatafile(loop); err == nil {
		t.Errorf("a folder that cannot be read: %q", found)
	}
	i.remove(filepath.Join(i.data, "ORCLCDB"))
	for n := range maxLooked + 1 {
		if err := os.Mkdir(filepath.Join(i.data, fmt.Sprint(n)), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := foreignIn(i.data); err != nil || found == "" {
		t.Errorf("many: %q, %v", found, err)
	}
}

// TestWhatWasCreatedForABenchmarkIsKnownAgain by the file that the first start leaves.
func TestWhatWasCreatedForABenchmarkIsKnownAgain(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.o.SID = "FREE"
	for generation := range int32(2) {
		i.startAndEnd(generation + 1)
		if err := os.MkdirAll(filepath.Join(i.data, "FREE"), 0o750); err != nil {
			t.Fatal(err)
		}
		if name, err := foreignIn(i.data); err != nil || name != "" {
			t.Errorf("start %d: %q, %v", generation, name, err)
		}
	}
}

// foreignIn is what a run of ORCLCDB finds in a data directory.
func foreignIn(dataDirectory string) (string, error) {
	return Options{DataDirectory: dataDirectory, SID: "ORCLCDB"}.foreign()
}
