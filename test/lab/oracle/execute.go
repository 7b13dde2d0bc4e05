package oracle

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/nfsbench/nfsbench/internal/nfs"
	"github.com/nfsbench/nfsbench/test/kit/sqlname"
	"github.com/nfsbench/nfsbench/test/lab/oracle/wire"
)

// row is a row of an answer, by lower-case column.
type row map[string]any

// statement is one call of a text of ours.
type statement struct {
	name  string
	text  string // without comments, blanks made one
	hints string // of its first hint comment, in upper case
	args  []wire.Arg
}

// handler does what a statement means. A query returns rows, all others none;
// OUT binds are values of the one row, by the names of the binds.
type handler func(ctx context.Context, s *session, q statement) ([]row, error)

func (s *session) execute(ctx context.Context, r wire.Request) (*wire.Response, error) {
	name, ok := sqlname.Of(r.SQL)
	e := s.i.entry(name)
	switch {
	case !ok || e.do == nil:
		return nil, ora(900, "invalid SQL statement")
	case e.needs == rightSysdba && !s.dba, !s.permits(name):
		return nil, ora(1031, "insufficient privileges")
	case e.needs == rightViews && !s.dba && s.user != "SYSTEM":
		return nil, ora(942, "table or view does not exist")
	}
	q := statement{name: name, text: plain(r.SQL), hints: hints(r.SQL), args: r.Args}
	if err := q.bound(); err != nil {
		return nil, err
	}
	rows, found, err := s.i.fixed(q.name)
	if !found {
		began := s.i.now()
		rows, err = e.do(ctx, s, q)
		if err == nil && s.process.session {
			err = s.i.waitBeside(ctx, s.i.now().Sub(began))
		}
	}
	s.i.ran(q.name)
	if err != nil {
		return nil, err
	}
	s.i.stats.add(map[string]int64{"execute count": 1})
	if r.Kind == wire.Query {
		return project(q.text, rows)
	}
	return outBinds(q, rows)
}

// hints are the contents of the first comment with optimizer hints.
func hints(text string) string {
	m := regexp.MustCompile(`(?s)/\*\+(.*?)\*/`).FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.ToUpper(m[1])
}

func plain(text string) string {
	text = regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(text, " ")
	text = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(text, " ")
	return strings.Join(strings.Fields(text), " ")
}

// project gives the columns of the select list, and keeps the rows of a list
// that the text names: WHERE column IN ('a', 'b'), or WHERE column <> 'a'.
func project(text string, rows []row) (*wire.Response, error) {
	columns := selectList(text)
	response := &wire.Response{Columns: columns, Rows: [][]any{}}
	keep := inList(text)
	for _, r := range rows {
		if keep != nil && !keep(r) {
			continue
		}
		out := make([]any, len(columns))
		for n, name := range columns {
			v, ok := r[strings.ToLower(name)]
			if !ok {
				return nil, ora(904, "%q: invalid identifier", name)
			}
			out[n] = wire.Value(v)
		}
		response.Rows = append(response.Rows, out)
	}
	return response, nil
}

// selectList are the names of the columns of a query, in upper case as Oracle
// gives them: the alias, or the column without its table.
func selectList(text string) []string {
	upper := strings.ToUpper(text)
	start := strings.Index(upper, "SELECT ") + len("SELECT ")
	upper = strings.TrimPrefix(upper[start:], "DISTINCT ")
	var columns []string
	depth, from, quoted := 0, 0, false
	for at := 0; at < len(upper); at++ {
		switch c := upper[at]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			depth--
		case depth == 0 && c == ',':
			columns, from = append(columns, columnName(upper[from:at])), at+1
		case depth == 0 && strings.HasPrefix(upper[at:], " FROM "):
			return append(columns, columnName(upper[from:at]))
		}
	}
	return append(columns, columnName(upper[from:]))
}

func columnName(item string) string {
	words := strings.Fields(item)
	last := words[len(words)-1]
	return last[strings.LastIndexByte(last, '.')+1:]
}

