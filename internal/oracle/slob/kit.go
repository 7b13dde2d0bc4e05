package slob

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// KitSchemas are those that setup.sh of a SLOB kit makes: USER1 and so on, each with a
// table CF1. It drops all users of such names first.
type KitSchemas struct {
	schemas   *Schemas // for the tablespace
	missing   int32
	statspack bool // is installed
}

// FindKit looks for the schemas of a kit, and for the tablespace. It fails with ForeignFiles
// where setup.sh would drop a user that no kit has made.
func FindKit(ctx context.Context, db *sql.DB, load runfile.SLOB) (*KitSchemas, error) {
	k := &KitSchemas{schemas: &Schemas{db: db, spec: Spec{SLOB: load}}, missing: load.Schemas}
	err := oracle.Rows(ctx, db, sqltext.Text("slob_kit_schemas"), nil, func(rows *sql.Rows) error {
		var name string
		var owned, loaded int64
		if err := rows.Scan(&name, &owned, &loaded); err != nil {
			return err
		}
		number, _ := strconv.ParseInt(strings.TrimPrefix(name, "USER"), 10, 32) // 0 where it is none
		switch {
		case name == "PERFSTAT":
			k.statspack = true
		case number == 0: // another name, or that of the kit's own user
		case loaded == 0 && owned > 0:
			return oracle.Failf(runfile.FailureForeignFiles, "the database has a user %s with tables, but without CF1, so no "+
				"SLOB kit made it, and setup.sh would drop it; use another pluggable database", name)
		case loaded > 0 && number <= int64(load.Schemas):
			k.missing--
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the schemas of the SLOB kit: %w", err)
	}
	files, err := k.schemas.files(ctx, k.schemas.tablespaceName())
	k.schemas.tablespace = len(files) > 0
	return k, err
}

// Loaded says that all are there.
func (k *KitSchemas) Loaded() bool { return k.missing == 0 }

// CheckReport fails where runit.sh cannot take its snapshots: no image of Oracle has Statspack.
func (k *KitSchemas) CheckReport() error {
	if k.statspack || k.schemas.spec.SLOB.AWR {
		return nil
	}
	return oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit reports with Statspack, and Statspack is not installed in "+
		"the pluggable database; set workload.slob.awr to Enabled where you have the Diagnostics Pack, or install Statspack "+
		"there with spcreate.sql")
}

// MakeTablespace makes the tablespace where it is absent. It grows with what is loaded.
func (k *KitSchemas) MakeTablespace(ctx context.Context) error {
	if k.schemas.tablespace {
		return nil
	}
	return k.schemas.makeTablespace(ctx)
}
