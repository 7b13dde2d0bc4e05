package slob

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	dropTries = 10
	dropPause = time.Second
)

// Load makes what is missing: tablespace, users, tables. Every schema gets the
// password, those that were there too. done is called with how many bytes were loaded,
// from several goroutines.
func (s *Schemas) Load(ctx context.Context, password string, done func(bytes int64)) error {
	if !s.tablespace {
		if err := s.makeTablespace(ctx); err != nil {
			return err
		}
	}
	made := s.tablespaceMade // does not change below
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(int(max(1, s.spec.SLOB.LoadParallelDegree)))
	for i := range s.schemas {
		one := &s.schemas[i]
		g.Go(func() error { return s.loadSchema(ctx, one, password, made, done) })
	}
	return g.Wait()
}

// makeTablespace makes it large enough for all, beside the database's own files.
func (s *Schemas) makeTablespace(ctx context.Context) error {
	var system string
	found, err := s.one(ctx, "slob_system_file", nil, &system)
	if err == nil && !found {
		err = oracle.Failf(runfile.FailureSQL, "DBA_DATA_FILES has no file of the tablespace SYSTEM")
	}
	if err != nil {
		return fmt.Errorf("find where the database keeps its files: %w", err)
	}
	data := int64(s.spec.SLOB.Schemas) * s.table.rows * s.spec.BlockBytes
	err = s.run(ctx, "slob_tablespace_create", map[string]any{
		"Tablespace": s.tablespaceName(),
		"File":       sqltext.Literal(fileBeside(system, s.tablespaceName())),
		"Megabytes":  tablespaceMebi(data),
	})
	if err != nil {
		return fmt.Errorf("create the tablespace %s: %w", s.tablespaceName(), err)
	}
	s.tablespace, s.tablespaceMade = true, true
	return nil
}

// tablespaceMebi adds to the data a sixteenth for index and bitmaps, and what
// the smallest tablespace needs.
func tablespaceMebi(data int64) int64 { return (data+data/16)>>20 + 64 }

// fileBeside names a datafile in the directory of another, or the disk group of
// one in ASM, which names its files itself.
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

// makeSchema makes a user with no more rights than it needs. An empty marker says
// that the user is ours; its first line says that the user is complete and is written
// last, because the failure of another schema can cancel this one between any two
// statements. The next run makes a user without that line again.
func (s *Schemas) makeSchema(ctx context.Context, one *schema, password string, made bool) error {
	in := map[string]any{"Schema": one.name, "Tablespace": s.tablespaceName()}
	create := map[string]any{"Schema": one.name, "Tablespace": s.tablespaceName(), "Password": sqltext.Password(password)}
	if err := s.run(ctx, "slob_schema_create", create); err != nil {
		return err
	}
	if err := s.run(ctx, "slob_marker_create", in); err != nil {
		// Without its marker nobody would know again that it is ours.
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
		m.kind, m.model, m.scaleBytes, m.rows, m.blockBytes, number(m.obfuscated), m.tablespace, number(m.made))
}

func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// loadTable makes the table anew and marks it when it is complete.
func (s *Schemas) loadTable(ctx context.Context, schema string, made bool, done func(int64)) error {
	in := map[string]any{"Schema": schema, "Table": s.table.name}
	for _, step := range []func() error{
		func() error { return s.run(ctx, "slob_marker_delete", map[string]any{"Schema": schema}, s.table.kind) },
		func() error { return s.dropTable(ctx, schema) },
		func() error {
			return s.run(ctx, "slob_table_create",
				map[string]any{"Schema": schema, "Table": s.table.name, "Tablespace": s.tablespaceName()})
		},
		// One row is the most that a block may hold: the fullest block holds one while this is said.
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

// dropTable removes what an earlier load left unfinished, or of another size.
func (s *Schemas) dropTable(ctx context.Context, schema string) error {
	there := false
	err := oracle.Rows(ctx, s.db, sqltext.Text("slob_tables"), []any{schema}, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		there = there || strings.EqualFold(name, s.table.name)
		return err
	})
	if err != nil || !there {
		return err
	}
	return s.run(ctx, "slob_table_drop", map[string]any{"Schema": schema, "Table": s.table.name})
}

func (s *Schemas) loadPiece(ctx context.Context, in map[string]any, p piece) error {
	name := "slob_load_plain"
	if s.spec.SLOB.ObfuscateColumns {
		name = "slob_load_obfuscated"
	}
	seed := int64(s.spec.Seed & 0xffffffff) // ORA_HASH takes no more
	return s.run(ctx, name, in, p.first, p.step, seed, p.rows)
}

// checkBlocks makes sure that there are as many blocks as rows: else the load
// would read less than it seems.
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

// Drop removes the schemas that are ours, and the tablespace if we made it and
// nothing else is in it. The sessions of the load must have ended.
func (s *Schemas) Drop(ctx context.Context) error {
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

// dropSchema tries for a while: a session whose connection was closed lives on
// in the database for a moment.
func (s *Schemas) dropSchema(ctx context.Context, name string) error {
	for try := 1; ; try++ {
		err := s.run(ctx, "slob_schema_drop", map[string]any{"Schema": name})
		if err == nil || try == dropTries {
			return err
		}
		if waited := course.Wait(ctx, dropPause); waited != nil {
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
