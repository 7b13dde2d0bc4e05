package supervise

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestParametersThatTheDatabaseDoesNotStartWithArePutBack, so that the volume stays of use.
func TestParametersThatTheDatabaseDoesNotStartWithArePutBack(t *testing.T) {
	t.Parallel()
	const ora = "ORA-00821: Specified value of sga_target 16M is too small"
	ends := "echo '" + ora + "'; exit 1"
	givesUp := "echo '" + ora + "'; echo 'DATABASE SETUP WAS NOT SUCCESSFUL!'; trap 'exit 0' TERM; while :; do sleep 0.02; done"
	cases := map[string]struct {
		does, text string
		code       string
		left       string
		starts     int
	}{
		"the image ends":          {ends, "bad", runfile.FailureParameter, "good", 2},
		"the image gives up":      {givesUp, "bad", runfile.FailureParameter, "good", 2},
		"nor with the old ones":   {"touch $ORACLE_BASE/broken; " + ends, "bad", runfile.FailureParameter, "good", 1},
		"nothing was changed":     {ends, "good", runfile.FailureDatabaseEnded, "good", 1},
		"others that are as good": {ends, "better", "", "better", 2},
	}
	for name, tc := range cases {
		for _, dir := range []string{"", "dbs"} {
			t.Run(name+" "+dir, func(t *testing.T) {
				t.Parallel()
				i := newImage(t)
				file := filepath.Join(i.data, "dbconfig", "ORCLCDB", dir, "spfileORCLCDB.ora")
				i.mark(ownDatabase{SID: "ORCLCDB"})
				i.write(file, 0o640, "good")
				i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "echo started", "if grep -q bad "+file+
					" || test -f $ORACLE_BASE/broken; then "+tc.does+"; fi\necho started", 1))
				r := i.start()
				r.ready(1)
				for kept := filepath.Join(i.run, keptParameters); ; time.Sleep(time.Millisecond) {
					if raw, err := os.ReadFile(kept); err == nil && string(raw) == "good" {
						break
					}
				}
				i.write(file, 0o640, tc.text)
				if tc.code == runfile.FailureDatabaseEnded {
					i.write(i.base+"/broken", 0o640, "")
				}
				i.wish("2\n")
				if tc.code == "" {
					r.ready(2)
				} else {
					s := r.await("failed", func(s runfile.DatabaseState) bool { return s.State == runfile.DatabaseFailed })
					if s.Failure.Code != tc.code || !strings.Contains(s.Failure.Message, ora) {
						t.Errorf("%+v", s.Failure)
					}
					if broken := strings.Contains(s.Failure.Message, "does not start with it either"); broken != strings.HasPrefix(name, "nor") {
						t.Error(s.Failure.Message)
					}
				}
				if got, starts := i.read(file), i.lines(i.base+"/starts"); got != tc.left || starts != tc.starts {
					t.Errorf("the file has %q after %d starts that went well", got, starts)
				}
			})
		}
	}
}
