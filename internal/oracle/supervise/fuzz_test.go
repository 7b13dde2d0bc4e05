package supervise

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// FuzzLog reads what a database prints, and what it writes into its alert log.
func FuzzLog(f *testing.F) {
	f.Add([]byte(odmExample+"\nDirect NFS: channel id [0] path [10.0.1.61] to filer [ontap] is UP\n"), 20)
	f.Add([]byte("ORACLE PASSWORD FOR SYS: tiger\r\nALTER USER a IDENTIFIED BY \"x y\"\nsqlplus -s sys/secret@x\n"), 3)
	f.Add([]byte("Direct NFS: \x1b[2J\xff\nDirect NFS: a\x00"), 0)
	f.Add(bytes.Repeat([]byte("passwords "), 400), 900)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		cut = min(max(cut, 0), len(in))
		base := t.TempDir()
		path := filepath.Join(base, "diag/rdbms/a/A/trace/alert_A.log")
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		j, err := openJournal(base, runfile.DatabaseState{})
		if err != nil {
			t.Fatal(err)
		}
		s := &supervisor{log: slog.New(slog.DiscardHandler), journal: j, redact: newRedactor([]string{"tiger", "xx"})}
		logs, kept := openAlertLogs(base), &tail{}
		each := func(line string) {
			line = s.redact.clean(line)
			kept.add(line)
			s.alert(line)
		}
		memory.Bound(t, 4*maxLine+512*len(in), func() {
			if err := eachLine(bytes.NewReader(in), each); err != nil {
				t.Fatal(err)
			}
			for _, part := range [][]byte{in[:cut], in} {
				if err := os.WriteFile(path, part, 0o600); err != nil {
					t.Fatal(err)
				}
				logs.look(each)
			}
		})
		if n := len(kept.text()); n > keptLines*(keptBytes+len(" | ...")) {
			t.Errorf("%d bytes of a log are kept", n)
		}
		if n := len(j.state.Library.Warnings); n > keptWarnings {
			t.Errorf("%d warnings are kept", n)
		}
	})
}

// FuzzJournal reads the files of the run directory, which the loader writes to as well.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"state":"Ready","generation":3,"library":{"warnings":["a"]}}`))
	f.Add([]byte(" 7\n"))
	f.Add([]byte(`{"generation":99999999999,"failure":{}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		dir := t.TempDir()
		for _, name := range []string{runfile.DatabaseFile, runfile.DatabaseGenerationFile} {
			if err := os.WriteFile(filepath.Join(dir, name), in, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		memory.Bound(t, 64*len(in), func() {
			j, err := openJournal(dir, runfile.DatabaseState{})
			if err != nil {
				t.Fatal(err)
			}
			if j.asked() < 0 {
				t.Error(j.asked())
			}
		})
	})
}

// FuzzMarker reads the marker of a volume and the header of a datafile, which anybody may have
// written to the volume.
func FuzzMarker(f *testing.F) {
	f.Add([]byte(`{"databases":[{"sid":"ORCLCDB","created":true,"dbids":[7]}]}`), []byte(systemFile(7)))
	f.Add([]byte(`{"databases":[{"sid":"../x"}]}`), []byte(fileOf(0x15, 2048, 0)))
	f.Add(bytes.Repeat([]byte(`[`), 1000), []byte{})
	f.Fuzz(func(t *testing.T, text, file []byte) {
		dir := t.TempDir()
		for name, content := range map[string][]byte{MarkerFile: text, "ORCLCDB/a.dbf": file} {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, content, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		memory.Bound(t, 2*maxMarker+64*min(len(text), maxMarker), func() {
			found, err := foreignIn(dir)
			if err != nil {
				t.Fatal(err)
			}
			m, err := Options{DataDirectory: dir}.readMarker()
			if err != nil || found == "" && m.find("ORCLCDB") == nil {
				t.Errorf("%q, although the marker does not name its database: %v", found, err)
			}
		})
	})
}
