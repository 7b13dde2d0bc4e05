package oracle

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ready are the rows of a database that can be calibrated.
func ready() map[string][]row {
	return map[string][]row{
		"container_name":   {{"CON_NAME": "CDB$ROOT", "IS_DBA": "TRUE", "CDB": "YES"}},
		"parameters":       {parameterRow(1, "timed_statistics", "TRUE", "TRUE"), parameterRow(1, "disk_asynch_io", "TRUE", "TRUE"), parameterRow(1, "filesystemio_options", "none", "TRUE")},
		"async_files":      {asyncFile(1, "system01.dbf", "ASYNC_ON"), asyncFile(3, "sysaux01.dbf", "ASYNC_ON")},
		"calibrate_status": {{"STATUS": "READY", "CALIBRATION_TIME": time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}},
	}
}

func asyncFile(number int, name, asynch string) row {
	return row{"INST_ID": 1, "FILE_NO": number, "NAME": name, "ASYNCH_IO": asynch, "ACCESS_METHOD": "OS_LIB"}
}

func TestADatabaseThatIsReadyMayBeCalibrated(t *testing.T) {
	a, f := admin(t, sqltext.Release19, ready())
	if err := a.CheckCalibration(t.Context()); err != nil {
		t.Error(err)
	}
	f.rows["container_name"] = []row{{"CON_NAME": "ORCL", "IS_DBA": "TRUE", "CDB": "NO"}}
	f.rows["calibrate_status"] = []row{{"STATUS": "NOT AVAILABLE", "CALIBRATION_TIME": nil}}
	if err := a.CheckCalibration(t.Context()); err != nil {
		t.Errorf("not a container database: %v", err)
	}
}

func TestWhatACalibrationLacksIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		rows []row
		code string
		want string
	}{
		"no SYSDBA":   {"container_name", []row{{"CON_NAME": "CDB$ROOT", "IS_DBA": "FALSE", "CDB": "YES"}}, runfile.FailurePrivilege, "AS SYSDBA"},
		"no timing":   {"parameters", []row{parameterRow(1, "timed_statistics", "FALSE", "FALSE")}, runfile.FailureTimedStatistics, "timed_statistics is FALSE"},
		"on one only": {"parameters", []row{parameterRow(1, "timed_statistics", "TRUE", "TRUE"), parameterRow(2, "timed_statistics", "FALSE", "FALSE")}, runfile.FailureTimedStatistics, "FALSE (instance 2)"},
		"no async":    {"parameters", []row{parameterRow(1, "disk_asynch_io", "FALSE", "FALSE")}, runfile.FailureAsyncIO, "disk_asynch_io is FALSE"},
		"sync file":   {"async_files", []row{asyncFile(1, "a.dbf", "ASYNC_ON"), asyncFile(2, "b.dbf", "ASYNC_OFF")}, runfile.FailureAsyncIO, `1 of 2 datafiles have no asynchronous I/O (b.dbf: ASYNC_OFF through OS_LIB) while filesystemio_options is "none"`},
		"no file":     {"async_files", nil, runfile.FailureAsyncIO, "no datafile"},
		"running":     {"calibrate_status", []row{{"STATUS": "IN PROGRESS", "CALIBRATION_TIME": nil}}, runfile.FailureBusy, "in progress"},
		"mounted": {"instances", []row{
			{"INST_ID": 1, "INSTANCE_NAME": "RAC1", "HOST_NAME": "h", "VERSION": "19", "STARTUP_TIME": nil, "STATUS": "OPEN"},
			{"INST_ID": 2, "INSTANCE_NAME": "RAC2", "HOST_NAME": "h", "VERSION": "19", "STARTUP_TIME": nil, "STATUS": "MOUNTED"},
		}, runfile.FailureDatabaseNotReady, "instance RAC2 is MOUNTED"},
	} {
		rows := ready()
		rows[c.text] = c.rows
		a, _ := admin(t, sqltext.Release19, rows)
		err := a.CheckCalibration(t.Context())
		if CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v with %q, want %q with %q", name, err, CodeOf(err), c.want, c.code)
		}
	}
}

