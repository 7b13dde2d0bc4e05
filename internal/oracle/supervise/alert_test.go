package supervise

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

const odmExample = "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0"

func TestTheStateHasWhatTheAlertLogSaysOfDirectNFS(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	alert := i.base + "/diag/rdbms/orclcdb/ORCLCDB/trace/alert_ORCLCDB.log"
	i.write(alert, 0o644, "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 2.0\nDirect NFS: an old line\n")
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `cat >> "$ORACLE_BASE"/diag/rdbms/orclcdb/ORCLCDB/trace/alert_ORCLCDB.log <<'END'
2026-11-22T10:00:00.000000+00:00
`+odmExample+`
Direct NFS: attempting to mount /vol/oradata on filer filer1 defined in oranfstab
Oracle instance running with ODM: something else
Direct NFS: channel id [0] path [10.0.0.1] to filer [filer1] via local [10.0.0.2] is UP
Direct NFS: channel id [1] path [10.0.0.1] to filer [filer1] via local [10.0.0.2] is DOWN
Direct NFS: mount complete dir /vol/oradata on filer1
He said: Direct NFS: is not at the beginning
ORCLPDB1(3):Direct NFS: attempting to mount /vol/pdb on filer filer1 defined in mtab
Direct NFS: attempting to mount /vol/oradata on filer filer1 defined in oranfstab
END
echo "Direct NFS: please check that oradism is setuid"
touch`, 1))
	r := i.start()
	s := r.await("the lines", func(s runfile.DatabaseState) bool {
		return s.Library.AlertLine != "" && len(s.Library.Warnings) == 2 && len(s.Library.Mounts) == 2
	})
	if s.Library.AlertLine != odmExample {
		t.Errorf("alert line %q", s.Library.AlertLine)
	}
	mounts := []runfile.DNFSMount{
		{Export: "/vol/oradata", Server: "filer1", DefinedIn: "oranfstab"}, {Export: "/vol/pdb", Server: "filer1", DefinedIn: "mtab"},
	}
	if diff := cmp.Diff(mounts, s.Library.Mounts); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	want := map[string]bool{
		"Direct NFS: please check that oradism is setuid":                                           true,
		"Direct NFS: channel id [1] path [10.0.0.1] to filer [filer1] via local [10.0.0.2] is DOWN": true,
	}
	for _, w := range s.Library.Warnings {
		if !want[w] {
			t.Errorf("kept %q", w)
		}
	}
}

func TestANewStartForgetsWhatWasSaidOfTheOneBefore(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "touch", `if test ! -f "$ORACLE_BASE/second"; then echo "`+odmExample+`"; echo "Direct NFS: Failed to mount /y on filer z"; echo "Direct NFS: attempting to mount /x on filer y defined in mtab"; fi
touch "$ORACLE_BASE/second"
touch`, 1))
	r := i.start()
	r.await("the line", func(s runfile.DatabaseState) bool {
		return s.State == runfile.DatabaseReady && s.Library.AlertLine == odmExample
	})
	i.asksFor("2")
	if s := r.ready(2); s.Library.AlertLine != "" || len(s.Library.Warnings)+len(s.Library.Mounts) != 0 {
		t.Errorf("library %+v", s.Library)
	}
}

func TestAlertLogsAreReadByWholeNewLines(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	file := filepath.Join(base, "diag/rdbms/free/FREE/trace/alert_FREE.log")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	put := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|flag, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(text); err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
	}
	put(os.O_APPEND, "before\nhalf of")
	logs := openAlertLogs(base)
	var got []string
	look := func() { logs.look(func(l string) { got = append(got, l) }) }
	look()
	put(os.O_APPEND, " a line\nsecond\nthi")
	look()
	put(os.O_APPEND, "rd\n")
	look()
	put(os.O_TRUNC, "new\n")
	look()
	look()
	want := []string{" a line", "second", "third", "new"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	put(os.O_APPEND, strings.Repeat("x", maxLine+1))
	look()
	if n := len(logs.partial[file]); n != 0 {
		t.Errorf("keeps %d bytes of a line that never ends", n)
	}
}

