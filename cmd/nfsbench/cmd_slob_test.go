package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSLOBImportPrintsAFragment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "slob.conf")
	conf := "SCALE=80M\nUPDATE_PCT=10\nSYSDBA_PASSWD=tiger\n"
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	got := transcript(t, "", "slob", "import", file)
	for _, want := range []string{"workload:\n  slob:\n    access: RandomRead", "    scale: 80Mi # SCALE\n", "# SYSDBA_PASSWD was left out", "exit code 0"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "tiger") {
		t.Errorf("the password is printed:\n%s", got)
	}
	if stdin := transcript(t, conf, "slob", "import", "-"); stdin[strings.Index(stdin, "\n"):] != got[strings.Index(got, "\n"):] {
		t.Errorf("standard input gives\n%s", stdin)
	}
}

func TestSLOBImportRefusesWhatIsNoSLOBConf(t *testing.T) {
	for name, c := range map[string]struct{ stdin, file, want string }{
		"other file":      {"hello\n", "-", "read <stdin>: no parameter of SLOB is set in it"},
		"bad value":       {"UPDATE_PCT=70\n", "-", "read <stdin>: UPDATE_PCT is 70; write 0 to 50, or 100"},
		"value not read":  {"UPDATE_PCT=$U\n", "-", "read <stdin>: UPDATE_PCT is set by line 1, but not as a plain value"},
		"missing file":    {"", "testdata/none/slob.conf", "no such file"},
		"much too large":  {string(bytes.Repeat([]byte("#\n"), maxSLOBConfBytes)), "-", "larger than 1 MiB"},
		"two files":       {"", "a b", "2 files are named"},
		"unknown command": {"", "", `there is no command "export"`},
	} {
		t.Run(name, func(t *testing.T) {
			args := append([]string{"slob", "import"}, strings.Fields(c.file)...)
			if c.file == "" {
				args = []string{"slob", "export"}
			}
			got := transcript(t, c.stdin, args...)
			if !strings.Contains(got, c.want) || !strings.Contains(got, "exit code 2") {
				t.Errorf("no %q with exit code 2 in\n%s", c.want, got)
			}
		})
	}
}
