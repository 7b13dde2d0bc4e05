package oraclesuite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/test/lab/oraclesql/catalog"
)

// TestAReportHasNothingOfTheUser: the report leaves out what may belong to the user, and cuts a banner
// down to the characters that banners have.
func TestAReportHasNothingOfTheUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "report.md")
	err := errors.New("ORA-00942: table or view PAYROLL.SALARIES does not exist at host db7.corp.example\nORA-06512, ORA-00942")
	r := report{
		program: "v1-3-gabc", image: "registry.corp.example/secret/oracle:19", banner: "Oracle Database 19c | <b>\x1b[31m", version: "19.22.0.0.0", instances: 2,
		tests: []outcome{{"ItSaysWhatItIs", "passed"}}, texts: []outcome{{"version", numbers(err)}}, columns: []string{"V$DNFS_SERVERS has no column SECURITY"},
	}
	r.note(err)
	r.note(errors.New("DPI-1047: /oracle/joe/lib"))
	r.note(nil)
	r.add("UpdatesAreWritten", false)
	if err := r.write(path); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| nfsbench | v1-3-gabc |", "| image | one of the user |", "| banner | Oracle Database 19c b 31m |", "| version | 19.22.0.0.0 |", "| ItSaysWhatItIs | passed |", "| UpdatesAreWritten | FAILED |", "provokes: ORA-00942 ORA-06512, DPI-1047.\n", "- version: ORA-00942 ORA-06512\n", "- V$DNFS_SERVERS has no column SECURITY"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("no %q in\n%s", want, raw)
		}
	}
	for _, never := range []string{"corp.example", "joe", "PAYROLL", "\x1b", "<b>"} {
		if strings.Contains(string(raw), never) {
			t.Errorf("%q in\n%s", never, raw)
		}
	}
	if got := publicImage("container-registry.oracle.com/database/free:23.7.0.0"); got != "container-registry.oracle.com/database/free:23.7.0.0" {
		t.Errorf("the image of everybody is %q", got)
	}
}

func TestAColumnThatAViewHasNotIsToldWithItsView(t *testing.T) {
	release := sqltext.Releases()[len(sqltext.Releases())-1]
	got := differences(release, func(view string) ([]string, error) {
		switch view {
		case "V$DNFS_FILES":
			return []string{"FILENAME", "FILESIZE", "PNUM", "CON_ID", "MORE"}, nil
		case "V$PDBS":
			return nil, errors.New("ORA-00942: table or view does not exist")
		}
		return catalog.Columns(view, release), nil
	})
	if diff := cmp.Diff([]string{"V$DNFS_FILES has no column SVR_ID", "V$PDBS: ORA-00942"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
