package slob

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	dropTries = 10
	dropPause = time.Second
)

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
		timer := time.NewTimer(dropPause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

func (s *Schemas) dropTablespace(ctx context.Context) error {
	var segments int64
	if _, err := s.one(ctx, "slob_tablespace_segments", []any{s.tablespaceName()}, &segments); err != nil {
		return fmt.Errorf("look what is in the tablespace %s: %w", s.tablespaceName(), err)
	}
	if segments > 0 {
		return oracle.Fail(runfile.FailureForeignFiles, fmt.Sprintf(
			"the tablespace %s is kept, for %d segments of others are in it", s.tablespaceName(), segments), nil)
	}
	if err := s.run(ctx, "slob_tablespace_drop", map[string]any{"Tablespace": s.tablespaceName()}); err != nil {
		return fmt.Errorf("drop the tablespace %s: %w", s.tablespaceName(), err)
	}
	s.tablespace, s.tablespaceMade = false, false
	return nil
}
