package oracle

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func parameterRow(instance int, name, value, isDefault string) row {
	return row{"INST_ID": instance, "NAME": name, "VALUE": value, "ISDEFAULT": isDefault}
}

func TestDescribeSaysWhatADatabaseIs(t *testing.T) {
	started := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	a, f := admin(t, sqltext.Release19, map[string][]row{
		"version_full": {{"BANNER_FULL": "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\nVersion 19.24.0.0.0"}},
		"instances": {
			{"INST_ID": 1, "INSTANCE_NAME": "RAC1", "HOST_NAME": "db1", "VERSION": "19.0.0.0.0", "STARTUP_TIME": started, "STATUS": "OPEN"},
			{"INST_ID": 2, "INSTANCE_NAME": "RAC2", "HOST_NAME": "db2", "VERSION": "19.0.0.0.0", "STARTUP_TIME": started, "STATUS": "OPEN"},
		},
		"parameters": {
			parameterRow(1, "_db_block_prefetch_limit", "0", "FALSE"), parameterRow(2, "_db_block_prefetch_limit", "0", "FALSE"),
			parameterRow(1, "_left_alone", "1", "TRUE"),
			parameterRow(1, "db_cache_size", "1G", "FALSE"), parameterRow(2, "db_cache_size", "2G", "FALSE"),
			parameterRow(1, "_serial_direct_read", "auto", "TRUE"), parameterRow(1, "db_block_checking", "FALSE", "TRUE"),
			parameterRow(1, "db_block_checksum", "TYPICAL", "TRUE"), parameterRow(1, "db_lost_write_protect", "NONE", "TRUE"),
			parameterRow(1, "db_name", "RAC", "FALSE"), parameterRow(1, "db_writer_processes", "4", "TRUE"),
			parameterRow(1, "resource_manager_plan", "DEFAULT_PLAN", "FALSE"),
			parameterRow(1, "filesystemio_options", "none", "TRUE"), parameterRow(2, "filesystemio_options", "none", "TRUE"),
		},
	})
	f.rows["patches"] = []row{
		{"PATCH_ID": 1, "ACTION": "APPLY", "DESCRIPTION": "Database Release Update : 19.23"},
		{"PATCH_ID": 2, "ACTION": "APPLY", "DESCRIPTION": "DNFS MERGE"},
		{"PATCH_ID": 1, "ACTION": "ROLLBACK", "DESCRIPTION": "Database Release Update : 19.23"},
		{"PATCH_ID": 3, "ACTION": "APPLY", "DESCRIPTION": "Database Release Update : 19.24"},
	}
	f.rows["encrypted_tablespaces"] = []row{{"TABLESPACES": 2}}
	got, err := a.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := runfile.Oracle{
		Patches: []string{"DNFS MERGE", "Database Release Update : 19.24"}, EncryptedTablespaces: new(int64(2)),
		Banner:  "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production Version 19.24.0.0.0",
		Version: "19.0.0.0.0",
		Instances: []runfile.OracleInstance{
			{ID: 1, Name: "RAC1", Host: "db1", StartupTime: started}, {ID: 2, Name: "RAC2", Host: "db2", StartupTime: started},
		},
		Parameters: []runfile.OracleParameter{
			{Name: "_db_block_prefetch_limit", Value: "0"},
			{Name: "_serial_direct_read", Value: "auto"},
			{Name: "db_block_checking", Value: "FALSE"},
			{Name: "db_block_checksum", Value: "TYPICAL"},
			{Name: "db_cache_size", Value: "1G (instance 1), 2G (instance 2)"},
			{Name: "db_lost_write_protect", Value: "NONE"},
			{Name: "db_writer_processes", Value: "4"},
			{Name: "filesystemio_options", Value: "none"},
			{Name: "resource_manager_plan", Value: "DEFAULT_PLAN"},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"instances", "version_full", "container_name", "patches", "encrypted_tablespaces", "parameters"}, f.asked); diff != "" {
		t.Error(diff)
	}
}

