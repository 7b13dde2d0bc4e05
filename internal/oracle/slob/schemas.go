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
		return nil, oracle.Fail(runfile.FailureSQL, "the database does not tell its db_block_size", nil)
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
			return nil, oracle.Fail(runfile.FailureForeignFiles, fmt.Sprintf(
				"the database has a user %s without the table NFSBENCH_MARKER, so nfsbench did not make it and will not touch it; drop it, or use another pluggable database",
				one.name), nil)
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

// Reused reports whether nothing had to be loaded.
func (s *Schemas) Reused() bool { return s.MissingBytes() == 0 }

func (s *Schemas) tablespaceName() string { return strings.ToUpper(s.spec.SLOB.Tablespace) }

// users lists those whose name begins like ours, and whether they are marked.
func (s *Schemas) users(ctx context.Context) (map[string]bool, error) {
	users := map[string]bool{}
	err := s.all(ctx, sqltext.Text("slob_schemas"), nil, func(rows *sql.Rows) error {
		var name string
		var marked int64
		if err := rows.Scan(&name, &marked); err != nil {
			return err
		}
		users[name] = marked > 0
		return nil
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
	err = s.all(ctx, text, nil, func(rows *sql.Rows) error {
		var m marker
		var obfuscated, made int64
		if err := rows.Scan(&m.kind, &m.model, &m.scaleBytes, &m.rows, &m.blockBytes, &obfuscated, &m.tablespace, &made); err != nil {
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

func (o schema) ready() bool { return o.exists && !o.stale && o.loaded }

// Rows is how many rows the table of each schema has: its keys are 1 to Rows.
func (s *Schemas) Rows() int64 { return s.table.rows }

// MissingBytes is how much has to be loaded.
func (s *Schemas) MissingBytes() int64 {
	var sum int64
	for _, one := range s.schemas {
		if !one.ready() {
			sum += s.table.rows * s.spec.BlockBytes
		}
	}
	return sum
}

// all calls each for every row. The error is explained.
func (s *Schemas) all(ctx context.Context, text string, args []any, each func(*sql.Rows) error) error {
	rows, err := s.db.QueryContext(ctx, text, args...)
	if err != nil {
		return oracle.Explain(err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return oracle.Explain(rows.Err())
}

// one reads the first row, if there is one.
func (s *Schemas) one(ctx context.Context, name string, args []any, into ...any) (found bool, err error) {
	err = s.all(ctx, sqltext.Text(name), args, func(rows *sql.Rows) error {
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
	text := ""
	var err error
	if values == nil {
		text = sqltext.Text(name)
	} else if text, err = sqltext.Render(name, values); err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, text, args...)
	return oracle.Explain(err)
}
