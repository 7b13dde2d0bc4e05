package slob

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// kitOwner is the schema that setup.sh drops and creates first. A marker in it therefore describes the data of the
// last setup.sh.
const kitOwner, kindKit = "USER1", "Kit"

// KitSchemas holds the schemas of a SLOB kit: USER1 and so on, each with a table CF1. setup.sh first drops all users
// with such names.
type KitSchemas struct {
	schemas   *Schemas // for the tablespace and the marker
	missing   int32
	marked    bool     // a marker exists
	complete  bool     // all was loaded, with these sizes, according to the marker
	foreign   string   // a user that setup.sh would drop, but that no kit created
	statspack bool     // is installed
	places    []string // tablespaces of the tables CF1
}

// FindKit looks for the schemas of a kit, and for the tablespace. The sizes in spec come from the kit's slob.conf.
func FindKit(ctx context.Context, db *sql.DB, spec Spec) (*KitSchemas, error) {
	scan := max(1, spec.SLOB.ScanTableSize.Value()/max(1, spec.BlockBytes)) // rows of CF2
	k := &KitSchemas{
		schemas: &Schemas{db: db, spec: spec, table: table{kind: kindKit, bytes: spec.SLOB.Scale.Value(), rows: scan}},
		missing: spec.SLOB.Schemas,
	}
	err := oracle.Rows(ctx, db, sqltext.Text("slob_kit_schemas"), nil, func(rows *sql.Rows) error {
		var name string
		var owned, loaded, marked int64
		var tablespace sql.NullString
		if err := rows.Scan(&name, &owned, &loaded, &marked, &tablespace); err != nil {
			return err
		}
		number, _ := strconv.ParseInt(strings.TrimPrefix(name, "USER"), 10, 32) // 0 if it is no number
		k.marked = k.marked || name == kitOwner && marked > 0
		switch {
		case name == "PERFSTAT":
			k.statspack = true
		case number == 0: // another name, or the kit's own user
		case loaded == 0 && owned > 0 && marked == 0:
			k.foreign = name
		case loaded > 0 && number <= int64(spec.SLOB.Schemas):
			k.missing--
			k.places = append(k.places, tablespace.String)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for the schemas of the SLOB kit: %w", err)
	}
	if k.marked && spec.Below == "" { // a database of our own
		one := schema{name: kitOwner}
		if err := k.schemas.readMarker(ctx, &one); err != nil {
			return nil, err
		}
		k.complete = one.loaded
	}
	files, err := k.schemas.files(ctx, k.schemas.tablespaceName())
	k.schemas.tablespace = len(files) > 0
	return k, err
}

// Missing reports whether a table CF1 is missing.
func (k *KitSchemas) Missing() bool { return k.missing > 0 }

// Loaded reports whether all tables exist with the current sizes. setup.sh creates a table CF1 long before it has
// loaded it, so the marker is required too.
func (k *KitSchemas) Loaded() bool { return !k.Missing() && k.complete }

// CheckPlace checks that the tables of a kit that others loaded are on the storage under test.
func (k *KitSchemas) CheckPlace(ctx context.Context) error {
	if k.Missing() {
		return oracle.Failf(runfile.FailureInvalidPlan, "not all of the schemas USER1 to USER%d have the table CF1 in the "+
			"database of database.external.services, so nobody knows where the load would be; load them there with setup.sh of "+
			"the kit, or correct services", k.schemas.spec.SLOB.Schemas)
	}
	slices.Sort(k.places)
	for _, tablespace := range slices.Compact(k.places) {
		files, err := k.schemas.files(ctx, tablespace)
		if err == nil {
			err = k.schemas.checkFiles(tablespace, files, "load the kit into a tablespace there with setup.sh")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// CheckReport fails if runit.sh cannot take its snapshots: no image of Oracle has Statspack.
func (k *KitSchemas) CheckReport() error {
	if k.statspack || k.schemas.spec.SLOB.AWR == bench.Enabled {
		return nil
	}
	return oracle.Failf(runfile.FailureInvalidPlan, "the SLOB kit reports with Statspack, and Statspack is not installed "+
		"in the pluggable database; set workload.slob.awr to Enabled where you have the Diagnostics Pack, or install "+
		"Statspack there with spcreate.sql")
}

// Prepare prepares the database for setup.sh: it creates a missing tablespace, which grows with the data, and removes
// the marker. It fails with ForeignFiles if setup.sh would drop a user that no kit created.
func (k *KitSchemas) Prepare(ctx context.Context) error {
	if k.foreign != "" {
		return oracle.Failf(runfile.FailureForeignFiles, "the database has a user %s with tables, but without CF1, so no "+
			"SLOB kit made it, and setup.sh would drop it; use another pluggable database", k.foreign)
	}
	if k.marked {
		if err := k.schemas.run(ctx, "slob_marker_delete", map[string]any{"Schema": kitOwner}, kindKit); err != nil {
			return fmt.Errorf("take the marker of %s back: %w", kitOwner, err)
		}
	}
	if k.schemas.tablespace {
		return nil
	}
	return k.schemas.makeTablespace(ctx)
}

// Mark records for the next run that setup.sh has loaded everything. Another setup.sh drops the marker with its
// owner.
func (k *KitSchemas) Mark(ctx context.Context) error {
	if !k.marked {
		in := map[string]any{"Schema": kitOwner, "Tablespace": k.schemas.tablespaceName()}
		if err := k.schemas.run(ctx, "slob_marker_create", in); err != nil {
			return fmt.Errorf("create the marker of %s: %w", kitOwner, err)
		}
	}
	if err := k.schemas.mark(ctx, kitOwner, k.schemas.markerOf(k.schemas.table, false)); err != nil {
		return fmt.Errorf("write the marker of %s: %w", kitOwner, err)
	}
	return nil
}
