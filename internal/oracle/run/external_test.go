package run

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// externalPlan is a short ramp in a database of somebody else, mounted at /u02/oradata.
func externalPlan() runfile.Plan {
	p := testPlan()
	p.Engine.MountPath = ""
	p.Schedule = runfile.Schedule{DurationSeconds: 3, Repetitions: 1}
	p.Database = &runfile.Database{
		Kind: runfile.DatabaseExternal, AdminConnect: "db1:1521/ORCL", Connects: []string{"db1:1521/PDB1"}, User: "sys", Role: "SYSDBA",
		DataDirectory: "/u02/oradata", TablespaceDirectory: "/u02/oradata/bench",
	}
	return p
}

func withoutContainer(o *Options) { o.Database = nil }

func TestTheReadsOfOurSessionsAreReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.foreign = 30
		load, _ := runOn(t.Context(), t, d, externalPlan(), withoutContainer)
		wantSuccess(t, load)
		for _, rep := range load.Repetitions {
			all := rep.Oracle.Statistics["physical read total bytes"]
			if own := rep.Read.Bytes; own*100 > all*71 || own*100 < all*69 || rep.Oracle.OwnReadBytes == nil {
				t.Errorf("%d of %d bytes are reported, want 70 %%", own, all)
			}
		}
	})
}

func TestADatabaseOfOthersMustBeIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.busy = []string{"app"}
		load, _ := runOn(t.Context(), t, d, externalPlan(), withoutContainer)
		wantFailure(t, load, runfile.FailureBusy, "others use the database")
	})
}

func TestLoadingThatWritesRedoNeedsConsent(t *testing.T) {
	forced := [][]any{{"V$DATABASE", "NO", "ARCHIVELOG"}, {"DBA_PDBS", "YES", nil}}
	for name, c := range map[string]struct {
		reason  string
		logging [][]any
		allow   bool
		refuse  bool
	}{
		"not forced":   {"tables without logging write none, archived or not", [][]any{{"V$DATABASE", "NO", "ARCHIVELOG"}}, false, false},
		"forced":       {"the user must know how much it is", forced, false, true},
		"allowed":      {"the user has agreed", forced, true, false},
		"to a standby": {"the blocks go there instead", [][]any{{"V$DATABASE", "STANDBY NOLOGGING FOR LOAD PERFORMANCE", "ARCHIVELOG"}}, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), externalPlan()
				d.logging, plan.Database.AllowRedo = c.logging, c.allow
				load, sink := runOn(t.Context(), t, d, plan, withoutContainer)
				if c.refuse {
					wantFailure(t, load, runfile.FailureRedo, "about 170 MiB of redo", "in archived logs", "database.external.loadingWithRedo to Allow")
					if len(d.users) != 0 || d.has("slob_tablespace_create") {
						t.Errorf("%s: it has begun to load: %v", c.reason, d.log)
					}
					return
				}
				wantSuccess(t, load)
				told := slices.ContainsFunc(sink.events, func(e runfile.Event) bool { return strings.Contains(e.Message, "170 MiB of redo") })
				if told != c.allow {
					t.Errorf("%s: told %v", c.reason, told)
				}
			})
		})
	}
}

func TestTheTablespaceLiesOnTheExportUnderTest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*database, *runfile.Database)
		file   string // that was made
		want   string // in the failure
	}{
		"directory": {func(*database, *runfile.Database) {}, "/u02/oradata/bench/nfsbench_nfsbench_01.dbf", ""},
		"beside SYSTEM": {func(d *database, p *runfile.Database) {
			p.TablespaceDirectory = ""
			d.tablespaces["SYSTEM"] = "/u02/oradata/ORCL/system01.dbf"
		}, "/u02/oradata/ORCL/nfsbench_nfsbench_01.dbf", ""},
		"SYSTEM elsewhere": {func(d *database, p *runfile.Database) {
			p.TablespaceDirectory = ""
			d.tablespaces["SYSTEM"] = "/u02/oradata2/system01.dbf"
		}, "", "/u02/oradata2/nfsbench_nfsbench_01.dbf of tablespace NFSBENCH is not below database.external.mountPath (/u02/oradata)"},
		"ASM": {func(d *database, p *runfile.Database) {
			p.TablespaceDirectory = ""
			d.tablespaces["SYSTEM"] = "+DATA/orcl/system.256.1"
		}, "", "+DATA of tablespace NFSBENCH is not below"},
		"made by others": {func(d *database, _ *runfile.Database) {
			d.tablespaces["NFSBENCH"] = "/local/nfsbench.dbf"
		}, "", "/local/nfsbench.dbf of tablespace NFSBENCH is not below database.external.mountPath (/u02/oradata), so the load would not be on the export under test; name another workload.slob.tablespace"},
		"mount unknown": {func(_ *database, p *runfile.Database) {
			p.DataDirectory, p.TablespaceDirectory = "", ""
		}, "/opt/oracle/oradata/ORCLCDB/ORCLPDB1/nfsbench_nfsbench_01.dbf", ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), externalPlan()
				plan.Keep = true
				c.change(d, plan.Database)
				load, _ := runOn(t.Context(), t, d, plan, withoutContainer)
				if c.want != "" {
					wantFailure(t, load, runfile.FailureInvalidPlan, c.want)
					return
				}
				wantSuccess(t, load)
				if got := d.tablespaces["NFSBENCH"]; got != c.file {
					t.Errorf("made %s, want %s", got, c.file)
				}
			})
		})
	}
}