// inList reads one WHERE column IN ('a', 'b'), or one WHERE column <> 'a'.
func inList(text string) func(row) bool {
	if m := regexp.MustCompile(`(?i) WHERE (\w+) <> '([^']*)'`).FindStringSubmatch(text); m != nil {
		return func(r row) bool { return r[strings.ToLower(m[1])] != m[2] }
	}
	m := regexp.MustCompile(`(?i) WHERE (\w+) IN \(([^)]*)\)`).FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	wanted := map[any]bool{}
	for _, w := range regexp.MustCompile(`'([^']*)'`).FindAllStringSubmatch(m[2], -1) {
		wanted[w[1]] = true
	}
	return func(r row) bool { return wanted[r[strings.ToLower(m[1])]] }
}

// outBinds fills the OUT binds, which have the names of columns, from the one row of
// a call.
func outBinds(q statement, rows []row) (*wire.Response, error) {
	response := &wire.Response{Out: map[int]any{}}
	names := bindNames(q.text)
	for n, a := range q.args {
		if !a.Out {
			continue
		}
		name := strings.ToLower(a.Name)
		if name == "" && n < len(names) {
			name = names[n]
		}
		if len(rows) != 1 || rows[0][name] == nil {
			return nil, ora(1036, "unrecognized bind variable (%s) passed to the bind call", name)
		}
		response.Out[n] = wire.Value(rows[0][name])
	}
	return response, nil
}

// bindNames are the binds of a text in their order, in lower case.
func bindNames(text string) []string {
	var names []string
	unquoted := regexp.MustCompile(`'[^']*'`).ReplaceAllString(text, "")
	for _, m := range regexp.MustCompile(`:(\w+)`).FindAllStringSubmatch(unquoted, -1) {
		names = append(names, strings.ToLower(m[1]))
	}
	return names
}

// int is a bind as a number.
func (q statement) int(name string) (int64, error) {
	v, _ := q.bind(name)
	if n, ok := v.(int64); ok {
		return n, nil
	}
	return 0, ora(1722, "invalid number")
}

// ints are two binds as numbers.
func (q statement) ints(one, other string) (a, b int64, err error) {
	if a, err = q.int(one); err == nil {
		b, err = q.int(other)
	}
	return a, b, err
}

// string is a bind as text; "" for what is none.
func (q statement) string(name string) string {
	v, _ := q.bind(name)
	s, _ := v.(string)
	return s
}

// bound checks that each bind of the text has a value or is an OUT bind.
func (q statement) bound() error {
	for _, name := range bindNames(q.text) {
		if _, ok := q.bind(name); !ok {
			return ora(1008, "not all variables bound")
		}
	}
	return nil
}

// bind finds a bind by its name in the text, or by its position.
func (q statement) bind(name string) (any, bool) {
	for n, placed := range bindNames(q.text) {
		if placed != name {
			continue
		}
		for _, a := range q.args {
			if strings.EqualFold(a.Name, name) {
				return a.Value, true
			}
		}
		if n < len(q.args) && q.args[n].Name == "" {
			return q.args[n].Value, true
		}
	}
	return nil, false
}

type right int

const (
	rightNone   right = iota
	rightViews        // the views of the dictionary
	rightSysdba       // AS SYSDBA
)

// entry is the function that answers a statement, and the privilege that its user needs.
type entry struct {
	do    handler
	needs right
}

// simple is for what depends on neither the session nor the statement.
func simple(rows func() []row) handler {
	return func(context.Context, *session, statement) ([]row, error) { return rows(), nil }
}

// reading is for what only looks into the catalog.
func (i *Instance) reading(rows func(*catalog, *session, statement) []row) handler {
	return func(_ context.Context, s *session, q statement) ([]row, error) {
		i.cat.mu.Lock()
		defer i.cat.mu.Unlock()
		return rows(i.cat, s, q), nil
	}
}

