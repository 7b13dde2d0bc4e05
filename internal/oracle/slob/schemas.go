// Package slob creates schemas of the SLOB model and runs load on them. The
// model comes from Kevin Closson's SLOB, but the code does not.
//
// Each schema has a table of ranges, NFSBENCH_RANGES, with an index on its key,
// or a table to scan, NFSBENCH_SCAN, or both: whatever the access needs. A row
// fills a block, because PCTFREE 99 leaves no room for a second. Neighbouring
// keys are in distant blocks: a table is loaded in pieces, piece i of n has the
// keys i, i+n, i+2n, ..., and within a piece rows are ordered by a hash of the
// key. A statement on WORK_UNIT keys therefore visits as many random blocks.
//
// A schema is ours if it has the table NFSBENCH_MARKER, which also records
// completed loads for the next run. The package leaves all other schemas alone.
package slob

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// Model is the version of the tables. Schemas with another version are loaded again.
const Model = 1

// pieceRows is the number of rows that one statement loads: 32 MiB of 8 KiB blocks.
const pieceRows = 4096

// The kinds of lines in a marker.
const (
	kindSchema = "Schema"
	kindRanges = "Ranges"
	kindScan   = "Scan"
)

// Spec describes the schemas and their contents.
type Spec struct {
	SLOB       bench.SLOBWorkload
	BlockBytes int64  // db_block_size; a tablespace with another block size overrides it
	Seed       uint64 // of the data
	Keep       bool   // keep the schemas for the next run
	// Directory is the directory of the datafile of a new tablespace; empty = the directory of SYSTEM.
	Directory string
	// Below is the directory that must contain all datafiles of the tablespace; empty = anywhere.
	Below string
}

// SchemaName returns the name of the schema with this index, from 0.
func SchemaName(index int) string { return fmt.Sprintf("NFSBENCH%d", index+1) }

// table describes the table that the access needs in each schema.
type table struct {
	kind  string
	name  string
	bytes int64 // requested size
	rows  int64
}

func (s Spec) table() table {
	t := table{kind: kindRanges, name: "nfsbench_ranges", bytes: s.SLOB.TableBytes()}
	if s.SLOB.Access == bench.SLOBFullTableScan {
		t.kind, t.name = kindScan, "nfsbench_scan"
	}
	t.rows = max(1, t.bytes/s.BlockBytes)
	return t
}

// piece holds the keys that one statement loads.
type piece struct{ first, step, rows int64 }

// pieces divides a table into pieces, which together have every key from 1 to rows once.
func (t table) pieces() []piece {
	n := (t.rows + pieceRows - 1) / pieceRows
	out := make([]piece, 0, n)
	for first := int64(1); first <= n; first++ {
		out = append(out, piece{first: first, step: n, rows: (t.rows-first)/n + 1})
	}
	return out
}

// Schemas holds the schemas of one run, in the container database that db is
// connected to as an administrator. It is not safe for concurrent use.
type Schemas struct {
	db    *sql.DB
	spec  Spec
	table table

	tablespace     bool // exists
	tablespaceMade bool // by this or an earlier run
	schemas        []schema
}

// schema is the state of one schema.
type schema struct {
	name   string
	exists bool
	stale  bool // of another model or in another tablespace: must be created again
	loaded bool // complete
}

// marker is one row of NFSBENCH_MARKER.
type marker struct {
	kind             string
	model            int64
	scaleBytes, rows int64
	blockBytes       int64
	obfuscated       int64 // 1 = yes
	tablespace       string
	made             int64 // 1 = we created the tablespace
}

