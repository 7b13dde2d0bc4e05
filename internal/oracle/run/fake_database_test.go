package run

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/kit/sqlname"
)

// database is an Oracle database of one instance in memory, as far as our
// statements need one. It takes time on the clock of the bubble.
type database struct {
	mu          sync.Mutex
	users       map[string]*user
	tablespaces map[string]string // to the datafile
	parameters  map[string]string
	spfile      map[string]string
	generation  int
	startup     time.Time
	state       string
	failure     *runfile.Failure

	sessions map[string]int // open now, by user@connect
	most     map[string]int
	log      []string // names of statements, in order

	readOps, readBytes, writeOps, writeBytes int64
	waits, micros                            map[string]int64

	// fail is asked before each statement, with how many of that name there were.
	fail    func(name, text string, nth int) error
	foreign int // percent of what is read
	counts  map[string]int
	busy    []string // programs of others at work
	ranges  []string // of keys that were read

	rights  []string       // of the user bench, who has no role
	logging [][]any        // rows of slob_logging
	kit     func() [][]any // rows of slob_kit_schemas

	noStatspack bool
	kitFile     string // of the tablespace of the kit's tables

	blocksOf func(rows int64) int64 // of a table; nil = as many as rows, and some

	calibrating time.Time // since then; zero = not
}

const always = 0

// failing fails the statements of a name, or the nth of them alone.
func failing(name string, only int, with string) func(string, string, int) error {
	return func(of, _ string, nth int) error {
		if of == name && (only == always || only == nth) {
			return errors.New(with)
		}
		return nil
	}
}

type user struct {
	password string
	quota    string // the tablespace
	granted  bool
	tables   map[string]*rowsOf // NFSBENCH_MARKER among them
	marker   [][]any
	index    bool
}

type rowsOf struct {
	tablespace string
	times      []int // that each key is there
	rows       int
	obfuscated bool
	minimized  int // rows at that time
}

func (r *rowsOf) add(key int64, times int) {
	for int64(len(r.times)) <= key {
		r.times = append(r.times, 0)
	}
	r.times[key] += times
	r.rows += times
}

func newDatabase() *database {
	return &database{
		users: map[string]*user{}, tablespaces: map[string]string{"SYSTEM": "/opt/oracle/oradata/ORCLCDB/ORCLPDB1/system01.dbf"},
		parameters: map[string]string{"db_block_size": "8192", "filesystemio_options": "none", "timed_statistics": "TRUE", "disk_asynch_io": "TRUE"},
		spfile:     map[string]string{}, sessions: map[string]int{}, most: map[string]int{}, counts: map[string]int{},
		waits: map[string]int64{}, micros: map[string]int64{},
		kitFile: "/u02/oradata/iops.dbf", generation: 1, startup: time.Now(), state: runfile.DatabaseReady,
	}
}

// State implements Database.
func (d *database) State(context.Context) (runfile.DatabaseState, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return runfile.DatabaseState{
		State: d.state, Generation: int32(d.generation), Failure: d.failure, Library: runfile.DirectNFSLibrary{Wanted: true}, Host: runfile.DatabaseHost{Mended: []string{"listener.ora"}},
		StartedAt: d.startup.Add(-90 * time.Second), ReadyAt: d.startup,
	}, nil
}

// Restart implements Database at once: the spfile counts from now on, counters begin at
// zero, and sessions are gone.
func (d *database) Restart(ctx context.Context) error {
	d.record("restart")
	select {
	case <-time.After(40 * time.Second):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.generation++
	d.startup = time.Now()
	maps.Copy(d.parameters, d.spfile)
	d.readOps, d.readBytes, d.writeOps, d.writeBytes = 0, 0, 0, 0
	clear(d.waits)
	clear(d.micros)
	return nil
}

func (d *database) record(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, name)
}

// has reports whether statements of these names were executed in this order.
func (d *database) has(names ...string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range d.log {
		if len(names) > 0 && name == names[0] {
			names = names[1:]
		}
	}
	return len(names) == 0
}