func TestTheKitReadsFromTheExportUnderTest(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*database, *runfile.Plan)
		want   string // in the failure
	}{
		"there": {func(*database, *runfile.Plan) {}, ""},
		"elsewhere": {func(d *database, _ *runfile.Plan) {
			d.kitFile = "/local/iops.dbf"
		}, "/local/iops.dbf of tablespace IOPS is not below database.external.mountPath (/u02/oradata), so the load would not be on the export under test; load the kit into a tablespace there with setup.sh"},
		"mount unknown": {func(d *database, p *runfile.Plan) {
			d.kitFile, p.Database.DataDirectory, p.Database.TablespaceDirectory = "/local/iops.dbf", "", ""
		}, ""},
		"not loaded": {func(_ *database, p *runfile.Plan) {
			p.Workload.SLOB.Schemas, p.Workload.SLOB.Users = 3, []int32{3}
		}, "not all of the schemas USER1 to USER3 have the table CF1 in the database of database.external.services"},
		"others": {func(d *database, _ *runfile.Plan) {
			d.noStatspack, d.kit = true, func() [][]any {
				return [][]any{{"USER1", int64(2), int64(1)}, {"USER2", int64(2), int64(1)}, {"USER7", int64(3), int64(0)}}
			}
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, _ := kit(t, report)
			d, plan := kitDatabase(), externalKitPlan(dir)
			c.change(d, &plan)
			load, _ := runOn(t.Context(), t, d, plan, withoutContainer)
			if c.want == "" {
				wantSuccess(t, load)
				return
			}
			wantFailure(t, load, runfile.FailureInvalidPlan, c.want)
		})
	}
}

func TestAUserWithoutSysdbaNeedsItsPrivilegesFirst(t *testing.T) {
	makes := []string{"CREATE TABLESPACE", "DROP TABLESPACE"}
	all := append(slob.LoadRights(), makes...)
	without := func(rights ...string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(r string) bool { return slices.Contains(rights, r) })
	}
	ofOurs := func(d *database, w *bench.SLOBWorkload) { // of a run that was ended
		d.users["NFSBENCH1"] = &user{
			tables: map[string]*rowsOf{"NFSBENCH_MARKER": {}}, quota: "NFSBENCH", granted: true,
			marker: [][]any{{"Schema", int64(slob.Model), int64(0), int64(0), int64(8192), int64(1), w.Tablespace, int64(1)}},
		}
	}
	withAWR := func(_ *database, w *bench.SLOBWorkload) { w.AWR = bench.Enabled }
	for name, c := range map[string]struct {
		rights []string
		there  bool   // the tablespace
		want   string // in the failure
		change func(*database, *bench.SLOBWorkload)
	}{
		"all":                        {all, false, "", nil},
		"by role":                    {append(without("SELECT ANY DICTIONARY"), "SELECT_CATALOG_ROLE"), false, "", nil},
		"none":                       {[]string{"CREATE SESSION"}, false, "GRANT SELECT ANY DICTIONARY TO", nil},
		"some":                       {without("ALTER USER", "CREATE ANY INDEX"), false, "GRANT ALTER USER, CREATE ANY INDEX TO that user, for a common user with CONTAINER=ALL", nil},
		"no tablespace":              {without(makes...), false, "GRANT CREATE TABLESPACE, DROP TABLESPACE TO", nil},
		"a tablespace that is there": {without(makes...), true, "", nil},
		"a tablespace of ours":       {without(makes...), true, "GRANT DROP TABLESPACE TO", ofOurs},
		"one that stays":             {without(makes...), true, "", ofOurs},
		"AWR":                        {all, false, "GRANT EXECUTE ON SYS.DBMS_WORKLOAD_REPOSITORY TO that user", withAWR},
		"AWR as granted":             {append(all, "EXECUTE ON DBMS_WORKLOAD_REPOSITORY"), false, "", withAWR},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), externalPlan()
				d.rights, plan.Database.Role, plan.Database.User, plan.Keep = c.rights, "", "bench", name == "one that stays"
				if c.there {
					d.tablespaces["NFSBENCH"] = "/u02/oradata/bench.dbf"
				}
				if c.change != nil {
					c.change(d, plan.Workload.SLOB)
				}
				users := len(d.users)
				load, _ := runOn(t.Context(), t, d, plan, withoutContainer, func(o *Options) { o.User = "bench" })
				if c.want == "" {
					wantSuccess(t, load)
					return
				}
				wantFailure(t, load, runfile.FailurePrivilege, c.want)
				if len(d.users) != users || d.has("slob_schema_password") {
					t.Error("it has begun to make schemas")
				}
			})
		})
	}
}
