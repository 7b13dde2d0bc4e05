package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/collect/procfs"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/slob"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	readyPoll = time.Second
	// adminSessions: one session for the run, one for the observer, and one in reserve.
	adminSessions = 3
	// connectPatience bounds how long a ready database may refuse connections: a
	// listener may learn of services a minute late.
	connectPatience = 2 * time.Minute
	connectPause    = 2 * time.Second
	defaultStartup  = 45 * time.Minute
	// restartMargin is added to the startup timeout for shutting down. The container enforces its own timeouts and
	// reports failures; this one catches a container that has vanished.
	restartMargin = 65 * time.Minute
)

// Prepare implements runloop.Engine: it connects, and prepares the database
// according to the plan: parameters, schemas, and a restart, after which the
// parameters are in effect and the views do not contain the loading of schemas.
func (r *runner) Prepare(ctx context.Context) error {
	if err := checkPlan(r.plan); err != nil {
		return err
	}
	if err := r.checkKit(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		r.connect, r.setParameters, r.resize, r.makeTablespace, r.loadSchemas, r.restart, r.readBack, r.checkUse,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// setParameters sets the parameters of the plan. Only a plan for a container has parameters.
func (r *runner) setParameters(ctx context.Context) error {
	asked := r.plan.Database.Parameters
	if len(asked) == 0 {
		return nil
	}
	err := r.loop.Do(ctx, func(ctx context.Context) error { return r.admin.SetParameters(ctx, asked) })
	if err != nil {
		return fmt.Errorf("set the init parameters of database.parameters: %w", err)
	}
	return nil
}

// loadSchemas loads the data for the load, or lets the user's kit load it.
func (r *runner) loadSchemas(ctx context.Context) error {
	switch w := r.plan.Workload.SLOB; {
	case w == nil:
		return nil
	case w.Kit != nil:
		return r.fillKit(ctx)
	default:
		return r.fill(ctx)
	}
}

// checkUse checks the requirements of CALIBRATE_IO, and whether others use the database.
func (r *runner) checkUse(ctx context.Context) error {
	calibrates := r.plan.Workload.Calibrate != nil
	if !calibrates && r.plan.Database.Kind != runfile.DatabaseExternal {
		return nil
	}
	return r.loop.Do(ctx, func(ctx context.Context) error {
		if calibrates {
			if err := r.admin.CheckCalibration(ctx); err != nil {
				return err
			}
		}
		return r.admin.CheckIdle(ctx)
	})
}

// do runs a step like runloop.Do, and returns the result of the step.
func do[T any](ctx context.Context, r *runner, step func(context.Context) (T, error)) (T, error) {
	var found T
	err := r.loop.Do(ctx, func(ctx context.Context) (err error) {
		found, err = step(ctx)
		return err
	})
	if err != nil {
		var none T
		return none, err // found may belong to a stuck goroutine
	}
	return found, nil
}

// parameter returns the value of an init parameter that affects I/O, as describe read it; empty if the database does
// not show it.
func (r *runner) parameter(name string) string {
	for _, p := range r.load.Oracle.Parameters {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

// fill loads the schemas, unless they are loaded already.
func (r *runner) fill(ctx context.Context) error {
	r.loop.Enter(runfile.SpanFill, 0, time.Time{})
	schemas, err := do(ctx, r, func(ctx context.Context) (*slob.Schemas, error) {
		if err := r.connectSchemas(ctx); err != nil {
			return nil, err
		}
		if err := r.checkRights(ctx, r.schemaDB, slob.LoadRights()); err != nil {
			return nil, err
		}
		size := r.parameter("db_block_size")
		block, err := strconv.ParseInt(size, 10, 64)
		if err != nil {
			return nil, oracle.Failf(runfile.FailureSQL, "db_block_size is %q, which is no number", size)
		}
		spec := slob.Spec{SLOB: *r.plan.Workload.SLOB, BlockBytes: block, Seed: r.plan.Seed, Keep: r.plan.Keep}
		if d := r.plan.Database; d.Kind == runfile.DatabaseExternal {
			spec.Directory, spec.Below = d.TablespaceDirectory, d.DataDirectory
		}
		found, err := slob.Find(ctx, r.schemaDB, spec)
		if err != nil {
			return nil, err
		}
		return found, r.checkRights(ctx, r.schemaDB, found.TablespaceRights())
	})
	if err != nil {
		return err
	}
	if err := r.checkRedo(ctx, schemas); err != nil {
		return err
	}
	r.schemas, r.password = schemas, newPassword()
	missing := schemas.MissingBytes()
	r.load.Oracle.SchemasReused = missing == 0
	return r.loop.Fill(ctx, missing, func(ctx context.Context, wrote func(int64)) error {
		return schemas.Load(ctx, r.password, wrote)
	})
}

// checkRights checks the rights of a user without SYSDBA.
func (r *runner) checkRights(ctx context.Context, db *sql.DB, needed []string) error {
	if r.plan.Database.Role != "" {
		return nil
	}
	return slob.CheckRights(ctx, db, needed)
}

// checkViews checks whether a user without SYSDBA may read the views, and take the AWR snapshots of the built-in
// load. A kit takes its own snapshots as another user.
func (r *runner) checkViews(ctx context.Context) error {
	if err := r.checkRights(ctx, r.adminDB, slob.ViewRights()); err != nil {
		return err
	}
	if w := r.plan.Workload.SLOB; r.plan.Database.Role != "" || w == nil || w.Kit != nil || w.AWR != bench.Enabled {
		return nil
	}
	return slob.CheckAWR(ctx, r.adminDB)
}

// checkRedo refuses to fill the redo logs of an external database, unless the plan allows it.
func (r *runner) checkRedo(ctx context.Context, schemas *slob.Schemas) error {
	d, bytes := r.plan.Database, schemas.RedoBytes()
	if d.Kind != runfile.DatabaseExternal || bytes == 0 {
		return nil
	}
	logging, err := do(ctx, r, schemas.Logging)
	if err != nil || logging.Forced == "" {
		return err
	}
	archived := ""
	if logging.Archived {
		archived = ", and as much in archived logs, because the database is in ARCHIVELOG mode"
	}
	message := fmt.Sprintf("loading the schemas writes about %d MiB of redo, because FORCE LOGGING is on (%s)%s",
		bytes>>20, logging.Forced, archived)
	if !d.AllowRedo {
		return oracle.Failf(runfile.FailureRedo, "%s; set database.external.loadingWithRedo to Allow if the redo logs, the "+
			"archive and standby databases have room for it, or make scale, scanTableSize or schemas smaller", message)
	}
	r.loop.Tell(message)
	return nil
}

// connect waits for the database and reads its description.
func (r *runner) connect(ctx context.Context) error {
	r.loop.Enter(runfile.SpanConnect, 0, time.Time{})
	facts := *r.load.Oracle
	err := r.loop.Do(ctx, func(ctx context.Context) error {
		if r.opt.Database != nil {
			state, err := r.waitReady(ctx, 0, 0)
			if err != nil {
				return err
			}
			facts.Library, facts.Host = &state.Library, &state.Host
			if !state.StartedAt.IsZero() && !state.ReadyAt.IsZero() {
				ms := state.ReadyAt.Sub(state.StartedAt).Milliseconds()
				facts.ReadyMilliseconds = &ms
			}
		}
		if err := r.connectAdmin(ctx); err != nil {
			return err
		}
		return r.checkViews(ctx)
	})
	if errors.Is(err, runloop.ErrStuck) {
		return err // facts belong to the stuck goroutine
	}
	*r.load.Oracle = facts
	if err != nil {
		return err
	}
	if err := r.describe(ctx); err != nil {
		return err
	}
	r.loop.Script = newScript(r.plan)
	return r.seeMount()
}

// waitReady waits until the database container is ready with a higher generation. It waits for the startup timeout
// plus more.
func (r *runner) waitReady(
	ctx context.Context, generation int32, more time.Duration,
) (runfile.DatabaseState, error) {
	limit := cmp.Or(time.Duration(r.plan.Database.StartupTimeoutSeconds)*time.Second, defaultStartup) + more
	end := r.opt.Now().Add(limit)
	for {
		state, err := r.opt.Database.State(ctx)
		switch {
		case err != nil:
			return state, fmt.Errorf("ask the container of the database: %w", err)
		case state.Failure != nil:
			return state, oracle.Fail(state.Failure.Code, state.Failure.Message, nil)
		case state.State == runfile.DatabaseReady && state.Generation > generation:
			return state, nil
		case r.opt.Now().After(end):
			asked := "start"
			if generation > 0 {
				asked = "restart"
			}
			return state, oracle.Failf(runfile.FailureDatabaseNotReady,
				"the database was asked to %s and is not ready after %v; its container said %s last; look at the log of the "+
					"container database, or raise database.container.startupTimeoutSeconds",
				asked, limit, cmp.Or(state.State, "nothing"))
		}
		if err := runloop.Wait(ctx, readyPoll); err != nil {
			return state, err
		}
	}
}

// connectAdmin opens the pool for views and parameters.
func (r *runner) connectAdmin(ctx context.Context) error {
	db, err := r.openPool(ctx, r.plan.Database.AdminConnect, adminSessions)
	if err != nil {
		return err
	}
	r.adminDB, r.admin = db, oracle.NewAdmin(db, r.opt.Now)
	return nil
}

// connectSchemas opens the administrator's pool in the container of the schemas.
func (r *runner) connectSchemas(ctx context.Context) (err error) {
	if r.schemaDB == nil {
		sessions := 1
		if w := r.plan.Workload.SLOB; w != nil {
			sessions = int(max(1, w.LoadParallelDegree))
		}
		r.schemaDB, err = r.openPool(ctx, r.plan.Database.Connects[0], sessions)
	}
	return err
}

// openPool opens a pool of the administrator.
func (r *runner) openPool(ctx context.Context, connect string, sessions int) (*sql.DB, error) {
	db, err := r.open(ctx, oracle.ConnectOptions{
		Connect: connect, User: r.opt.User, Password: r.opt.Password, Role: r.plan.Database.Role, Sessions: sessions,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", connect, err)
	}
	return db, nil
}

// open retries for a while, unless retrying cannot help.
func (r *runner) open(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
	end := r.opt.Now().Add(connectPatience)
	for {
		db, err := r.opt.Open(ctx, o)
		if err == nil {
			return db, nil
		}
		err = oracle.Explain(err)
		switch oracle.CodeOf(err) {
		case runfile.FailurePassword, runfile.FailurePrivilege, runfile.FailureOracleClient:
			return nil, err
		}
		if r.opt.Now().After(end) {
			return nil, err
		}
		r.opt.Log.Info("Trying again to connect", "connect", o.Connect, "error", err)
		if waited := runloop.Wait(ctx, connectPause); waited != nil {
			return nil, errors.Join(waited, err)
		}
	}
}

// describe records the description of the database, and keeps facts from other sources.
func (r *runner) describe(ctx context.Context) error {
	found, err := do(ctx, r, r.admin.Describe)
	if err != nil {
		return fmt.Errorf("ask the database what it is: %w", err)
	}
	o := r.load.Oracle
	o.Banner, o.Version, o.StandIn, o.Container = found.Banner, found.Version, found.StandIn, found.Container
	o.Instances, o.Parameters = found.Instances, found.Parameters
	return nil
}

// restart restarts the instance of a container and reconnects, if the plan requires a restart.
func (r *runner) restart(ctx context.Context) error {
	if d := r.plan.Database; r.opt.Database == nil || len(d.Parameters) == 0 && !d.RestartBeforeRun {
		return nil
	}
	r.Close(false)
	r.loop.Tell("restarting the instance, so that its views start at zero")
	err := r.loop.Do(ctx, func(ctx context.Context) error {
		before, err := r.opt.Database.State(ctx)
		if err == nil {
			err = r.opt.Database.Restart(ctx)
		}
		if err == nil {
			_, err = r.waitReady(ctx, before.Generation, restartMargin)
		}
		if err != nil {
			return fmt.Errorf("restart the instance: %w", err)
		}
		return r.connectAdmin(ctx)
	})
	if err != nil {
		return err
	}
	r.load.Oracle.Restarted = true
	if err := r.describe(ctx); err != nil {
		return err
	}
	return r.seeMount() // a parameter of the plan may switch on direct I/O
}

// seeMount records how the pod has mounted the volume of the database.
func (r *runner) seeMount() error {
	d := r.plan.Database
	if d.Kind != runfile.DatabaseContainer || d.DataDirectory == "" || r.opt.Root == nil {
		return nil
	}
	mounts, err := procfs.Reader{Root: r.opt.Root}.Mounts()
	if err != nil {
		r.opt.Log.Warn("The mounts of the pod cannot be read", "error", err)
		return nil
	}
	m, found := procfs.MountOf(mounts, d.DataDirectory)
	if !found {
		return nil
	}
	if r.plan.Engine.RequireNFS && !m.IsNFS() {
		return oracle.Failf(runfile.FailureNotNFS,
			"%s is on %s (%s), which is not NFS; use a claim or class of NFS, or allow it", d.DataDirectory, m.Source, m.Type)
	}
	f := m.Facts()
	option := strings.ToUpper(r.parameter("filesystemio_options"))
	f.DirectIO = d.DirectNFS || option == "SETALL" || option == "DIRECTIO" // bypasses the page cache
	r.load.Mount = &f
	return nil
}

// readBack compares the parameters with the requested values, and fails with
// the first that differs.
func (r *runner) readBack(ctx context.Context) error {
	asked := r.plan.Database.Parameters
	names := slices.Sorted(maps.Keys(asked))
	if len(names) == 0 {
		return nil
	}
	values, err := do(ctx, r, func(ctx context.Context) (map[string]string, error) {
		return r.admin.Parameters(ctx, names)
	})
	if err != nil {
		return fmt.Errorf("read the init parameters back: %w", err)
	}
	all := slices.Clone(r.load.Oracle.Parameters)
	var wrong error // the first
	for _, name := range names {
		value, ok := values[name]
		p := runfile.OracleParameter{Name: name, Requested: asked[name], Value: value}
		if i := slices.IndexFunc(all, func(o runfile.OracleParameter) bool { return o.Name == name }); i < 0 {
			all = append(all, p)
		} else {
			all[i] = p
		}
		switch {
		case wrong != nil:
		case !ok && strings.HasPrefix(name, "_"): // the release does not know it; package judge decides whether that matters
		case !ok:
			wrong = oracle.Failf(runfile.FailureParameter, "database.parameters has %s = %s, but the database does not show "+
				"such a parameter; correct its name or leave it out", name, asked[name])
		case !p.AsRequested():
			wrong = oracle.Failf(runfile.FailureParameter, "database.parameters has %s = %s, but after the restart the "+
				"database says %s; write a value that this release and edition take", name, asked[name], value)
		}
	}
	r.load.Oracle.Parameters = all
	return wrong
}

// newPassword returns a random password. Oracle's stronger password functions, which every cloud database has,
// require two lower-case letters, capitals, digits and special characters each. Release 12.1 accepts at most 30
// bytes.
func newPassword() string { return "nx_B7Q4#" + rand.Text()[:20] }
