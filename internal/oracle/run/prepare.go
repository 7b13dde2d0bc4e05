package run

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// prepare makes the database as the plan wants it: parameters, schemas, and the
// restart after which the one counts and the views have not seen the other.
func (r *runner) prepare(ctx context.Context) error {
	d := r.plan.Database
	if len(d.Parameters) > 0 { // of a container, says Validate
		err := r.course.During(ctx, nil, func(ctx context.Context) error { return r.admin.SetParameters(ctx, d.Parameters) })
		if err != nil {
			return fmt.Errorf("set the init parameters of database.parameters: %w", err)
		}
	}
	if w := r.plan.Workload.SLOB; w != nil && w.Kit == nil {
		if err := r.fill(ctx); err != nil {
			return err
		}
	}
	if r.opt.Database != nil && (len(d.Parameters) > 0 || d.RestartBeforeRun) {
		if err := r.restart(ctx); err != nil {
			return err
		}
	}
	return r.readBack(ctx)
}

// fill loads the schemas, or finds them loaded.
func (r *runner) fill(ctx context.Context) error {
	r.course.Enter(runfile.SpanFill, 0, time.Time{})
	var schemas *slob.Schemas
	err := r.course.During(ctx, nil, func(ctx context.Context) (err error) {
		schemas, err = r.findSchemas(ctx)
		return err
	})
	if err != nil {
		return err
	}
	r.schemas, r.password = schemas, newPassword()
	missing := schemas.MissingBytes()
	r.load.Oracle.SchemasReused = missing == 0
	r.left.fillBytes, r.left.fillStart = missing, r.opt.Now()
	var loaded atomic.Int64
	err = r.course.During(ctx, func() { r.seeFilled(loaded.Load()) }, func(ctx context.Context) error {
		return schemas.Load(ctx, r.password, func(bytes int64) { loaded.Add(bytes) })
	})
	r.seeFilled(loaded.Load())
	r.course.Rate(course.Rate{})
	if err != nil {
		return err
	}
	r.left.fillBytes = 0
	return nil
}

// seeFilled is called every second.
func (r *runner) seeFilled(bytes int64) {
	r.course.Rate(course.Rate{Bytes: bytes - r.left.filled})
	r.left.filled = bytes
	r.load.FilledBytes, r.load.Oracle.LoadedBytes = bytes, bytes
}

func (r *runner) findSchemas(ctx context.Context) (*slob.Schemas, error) {
	if err := r.connectSchemas(ctx); err != nil {
		return nil, err
	}
	values, err := r.admin.Parameters(ctx, []string{"db_block_size"})
	if err != nil {
		return nil, fmt.Errorf("ask for db_block_size: %w", err)
	}
	block, err := strconv.ParseInt(values["db_block_size"], 10, 64)
	if err != nil {
		return nil, oracle.Fail(runfile.FailureSQL, fmt.Sprintf("db_block_size is %q, which is no number", values["db_block_size"]), err)
	}
	return slob.Find(ctx, r.schemaDB, slob.Spec{SLOB: *r.plan.Workload.SLOB, BlockBytes: block, Seed: r.plan.Seed})
}

// newPassword makes one for the users of this run that nobody else knows. It
// fits what password functions of Oracle ask for.
func newPassword() string { return "Nb1_" + rand.Text() }

// readBack holds the parameters against what the database now reports about them.
func (r *runner) readBack(ctx context.Context) error {
	asked := r.plan.Database.Parameters
	if len(asked) == 0 {
		return nil
	}
	var values map[string]string
	err := r.course.During(ctx, nil, func(ctx context.Context) (err error) {
		values, err = r.admin.Parameters(ctx, keysOf(asked))
		return err
	})
	if err != nil {
		return fmt.Errorf("read the init parameters back: %w", err)
	}
	r.load.Oracle.Parameters = withRequested(r.load.Oracle.Parameters, asked, values)
	return checkParameters(asked, values)
}
