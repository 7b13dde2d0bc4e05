package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func keepPlan() runfile.Plan {
	p := testPlan()
	p.Keep = true
	p.Workload.SLOB.Users = []int32{1}
	p.Schedule = runfile.Schedule{DurationSeconds: 3, Repetitions: 1}
	return p
}

func TestSchemasOfAnEarlierRunAreUsedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(*bench.SLOBWorkload)
		loaded int64 // MiB
	}{
		"same":      {"nothing is loaded twice", func(*bench.SLOBWorkload) {}, 0},
		"users":     {"users do not matter", func(s *bench.SLOBWorkload) { s.Users = []int32{5} }, 0},
		"scale":     {"tables of another size are made again", func(s *bench.SLOBWorkload) { s.Scale = *bench.Bytes(16 << 20) }, 32},
		"columns":   {"so are those with other rows", func(s *bench.SLOBWorkload) { s.ObfuscateColumns = bench.Disabled }, 160},
		"schemas":   {"one more is loaded alone", func(s *bench.SLOBWorkload) { s.Schemas = 3 }, 80},
		"access":    {"the table to scan is loaded beside the other", func(s *bench.SLOBWorkload) { s.Access, s.ReadAhead = bench.SLOBFullTableScan, 0 }, 2},
		"elsewhere": {"another tablespace has nothing yet", func(s *bench.SLOBWorkload) { s.Tablespace = "OTHER" }, 160},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), keepPlan()
				first, _ := runOn(t.Context(), t, d, plan)
				wantSuccess(t, first)
				if first.FilledBytes != 160<<20 || first.Oracle.SchemasReused {
					t.Errorf("the first run loaded %d, reused %v", first.FilledBytes, first.Oracle.SchemasReused)
				}
				c.change(plan.Workload.SLOB)
				second, _ := runOn(t.Context(), t, d, plan)
				wantSuccess(t, second)
				if second.FilledBytes != c.loaded<<20 || second.Oracle.LoadedBytes != c.loaded<<20 || second.Oracle.SchemasReused != (c.loaded == 0) {
					t.Errorf("%s: loaded %d MiB, reused %v", c.reason, second.FilledBytes>>20, second.Oracle.SchemasReused)
				}
				checkTables(t, d, plan)
			})
		})
	}
}

// checkTables wants users that can log in, every key once, and one row in a block.
func checkTables(t *testing.T, d *database, plan runfile.Plan) {
	t.Helper()
	table, bytes := "NFSBENCH_RANGES", plan.Workload.SLOB.Scale.Value()
	if plan.Workload.SLOB.Access == bench.SLOBFullTableScan {
		table, bytes = "NFSBENCH_SCAN", plan.Workload.SLOB.ScanTableSize.Value()
	}
	if len(d.users) != int(plan.Workload.SLOB.Schemas) {
		t.Errorf("%d users", len(d.users))
	}
	for name, u := range d.users {
		if !u.granted {
			t.Errorf("%s may not log in", name)
		}
		rows := u.tables[table]
		if rows == nil || rows.minimized != 1 || rows.obfuscated != (plan.Workload.SLOB.ObfuscateColumns != bench.Disabled) || rows.tablespace != plan.Workload.SLOB.Tablespace {
			t.Fatalf("%s.%s: %+v", name, table, rows)
		}
		for key := range bytes / 8192 {
			if rows.times[key+1] != 1 {
				t.Fatalf("key %d is in %s.%s %d times", key+1, name, table, rows.times[key+1])
			}
		}
		if int64(rows.rows) != bytes/8192 || (table == "NFSBENCH_RANGES") != u.index && table == "NFSBENCH_RANGES" {
			t.Errorf("%s.%s has %d rows, index %v", name, table, rows.rows, u.index)
		}
	}
}

func TestALoadThatWasCutIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		d.fail = failing("slob_load_obfuscated", 7, "ORA-01653: unable to extend table NFSBENCH1.NFSBENCH_RANGES by 1024 in tablespace NFSBENCH")
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureNoSpace, "load NFSBENCH", "NFSBENCH_RANGES")
		if got := spansOf(load); got != "Connect Fill Done" {
			t.Error(got)
		}
		if load.FilledBytes == 0 || load.FilledBytes >= 160<<20 || load.Oracle.Banner == "" {
			t.Errorf("%d bytes were loaded into %q", load.FilledBytes, load.Oracle.Banner)
		}
		d.fail = nil
		load, _ = runOn(t.Context(), t, d, plan)
		wantSuccess(t, load)
		checkTables(t, d, plan)
	})
}

func TestAFullTablespaceLeavesNothingBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		plan.Keep = false
		d.fail = failing("slob_load_obfuscated", 4, "ORA-01653: unable to extend table")
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureNoSpace)
		if len(d.users) != 0 || len(d.tablespaces) != 1 || load.FilesLeft {
			t.Errorf("left behind: %v, %v, told %v", d.users, d.tablespaces, load.FilesLeft)
		}
	})
}

func TestForeignSchemasAreRefusedAndLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), testPlan()
		theirs := &user{password: "theirs", tables: map[string]*rowsOf{"ORDERS": {}}}
		d.users["NFSBENCH2"] = theirs
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureForeignFiles, "NFSBENCH2", "NFSBENCH_MARKER", "drop it")
		if d.users["NFSBENCH2"] != theirs || len(d.users) != 1 || theirs.password != "theirs" || len(d.tablespaces) != 1 {
			t.Errorf("something was done: %v", d.log)
		}
	})
}

func TestATablespaceOfOthersIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		plan.Keep = false
		d.tablespaces["NFSBENCH"] = "/somewhere.dbf"
		load, _ := runOn(t.Context(), t, d, plan)
		wantSuccess(t, load)
		if d.tablespaces["NFSBENCH"] == "" || len(d.users) != 0 {
			t.Errorf("%v, %v", d.tablespaces, d.users)
		}
	})
}

func TestATablespaceOfOursIsKeptWhileOthersUseIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		wantSuccessOf(t, d, plan) // it makes the tablespace, and keeps it
		d.users["SCOTT"] = &user{tables: map[string]*rowsOf{"EMP": {tablespace: "NFSBENCH"}}}
		plan.Keep = false
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureForeignFiles, "tablespace NFSBENCH is kept", "1 segments of others")
		if !load.FilesLeft || d.tablespaces["NFSBENCH"] == "" || len(d.users) != 1 || len(load.Repetitions) != 1 {
			t.Errorf("told %v, left %v and %v", load.FilesLeft, d.users, d.tablespaces)
		}
	})
}

// A session whose connection was closed lives on in the database for a moment.
func TestDroppingWaitsForSessionsThatLiveOn(t *testing.T) {
	for tries, dropped := range map[int]bool{5: true, 1000: false} {
		synctest.Test(t, func(t *testing.T) {
			d, plan := newDatabase(), keepPlan()
			plan.Keep, plan.Workload.SLOB.Schemas = false, 1
			d.fail = func(name, _ string, nth int) error {
				if name == "slob_schema_drop" && nth < tries {
					return errors.New("ORA-01940: cannot drop a user that is currently connected")
				}
				return nil
			}
			load, _ := runOn(t.Context(), t, d, plan)
			if n := d.counts["slob_schema_drop"]; (len(d.users) == 0) != dropped || load.FilesLeft == dropped || n > 10 {
				t.Errorf("%d tries left %v, told %v", n, d.users, load.FilesLeft)
			}
		})
	}
}

func wantSuccessOf(t *testing.T, d *database, plan runfile.Plan) {
	t.Helper()
	load, _ := runOn(t.Context(), t, d, plan)
	wantSuccess(t, load)
}

func TestTheTablespaceIsBesideTheDatabaseAndLargeEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		text := ""
		d.fail = func(name, statement string, _ int) error {
			if name == "slob_tablespace_create" {
				text = statement
			}
			return nil
		}
		wantSuccessOf(t, d, keepPlan())
		for _, want := range []string{"'/opt/oracle/oradata/ORCLCDB/ORCLPDB1/nfsbench_nfsbench_01.dbf'", "SIZE 234M"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %s in %s", want, text)
			}
		}
	})
}

func TestASchemaWithoutItsMarkerIsNotLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		d.fail = failing("slob_marker_create", 1, "ORA-01658: unable to create INITIAL extent for segment in tablespace NFSBENCH")
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureNoSpace, "create the schema NFSBENCH")
		d.fail = nil
		wantSuccessOf(t, d, plan)
	})
}

// TestAHalfMadeSchemaIsMadeAgain ends the making of one schema before each of its
// statements, which is where the failure of another schema cancels it, too.
func TestAHalfMadeSchemaIsMadeAgain(t *testing.T) {
	for _, statement := range []string{"slob_schema_create", "slob_marker_create", "slob_schema_grant", "slob_marker_write"} {
		t.Run(statement, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), keepPlan()
				d.fail = func(name, text string, _ int) error {
					if name == statement && strings.Contains(text, "NFSBENCH2") {
						return errors.New("ORA-00604: error occurred at recursive SQL level 1")
					}
					return nil
				}
				load, _ := runOn(t.Context(), t, d, plan)
				wantFailure(t, load, runfile.FailureSQL, "create the schema NFSBENCH2")
				d.fail = nil
				wantSuccessOf(t, d, plan)
				checkTables(t, d, plan)
			})
		})
	}
}

func TestFewerBlocksThanRowsAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		d.blocksOf = func(rows int64) int64 { return rows / 3 }
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureSQL, "10240 rows are in 3413 blocks")
		if d.has("slob_random_read") {
			t.Error("load was put on it")
		}
	})
}

func TestPasswordsOfSchemasAreNewInEachRunAndNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		wantSuccessOf(t, d, plan)
		first := d.users["NFSBENCH1"].password
		d.fail = func(name, _ string, nth int) error {
			if name == "slob_random_read" && nth > 40 {
				return errors.New("ORA-01555: snapshot too old")
			}
			return nil
		}
		load, sink := runOn(t.Context(), t, d, plan)
		second := d.users["NFSBENCH1"].password
		if len(first) < 20 || len(first) > 30 || first == second {
			t.Errorf("passwords %q and %q", first, second)
		}
		wantFailure(t, load, runfile.FailureSQL, "user 1 (NFSBENCH1 at localhost:1521/ORCLPDB1)", "ORA-01555")
		for _, e := range sink.events {
			if strings.Contains(e.Message, second) || strings.Contains(e.Message, "secret") {
				t.Error(e.Message)
			}
		}
	})
}

func TestLoadingStopsWhenTheRunDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), testPlan()
		ctx, cancel := context.WithCancelCause(t.Context())
		d.fail = func(name, _ string, nth int) error {
			if name == "slob_load_obfuscated" && nth == 4 {
				cancel(errors.New("SIGTERM"))
			}
			return nil
		}
		load, _ := runOn(ctx, t, d, plan)
		wantFailure(t, load, runfile.FailureCancelled, "SIGTERM")
		if len(d.users) != 0 || load.FilesLeft {
			t.Errorf("left behind: %v", d.users)
		}
	})
}
