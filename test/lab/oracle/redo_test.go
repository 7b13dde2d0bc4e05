package oracle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

func TestRedoLogsAndUndoGetTheirSizes(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1]})
	plan := withSLOB(planFor(w, fourPaths()[0]), bench.SLOBRandomRead, 1)
	plan.Database.RedoLogBytes, plan.Database.UndoBytes = 96<<20, 128<<20
	// The second run finds all as it is wanted.
	for range 2 {
		succeeded(t, execute(t, w, plan))
		var got []string
		for _, r := range query(t, sysdba(t, w), "redo_logs") {
			got = append(got, fmt.Sprint(r["GROUP#"], " ", r["BYTES"].(int64)>>20, " ", filepath.Base(r["MEMBER"].(string))))
		}
		want := []string{"4 96 nfsbench_redo04.log", "5 96 nfsbench_redo05.log", "6 96 nfsbench_redo06.log", "7 96 nfsbench_redo07.log"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("redo logs (-want +got):\n%s", diff)
		}
		pdb := connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "sys", Password: standin.Password, Role: "SYSDBA"})
		if rows := query(t, pdb, "undo_files"); rows[0]["BYTES"] != int64(128<<20) {
			t.Errorf("undo of the pluggable database: %v", rows)
		}
	}
	root := query(t, sysdba(t, w), "undo_files")
	if slices.ContainsFunc(root, func(r map[string]any) bool { return r["BYTES"] == int64(128<<20) }) {
		t.Errorf("the root's undo has grown, which the load does not use: %v", root)
	}
}

// withRedo is a plan whose redo logs are on the second export, with updates that write redo.
func withRedo(w *standin.World, client bench.NFSClient) runfile.Plan {
	plan := withSLOB(planFor(w, fourPaths()[0]), bench.SLOBRandomRead, 1)
	plan.Workload.SLOB.UpdatePercent = 50
	plan.Database.RedoExport, plan.Database.RedoDirectory = "/export/redo", w.Redo
	plan.Engine.Client, plan.Engine.Export = client, "/export/data"
	if client == bench.ClientKernel {
		plan.Database.DirectNFS, plan.Engine.Channels, plan.Engine.Server = false, nil, ""
	}
	return plan
}

func TestRedoLogsMoveToAnExportOfTheirOwn(t *testing.T) {
	t.Parallel()
	for client, paths := range map[bench.NFSClient][]string{bench.ClientDirectNFS: fourPaths()[:1], bench.ClientKernel: nil} {
		t.Run(string(client), func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Paths: paths, Redo: true})
			plan := withRedo(w, client)
			// The second run finds all as it is wanted.
			for range 2 {
				result := execute(t, w, plan)
				succeeded(t, result)
				if e := judge.Judge(result).Protocol; client == bench.ClientDirectNFS && (e.Verified == nil || !*e.Verified) {
					t.Errorf("the protocol is not verified: %+v", e)
				}
				rows := query(t, sysdba(t, w), "redo_logs")
				if len(rows) != 4 {
					t.Fatalf("redo logs: %v", rows)
				}
				for n, r := range rows {
					want := filepath.Join(w.Redo, fmt.Sprintf("nfsbench_%d_4e1ccc44_redo%02d.log", r["DBID"], n+4))
					if r["MEMBER"] != want || r["BYTES"] != int64(200<<20) {
						t.Errorf("group %v is %v, want %s", n+4, r, want)
					}
				}
			}
			if n := written(t, w.Redo); n == 0 {
				t.Error("no redo was written to the export of the redo logs")
			}
			if servers := query(t, sysdba(t, w), "dnfs_servers"); client == bench.ClientDirectNFS && len(servers) != 2 {
				t.Errorf("V$DNFS_SERVERS: %v", servers)
			}
			moved := filepath.Join(t.TempDir(), "elsewhere")
			if err := os.Rename(w.Redo, moved); err != nil {
				t.Fatal(err)
			}
			if err := w.Restart(t.Context()); err == nil || !strings.Contains(err.Error(), "ORA-00313") {
				t.Errorf("opened without its redo logs: %v", err)
			}
		})
	}
}

// written are the bytes of the files in a directory.
func written(t *testing.T, dir string) (all int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		all += info.Size()
	}
	return all
}

// TestARedoLogIsMadeWhereOracleMakesOne: not in a directory that is not there, and over no file of
// this database.
func TestARedoLogIsMadeWhereOracleMakesOne(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Redo: true})
	plan := withRedo(w, bench.ClientKernel)
	plan.Database.RedoDirectory = filepath.Join(w.Redo, "none")
	load := execute(t, w, plan).Clients[0].Load
	if f := load.Failure; f == nil || !strings.Contains(f.Message, "ORA-00301") || !strings.Contains(f.Message, "ORA-27040") {
		t.Errorf("failure %+v", f)
	}
	member := query(t, sysdba(t, w), "redo_logs")[0]["MEMBER"]
	add := func(text string) error {
		_, err := sysdba(t, w).ExecContext(t.Context(), "/* nfsbench redo_add */\n"+text)
		return err
	}
	for text, want := range map[string]string{
		fmt.Sprintf("ALTER DATABASE ADD LOGFILE GROUP 9 ('%s') SIZE 64M REUSE", member):                       "ORA-01577",
		fmt.Sprintf("ALTER DATABASE ADD LOGFILE GROUP 2 ('%s/x.log') SIZE 64M REUSE", w.Redo):                 "ORA-01184",
		fmt.Sprintf("ALTER DATABASE ADD LOGFILE GROUP 9 ('%s') SIZE 64M", existing(t, w.Redo, "otherdb.log")): "ORA-27038",
	} {
		if err := add(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func existing(t *testing.T, dir, name string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