// Find looks for existing schemas. It fails with ForeignFiles if a user with
// one of our names is not ours, and changes nothing.
func Find(ctx context.Context, db *sql.DB, spec Spec) (*Schemas, error) {
	s := &Schemas{db: db, spec: spec}
	var name string
	var block int64
	switch found, err := s.one(ctx, "slob_tablespace", []any{s.tablespaceName()}, &name, &block); {
	case err != nil:
		return nil, fmt.Errorf("look for the tablespace %s: %w", s.tablespaceName(), err)
	case found:
		s.tablespace, s.spec.BlockBytes = true, block
	}
	if s.spec.BlockBytes < 1 {
		return nil, oracle.Failf(runfile.FailureSQL, "the database does not tell its db_block_size")
	}
	s.table = s.spec.table()
	if err := s.checkPlace(ctx); err != nil {
		return nil, err
	}
	users, err := s.users(ctx)
	if err != nil {
		return nil, err
	}
	for i := range int(spec.SLOB.Schemas) {
		one := schema{name: SchemaName(i)}
		marked, exists := users[one.name]
		if exists && !marked {
			return nil, oracle.Failf(runfile.FailureForeignFiles,
				"the database has a user %s without the table NFSBENCH_MARKER, so nfsbench did not make it and will not touch "+
					"it; drop it, or use another pluggable database", one.name)
		}
		if one.exists = exists; exists {
			if err := s.readMarker(ctx, &one); err != nil {
				return nil, err
			}
		}
		s.schemas = append(s.schemas, one)
	}
	return s, nil
}

// checkPlace checks that the tables are on the storage under test.
func (s *Schemas) checkPlace(ctx context.Context) error {
	if s.spec.Below == "" {
		return nil
	}
	files, err := s.files(ctx, s.tablespaceName())
	fix := "name another workload.slob.tablespace, which the run makes if it does not exist"
	if err == nil && !s.tablespace {
		var file string
		file, err = s.newFile(ctx)
		files, fix = []string{file}, "set database.external.tablespaceDirectory to a directory there"
	}
	if err != nil {
		return err
	}
	return s.checkFiles(s.tablespaceName(), files, fix)
}

// checkFiles fails if a datafile of a tablespace is not on the storage under test.
func (s *Schemas) checkFiles(tablespace string, files []string, fix string) error {
	for _, f := range files {
		if !runfile.IsBelow(s.spec.Below, f) {
			return oracle.Failf(runfile.FailureInvalidPlan, "the datafile %s of tablespace %s is not below "+
				"database.external.mountPath (%s), so the load would not be on the export under test; %s",
				f, tablespace, s.spec.Below, fix)
		}
	}
	return nil
}

// files returns the datafiles of a tablespace.
func (s *Schemas) files(ctx context.Context, tablespace string) ([]string, error) {
	files, err := oracle.Column(ctx, s.db, "slob_tablespace_files", tablespace)
	if err != nil {
		return nil, fmt.Errorf("look for the datafiles of the tablespace %s: %w", tablespace, err)
	}
	return files, nil
}

func (s *Schemas) tablespaceName() string { return strings.ToUpper(s.spec.SLOB.Tablespace) }

