// Package oracle talks to an Oracle database: what it is, its parameters, what
// its views count, and CALIBRATE_IO. It knows database/sql and no driver: godror
// is linked into cmd/oraload only.
//
// Names, units and traps of the views are those of Oracle's reference; where a
// release differs from its own documentation, the reader derives what is true
// and says so (see Window).
package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// ConnectOptions say where to connect to, and as whom.
type ConnectOptions struct {
	Connect  string // EZConnect: host:port/service
	User     string
	Password string
	Role     string // SYSDBA, or empty
	Sessions int    // at most so many at once; 0 = one
}

// Opener connects to a database. The pool that it returns has been asked for a
// first connection; its errors are explained (see Explain). It is safe for
// several goroutines.
type Opener func(ctx context.Context, o ConnectOptions) (*sql.DB, error)

// Admin asks and tells a database what only an administrator may. It is safe for
// several goroutines, as the pool is. Its errors are explained (see Explain).
type Admin struct {
	db    *sql.DB
	now   func() time.Time
	pause time.Duration // between two looks at the sessions of others
}

// NewAdmin makes an Admin on a pool that was opened with the role SYSDBA, to the
// root container: elsewhere some views are empty.
func NewAdmin(db *sql.DB, now func() time.Time) *Admin {
	return &Admin{db: db, now: now, pause: time.Second}
}

// maxRows is how many rows of one answer are read. A view of a large cluster has some
// hundred thousand.
const maxRows = 1_000_000

// Rows calls each for every row that a text gives. Its errors are explained.
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

// Column returns the words in the first column that the text of that name gives. Its errors are explained.
func Column(ctx context.Context, db *sql.DB, name string, args ...any) (words []string, err error) {
	err = Rows(ctx, db, sqltext.Text(name), args, func(r *sql.Rows) error {
		words = append(words, "")
		return r.Scan(&words[len(words)-1])
	})
	return words, err
}

// Exec executes the text of that name with its places filled in, see sqltext.Render. Its errors are
// explained.
func Exec(ctx context.Context, db *sql.DB, name string, values map[string]any, args ...any) error {
	text, err := sqltext.Render(name, values)
	if err == nil {
		_, err = db.ExecContext(ctx, text, args...)
	}
	return Explain(err)
}

// each calls scan for every row of the text of that name.
func (a *Admin) each(ctx context.Context, name string, scan func(*sql.Rows) error) error {
	return explained(name, Rows(ctx, a.db, sqltext.Text(name), nil, scan))
}

// query runs the text of that name and scans its rows.
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

// explained says which text failed, if it did, and keeps the code.
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

// Describe says what database this is: banner, version, instances, and the
// parameters that bear on I/O, with hidden ones that were set. It fails for a
// release whose views are not known.
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

// keptPatches of a database that has been patched for years are enough.
const keptPatches = 20

// optional returns what a user without SYSDBA may not see, and what is then not known.
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

// container returns where we are. Elsewhere than in the root of a container database, V$SYSSTAT and other views
// count a part that nobody defines.
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

// banner returns the line that names the database; older releases have more
// lines, of PL/SQL and others.
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

// Parameters returns the values of init parameters by name, in whatever case it
// is asked for. One that the database does not show, as hidden ones that were
// never set, has no entry; where instances differ, the value names each.
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

// byName returns one value for each parameter, over all instances.
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

// notable returns the parameters that bear on I/O, and hidden ones that were set.
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

// SetParameters writes init parameters into the spfile, for all instances, in
// the order of their names; they count from the next start on. It stops at the
// first that is refused. A hidden one that is refused is left out: Oracle
// documents none, so a release need not know it, and reading the parameters back shows
// that it is missing.
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

// Watch makes a reader of what Direct NFS counts in one window.
func (a *Admin) Watch() *Watch {
	return &Watch{admin: a, channels: map[channel]*channelSum{}, last: map[process]operations{}}
}

// idleLooks is how often, a second apart, a database may be found at work before it
// is called busy. An instance that has just started has jobs of its own to do.
const idleLooks = 60

// CheckIdle fails with FailureBusy where sessions of others are at work: what is
// measured would be their load as well. It means only sessions that are found at
// work for a minute: neither a probe that asks for the health of the database nor
// what an instance does after it has started.
func (a *Admin) CheckIdle(ctx context.Context) error {
	still, err := a.activeSessions(ctx)
	for look := 1; look < idleLooks && err == nil && len(still) > 0; look++ {
		if err = course.Wait(ctx, a.pause); err != nil {
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

// schedulerModule is the MODULE of a session that runs a job of Oracle's scheduler;
// the ACTION is then the name of the job.
const schedulerModule = "DBMS_SCHEDULER"

// session is one that is at work.
type session struct {
	id   [2]int64 // instance and SID
	what string
	job  bool // of Oracle's scheduler
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