func (d *database) login(o oracle.ConnectOptions) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	u := d.users[o.User]
	switch {
	case o.User == "sys" && o.Password == "secret" && o.Role == "SYSDBA":
		return nil
	case o.User == "bench" && o.Password == "secret" && o.Role == "":
		return nil
	case u == nil || u.password != o.Password || o.Role != "":
		return errors.New("ORA-01017: invalid username/password; logon denied")
	case !u.granted:
		return errors.New("ORA-01045: user lacks CREATE SESSION privilege; logon denied")
	}
	return nil
}

func (d *database) execute(ctx context.Context, c *conn, text string, args []driver.NamedValue) ([][]any, error) {
	name, ok := sqlname.Of(text)
	if !ok {
		return nil, fmt.Errorf("not one of our statements: %q", text)
	}
	d.mu.Lock()
	d.log = append(d.log, name)
	d.counts[name]++
	nth, fail, lost := d.counts[name], d.fail, c.generation != d.generation
	d.mu.Unlock()
	if lost {
		return nil, errors.New("ORA-03113: end-of-file on communication channel")
	}
	if fail != nil {
		if err := fail(name, text, nth); err != nil {
			return nil, err
		}
	}
	if err := d.takeTime(ctx, name); err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	if rows, known := d.answerView(name); known {
		return rows, nil
	}
	if strings.HasPrefix(name, "slob_") || strings.HasPrefix(name, "awr_") {
		return d.slob(c, name, text, values)
	}
	return nil, d.administrate(name, text, values)
}

// takeTime is how long statements take.
func (d *database) takeTime(ctx context.Context, name string) error {
	took := map[string]time.Duration{
		"slob_random_read": 100 * time.Millisecond, "slob_update_lite": 100 * time.Millisecond, "slob_update_heavy": 100 * time.Millisecond,
		"slob_full_scan": 700 * time.Millisecond, "calibrate": 9 * time.Minute,
		"slob_load_plain": 2 * time.Second, "slob_load_obfuscated": 2 * time.Second,
	}[name]
	if took == 0 {
		return nil
	}
	if name == "calibrate" {
		d.mu.Lock()
		d.calibrating = time.Now()
		d.mu.Unlock()
		defer func() {
			d.mu.Lock()
			d.calibrating = time.Time{}
			d.mu.Unlock()
		}()
	}
	select {
	case <-time.After(took):
		return nil
	case <-ctx.Done():
		return errors.New("ORA-01013: user requested cancel of current operation")
	}
}

func (d *database) administrate(name, text string, args []any) error {
	switch name {
	case "set_parameter":
		m := regexp.MustCompile(`ALTER SYSTEM SET "?(\w+)"? = '?([^' ]*)'? SCOPE = SPFILE`).FindStringSubmatch(text)
		if strings.HasSuffix(m[1], "no_such") {
			return errors.New("ORA-02065: illegal option for ALTER SYSTEM")
		}
		d.spfile[m[1]] = inBytes(m[2])
	case "calibrate":
		d.waits["calibrated"]++
		d.readOps += 1000
		for i, v := range []int64{27000, 1050, 3} {
			*args[2+i].(sql.Out).Dest.(*int64) = v
		}
	default:
		return fmt.Errorf("the database in memory has no answer to %s", name)
	}
	return nil
}

// inBytes is how Oracle shows 128M.
func inBytes(v string) string {
	digits := strings.TrimRight(v, "KMG")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return v
	}
	return fmt.Sprint(n << map[string]int{"K": 10, "M": 20, "G": 30}[v[len(digits):]])
}

