package oracle_test

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/runfile"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// loadExternal makes a short SLOB run in a database that is not ours, as a user without
// SYSDBA.
func loadExternal(t *testing.T, w *standin.World, change func(*runfile.Plan)) *runfile.Load {
	t.Helper()
	plan := withSLOB(planFor(w, fourPaths()[0]), bench.SLOBRandomRead, 1)
	plan.Engine.MountPath = ""
	plan.Database = &runfile.Database{
		Kind: runfile.DatabaseExternal, DirectNFS: true, AdminConnect: w.Admin(), Connects: []string{w.Load()},
		DataDirectory: w.Config().Data, TablespaceDirectory: filepath.Join(w.Config().Data, "FREE/FREEPDB1"),
	}
	if change != nil {
		change(&plan)
	}
	load, err := run.Run(t.Context(), run.Options{
		Plan: plan, Now: time.Now, Open: w.Opener(), User: "system", Password: standin.Password, Sink: deafSink{},
	})
	if err != nil {
		t.Fatal(err)
	}
	return load
}

func TestAUserWithoutSysdbaLoadsADatabaseOfOthers(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Owners: standin.Owners{Archivelog: true}}})
	root := sysdba(t, w)
	before := counters(t, root)
	load := loadExternal(t, w, func(p *runfile.Plan) {
		p.Keep = true
		address, service, _ := strings.Cut(w.Load(), "/")
		host, port, _ := net.SplitHostPort(address)
		p.Database.Connects = []string{"(DESCRIPTION=(ADDRESS=(PROTOCOL=tcp)(HOST=" + host + ")(PORT=" + port + "))(CONNECT_DATA=(SERVICE_NAME=" + service + ")))"}
	})
	if load.Failure != nil || load.FilledBytes != 16<<20 {
		t.Fatalf("failure %+v, loaded %d", load.Failure, load.FilledBytes)
	}
	if redo := delta(before, counters(t, root), "redo size"); redo > 1<<20 {
		t.Errorf("loading 16 MiB wrote %d bytes of redo: the tables are not NOLOGGING", redo)
	}
}

func TestForcedRedoIsRefusedUntilItIsAllowed(t *testing.T) {
	t.Parallel()
	for _, view := range []string{"V$DATABASE", "DBA_PDBS", "DBA_TABLESPACES"} {
		t.Run(strings.TrimPrefix(view, "V$"), func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Owners: standin.Owners{ForceLogging: view}}})
			root := sysdba(t, w)
			users := func(p *runfile.Plan) { p.Workload.SLOB.Tablespace = "USERS" }
			before := counters(t, root)
			load := loadExternal(t, w, users)
			if f := load.Failure; f == nil || f.Code != runfile.FailureRedo || !strings.Contains(f.Message, "about 17 MiB of redo") ||
				!strings.Contains(f.Message, view) {
				t.Fatalf("failure %+v", f)
			}
			load = loadExternal(t, w, func(p *runfile.Plan) { users(p); p.Database.AllowRedo = true })
			if load.Failure != nil {
				t.Fatalf("failure %+v", load.Failure)
			}
			if redo := delta(before, counters(t, root), "redo size"); redo < 16<<20 {
				t.Errorf("%d bytes of redo: the stand-in forces none", redo)
			}
		})
	}
}

func TestMissingPrivilegesAreNamedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	for _, right := range []string{"CREATE ANY INDEX", "CREATE TABLESPACE", "GRANT ANY PRIVILEGE", "EXECUTE ON SYS.DBMS_WORKLOAD_REPOSITORY"} {
		t.Run(right, func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1], Config: standin.Config{Owners: standin.Owners{Withheld: []string{right}}}})
			load := loadExternal(t, w, func(p *runfile.Plan) {
				if strings.HasPrefix(right, "EXECUTE") {
					p.Workload.SLOB.AWR = bench.Enabled
				}
			})
			if f := load.Failure; f == nil || f.Code != runfile.FailurePrivilege || !strings.Contains(f.Message, "GRANT "+right+" TO that user") {
				t.Errorf("failure %+v", f)
			}
			pdb := connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "sys", Password: standin.Password, Role: "SYSDBA"})
			if rows := query(t, pdb, "slob_schemas"); len(rows) != 0 {
				t.Errorf("schemas %v", rows)
			}
		})
	}
}

// Without an oranfstab Direct NFS uses the server of the mount, over one path, and calls it
// as the mount table does.
func TestDirectNFSWithoutAnOranfstabIsProven(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths(), NoOranfstab: true})
	plan := withSLOB(planFor(w), bench.SLOBRandomRead, 2)
	plan.Engine.Server = ""
	result := execute(t, w, plan)
	succeeded(t, result)
	j := judge.Judge(result)
	if v := j.Protocol.Verified; v == nil || !*v || !strings.Contains(j.Protocol.Message, "V$DNFS_CHANNELS (1 of 1 paths") {
		t.Errorf("protocol %+v", j.Protocol)
	}
	if j.Validity == bench.ValidityInvalid || slices.Contains(codes(j), judge.OranfstabNotUsed) || slices.Contains(codes(j), judge.PathUnused) {
		t.Errorf("validity %s, findings %+v", j.Validity, j.Findings)
	}
	if c := j.Database.Channels; len(c) != 1 || c[0].Server != fourPaths()[0] {
		t.Errorf("channels %+v", c)
	}
}
