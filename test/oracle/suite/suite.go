// Package suite is the conformance suite of databases: what nfsbench asks of an
// Oracle database, and what it takes for granted of the answers. The stand-in
// passes it, and a real database must: `make test-oracle` runs it there. What one
// of them does otherwise is a mistake of the stand-in, or of ours.
//
// It makes schemas named NFSBENCH..., loads a few megabytes and drops them again.
// It changes no parameter.
package suite

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle"
)

// Options say where the database is, and what is true of it.
type Options struct {
	Admin, Load string // EZConnect of the root container and of the pluggable database
	User        string
	Password    string
	Tablespace  string // for the schemas; made if it is not there
	DirectNFS   bool   // the datafiles are on Direct NFS
	Calibrate   bool   // call CALIBRATE_IO, which takes ten minutes
	StandIn     bool
	Seconds     int32 // of each load
}

// ParseDSN reads ORACLE_DSN:
//
//	oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB[&directNFS=true][&calibrate=true][&tablespace=NAME][&seconds=10]
//
// The user must be one who may connect AS SYSDBA. Errors never show the password.
func ParseDSN(dsn string) (Options, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "oracle" || u.Host == "" || u.User == nil || len(u.Path) < 2 {
		return Options{}, fmt.Errorf("ORACLE_DSN is not oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB; characters that mean something in a URL must be written as %%XX")
	}
	password, _ := u.User.Password()
	o := Options{User: u.User.Username(), Password: password, Tablespace: "NFSBENCH", Seconds: 10}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "1521")
	}
	o.Admin, o.Load = host+u.Path, host+u.Path
	for key, values := range u.Query() {
		value := values[0]
		switch key {
		case "pdb":
			o.Load = host + "/" + value
		case "tablespace":
			o.Tablespace = strings.ToUpper(value)
		case "directNFS":
			o.DirectNFS, err = strconv.ParseBool(value)
		case "calibrate":
			o.Calibrate, err = strconv.ParseBool(value)
		case "seconds":
			var n int64
			n, err = strconv.ParseInt(value, 10, 32)
			o.Seconds = int32(n)
		default:
			return o, fmt.Errorf("ORACLE_DSN has %s=, which is none of pdb, tablespace, directNFS, calibrate and seconds", key)
		}
		if err != nil {
			return o, fmt.Errorf("ORACLE_DSN has %s=%s, which is no value for it", key, value)
		}
	}
	return o, nil
}

// Suite checks a database.
func Suite(t *testing.T, open oracle.Opener, o Options) {
	t.Helper()
	s := &suite{open: open, o: o}
	t.Run("ItSaysWhatItIs", s.describe)
	t.Run("EveryTextForItsReleaseIsTaken", s.texts)
	t.Run("ParametersAreRead", s.parameters)
	t.Run("AWrongPasswordIsRefused", s.wrongPassword)
	t.Run("WhoIsNotSysdbaMayNotCalibrate", s.notSysdba)
	t.Run("ACancelledStatementEnds", s.cancel)
	t.Run("RandomReadsAreCounted", s.randomRead)
	t.Run("ScansAreDirectReads", s.scan)
	t.Run("UpdatesAreWritten", s.update)
	if o.Calibrate {
		t.Run("CalibrateGivesItsThreeNumbers", s.calibrate)
	}
	t.Run("NothingIsLeft", s.nothingLeft)
}

type suite struct {
	open oracle.Opener
	o    Options
}