func TestAllThatACalibrationLacksIsSaidAtOnce(t *testing.T) {
	rows := ready()
	rows["parameters"] = []row{parameterRow(1, "timed_statistics", "FALSE", "FALSE")}
	rows["async_files"] = []row{asyncFile(1, "a.dbf", "ASYNC_OFF")}
	rows["calibrate_status"] = []row{{"STATUS": "IN PROGRESS", "CALIBRATION_TIME": nil}}
	a, _ := admin(t, sqltext.Release19, rows)
	err := a.CheckCalibration(t.Context())
	if CodeOf(err) != runfile.FailureTimedStatistics || strings.Count(err.Error(), "; ") != 2 {
		t.Errorf("got %v with %s", err, CodeOf(err))
	}
}

// calibrateRow is the row of a call of 9 min 11 s.
func calibrateRow(iops int, info any) row {
	start := time.Date(2026, 11, 22, 5, 0, 0, 0, time.UTC)
	return row{
		"START_TIME": start, "END_TIME": start.Add(551*time.Second + 400*time.Millisecond), "MAX_IOPS": iops, "MAX_MBPS": 362,
		"MAX_PMBPS": 60, "LATENCY": 1, "NUM_PHYSICAL_DISKS": 100, "ADDITIONAL_INFO": info,
	}
}

func TestCalibratingGivesWhatTheProcedureGave(t *testing.T) {
	for release, c := range map[sqltext.Release]struct {
		rows map[string][]row
		want runfile.Calibration
	}{
		sqltext.Release12c2: {map[string][]row{"calibrate_result": {calibrateRow(27066, nil)}}, runfile.Calibration{
			MaxIOPS: 27066, MaxMegabytesPerSecond: 362, ActualLatencyMilliseconds: 1, Seconds: 551,
		}},
		sqltext.Release23: {map[string][]row{"calibrate_result_23": {calibrateRow(27066, "limited by CPU")}}, runfile.Calibration{
			MaxIOPS: 27066, MaxMegabytesPerSecond: 362, ActualLatencyMilliseconds: 1, Seconds: 551, AdditionalInfo: "limited by CPU",
		}},
		// The row is of an earlier call: the clock must do.
		sqltext.Release21: {map[string][]row{"calibrate_result": {calibrateRow(1, nil)}}, runfile.Calibration{
			MaxIOPS: 27066, MaxMegabytesPerSecond: 362, ActualLatencyMilliseconds: 1, Seconds: 60,
		}},
	} {
		a, f := admin(t, release, c.rows)
		f.outs = []int64{27066, 362, 1}
		got, err := a.Calibrate(t.Context(), 100, 20)
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", release, err, diff)
		}
		if diff := cmp.Diff([]any{int32(100), int32(20)}, f.binds); diff != "" {
			t.Error(diff)
		}
	}
}

func TestACalibrationThatFailsSaysWhy(t *testing.T) {
	for text, code := range map[string]string{
		"ORA-56708: Could not find any datafiles with asynchronous i/o capability\nORA-06512: at \"SYS.DBMS_RMIN_SYS\", line 459": runfile.FailureAsyncIO,
		"ORA-56709: timed_statistics set to FALSE":                         runfile.FailureTimedStatistics,
		"ORA-01031: insufficient privileges\nORA-06512: at \"SYS.X\"":      runfile.FailurePrivilege,
		"ORA-00600: internal error code, arguments: [1], [2]":              runfile.FailureSQL,
		"dpiStmt_execute: ORA-03113: end-of-file on communication channel": runfile.FailureDatabaseEnded,
	} {
		a, f := admin(t, sqltext.Release19, nil)
		f.errs["calibrate"] = errors.New(text)
		got, err := a.Calibrate(t.Context(), 1, 10)
		if CodeOf(err) != code || got != (runfile.Calibration{}) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v with %s", text, err, CodeOf(err))
		}
	}
}
