package oracle_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	standin "github.com/nfsbench/nfsbench/test/oracle"
)

func TestRedoLogsAndUndoGetTheirSizes(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1]})
	plan := withSLOB(planFor(w, fourPaths()[0]), runfile.AccessRandomRead, 1)
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
