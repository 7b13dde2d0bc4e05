// Package oracle talks to an Oracle database: it reads its description, its
// parameters and its statistics, and calls CALIBRATE_IO. It uses database/sql
// and no driver: only cmd/oraload links godror.
//
// Names, units and pitfalls of the views come from Oracle's reference. Where a
// release differs from its own documentation, the reader derives the truth and
// documents it (see Window).
package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// ConnectOptions configures a connection.
type ConnectOptions struct {
	Connect  string // EZConnect: host:port/service
	User     string
	Password string
	Role     string // SYSDBA, or empty
	Sessions int    // maximum at the same time; 0 = one
}

// Opener opens a pool of connections to a database and makes the first
// connection. Its errors are explained (see Explain). It is safe for concurrent
// use.
type Opener func(ctx context.Context, o ConnectOptions) (*sql.DB, error)

// Admin queries and changes a database as administrator. It is safe for
// concurrent use, like the pool. Its errors are explained (see Explain).
type Admin struct {
	db    *sql.DB
	now   func() time.Time
	pause time.Duration // between two looks at other sessions
}

// NewAdmin returns an Admin on a pool that was opened with the role SYSDBA in
// the root container: in other containers some views are empty.
func NewAdmin(db *sql.DB, now func() time.Time) *Admin {
	return &Admin{db: db, now: now, pause: time.Second}
}

// maxRows bounds the rows of one answer. A view of a large cluster has several hundred thousand.
const maxRows = 1_000_000

// Rows calls each for every row of a query. Its errors are explained.
func Rows(ctx context.Context, db *sql.DB, text string, args []any, each func(*sql.Rows) error) error {
	rows, err := db.QueryContext(ctx, text, args...)
	if err != nil {
		return Explain(err)
	}
	defer func() { _ = rows.Close() }()
	for n := 1; rows.Next(); n++ {
		if n > maxRows {
			return fmt.Errorf("the answer has more than %d rows", maxRows)
		}
		if err := each(rows); err != nil {
			return err
		}
	}
	return Explain(rows.Err())
}

// Column returns the first column of the rows of the named text. Its errors are explained.
func Column(ctx context.Context, db *sql.DB, name string, args ...any) (words []string, err error) {
	err = Rows(ctx, db, sqltext.Text(name), args, func(r *sql.Rows) error {
		words = append(words, "")
		return r.Scan(&words[len(words)-1])
	})
	return words, err
}

// Exec fills the places of the named text and executes it, see sqltext.Render. Its errors are explained.
func Exec(ctx context.Context, db *sql.DB, name string, values map[string]any, args ...any) error {
	text, err := sqltext.Render(name, values)
	if err == nil {
		_, err = db.ExecContext(ctx, text, args...)
	}
	return Explain(err)
}

// each calls scan for every row of the named text.
func (a *Admin) each(ctx context.Context, name string, scan func(*sql.Rows) error) error {
	return explained(name, Rows(ctx, a.db, sqltext.Text(name), nil, scan))
}

