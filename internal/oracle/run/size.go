package run

import (
	"context"
	"database/sql"
	"fmt"
	"path"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// calibrateTablespace is the name of the tablespace that enlarges a database of our own to the size that the plan
// wants for a calibration.
const calibrateTablespace = "NFSBENCH_CALIBRATE"

// makeTablespace creates the tablespace in the root, and first drops one that a killed run has left.
func (r *runner) makeTablespace(ctx context.Context) error {
	if r.plan.Database.TablespaceBytes == 0 {
		return nil
	}
	r.loop.Enter(runfile.SpanFill, 0, time.Time{})
	err := r.loop.Do(ctx, func(ctx context.Context) error {
		if err := r.dropTablespace(ctx); err != nil {
			return err
		}
		directory := ""
		err := oracle.Rows(ctx, r.adminDB, sqltext.Text("datafiles"), nil, func(rows *sql.Rows) error {
			var kind, name string
			var number, bytes int64
			err := rows.Scan(&kind, &number, &name, &bytes)
			if directory == "" {
				directory = path.Dir(name)
			}
			return err
		})
		if err != nil {
			return err
		}
		return oracle.Exec(ctx, r.adminDB, "slob_tablespace_create", map[string]any{
			"Tablespace": calibrateTablespace, "Megabytes": r.plan.Database.TablespaceBytes >> 20,
			"File": sqltext.Literal(path.Join(directory, "nfsbench_calibrate.dbf")),
		})
	})
	if err != nil {
		return fmt.Errorf("make the tablespace of workload.calibrate.databaseSize: %w", err)
	}
	return nil
}

func (r *runner) dropTablespace(ctx context.Context) error {
	found := false
	err := oracle.Rows(ctx, r.adminDB, sqltext.Text("slob_tablespace"), []any{calibrateTablespace},
		func(*sql.Rows) error {
			found = true
			return nil
		})
	if err != nil || !found {
		return err
	}
	return oracle.Exec(ctx, r.adminDB, "slob_tablespace_drop", map[string]any{"Tablespace": calibrateTablespace})
}