// entry finds what answers a statement; one without a handler is none of ours.
func (i *Instance) entry(name string) entry {
	return map[string]entry{
		"active_sessions":       {i.activeSessions, rightViews},
		"async_files":           {simple(i.fileRows), rightViews},
		"calibrate":             {i.calibrateIO, rightSysdba},
		"calibrate_result":      {i.reading(calibrateResult), rightViews},
		"calibrate_result_23":   {i.reading(calibrateResult), rightViews},
		"calibrate_sample":      {simple(i.calibrateSample), rightViews},
		"calibrate_status":      {i.calibrateStatus, rightViews},
		"container_name":        {i.containerName, rightNone},
		"datafiles":             {i.reading(i.datafiles), rightViews},
		"dnfs_channels":         {simple(i.channelRows), rightViews},
		"dnfs_files":            {simple(i.dnfsFileRows), rightViews},
		"dnfs_servers":          {simple(i.serverRows), rightViews},
		"dnfs_stats":            {simple(i.dnfsStatRows), rightViews},
		"event_histogram":       {simple(i.stats.histogramRows), rightViews},
		"flush_buffer_cache":    {i.flushCache, rightSysdba}, // of the conformance suite
		"foreground_waits":      {simple(i.stats.eventRows), rightViews},
		"instances":             {simple(i.instanceRows), rightViews},
		"iostat_file":           {simple(i.fileRows), rightViews},
		"osstat":                {simple(i.osRows), rightViews},
		"own_reads":             {simple(i.ownReads), rightViews},
		"patches":               {simple(func() []row { return nil }), rightViews},
		"encrypted_tablespaces": {simple(func() []row { return []row{{"tablespaces": int64(0)}} }), rightViews},
		"parameters":            {simple(i.params.rows), rightViews},
		"set_parameter":         {i.setParameter, rightViews},
		"sysstat":               {simple(i.stats.systemRows), rightViews},
		"system_event":          {simple(i.stats.eventRows), rightViews},
		"time_model":            {simple(i.stats.timeRows), rightViews},
		"version":               {simple(i.versionRows), rightNone},
		"version_full":          {simple(i.versionRows), rightNone},
		"awr_check":             {i.awrCheck, rightViews},
		"awr_snapshot":          {i.awrSnapshot, rightViews},

		"redo_logs":       {i.reading(i.redoRows), rightViews},
		"redo_add":        {i.redoAdd, rightSysdba},
		"redo_drop":       {i.redoDrop, rightSysdba},
		"redo_switch":     {i.redoSwitch, rightSysdba},
		"redo_checkpoint": {i.redoCheckpoint, rightSysdba},
		"undo_files":      {i.reading(i.undoFiles), rightViews},
		"undo_resize":     {i.undoResize, rightSysdba},

		"slob_direct_read_always":  {i.directRead, rightNone},
		"slob_direct_read_true":    {i.directRead, rightNone},
		"slob_full_scan":           {i.fullScan, rightNone},
		"slob_index_create":        {i.indexCreate, rightViews},
		"slob_load_obfuscated":     {i.load, rightViews},
		"slob_load_plain":          {i.load, rightViews},
		"slob_marker_create":       {i.tableCreate, rightViews},
		"slob_marker_delete":       {i.markerDelete, rightViews},
		"slob_marker_read":         {i.markerRead, rightViews},
		"slob_marker_write":        {i.markerWrite, rightViews},
		"slob_random_read":         {i.randomRead, rightNone},
		"slob_sample":              {simple(i.stats.systemRows), rightViews},
		"slob_schema_create":       {i.userCreate, rightViews},
		"slob_schema_drop":         {i.userDrop, rightViews},
		"slob_schema_grant":        {i.userGrant, rightViews},
		"slob_schema_password":     {i.userPassword, rightViews},
		"slob_schemas":             {i.reading(i.schemas), rightViews},
		"slob_segment":             {i.reading(segment), rightViews},
		"slob_table_create":        {i.tableCreate, rightViews},
		"slob_table_drop":          {i.onTable("DROP TABLE", (*catalog).drop), rightViews},
		"slob_table_empty":         {i.onTable("TRUNCATE TABLE", (*catalog).truncate), rightViews},
		"slob_table_minimize":      {i.onTable("ALTER TABLE", func(*catalog, *table) {}), rightViews},
		"slob_tables":              {i.reading(tables), rightViews},
		"slob_tablespace":          {i.reading(tablespaceRow), rightViews},
		"slob_tablespace_files":    {i.reading(i.tablespaceFiles), rightViews},
		"slob_logging":             {i.reading(i.logging), rightViews},
		"slob_kit_schemas":         {i.reading(i.kitSchemas), rightViews},
		"slob_privileges":          {i.privileges, rightNone},
		"slob_tablespace_create":   {i.tablespaceCreate, rightViews},
		"slob_tablespace_drop":     {i.tablespaceDrop, rightViews},
		"slob_tablespace_segments": {i.reading(tablespaceSegments), rightViews},
		"slob_update_heavy":        {i.update, rightNone},
		"slob_update_lite":         {i.update, rightNone},
	}[name]
}

