// Package slob makes schemas of the SLOB model and puts load on them. The model
// is that of Kevin Closson's SLOB; the code is not.
//
// Each schema has a table of ranges, NFSBENCH_RANGES, with an index on its key,
// or a table to scan, NFSBENCH_SCAN, or both: whatever the access needs. A row
// fills a block, because PCTFREE 99 leaves no room for a second. Neighbouring
// keys are in blocks far apart: a table is loaded in pieces, piece i of n takes
// the keys i, i+n, i+2n, ..., and within a piece rows are ordered by a hash of
// the key. So a statement on WORK_UNIT keys visits as many blocks at random.
//
// A schema is ours if it has the table NFSBENCH_MARKER, which also says what was
// loaded completely, for the next run. All others are left alone.
package slob

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Model is the version of the tables; schemas of another are loaded again.
const Model = 1

// pieceRows is how many rows one statement loads: 32 MiB of 8 KiB blocks.
const pieceRows = 4096

// The kinds of lines in a marker.
const (
	kindSchema = "Schema"
	kindRanges = "Ranges"
	kindScan   = "Scan"
)

// Spec says which schemas there must be, with what in them.
type Spec struct {
	SLOB       runfile.SLOB
	BlockBytes int64  // db_block_size; the tablespace's own counts where it has another
	Seed       uint64 // of the data
}

// SchemaName is that of the schema with this index, from 0.
func SchemaName(index int) string { return fmt.Sprintf("NFSBENCH%d", index+1) }

// table is what the access needs in each schema.
type table struct {
	kind  string
	name  string
	bytes int64 // as asked for
	rows  int64
}

func (s Spec) table() table {
	t := table{kind: kindRanges, name: "nfsbench_ranges", bytes: s.SLOB.ScaleBytes}
	if s.SLOB.Access == runfile.AccessFullTableScan {
		t = table{kind: kindScan, name: "nfsbench_scan", bytes: s.SLOB.ScanTableBytes}
	}
	t.rows = max(1, t.bytes/s.BlockBytes)
	return t
}

// piece is what one statement loads.
type piece struct{ first, step, rows int64 }

// pieces cuts a table: together they have every key from 1 to rows once.
func (t table) pieces() []piece {
	n := (t.rows + pieceRows - 1) / pieceRows
	out := make([]piece, 0, n)
	for first := int64(1); first <= n; first++ {
		out = append(out, piece{first: first, step: n, rows: (t.rows-first)/n + 1})
	}
	return out
}

// Schemas are those of one run, in the container database that db is connected
// to as SYSDBA. Methods are called one after the other.
type Schemas struct {
	db    *sql.DB
	spec  Spec
	table table

	tablespace     bool // is there
	tablespaceMade bool // by us, now or in an earlier run
	schemas        []schema
}

// schema is what was found of one.
type schema struct {
	name   string
	exists bool
	stale  bool // of another model or in another tablespace: to be made again
	loaded bool // has all that is needed
}

// marker is one row of NFSBENCH_MARKER.
type marker struct {
	kind             string
	model            int64
	scaleBytes, rows int64
	blockBytes       int64
	obfuscated       bool
	tablespace       string
	made             bool
}

// Find looks for what is there already. It fails with ForeignFiles where a user
// of our name is not ours, and changes nothing.
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

// Use goes on with another pool, after a restart of the instance.
func (s *Schemas) Use(db *sql.DB) { s.db = db }

func (s *Schemas) tablespaceName() string { return strings.ToUpper(s.spec.SLOB.Tablespace) }

// users lists those whose name begins like ours, and whether they are marked.
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

// readMarker finds out what a schema of ours has.
func (s *Schemas) readMarker(ctx context.Context, one *schema) error {
	text, err := sqltext.Render("slob_marker_read", map[string]any{"Schema": one.name})
	if err != nil {
		return err
	}
	one.stale = true // until its own line says otherwise
	err = oracle.Rows(ctx, s.db, text, nil, func(rows *sql.Rows) error {
		var m marker
		var obfuscated, made int64
		if err := rows.Scan(&m.kind, &m.model, &m.scaleBytes, &m.rows, &m.blockBytes, &obfuscated, &m.tablespace,
			&made); err != nil {
			return err
		}
		m.obfuscated, m.made = obfuscated != 0, made != 0
		if m.tablespace == s.tablespaceName() && m.made {
			s.tablespaceMade = true
		}
		switch m.kind {
		case kindSchema:
			one.stale = m.model != Model || m.tablespace != s.tablespaceName()
		case s.table.kind:
			one.loaded = m == s.markerOf(s.table, m.made)
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
		obfuscated: s.spec.SLOB.ObfuscateColumns, tablespace: s.tablespaceName(), made: made,
	}
}

// Rows is how many rows the table of each schema has: its keys are 1 to Rows.
func (s *Schemas) Rows() int64 { return s.table.rows }

// MissingBytes is how much has to be loaded.
func (s *Schemas) MissingBytes() int64 {
	var sum int64
	for _, one := range s.schemas {
		if !one.exists || one.stale || !one.loaded {
			sum += s.table.rows * s.spec.BlockBytes
		}
	}
	return sum
}

// one reads the first row, if there is one.
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

// run executes a text with its places filled in.
func (s *Schemas) run(ctx context.Context, name string, values map[string]any, args ...any) error {
	text, err := sqltext.Render(name, values)
	if err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, text, args...)
	return oracle.Explain(err)
}