func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	j, err := openJournal(i.run, runfile.DatabaseState{})
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{o: i.o, log: i.o.Log, journal: j, redact: newRedactor(nil)}
	for n := range 100 {
		s.alert("Direct NFS: Failed " + strings.Repeat("y", 2000) + string(rune('A'+n)))
		s.alert("Direct NFS: Failed line " + string(rune('0'+n)))
	}
	w := i.state().Library.Warnings
	if len(w) != keptWarnings || len(w[0]) > keptBytes+3 {
		t.Errorf("%d warnings, the first of %d bytes", len(w), len(w[0]))
	}
}

// TestOnlyProblemsOfDirectNFSAreWarnings: each good start says more.
func TestOnlyProblemsOfDirectNFSAreWarnings(t *testing.T) {
	t.Parallel()
	for line, warning := range map[string]bool{
		"channel config is:": false,
		"channel id [0] path [10.0.0.1] to filer [f] via local [] is UP":           false,
		"mount complete dir /vol/oradata on f mntport 635 nfsport 2049":            false,
		"NFS version 3.0 is the preferred one, and DOWNTOWN is its name":           false,
		"channel id [1] path [10.0.0.1] to filer [f] via local [] is DOWN":         true,
		"Failed to set socket buffer size.wtmax=[65536] rtmax=[65536], errno=-1":   true,
		"Could not write to path 10.0.0.1":                                         true,
		"Invalid filer wtmax 525232 on filer f, must be an even multiple of 32768": true,
		"please check that oradism is setuid":                                      true,
		"NFS3ERR 1 Not owner. path 10.0.0.1":                                       true,
		"mount error 13 on filer f":                                                true,
	} {
		i := newImage(t)
		j, err := openJournal(i.run, runfile.DatabaseState{})
		if err != nil {
			t.Fatal(err)
		}
		s := &supervisor{o: i.o, log: i.o.Log, journal: j, redact: newRedactor(nil)}
		s.alert("Direct NFS: " + line)
		if got := len(i.state().Library.Warnings) == 1; got != warning {
			t.Errorf("%q is a warning: %t", line, got)
		}
	}
}

func TestSecretsDoNotComeOut(t *testing.T) {
	t.Parallel()
	r := newRedactor([]string{"s3cret/pw", "xy"})
	cases := map[string]string{
		"ORACLE PASSWORD FOR SYS, SYSTEM AND PDBADMIN: aB1__x":   "ORACLE PASSWORD FOR SYS, SYSTEM AND PDBADMIN: ***",
		"Your password is: geheim":                               "Your password is: ***",
		"ALTER USER SYS IDENTIFIED BY \"geheim wort\" ACCOUNT":   "ALTER USER SYS IDENTIFIED BY *** ACCOUNT",
		"alter user x identified by geheim;":                     "alter user x identified by ***",
		"sqlplus -s sys/geheim@localhost:1521/x as sysdba":       "sqlplus -s sys/***@localhost:1521/x as sysdba",
		"connect system/geheim":                                  "connect system/***",
		"ORACLE_PWD=geheim":                                      "ORACLE_PWD=***",
		"export ORACLE_PASSWORD=geheim":                          "export ORACLE_PASSWORD=***",
		"the word s3cret/pw alone":                               "the word *** alone",
		"Direct NFS: channel xy of /vol/oradata is up":           "Direct NFS: channel xy of /vol/oradata is up",
		"Copying database files":                                 "Copying database files",
		"ORA-28002: the password will expire within 7 days":      "ORA-28002: the password will expire within 7 days",
		"Starting listener: (ADDRESS=(PROTOCOL=TCP)(PORT=1521))": "Starting listener: (ADDRESS=(PROTOCOL=TCP)(PORT=1521))",
	}
	for line, want := range cases {
		if got := r.clean(line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestLinesOfAnyLengthAreRead(t *testing.T) {
	t.Parallel()
	var got []int
	long := strings.Repeat("z", maxLine*2+5)
	if err := eachLine(bytes.NewReader([]byte("a\r\n\n"+long+"\nend")), func(l string) { got = append(got, len(l)) }); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, n := range got {
		total += n
	}
	if got[0] != 1 || got[len(got)-1] != 3 || total != 1+len(long)+3 {
		t.Errorf("lengths %v", got)
	}
}
