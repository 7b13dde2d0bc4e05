//go:build oracledb

package oraclesuite_test

import (
	"os"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle/driver"
	"github.com/nfsbench/nfsbench/test/lab/oraclesuite"
)

// TestAgainstADatabase runs the suite that the stand-in passes against the
// database of ORACLE_DSN, through the driver of the shipped program; see
// hack/oracle/test.sh.
func TestAgainstADatabase(t *testing.T) {
	o, err := oraclesuite.ParseDSN(os.Getenv("ORACLE_DSN"))
	if err != nil {
		t.Fatal(err)
	}
	o.Report, o.Program, o.Image = os.Getenv("ORACLE_REPORT"), os.Getenv("ORACLE_PROGRAM"), os.Getenv("ORACLE_IMAGE")
	oraclesuite.Suite(t, driver.Open, o)
}
