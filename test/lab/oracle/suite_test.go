package oracle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
	"github.com/nfsbench/nfsbench/test/lab/oraclesuite"
)

func TestTheStandInPassesTheSuite(t *testing.T) {
	paths := []string{"127.0.0.1", "127.0.0.2"}
	for name, o := range map[string]standin.Options{
		"Direct NFS": {Paths: paths},
		"kernel":     {Config: standin.Config{Parameters: map[string]string{"filesystemio_options": "SETALL"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o.Config.Calibrate = 3 * time.Second
			o.Config.Faults.Uncached = 100 // the work may be done before the cache is emptied
			w, report := standin.NewWorld(t, o), filepath.Join(t.TempDir(), "report.md")
			oraclesuite.Suite(t, w.Opener(), oraclesuite.Options{
				Admin: w.Admin(), Load: w.Load(), User: "sys", Password: standin.Password, Tablespace: "NFSBENCH",
				DirectNFS: len(o.Paths) > 0, Calibrate: true, StandIn: true, Statements: 8, Report: report,
			})
			raw, err := os.ReadFile(report)
			if text := string(raw); err != nil || !strings.Contains(text, "stand-in") || !strings.Contains(text, "| times of V$IOSTAT_FILE | Microseconds |") || !strings.Contains(text, "| CalibrateGivesItsThreeNumbers | passed |") ||
				strings.Contains(text, standin.Password) || strings.Contains(text, "127.0.0.") {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}
