package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"fmt"
	"path"
	"slices"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	redoGroups = 4 // as many as a SLOB kit makes for its own database
	// redoTries bounds the waits, of a second each, for a group that the database writer or the archiver still uses.
	redoTries = 120
)

// resize gives a database of our own the redo logs and the undo of the plan.
func (r *runner) resize(ctx context.Context) error {
	d := r.plan.Database
	if d.RedoLogBytes > 0 || d.RedoDirectory != "" {
		if err := r.loop.Do(ctx, r.replaceRedo); err != nil {
			return fmt.Errorf("make the redo logs (storage.export.redoPath, database.container.redoLogSize): %w", err)
		}
	}
	if d.UndoBytes > 0 {
		if err := r.loop.Do(ctx, r.growUndo); err != nil {
			return fmt.Errorf("make the undo of database.container.undoSize: %w", err)
		}
	}
	return nil
}

// redoLog is one group of online redo logs.
type redoLog struct {
	group, bytes int64
	status       string   // CURRENT, ACTIVE, INACTIVE, UNUSED
	members      []string // one or more
	dbid         int64
}

func (r *runner) redoLogs(ctx context.Context) ([]redoLog, error) {
	var logs []redoLog
	err := oracle.Rows(ctx, r.adminDB, sqltext.Text("redo_logs"), nil, func(rows *sql.Rows) error {
		var l redoLog
		var member string
		err := rows.Scan(&l.group, &l.bytes, &l.status, &member, &l.dbid)
		if n := len(logs); n == 0 || logs[n-1].group != l.group {
			logs = append(logs, l)
		}
		last := &logs[len(logs)-1]
		last.members = append(last.members, member)
		return err
	})
	if err == nil && len(logs) == 0 {
		err = oracle.Failf(runfile.FailureSQL, "V$LOG has no redo log")
	}
	return logs, err
}

// redoPlan describes the wanted groups of redo logs.
type redoPlan struct {
	bytes     int64
	directory string // of all members; empty = anywhere
	file      string // of a new group, with a verb for the group number
}

// redoPlan takes the size and the directory of the groups from the plan, and values that the plan leaves out from the
// current groups. Sizes are whole mebibytes. Databases can share the directory, and databases from one image, or a
// clone and its original, have the same DBID. File names there therefore contain the DBID and a hash of the data
// export.
func (r *runner) redoPlan(now []redoLog) redoPlan {
	d := r.plan.Database
	p := redoPlan{
		bytes: (cmp.Or(d.RedoLogBytes, now[0].bytes) + 1<<20 - 1) >> 20 << 20, directory: d.RedoDirectory,
		file: path.Join(path.Dir(now[0].members[0]), "nfsbench_redo%02d.log"),
	}
	if p.directory != "" {
		data := sha256.Sum256([]byte(path.Clean(r.plan.Engine.Export)))
		p.file = path.Join(p.directory, fmt.Sprintf("nfsbench_%d_%x_redo%%02d.log", now[0].dbid, data[:4]))
	}
	return p
}

func (p redoPlan) fits(l redoLog) bool {
	elsewhere := func(member string) bool { return path.Dir(member) != p.directory }
	return l.bytes == p.bytes && (p.directory == "" || !slices.ContainsFunc(l.members, elsewhere))
}

// replaceRedo adds groups with the wanted size and directory, and drops the others one by one, once recovery no
// longer needs them.
func (r *runner) replaceRedo(ctx context.Context) error {
	logs, err := r.redoLogs(ctx)
	if err != nil {
		return err
	}
	plan := r.redoPlan(logs)
	fit, last := 0, int64(0)
	for _, l := range logs {
		last = max(last, l.group)
		if plan.fits(l) {
			fit++
		}
	}
	for ; fit < redoGroups; fit++ {
		last++
		err := oracle.Exec(ctx, r.adminDB, "redo_add", map[string]any{
			"Group": last, "File": sqltext.Literal(fmt.Sprintf(plan.file, last)), "Megabytes": plan.bytes >> 20,
		})
		if err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		left, err := r.dropRedo(ctx, plan)
		if err != nil || left == "" {
			return err
		}
		if try == redoTries {
			return oracle.Failf(runfile.FailureDatabaseNotReady, "a redo log of another size or directory is %s after %d "+
				"checkpoints; look at the alert log, and whether an archiver has no space", left, redoTries)
		}
		if err := runloop.Wait(ctx, connectPause/2); err != nil {
			return err
		}
	}
}

// dropRedo drops the unsuitable groups that may be dropped now. It returns the status of one that is left; empty =
// none.
func (r *runner) dropRedo(ctx context.Context, plan redoPlan) (left string, err error) {
	for _, step := range []string{"redo_switch", "redo_checkpoint"} {
		if err := oracle.Exec(ctx, r.adminDB, step, nil); err != nil {
			return "", err
		}
	}
	logs, err := r.redoLogs(ctx)
	if err != nil {
		return "", err
	}
	for _, l := range logs {
		switch {
		case plan.fits(l):
		case l.status != "INACTIVE" && l.status != "UNUSED":
			left = l.status
		default:
			if err := oracle.Exec(ctx, r.adminDB, "redo_drop", map[string]any{"Group": l.group}); err != nil {
				r.opt.Log.Info("A redo log cannot be dropped yet", "group", l.group, "error", err)
				left = l.status
			}
		}
	}
	return left, nil
}

// growUndo enlarges the undo of the schemas' container, or of the root if that container has none of its own.
func (r *runner) growUndo(ctx context.Context) error {
	if err := r.connectSchemas(ctx); err != nil {
		return err
	}
	for _, db := range []*sql.DB{r.schemaDB, r.adminDB} {
		var file string // the first
		var first, all int64
		err := oracle.Rows(ctx, db, sqltext.Text("undo_files"), nil, func(rows *sql.Rows) error {
			var name string
			var bytes int64
			err := rows.Scan(&name, &bytes)
			if file == "" {
				file, first = name, bytes
			}
			all += bytes
			return err
		})
		switch {
		case err != nil:
			return err
		case file == "":
			continue
		case all >= r.plan.Database.UndoBytes:
			return nil
		}
		return oracle.Exec(ctx, db, "undo_resize", map[string]any{
			"File": sqltext.Literal(file), "Megabytes": (first + r.plan.Database.UndoBytes - all + 1<<20 - 1) >> 20,
		})
	}
	return oracle.Failf(runfile.FailureSQL, "DBA_DATA_FILES has no file of an undo tablespace")
}