func TestTheBannerOfAnOlderReleaseIsTheLineOfTheDatabase(t *testing.T) {
	a, _ := admin(t, sqltext.Release12c2, map[string][]row{"version": {
		{"BANNER": "PL/SQL Release 12.2.0.1.0"}, {"BANNER": "Oracle Database 12c, nfsbench stand-in"}, {"BANNER": "CORE 12.2.0.1.0"},
	}})
	got, err := a.Describe(t.Context())
	if err != nil || got.Banner != "Oracle Database 12c, nfsbench stand-in" || !got.StandIn {
		t.Errorf("got %q, stand-in %v, %v", got.Banner, got.StandIn, err)
	}
}

// TestWhatAnAdministratorMayNotSeeIsNotKnown, and a database that is gone is an error.
func TestWhatAnAdministratorMayNotSeeIsNotKnown(t *testing.T) {
	for text, fails := range map[string]bool{
		"ORA-00942: table or view does not exist": false, "ORA-01031: insufficient privileges": false,
		"ORA-03113: end-of-file on communication channel": true,
	} {
		a, f := admin(t, sqltext.Release19, nil)
		f.errs["patches"], f.errs["encrypted_tablespaces"] = errors.New(text), errors.New(text)
		got, err := a.Describe(t.Context())
		if (err != nil) != fails || got.Patches != nil || got.EncryptedTablespaces != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// TestTheReleaseUpdateOf18IsKnown: BANNER has the version without it.
func TestTheReleaseUpdateOf18IsKnown(t *testing.T) {
	const banner = "Oracle Database 18c Enterprise Edition Release 18.0.0.0.0 - Production"
	a, f := admin(t, sqltext.Release18, map[string][]row{
		"version": {{"BANNER": banner}}, "version_full": {{"BANNER_FULL": banner + "\nVersion 18.14.0.0.0"}},
	})
	f.rows["instances"][0]["VERSION"] = "18.0.0.0.0"
	if got, err := a.Describe(t.Context()); err != nil || got.Banner != banner+" Version 18.14.0.0.0" {
		t.Errorf("%q, %v", got.Banner, err)
	}
}

func TestOutsideOfTheRootViewsDoNotCountAll(t *testing.T) {
	for name, c := range map[string]struct{ container, cdb, refused string }{
		"root":      {"CDB$ROOT", "YES", ""},
		"no CDB":    {"ORCL", "NO", ""},
		"pluggable": {"ORCLPDB1", "YES", "is to ORCLPDB1"},
	} {
		a, _ := admin(t, sqltext.Release19, map[string][]row{"container_name": {{"CON_NAME": c.container, "IS_DBA": "TRUE", "CDB": c.cdb}}})
		got, err := a.Describe(t.Context())
		switch {
		case c.refused == "" && (err != nil || got.Container != c.container):
			t.Errorf("%s: container %q, %v", name, got.Container, err)
		case c.refused != "" && (CodeOf(err) != runfile.FailureUnsupported || !strings.Contains(err.Error(), c.refused)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAReleaseWhoseViewsAreNotKnownIsNotDescribed(t *testing.T) {
	a, f := admin(t, sqltext.Release12c1, nil)
	f.rows["instances"][0]["VERSION"] = "11.2.0.4.0"
	_, err := a.Describe(t.Context())
	if CodeOf(err) != runfile.FailureUnsupported || !strings.Contains(err.Error(), "12.1.0.2") {
		t.Errorf("got %v", err)
	}
}

func TestParametersAreReadBackByName(t *testing.T) {
	a, _ := admin(t, sqltext.Release23, map[string][]row{"parameters": {
		parameterRow(1, "sga_target", "2G", "FALSE"), parameterRow(1, "cpu_count", "2", "TRUE"), parameterRow(1, "_hidden", "x", "FALSE"),
	}})
	got, err := a.Parameters(t.Context(), []string{"SGA_Target", "_hidden", "_never_set"})
	if diff := cmp.Diff(map[string]string{"SGA_Target": "2G", "_hidden": "x"}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
}

func TestParametersAreSetInTheSpfile(t *testing.T) {
	a, f := admin(t, sqltext.Release19, nil)
	err := a.SetParameters(t.Context(), map[string]string{
		"filesystemio_options": "setall", "_db_block_prefetch_limit": "0", "db_cache_size": "128M", "timed_statistics": "true", "log_archive_format": "it's_%t",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`ALTER SYSTEM SET "_db_block_prefetch_limit" = 0 SCOPE = SPFILE SID = '*'`,
		`ALTER SYSTEM SET db_cache_size = 128M SCOPE = SPFILE SID = '*'`,
		`ALTER SYSTEM SET filesystemio_options = 'setall' SCOPE = SPFILE SID = '*'`,
		`ALTER SYSTEM SET log_archive_format = 'it''s_%t' SCOPE = SPFILE SID = '*'`,
		`ALTER SYSTEM SET timed_statistics = true SCOPE = SPFILE SID = '*'`,
	}
	if diff := cmp.Diff(want, f.executed); diff != "" {
		t.Error(diff)
	}
}

func TestAParameterThatIsRefusedIsNamed(t *testing.T) {
	for text, code := range map[string]string{
		"ORA-02097: parameter cannot be modified\nORA-00068: invalid value": runfile.FailureParameter,
		"ORA-02017: integer value required":                                 runfile.FailureParameter,
		"ORA-01031: insufficient privileges":                                runfile.FailurePrivilege,
		"ORA-03113: end-of-file on communication channel":                   runfile.FailureDatabaseEnded,
	} {
		a, f := admin(t, sqltext.Release19, nil)
		f.errs["set_parameter"] = errors.New(text)
		err := a.SetParameters(t.Context(), map[string]string{"cpu_count": "many"})
		if CodeOf(err) != code || !strings.Contains(err.Error(), `cpu_count = "many"`) || !strings.Contains(err.Error(), text[:9]) {
			t.Errorf("%s: got %v with %s, want %s", text, err, CodeOf(err), code)
		}
	}
	hidden := map[string]string{"_of_another_release": "0"}
	for text, code := range map[string]string{
		"ORA-02065: illegal option for ALTER SYSTEM":      "",
		"ORA-03113: end-of-file on communication channel": runfile.FailureDatabaseEnded,
	} {
		a, f := admin(t, sqltext.Release19, nil)
		f.errs["set_parameter"] = errors.New(text)
		if err := a.SetParameters(t.Context(), hidden); CodeOf(err) != code {
			t.Errorf("hidden, %s: got %v, want %q", text, err, code)
		}
	}
	a, f := admin(t, sqltext.Release19, nil)
	err := a.SetParameters(t.Context(), map[string]string{"x = 1 SCOPE = MEMORY; --": "1"})
	if CodeOf(err) != runfile.FailureParameter || len(f.executed) > 0 {
		t.Errorf("got %v, executed %v", err, f.executed)
	}
}

func TestOthersAtWorkAreNamed(t *testing.T) {
	session := func(sid int, user string) row {
		return row{"INST_ID": 2, "SID": sid, "USERNAME": user, "MACHINE": "app", "PROGRAM": "sqlplus", "MODULE": "sqlplus", "ACTION": nil, "EVENT": "db file sequential read"}
	}
	a, f := admin(t, sqltext.Release12c1, map[string][]row{"active_sessions": nil})
	if err := a.CheckIdle(t.Context()); err != nil {
		t.Error(err)
	}
	f.rows["active_sessions"] = []row{session(7, "SCOTT"), session(8, "A"), session(9, "B"), session(10, "C"), session(11, "D")}
	f.asked = nil
	err := a.CheckIdle(t.Context())
	if CodeOf(err) != runfile.FailureBusy {
		t.Errorf("got %v", err)
	}
	if len(f.asked) != idleLooks {
		t.Errorf("looked %d times; what an instance does after its start lasts longer", len(f.asked))
	}
	for _, part := range []string{"SCOTT, sqlplus on app (instance 2, SID 7, db file sequential read)", "and 2 more"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
	if strings.Contains(err.Error(), "job") {
		t.Errorf("nobody's job: %v", err)
	}
	app, job := session(7, "SCOTT"), session(8, "SYS")
	app["MODULE"] = "payroll"
	job["PROGRAM"], job["MODULE"], job["ACTION"] = "oracle@app (J000)", "DBMS_SCHEDULER", "ORA$AT_OS_OPT_SY_12"
	f.rows["active_sessions"] = []row{app, job}
	err = a.CheckIdle(t.Context())
	for _, part := range []string{
		"SCOTT, module payroll, sqlplus on app", "job ORA$AT_OS_OPT_SY_12 of SYS, oracle@app (J000) on app", "set job_queue_processes to 0",
	} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %q", part, err)
		}
	}
}

func TestEveryReleaseIsAskedOnlyForWhatItHas(t *testing.T) {
	for _, release := range sqltext.Releases() {
		a, f := admin(t, release, nil)
		f.outs = []int64{1, 2, 3}
		steps := map[string]func() error{
			"describe":  func() error { _, err := a.Describe(t.Context()); return err },
			"calibrate": func() error { _, err := a.Calibrate(t.Context(), 1, 10); return err },
			"idle":      func() error { return a.CheckIdle(t.Context()) },
			"snapshot":  func() error { _, err := a.Snapshot(t.Context()); return err },
			"look":      func() error { return a.Watch().Look(t.Context()) },
		}
		for name, step := range steps {
			if err := step(); err != nil {
				t.Errorf("%s, %s: %v", release, name, err)
			}
		}
		if err := a.CheckCalibration(t.Context()); CodeOf(err) == runfile.FailureSQL {
			t.Errorf("%s, check: %v", release, err)
		}
	}
}

func TestAFailingQuerySaysWhichAndWhy(t *testing.T) {
	a, f := admin(t, sqltext.Release19, nil)
	f.errs["sysstat"] = errors.New("ORA-00942: table or view does not exist")
	_, err := a.Snapshot(t.Context())
	if CodeOf(err) != runfile.FailureSQL || !strings.Contains(err.Error(), "sysstat: ") || !strings.Contains(err.Error(), "ORA-00942") {
		t.Errorf("got %v with %q", err, CodeOf(err))
	}
}

func TestASessionThatIsAtWorkForAMomentIsNotMeant(t *testing.T) {
	session := func(instance, sid int) row {
		return row{"INST_ID": instance, "SID": sid, "USERNAME": "SYS", "MACHINE": "pod", "PROGRAM": "sqlplus", "MODULE": "sqlplus", "ACTION": nil, "EVENT": nil}
	}
	a, f := admin(t, sqltext.Release19, map[string][]row{"active_sessions": {session(1, 7)}})
	f.next = map[string][]row{"active_sessions": {session(1, 8), session(2, 7)}}
	if err := a.CheckIdle(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"active_sessions", "active_sessions"}, f.asked); diff != "" {
		t.Error(diff)
	}
	f.errs["active_sessions"] = errors.New("ORA-03114: not connected")
	if err := a.CheckIdle(t.Context()); CodeOf(err) != runfile.FailureDatabaseEnded {
		t.Error(err)
	}
}

func TestWaitingForAnIdleDatabaseEndsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	a, f := admin(t, sqltext.Release19, nil)
	f.rows["active_sessions"] = []row{{"INST_ID": 1, "SID": 1, "USERNAME": "X", "MACHINE": "x", "PROGRAM": "x", "MODULE": nil, "ACTION": nil, "EVENT": "x"}}
	f.then = cancel
	a.pause = time.Hour
	if err := a.CheckIdle(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
