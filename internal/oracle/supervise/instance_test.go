package supervise

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// TestAnInstanceThatEndsBehindItsStartScriptIsNoticed: the script follows the alert log forever.
func TestAnInstanceThatEndsBehindItsStartScriptIsNoticed(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{"ora", "db"} {
		i := newImage(t)
		i.proc("4711/stat", "4711 (ora) S 1 4711")
		i.proc("4711/cmdline", prefix+"_pmon_ORCLCDB\x00")
		i.proc("4712/stat", "4712 (ora) S 1 4712")
		i.proc("4712/cmdline", prefix+"_pmon_OTHER\x00")
		i.write(i.base+"/runOracle.sh", 0o755, strings.Replace(startScript, "while :", "echo ORA-00600 in the alert log\nwhile :", 1))
		r := i.start()
		r.ready(1)
		r.until("the words of the script", func() bool { return strings.Contains(i.out.String(), "ORA-00600") })
		i.remove(filepath.Join(i.o.ProcDir, "4711"))
		r.failed(runfile.FailureDatabaseEnded, "pmon", "ORA-00600 in the alert log")
	}
}