// query runs the named text and scans its rows.
func query[T any](ctx context.Context, a *Admin, name string, scan func(*sql.Rows) (T, error)) ([]T, error) {
	var list []T
	err := a.each(ctx, name, func(r *sql.Rows) error {
		one, err := scan(r)
		list = append(list, one)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// explained adds the name of the text to an error, and keeps the code.
func explained(name string, err error) error {
	if err == nil {
		return nil
	}
	err = Explain(err)
	if code := CodeOf(err); code != "" {
		return Failf(code, "%s: %w", name, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Describe describes the database: banner, version, instances, and the
// parameters that affect I/O, with hidden parameters that were set. It fails
// for a release with unknown views.
func (a *Admin) Describe(ctx context.Context) (runfile.Oracle, error) {
	instances, err := a.instances(ctx)
	if err != nil {
		return runfile.Oracle{}, err
	}
	o := runfile.Oracle{}
	for _, i := range instances {
		o.Instances = append(o.Instances, i.OracleInstance)
		o.Version = i.version
	}
	release, err := sqltext.ReleaseOf(o.Version)
	if err != nil {
		return runfile.Oracle{}, Fail(runfile.FailureUnsupported, err.Error(), err)
	}
	if o.Banner, err = a.banner(ctx, release); err != nil {
		return runfile.Oracle{}, err
	}
	o.StandIn = strings.Contains(strings.ToLower(o.Banner), "stand-in")
	if o.Container, err = a.container(ctx); err != nil {
		return runfile.Oracle{}, err
	}
	if o.Patches, o.EncryptedTablespaces, err = a.optional(ctx); err != nil {
		return runfile.Oracle{}, err
	}
	o.Parameters, err = a.notable(ctx)
	return o, err
}

// keptPatches bounds the listed patches: a database that is patched for years has many.
const keptPatches = 20

// optional returns patches and encrypted tablespaces. A user without SYSDBA may lack the right to see them; they are
// then unknown.
func (a *Admin) optional(ctx context.Context) (patches []string, encrypted *int64, err error) {
	var ids []string
	err1 := a.each(ctx, "patches", func(r *sql.Rows) error {
		var id, action, description sql.NullString
		err := r.Scan(&id, &action, &description)
		if i := slices.Index(ids, id.String); i >= 0 {
			ids, patches = slices.Delete(ids, i, i+1), slices.Delete(patches, i, i+1)
		}
		if action.String == "APPLY" {
			ids, patches = append(ids, id.String), append(patches, oneLine(description.String))
		}
		return err
	})
	err2 := a.each(ctx, "encrypted_tablespaces", func(r *sql.Rows) error {
		encrypted = new(int64)
		return r.Scan(encrypted)
	})
	for _, err := range []error{err1, err2} {
		if code := CodeOf(err); err != nil && code != runfile.FailurePrivilege && code != runfile.FailureSQL {
			return nil, nil, err
		}
	}
	return patches[max(0, len(patches)-keptPatches):], encrypted, nil
}

// container returns the name of the current container. Outside of the root of a container database, V$SYSSTAT and
// other views count an undocumented part.
func (a *Admin) container(ctx context.Context) (name string, err error) {
	err = a.each(ctx, "container_name", func(r *sql.Rows) error {
		var container, dba, cdb sql.NullString
		if err := r.Scan(&container, &dba, &cdb); err != nil {
			return err
		}
		if name = container.String; cdb.String == "YES" && name != "CDB$ROOT" {
			return Failf(runfile.FailureUnsupported, "the connection of the administrator is to %s, and only in CDB$ROOT do "+
				"the views count the whole instance: connect to a service of the root container", name)
		}
		return nil
	})
	return name, err
}

// banner returns the line that names the database. Older releases have other
// lines, such as that of PL/SQL.
func (a *Admin) banner(ctx context.Context, release sqltext.Release) (string, error) {
	name := "version"
	if release >= sqltext.Release18 {
		name = "version_full"
	}
	lines, err := query(ctx, a, name, func(r *sql.Rows) (string, error) {
		var s sql.NullString
		err := r.Scan(&s)
		return oneLine(s.String), err
	})
	if err != nil || len(lines) == 0 {
		return "", err
	}
	if i := slices.IndexFunc(lines, func(s string) bool { return strings.Contains(s, "Oracle") }); i >= 0 {
		return lines[i], nil
	}
	return lines[0], nil
}

type instance struct {
	runfile.OracleInstance
	version string
	status  string // OPEN, MOUNTED, STARTED
}

func (a *Admin) instances(ctx context.Context) ([]instance, error) {
	return query(ctx, a, "instances", func(r *sql.Rows) (instance, error) {
		var i instance
		var host, status sql.NullString
		var started sql.NullTime
		err := r.Scan(&i.ID, &i.Name, &host, &i.version, &started, &status)
		i.Host, i.status, i.StartupTime = host.String, status.String, started.Time
		return i, err
	})
}

// parameter is one init parameter of one instance.
type parameter struct {
	instance    int32
	name, value string
	set         bool // not at its default
}

func (a *Admin) parameters(ctx context.Context) ([]parameter, error) {
	return query(ctx, a, "parameters", func(r *sql.Rows) (parameter, error) {
		var p parameter
		var value, isDefault sql.NullString
		err := r.Scan(&p.instance, &p.name, &value, &isDefault)
		p.value, p.set = value.String, isDefault.String == "FALSE"
		return p, err
	})
}

// Parameters returns the values of init parameters by name, in any case. A
// parameter that the database does not show, such as a hidden one that was
// never set, has no entry. If instances differ, the value names each.
func (a *Admin) Parameters(ctx context.Context, names []string) (map[string]string, error) {
	list, err := a.parameters(ctx)
	if err != nil {
		return nil, err
	}
	all := byName(list)
	found := map[string]string{}
	for _, name := range names {
		if value, ok := all[strings.ToLower(name)]; ok {
			found[name] = value
		}
	}
	return found, nil
}

// byName returns one value per parameter, over all instances.
func byName(list []parameter) map[string]string {
	values, each, differ := map[string]string{}, map[string][]string{}, map[string]bool{}
	for _, p := range list {
		name := strings.ToLower(p.name)
		first, seen := values[name]
		values[name], differ[name] = p.value, differ[name] || seen && first != p.value
		each[name] = append(each[name], fmt.Sprintf("%s (instance %d)", p.value, p.instance))
	}
	for name := range values {
		if differ[name] {
			values[name] = strings.Join(each[name], ", ")
		}
	}
	return values
}

// notable returns the parameters that affect I/O, and hidden parameters that were set.
func (a *Admin) notable(ctx context.Context) ([]runfile.OracleParameter, error) {
	list, err := a.parameters(ctx)
	if err != nil {
		return nil, err
	}
	matters := strings.Fields("_serial_direct_read control_management_pack_access cpu_count db_block_checking " +
		"db_block_checksum db_block_size db_cache_size db_file_multiblock_read_count db_lost_write_protect " +
		"db_writer_processes disk_asynch_io dnfs_batch_size enable_dnfs_dispatcher filesystemio_options memory_target " +
		"parallel_max_servers pga_aggregate_target processes resource_manager_plan sga_max_size sga_target " +
		"shared_pool_size statistics_level timed_statistics")
	all, keep := byName(list), map[string]bool{}
	for _, p := range list {
		if strings.HasPrefix(p.name, "_") && p.set || slices.Contains(matters, strings.ToLower(p.name)) {
			keep[strings.ToLower(p.name)] = true
		}
	}
	var found []runfile.OracleParameter
	for _, name := range slices.Sorted(maps.Keys(keep)) {
		found = append(found, runfile.OracleParameter{Name: name, Value: all[name]})
	}
	return found, nil
}

// SetParameters writes init parameters into the spfile, for all instances, in the order of their names. They take
// effect at the next start. It stops at the first refused parameter, but skips a refused hidden one: Oracle documents
// none, so a release need not know it, and reading the parameters back shows that it is missing.
func (a *Admin) SetParameters(ctx context.Context, parameters map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		err := Exec(ctx, a.db, "set_parameter", map[string]any{
			"Name": sqltext.Parameter(name), "Value": sqltext.Value(parameters[name]),
		})
		if err == nil {
			continue
		}
		code := CodeOf(err)
		if code == "" || code == runfile.FailureSQL {
			code = runfile.FailureParameter
		}
		if code == runfile.FailureParameter && strings.HasPrefix(name, "_") {
			continue
		}
		return Failf(code, "init parameter %s = %q: %w", name, parameters[name], err)
	}
	return nil
}

// Watch returns a reader of the counters of Direct NFS in one window.
func (a *Admin) Watch() *Watch {
	return &Watch{admin: a, channels: map[channel]*channelSum{}, last: map[process]operations{}}
}

// idleLooks is the number of looks, a second apart, at which a database must be at work to be called busy. An
// instance that has just started runs jobs of its own.
const idleLooks = 60

// CheckIdle fails with FailureBusy if other sessions are at work, because their
// load would be measured too. It reports only sessions that are at work for a
// minute: neither a health probe nor the jobs of an instance that has just
// started.
func (a *Admin) CheckIdle(ctx context.Context) error {
	still, err := a.activeSessions(ctx)
	for look := 1; look < idleLooks && err == nil && len(still) > 0; look++ {
		if err = runloop.Wait(ctx, a.pause); err != nil {
			return err
		}
		var now []session
		now, err = a.activeSessions(ctx)
		still = slices.DeleteFunc(now, func(s session) bool {
			return !slices.ContainsFunc(still, func(before session) bool { return before.id == s.id })
		})
	}
	if err != nil || len(still) == 0 {
		return err
	}
	var others []string
	for _, s := range still[:min(3, len(still))] {
		others = append(others, s.what)
	}
	more := ""
	if len(still) > len(others) {
		more = fmt.Sprintf(" and %d more", len(still)-len(others))
	}
	hint := "run the benchmark when nobody else uses it"
	if slices.ContainsFunc(still, func(s session) bool { return s.job }) {
		hint += ", and set job_queue_processes to 0, or the database runs jobs of its own"
	}
	return Failf(runfile.FailureBusy, "others use the database: %s%s; %s", strings.Join(others, "; "), more, hint)
}

// schedulerModule is the MODULE of a session that runs a job of Oracle's scheduler. Its ACTION is the name of the
// job.
const schedulerModule = "DBMS_SCHEDULER"

// session is a session at work.
type session struct {
	id   [2]int64 // instance and SID
	what string
	job  bool // a job of Oracle's scheduler
}

func (a *Admin) activeSessions(ctx context.Context) ([]session, error) {
	return query(ctx, a, "active_sessions", func(r *sql.Rows) (session, error) {
		var s session
		var user, machine, program, module, action, event sql.NullString
		err := r.Scan(&s.id[0], &s.id[1], &user, &machine, &program, &module, &action, &event)
		what := user.String
		switch s.job = module.String == schedulerModule && action.String != ""; {
		case s.job:
			what = "job " + action.String + " of " + what
		case module.String != "" && module.String != program.String:
			what += ", module " + module.String
		}
		s.what = fmt.Sprintf("%s, %s on %s (instance %d, SID %d, %s)", what, program.String, machine.String, s.id[0],
			s.id[1], event.String)
		return s, err
	})
}
