package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	readyPoll = time.Second
	// adminSessions: one for the run, one for the observer, and one in reserve.
	adminSessions = 3
	// connectPatience is how long a ready database may refuse connections: a
	// listener learns of services up to a minute late.
	connectPatience = 2 * time.Minute
	connectPause    = 2 * time.Second
	defaultStartup  = 45 * time.Minute
)

// connect waits for the database and says what it is.
func (r *runner) connect(ctx context.Context) error {
	r.course.Enter(runfile.SpanConnect, 0, time.Time{})
	facts := *r.load.Oracle
	err := r.course.During(ctx, nil, func(ctx context.Context) error {
		if r.opt.Database != nil {
			state, err := r.waitReady(ctx)
			if err != nil {
				return err
			}
			facts.Library = &state.Library
			if !state.StartedAt.IsZero() && !state.ReadyAt.IsZero() {
				ms := state.ReadyAt.Sub(state.StartedAt).Milliseconds()
				facts.ReadyMilliseconds = &ms
			}
		}
		return r.connectAdmin(ctx)
	})
	if errors.Is(err, course.ErrStuck) {
		return err // facts belong to the goroutine that is stuck
	}
	*r.load.Oracle = facts
	if err != nil {
		return err
	}
	if err := r.describe(ctx); err != nil {
		return err
	}
	r.left.connected = true
	return r.seeMount(ctx)
}

// waitReady waits until the container of the database was ready once.
func (r *runner) waitReady(ctx context.Context) (runfile.DatabaseState, error) {
	limit := time.Duration(r.plan.Database.StartupTimeoutSeconds) * time.Second
	if limit <= 0 {
		limit = defaultStartup
	}
	end := r.opt.Now().Add(limit)
	for {
		state, err := r.opt.Database.State(ctx)
		switch {
		case err != nil:
			return state, fmt.Errorf("ask the container of the database: %w", err)
		case state.Failure != nil:
			return state, oracle.Fail(state.Failure.Code, state.Failure.Message, nil)
		case state.State == runfile.DatabaseReady && state.Generation >= 1:
			return state, nil
		case r.opt.Now().After(end):
			return state, oracle.Fail(runfile.FailureDatabaseNotReady, fmt.Sprintf(
				"the database is still %s after %v; look at the log of the container database, or raise database.container.startupTimeoutSeconds",
				stateWord(state.State), limit), nil)
		}
		if err := course.Wait(ctx, readyPoll); err != nil {
			return state, err
		}
	}
}

func stateWord(state string) string {
	if state == "" {
		return "not started"
	}
	return state
}

// connectAdmin opens the pool for views and parameters.
func (r *runner) connectAdmin(ctx context.Context) error {
	d := r.plan.Database
	db, err := r.open(ctx, oracle.ConnectOptions{
		Connect: d.AdminConnect, User: r.opt.User, Password: r.opt.Password, Role: d.Role, Sessions: adminSessions,
	})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", d.AdminConnect, err)
	}
	r.adminDB, r.admin = db, oracle.NewAdmin(db, r.opt.Now)
	r.watch = r.admin.Watch()
	return nil
}

// open tries for a while, unless trying again cannot help.
func (r *runner) open(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
	end := r.opt.Now().Add(connectPatience)
	for {
		db, err := r.opt.Open(ctx, o)
		if err == nil {
			return db, nil
		}
		err = oracle.Explain(err)
		if hopeless(oracle.CodeOf(err)) || r.opt.Now().After(end) {
			return nil, err
		}
		r.opt.Log.Info("Trying again to connect", "connect", o.Connect, "error", err)
		if waited := course.Wait(ctx, connectPause); waited != nil {
			return nil, errors.Join(waited, err)
		}
	}
}

// hopeless says that trying again to connect cannot help.
func hopeless(code string) bool {
	return code == runfile.FailurePassword || code == runfile.FailurePrivilege || code == runfile.FailureOracleClient
}

// describe writes down what the database reports about itself, and keeps what is known
// otherwise.
func (r *runner) describe(ctx context.Context) error {
	var found runfile.Oracle
	err := r.course.During(ctx, nil, func(ctx context.Context) (err error) {
		found, err = r.admin.Describe(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask the database what it is: %w", err)
	}
	o := r.load.Oracle
	o.Banner, o.Version, o.StandIn = found.Banner, found.Version, found.StandIn
	o.Instances, o.Parameters = found.Instances, found.Parameters
	return nil
}

// restart restarts the instance and connects again.
func (r *runner) restart(ctx context.Context) error {
	r.disconnect()
	r.course.Tell("restarting the instance, so that its views start at zero")
	err := r.course.During(ctx, nil, func(ctx context.Context) error {
		if err := r.opt.Database.Restart(ctx); err != nil {
			return fmt.Errorf("restart the instance: %w", err)
		}
		if _, err := r.waitReady(ctx); err != nil {
			return err
		}
		return r.connectAdmin(ctx)
	})
	if err != nil {
		return err
	}
	r.load.Oracle.Restarted = true
	return r.describe(ctx)
}

// connectSchemas opens the pool of the administrator where the schemas are.
func (r *runner) connectSchemas(ctx context.Context) error {
	if r.schemaDB != nil {
		return nil
	}
	d := r.plan.Database
	db, err := r.open(ctx, oracle.ConnectOptions{
		Connect: d.Connects[0], User: r.opt.User, Password: r.opt.Password, Role: d.Role,
		Sessions: int(max(1, r.plan.Workload.SLOB.LoadParallelDegree)),
	})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", d.Connects[0], err)
	}
	r.schemaDB = db
	return nil
}

func (r *runner) disconnect() {
	for _, db := range []**sql.DB{&r.adminDB, &r.schemaDB} {
		if *db != nil {
			_ = (*db).Close()
			*db = nil
		}
	}
}