// users lists the users whose names begin like ours, and whether they have a marker.
func (s *Schemas) users(ctx context.Context) (map[string]bool, error) {
	users := map[string]bool{}
	err := oracle.Rows(ctx, s.db, sqltext.Text("slob_schemas"), nil, func(rows *sql.Rows) error {
		var name string
		var marked int64
		err := rows.Scan(&name, &marked)
		users[name] = marked > 0
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for schemas: %w", err)
	}
	return users, nil
}

// readMarker reads the marker of one of our schemas.
func (s *Schemas) readMarker(ctx context.Context, one *schema) error {
	text, err := sqltext.Render("slob_marker_read", map[string]any{"Schema": one.name})
	if err != nil {
		return err
	}
	one.stale = true // until a line of the marker says otherwise
	err = oracle.Rows(ctx, s.db, text, nil, func(rows *sql.Rows) error {
		var m marker
		if err := rows.Scan(&m.kind, &m.model, &m.scaleBytes, &m.rows, &m.blockBytes, &m.obfuscated, &m.tablespace,
			&m.made); err != nil {
			return err
		}
		isMade := m.made != 0
		s.tablespaceMade = s.tablespaceMade || isMade && m.tablespace == s.tablespaceName()
		switch m.kind {
		case kindSchema:
			one.stale = m.model != Model || m.tablespace != s.tablespaceName()
		case s.table.kind:
			one.loaded = m == s.markerOf(s.table, isMade)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the marker of %s: %w", one.name, err)
	}
	return nil
}

func (s *Schemas) markerOf(t table, made bool) marker {
	return marker{
		kind: t.kind, model: Model, scaleBytes: t.bytes, rows: t.rows, blockBytes: s.spec.BlockBytes,
		obfuscated: number(s.spec.SLOB.ObfuscateColumns != bench.Disabled), tablespace: s.tablespaceName(),
		made: number(made),
	}
}

// Rows returns the number of rows in the table of each schema. The keys are 1 to Rows.
func (s *Schemas) Rows() int64 { return s.table.rows }

// MissingBytes returns the number of bytes to load.
func (s *Schemas) MissingBytes() int64 {
	var sum int64
	for _, one := range s.schemas {
		if !one.exists || one.stale || !one.loaded {
			sum += s.table.rows * s.spec.BlockBytes
		}
	}
	return sum
}

// one scans the first row, if there is one.
func (s *Schemas) one(ctx context.Context, name string, args []any, into ...any) (found bool, err error) {
	err = oracle.Rows(ctx, s.db, sqltext.Text(name), args, func(rows *sql.Rows) error {
		if found {
			return nil
		}
		found = true
		return rows.Scan(into...)
	})
	return found, err
}

// run fills the places of a text and executes it.
func (s *Schemas) run(ctx context.Context, name string, values map[string]any, args ...any) error {
	return oracle.Exec(ctx, s.db, name, values, args...)
}

const (
	dropTries = 10
	dropPause = time.Second
)

// Load creates missing tablespaces, users and tables. All schemas get the password, existing ones too. Several
// goroutines call done, with the number of loaded bytes.
func (s *Schemas) Load(ctx context.Context, password string, done func(bytes int64)) error {
	if !s.tablespace {
		if err := s.makeTablespace(ctx); err != nil {
			return err
		}
	}
	made := s.tablespaceMade // the goroutines read it, and nobody changes it any more
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(int(max(1, s.spec.SLOB.LoadParallelDegree)))
	for i := range s.schemas {
		one := &s.schemas[i]
		g.Go(func() error { return s.loadSchema(ctx, one, password, made, done) })
	}
	return g.Wait()
}

// makeTablespace creates a tablespace that is large enough for all schemas, beside the database's own files.
func (s *Schemas) makeTablespace(ctx context.Context) error {
	file, err := s.newFile(ctx)
	if err != nil {
		return err
	}
	data := int64(s.spec.SLOB.Schemas) * s.table.rows * s.spec.BlockBytes
	err = s.run(ctx, "slob_tablespace_create", map[string]any{
		"Tablespace": s.tablespaceName(),
		"File":       sqltext.Literal(file),
		"Megabytes":  tablespaceMebi(data),
	})
	if err != nil {
		return fmt.Errorf("create the tablespace %s: %w", s.tablespaceName(), err)
	}
	s.tablespace, s.tablespaceMade = true, true
	return nil
}

// tablespaceMebi returns the size of the tablespace in mebibytes: the data, a
// sixteenth for index and bitmaps, and the minimum of a tablespace.
func tablespaceMebi(data int64) int64 { return (data+data/16)>>20 + 64 }

// newFile returns the name of the datafile for a new tablespace.
func (s *Schemas) newFile(ctx context.Context) (string, error) {
	if s.spec.Directory != "" {
		return fileBeside(s.spec.Directory+"/", s.tablespaceName()), nil
	}
	system, err := s.files(ctx, "SYSTEM")
	if err == nil && len(system) == 0 {
		err = oracle.Failf(runfile.FailureSQL, "DBA_DATA_FILES has no file of the tablespace SYSTEM")
	}
	if err != nil {
		return "", err
	}
	return fileBeside(system[0], s.tablespaceName()), nil
}

// fileBeside returns the name of a datafile in the directory of another one. In
// ASM, which names its files itself, it returns the disk group.
func fileBeside(system, tablespace string) string {
	if strings.HasPrefix(system, "+") {
		group, _, _ := strings.Cut(system, "/")
		return group
	}
	return path.Join(path.Dir(system), "nfsbench_"+strings.ToLower(tablespace)+"_01.dbf")
}

func (s *Schemas) loadSchema(ctx context.Context, one *schema, password string, made bool, done func(int64)) error {
	if one.exists && one.stale {
		if err := s.run(ctx, "slob_schema_drop", map[string]any{"Schema": one.name}); err != nil {
			return fmt.Errorf("drop the schema %s of another model: %w", one.name, err)
		}
		one.exists = false
	}
	if !one.exists {
		if err := s.makeSchema(ctx, one, password, made); err != nil {
			return fmt.Errorf("create the schema %s: %w", one.name, err)
		}
	} else {
		in := map[string]any{"Schema": one.name, "Password": sqltext.Password(password)}
		if err := s.run(ctx, "slob_schema_password", in); err != nil {
			return fmt.Errorf("set the password of %s: %w", one.name, err)
		}
	}
	if one.loaded {
		return nil
	}
	if err := s.loadTable(ctx, one.name, made, done); err != nil {
		return fmt.Errorf("load %s.%s: %w", one.name, strings.ToUpper(s.table.name), err)
	}
	one.loaded = true
	return nil
}

// makeSchema creates a user with the minimum of rights. An empty marker says that the user is ours. The first line of
// the marker says that the user is complete. It is written last, because the failure of another schema can cancel
// this one between any two statements. The next run creates a user without that line again.
func (s *Schemas) makeSchema(ctx context.Context, one *schema, password string, made bool) error {
	in := map[string]any{"Schema": one.name, "Tablespace": s.tablespaceName()}
	create := map[string]any{"Schema": one.name, "Tablespace": s.tablespaceName(), "Password": sqltext.Password(password)}
	if err := s.run(ctx, "slob_schema_create", create); err != nil {
		return err
	}
	if err := s.run(ctx, "slob_marker_create", in); err != nil {
		// Without its marker nothing would identify the schema as ours.
		_ = s.run(context.WithoutCancel(ctx), "slob_schema_drop", map[string]any{"Schema": one.name})
		return err
	}
	one.exists, one.stale, one.loaded = true, false, false
	if err := s.run(ctx, "slob_schema_grant", map[string]any{"Schema": one.name}); err != nil {
		return err
	}
	return s.mark(ctx, one.name, s.markerOf(table{kind: kindSchema}, made))
}

func (s *Schemas) mark(ctx context.Context, schema string, m marker) error {
	return s.run(ctx, "slob_marker_write", map[string]any{"Schema": schema},
		m.kind, m.model, m.scaleBytes, m.rows, m.blockBytes, m.obfuscated, m.tablespace, m.made)
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// loadTable creates the table again, loads it and marks it as complete.
func (s *Schemas) loadTable(ctx context.Context, schema string, made bool, done func(int64)) error {
	in := map[string]any{"Schema": schema, "Table": s.table.name}
	for _, step := range []func() error{
		func() error { return s.run(ctx, "slob_marker_delete", map[string]any{"Schema": schema}, s.table.kind) },
		func() error { return s.dropTable(ctx, schema) },
		func() error {
			return s.run(ctx, "slob_table_create",
				map[string]any{"Schema": schema, "Table": s.table.name, "Tablespace": s.tablespaceName()})
		},
		// Limit a block to one row: MINIMIZE RECORDS_PER_BLOCK takes the number from the fullest block, which then has one
		// row.
		func() error { return s.loadPiece(ctx, in, piece{first: 1, step: 1, rows: 1}) },
		func() error { return s.run(ctx, "slob_table_minimize", in) },
		func() error { return s.run(ctx, "slob_table_empty", in) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, p := range s.table.pieces() {
		if err := s.loadPiece(ctx, in, p); err != nil {
			return err
		}
		done(p.rows * s.spec.BlockBytes)
	}
	if s.table.kind == kindRanges {
		on := map[string]any{"Schema": schema, "Tablespace": s.tablespaceName()}
		if err := s.run(ctx, "slob_index_create", on); err != nil {
			return err
		}
	}
	if err := s.checkBlocks(ctx, schema); err != nil {
		return err
	}
	return s.mark(ctx, schema, s.markerOf(s.table, made))
}

// dropTable removes a table that an earlier load left incomplete, or with another size.
func (s *Schemas) dropTable(ctx context.Context, schema string) error {
	tables, err := oracle.Column(ctx, s.db, "slob_tables", schema)
	isOurs := func(name string) bool { return strings.EqualFold(name, s.table.name) }
	if err != nil || !slices.ContainsFunc(tables, isOurs) {
		return err
	}
	return s.run(ctx, "slob_table_drop", map[string]any{"Schema": schema, "Table": s.table.name})
}

func (s *Schemas) loadPiece(ctx context.Context, in map[string]any, p piece) error {
	name := "slob_load_plain"
	if s.spec.SLOB.ObfuscateColumns != bench.Disabled {
		name = "slob_load_obfuscated"
	}
	seed := int64(s.spec.Seed & 0xffffffff) // the maximum of ORA_HASH
	return s.run(ctx, name, in, p.first, p.step, seed, p.rows)
}

// checkBlocks checks that the table has as many blocks as rows: with fewer
// blocks the load would read less than it reports.
func (s *Schemas) checkBlocks(ctx context.Context, schema string) error {
	var bytes, blocks int64
	found, err := s.one(ctx, "slob_segment", []any{schema, strings.ToUpper(s.table.name)}, &bytes, &blocks)
	if err != nil {
		return err
	}
	if !found || blocks < s.table.rows {
		return oracle.Failf(runfile.FailureSQL, "%d rows are in %d blocks, but each must be in a block of its own; this "+
			"database packs rows in a way that the load does not expect", s.table.rows, blocks)
	}
	return nil
}

// Drop removes the schemas that are ours, and the tablespace if we made it and nothing else is in it. The sessions of
// the load must have ended. The pool may differ from that of Find, for instance after a restart of the instance.
func (s *Schemas) Drop(ctx context.Context, db *sql.DB) error {
	s.db = db
	users, err := s.users(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range s.schemas {
		one := &s.schemas[i]
		if !users[one.name] {
			continue
		}
		if err := s.dropSchema(ctx, one.name); err != nil {
			errs = append(errs, fmt.Errorf("drop the schema %s: %w", one.name, err))
			continue
		}
		one.exists, one.loaded = false, false
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if !s.tablespaceMade {
		return nil
	}
	return s.dropTablespace(ctx)
}

// dropSchema retries for a while: a session outlives its closed connection in
// the database for a moment.
func (s *Schemas) dropSchema(ctx context.Context, name string) error {
	for try := 1; ; try++ {
		err := s.run(ctx, "slob_schema_drop", map[string]any{"Schema": name})
		if err == nil || try == dropTries {
			return err
		}
		if waited := runloop.Wait(ctx, dropPause); waited != nil {
			return errors.Join(err, waited)
		}
	}
}

func (s *Schemas) dropTablespace(ctx context.Context) error {
	var segments int64
	if _, err := s.one(ctx, "slob_tablespace_segments", []any{s.tablespaceName()}, &segments); err != nil {
		return fmt.Errorf("look what is in the tablespace %s: %w", s.tablespaceName(), err)
	}
	if segments > 0 {
		return oracle.Failf(runfile.FailureForeignFiles,
			"the tablespace %s is kept, for %d segments of others are in it", s.tablespaceName(), segments)
	}
	if err := s.run(ctx, "slob_tablespace_drop", map[string]any{"Tablespace": s.tablespaceName()}); err != nil {
		return fmt.Errorf("drop the tablespace %s: %w", s.tablespaceName(), err)
	}
	s.tablespace, s.tablespaceMade = false, false
	return nil
}