// answerView answers what Admin asks.
func (d *database) answerView(name string) (rows [][]any, known bool) {
	switch name {
	case "instances":
		return [][]any{{int64(1), "ORCLCDB", "db", "19.3.0.0.0", d.startup, "OPEN"}}, true
	case "version_full":
		return [][]any{{"Oracle Database 19c Enterprise Edition"}}, true
	case "parameters":
		for _, k := range slices.Sorted(maps.Keys(d.parameters)) {
			rows = append(rows, []any{int64(1), k, d.parameters[k], "FALSE"})
		}
		return rows, true
	case "patches":
		return nil, true
	case "encrypted_tablespaces":
		return [][]any{{int64(0)}}, true
	case "container_name":
		return [][]any{{"CDB$ROOT", "TRUE", "YES"}}, true
	case "async_files":
		return [][]any{{int64(1), int64(1), "/opt/oracle/oradata/users01.dbf", "ASYNC_ON", "DNFS_LIB"}}, true
	case "calibrate_status":
		return [][]any{{"NOT AVAILABLE", nil}}, true
	case "calibrate_result":
		return [][]any{{d.startup, d.startup.Add(9 * time.Minute), int64(27000), int64(1050), int64(500), int64(3), int64(100)}}, true
	case "active_sessions":
		for _, p := range d.busy {
			rows = append(rows, []any{int64(1), int64(77), "SCOTT", "desk", p, p, nil, "db file sequential read"})
		}
		return rows, true
	case "sysstat":
		for k, v := range d.statistics() {
			rows = append(rows, []any{int64(1), k, v})
		}
		return rows, true
	case "own_reads":
		for session, n := range d.sessions {
			if n > 0 && strings.HasPrefix(session, "NFSBENCH") {
				own := int64(100 - d.foreign)
				return [][]any{
					{int64(1), "physical read total IO requests", d.readOps * own / 100},
					{int64(1), "physical read total bytes", d.readBytes * own / 100},
				}, true
			}
		}
		return nil, true
	case "slob_sample":
		for k, v := range d.statistics() {
			rows = append(rows, []any{k, v})
		}
		return rows, true
	case "system_event":
		for k, v := range d.waits {
			rows = append(rows, []any{int64(1), k, v, d.micros[k]})
		}
		return rows, true
	case "foreground_waits":
		for k, v := range d.waits {
			rows = append(rows, []any{int64(1), k, "User I/O", v, d.micros[k]})
		}
		return rows, true
	case "event_histogram":
		for k, v := range d.waits {
			rows = append(rows, []any{int64(1), k, int64(256), v})
		}
		return rows, true
	case "iostat_file":
		n := d.waits["calibrated"] * 500_000
		return [][]any{{int64(1), int64(1), "Data File", "DNFS_LIB", "ASYNC_ON", n, n * 300, n, n * 300, n / 10, n, n / 128, n / 10, int64(0), int64(0)}}, true
	case "calibrate_sample": // small reads for five minutes, and then large ones for four
		small := d.waits["calibrated"] * 500_000
		large := small / 10
		if !d.calibrating.IsZero() {
			small += int64(500_000 * min(time.Since(d.calibrating).Minutes()/5, 1))
			large += int64(50_000 * max(time.Since(d.calibrating).Minutes()-5, 0) / 4)
		}
		return [][]any{{small, small * 300, large, large * 9000}}, true
	case "osstat":
		cs := time.Since(d.startup).Milliseconds() / 10
		return [][]any{{int64(1), "BUSY_TIME", cs}, {int64(1), "IDLE_TIME", 3 * cs}}, true
	case "dnfs_channels":
		return [][]any{{int64(1), int64(20), "nas", "192.168.1.1", "192.168.1.9", int64(0), int64(5), int64(5), int64(0), int64(0), int64(900)}}, true
	case "dnfs_servers":
		return [][]any{{int64(1), int64(1), "nas", "/vol", "NFSv3.0", int64(65536), int64(65536)}}, true
	case "datafiles":
		return [][]any{{"Data File", int64(1), "/opt/oracle/oradata/ORCLCDB/system01.dbf", int64(1 << 30)}}, true
	case "dnfs_files", "dnfs_stats", "time_model":
		return nil, true
	}
	return nil, false
}

func (d *database) statistics() map[string]int64 {
	return map[string]int64{
		"physical read total IO requests": d.readOps, "physical read total bytes": d.readBytes,
		"physical write total IO requests": d.writeOps, "physical write total bytes": d.writeBytes,
	}
}