// setParameter is ALTER SYSTEM SET with SCOPE = SPFILE.
func (i *Instance) setParameter(_ context.Context, s *session, q statement) ([]row, error) {
	m := regexp.MustCompile(`(?i)^ALTER SYSTEM SET "?([\w$#]+)"? = (.*?) SCOPE = SPFILE`).FindStringSubmatch(q.text)
	if m == nil {
		return nil, ora(922, "missing or invalid option")
	}
	if s.container != 1 {
		return nil, ora(65040, "operation not allowed from within a pluggable database")
	}
	return nil, i.params.set(m[1], strings.Trim(m[2], "'"))
}

// directRead is ALTER SESSION SET "_serial_direct_read".
func (i *Instance) directRead(_ context.Context, s *session, _ statement) ([]row, error) {
	s.direct = true
	return nil, nil
}

// awrCheck compiles what calls DBMS_WORKLOAD_REPOSITORY, and calls nothing.
func (i *Instance) awrCheck(_ context.Context, s *session, _ statement) ([]row, error) {
	if !s.dba && slices.Contains(i.cfg.Owners.Withheld, "EXECUTE ON SYS.DBMS_WORKLOAD_REPOSITORY") {
		return nil, ora(6550, "line 4, column 9:\nPLS-00201: identifier 'DBMS_WORKLOAD_REPOSITORY.CREATE_SNAPSHOT' must be declared")
	}
	return nil, nil
}

// awrSnapshot counts as done: the stand-in has no repository.
func (i *Instance) awrSnapshot(ctx context.Context, s *session, q statement) ([]row, error) {
	if _, err := i.awrCheck(ctx, s, q); err != nil {
		return nil, err
	}
	if !strings.Contains(i.params.get("control_management_pack_access"), "diagnostic") {
		return nil, ora(13516, "AWR Operation failed: the Diagnostics Pack is not licensed")
	}
	return []row{{"snap_id": int64(1)}}, nil
}

// ora makes an Oracle error with the text of Oracle's error messages.
func ora(code int, format string, args ...any) *wire.Failure {
	return &wire.Failure{Code: code, Message: fmt.Sprintf(format, args...)}
}

func failure(err error) *wire.Failure {
	if f, ok := errors.AsType[*wire.Failure](err); ok {
		return f
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ora(1013, "user requested cancel of current operation")
	case isNoSpace(err):
		return ora(27072, "File I/O error\nLinux-x86_64 Error: 28: No space left on device")
	}
	return ora(27072, "File I/O error\n%v", err)
}

func isNoSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || nfs.IsNoSpace(err)
}

// Fixture replaces the answers to statements by declared ones: the numbers that
// somebody printed. Statements that it does not name are answered as ever.
type Fixture struct {
	// Advance names the statements that end a phase when they have run: the load,
	// between whose two snapshots something is counted.
	Advance []string
	// EachCall names statements whose answers count for each of their own calls since the start, not for phases.
	EachCall []string
	// Answers are for each statement its answer in each phase; the last one stays.
	Answers map[string][]Answer
}

// Answer is the answer to a statement: rows by lower-case column, where OUT binds count as columns
// of one row, or an error.
type Answer struct {
	Rows  []map[string]any
	Error *wire.Failure
}

// fixed is the declared answer to a statement, if there is one.
func (i *Instance) fixed(name string) ([]row, bool, error) {
	if i.cfg.Fixture == nil || len(i.cfg.Fixture.Answers[name]) == 0 {
		return nil, false, nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	answers := i.cfg.Fixture.Answers[name]
	at := int64(i.phase)
	if slices.Contains(i.cfg.Fixture.EachCall, name) {
		at = i.executed[name]
	}
	answer := answers[min(at, int64(len(answers)-1))]
	if answer.Error != nil {
		return nil, true, answer.Error
	}
	var rows []row
	for _, r := range answer.Rows {
		rows = append(rows, r)
	}
	return rows, true, nil
}

// ran counts a statement, and ends the phase where the fixture says so.
func (i *Instance) ran(name string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.executed[name]++
	if i.cfg.Fixture != nil && slices.Contains(i.cfg.Fixture.Advance, name) {
		i.phase++
	}
}
