package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	standin "github.com/nfsbench/nfsbench/test/oracle"
	"github.com/nfsbench/nfsbench/test/oracle/suite"
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
			w, report := standin.NewWorld(t, o), filepath.Join(t.TempDir(), "report.md")
			suite.Suite(t, w.Opener(), suite.Options{
				Admin: w.Admin(), Load: w.Load(), User: "sys", Password: standin.Password, Tablespace: "NFSBENCH",
				DirectNFS: len(o.Paths) > 0, Calibrate: true, StandIn: true, Seconds: 2, Report: report,
			})
			raw, err := os.ReadFile(report)
			if text := string(raw); err != nil || !strings.Contains(text, "stand-in") || !strings.Contains(text, "| CalibrateGivesItsThreeNumbers | passed |") ||
				strings.Contains(text, standin.Password) || strings.Contains(text, "127.0.0.") {
				t.Errorf("%v\n%s", err, text)
			}
		})
	}
}

func TestADSNIsRead(t *testing.T) {
	got, err := suite.ParseDSN("oracle://sys:a%2Fb@db/FREE?pdb=FREEPDB1&directNFS=true&seconds=5&tablespace=t")
	want := suite.Options{Admin: "db:1521/FREE", Load: "db:1521/FREEPDB1", User: "sys", Password: "a/b", Tablespace: "T", DirectNFS: true, Seconds: 5}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	for _, bad := range []string{"", "sys/secret@db/FREE", "oracle://sys:secret@db/", "oracle://sys:secret@db/FREE?directNFS=maybe", "oracle://sys:secret@db/FREE?what=1", "oracle://sys:sec%ret@db/FREE"} {
		_, err := suite.ParseDSN(bad)
		if err == nil || strings.Contains(err.Error(), "sec") && !strings.Contains(err.Error(), "seconds") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
