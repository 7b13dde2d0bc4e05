// Package slobconf reads the slob.conf of a SLOB 2.5 kit and writes it as the
// workload.slob of an NFSBenchmark, with a comment where the two differ. The
// file is a shell script: the package reads only plain assignments, and
// executes nothing. It never writes passwords.
package slobconf

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// maxLines and maxBytes are far above any real slob.conf, and bound the nesting of a script.
const (
	maxLines = 2000
	maxBytes = 64 << 10
)

// Conf holds the settings of a slob.conf. A name is set and read, set but not read, or not set.
type Conf struct {
	values     map[string]string // of the names that are set and read
	unread     map[string]int    // the line that sets a name to a value that only a shell can compute
	anything   int               // the line that may set any name that is not in values or unread; 0 = none
	marked     bool              // a byte order mark begins the file
	broken     int               // the line with a syntax error; 0 = none
	ends       int               // the line that may end the script early; 0 = none
	fixed      map[string]int    // the line that declares a name in a way that changes the effect of assignments
	references int               // the first line that may make a name a reference to another, or read-only; 0 = none
	named      map[string]int    // the line that names a parameter of SLOB but sets nothing, such as SCALE = 1G
	skipped    []int             // lines that are not plain assignments
	lines      int               // number of line ends
}

// Parse reads the plain assignments of a slob.conf. As in a shell, the last assignment of a name counts. Parse does
// not read an assignment that the shell would have to compute, or that it executes only under a condition. It fails
// if the file sets or names no parameter of SLOB.
func Parse(in io.Reader) (Conf, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxBytes+1))
	if err != nil {
		return Conf{}, err
	}
	if len(text) > maxBytes || bytes.Count(text, []byte("\n")) > maxLines {
		return Conf{}, fmt.Errorf("more than %d lines or %d bytes: this is no slob.conf", maxLines, maxBytes)
	}
	c := Conf{
		values: map[string]string{}, unread: map[string]int{}, fixed: map[string]int{}, named: map[string]int{},
		lines: bytes.Count(text, []byte("\n")), marked: bytes.HasPrefix(text, []byte("\ufeff")),
	}
	r := reader{
		text: strings.ReplaceAll(string(text), "\r\n", "\n"), conf: &c,
		known: map[string]bool{}, functions: map[string]bool{},
	}
	for _, k := range keys() {
		r.known[k.name] = true
	}
	r.read()
	slices.Sort(c.skipped)
	if slices.ContainsFunc(keys(), func(k key) bool { return c.Given(k.name) || c.named[k.name] > 0 }) {
		return c, nil
	}
	return Conf{}, errors.New("no parameter of SLOB is set in it, such as SCALE=80M: this is no slob.conf")
}

// notRead returns the line that sets a name to an unread value; 0 = none.
func (c Conf) notRead(name string) int {
	if _, read := c.values[name]; read {
		return 0
	}
	return cmp.Or(c.unread[name], c.anything)
}

// doubtful returns the line that sets a name to an unread value, or that names it without any line setting it; 0 =
// none.
func (c Conf) doubtful(name string) int {
	if _, read := c.values[name]; read {
		return 0
	}
	return cmp.Or(c.notRead(name), c.named[name])
}

// Holds fails if the file prevents the settings that were appended to it from taking effect.
func (c Conf) Holds(added Conf) error {
	lines := map[int][]string{}
	for _, name := range slices.Sorted(maps.Keys(added.values)) {
		if v, read := c.values[name]; !read || v != added.values[name] {
			line := cmp.Or(c.fixed[name], c.references, c.ends, c.notRead(name))
			if line > 1+c.lines-added.lines { // a command that begins further up continues there
				line = 0
			}
			lines[line] = append(lines[line], name)
		}
	}
	var errs []error
	for _, line := range slices.Sorted(maps.Keys(lines)) {
		at := "the last line"
		if line > 0 {
			at = fmt.Sprintf("line %d", line)
		}
		errs = append(errs, fmt.Errorf("%s may keep what the benchmark adds at the end from setting %s: remove it",
			at, strings.Join(lines[line], ", ")))
	}
	return errors.Join(errs...)
}

// Given reports whether the file sets a parameter, even to a value that this package does not read.
func (c Conf) Given(name string) bool { return c.values[name] != "" || c.notRead(name) > 0 }

// size reads a number of blocks, or a size with the suffix K, M, G or T.
func size(word string, blockBytes int64) (bytes int64, err error) {
	m := regexp.MustCompile(`^([0-9]{1,12})([KMGTkmgt]?)$`).FindStringSubmatch(word)
	if m == nil {
		return 0, fmt.Errorf("%q is no size: a number of blocks, or one with K, M, G or T, such as 80M", word)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return 0, err
	}
	unit := max(1, blockBytes) // a BLOCK_SZ other than this is refused elsewhere
	if m[2] != "" {
		unit = int64(1024) << (10 * strings.Index("KMGT", strings.ToUpper(m[2])))
	}
	if n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is too large", word)
	}
	return n * unit, nil
}

// Password returns SYSDBA_PASSWD, which the scripts of SLOB print. It is unknown if it is no plain value.
func (c Conf) Password() (password string, known bool) {
	return c.values["SYSDBA_PASSWD"], c.notRead("SYSDBA_PASSWD") == 0
}

// Tables holds the sizes of the tables that setup.sh creates in each schema.
type Tables struct {
	ScaleBytes, ScanBytes, BlockBytes int64
	Obfuscate                         bool
}

// Tables returns the sizes. It fails if a value is out of bounds or cannot be read.
func (c Conf) Tables() (Tables, error) {
	w := writer{conf: c}
	var t Tables
	t.BlockBytes, _ = w.number("BLOCK_SZ", 2048, 32768)
	t.ScaleBytes, _, _ = w.size("SCALE", t.BlockBytes)
	t.ScanBytes, _, _ = w.size("SCAN_TABLE_SZ", t.BlockBytes)
	obfuscate, _, _ := w.value("OBFUSCATE_COLUMNS")
	t.Obfuscate = obfuscate == "TRUE"
	if err := w.err(); err != nil {
		return Tables{}, err
	}
	return t, nil
}

// key describes one parameter of SLOB.
type key struct {
	name     string
	fallback string // SLOB's default
	// none is the reason why a parameter has no counterpart; empty if it has one.
	none string
	// off are the values that switch off a feature without a counterpart.
	off []string
	// secret reports that values must not be shown.
	secret bool
}

// keys returns the parameters of SLOB 2.5.4, in the order in which YAML writes them.
func keys() []key {
	empty := []string{""}
	return []key{
		{name: "SCAN_PCT", fallback: "0"},
		{name: "THREADS_PER_SCHEMA", fallback: "1"},
		{name: "SCALE", fallback: "10000"},
		{name: "SCAN_TABLE_SZ", fallback: "1M"},
		{name: "WORK_UNIT", fallback: "256"},
		{name: "UPDATE_PCT", fallback: "25"},
		{name: "REDO_STRESS", fallback: "LITE"},
		{name: "LOAD_PARALLEL_DEGREE", fallback: "1"},
		{name: "OBFUSCATE_COLUMNS", fallback: "FALSE"},
		{name: "DATABASE_STATISTICS_TYPE", fallback: "statspack"},
		{name: "THINK_TM_FREQUENCY", fallback: "0"},
		{name: "THINK_TM_MIN", fallback: ".1"},
		{name: "THINK_TM_MAX", fallback: ".5"},
		{name: "RUN_TIME", fallback: "300"},
		{name: "BLOCK_SZ", fallback: "8192"},
		{name: "WORK_LOOP", fallback: "0"},
		{name: "DO_HOTSPOT", fallback: "FALSE", off: []string{"FALSE"}, none: "there are no hot spots"},
		{name: "HOTSPOT_MB"},
		{name: "HOTSPOT_OFFSET_MB"},
		{name: "HOTSPOT_FREQUENCY"},
		{name: "HOT_SCHEMA_FREQUENCY", fallback: "0", off: []string{"0"}, none: "there is no hot schema"},
		{name: "EXTERNAL_SCRIPT", off: empty, none: "no script is called"},
		{name: "ADMIN_SQLNET_SERVICE", off: empty, none: "set database.external.connectString to it, as host:port/service"},
		{
			name: "SQLNET_SERVICE_BASE", off: empty,
			none: "set database.external.services to host:port/service of each instance",
		},
		{name: "SQLNET_SERVICE_MAX", off: []string{"", "0"}, none: "list so many database.external.services"},
		{name: "DBA_PRIV_USER", off: empty, none: "it belongs into the Secret of database.external.credentialsSecretRef"},
		{name: "SYSDBA_PASSWD", off: empty, none: "it belongs into a Secret", secret: true},
		{name: "UNIQUE_INDEX"},
		{name: "NO_OS_PERF_DATA"},
		{name: "SLOB_TEMPDIR"},
		{name: "SLOB_DEBUG"},
	}
}

// YAML writes the configuration as a fragment of the spec of an NFSBenchmark.
// It fails if a value is out of bounds or cannot be read.
func (c Conf) YAML() (string, error) {
	w := writer{conf: c}
	w.line("# From a slob.conf. Put it below spec of an NFSBenchmark.")
	for _, n := range c.skipped {
		w.line("# Line %d is no plain assignment and was left out.", n)
	}
	w.line("workload:")
	w.line("  slob:")
	w.access()
	w.sizes()
	w.statements()
	w.think()
	w.choice("OBFUSCATE_COLUMNS", "TRUE or FALSE", map[string]string{
		"TRUE": "obfuscateColumns: Enabled # %s", "FALSE": "obfuscateColumns: Disabled # %s",
	})
	w.choice("DATABASE_STATISTICS_TYPE", "statspack or awr", map[string]string{
		"AWR":       "awr: Enabled # %s; it needs the Diagnostics Pack",
		"STATSPACK": "awr: Disabled # %s; the V$ views are always read",
	})
	seconds, note := w.number("RUN_TIME", 30, 1<<31-1)
	w.line("run:")
	w.line("  durationSeconds: %d # %s", seconds, note)
	w.without()
	if err := w.err(); err != nil {
		return "", err
	}
	return w.out.String(), nil
}

type writer struct {
	conf     Conf
	out      strings.Builder
	problems []string            // values out of bounds, and lines that cannot be read
	names    map[string][]string // parameters by problem, for lines that cannot be read
	scan     bool                // FullTableScan
}

// err returns all problems. It reports a problem with a line once, with all parameters that it affects.
func (w *writer) err() error {
	var errs []error
	for _, p := range w.problems {
		switch names := w.names[p]; len(names) {
		case 0:
		case 1:
			p = names[0] + " is " + p
		default:
			p = strings.Join(names, ", ") + " are " + p
		}
		errs = append(errs, errors.New(p))
	}
	return errors.Join(errs...)
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(&w.out, format+"\n", args...) }

func (w *writer) fail(format string, args ...any) {
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// value returns the value that SLOB uses, and a note about it. It fails if the file sets the parameter to an unknown
// value.
func (w *writer) value(name string) (value, note string, known bool) {
	if p := w.conf.problem(name); p != "" {
		if w.names == nil {
			w.names = map[string][]string{}
		}
		if w.names[p] == nil {
			w.fail("%s", p)
		}
		if !slices.Contains(w.names[p], name) {
			w.names[p] = append(w.names[p], name)
		}
		return "", "", false
	}
	v, set := w.conf.values[name]
	if v != "" {
		return v, name, true
	}
	for _, k := range keys() {
		if k.name == name {
			v = k.fallback
		}
	}
	if set {
		return v, name + " is empty: SLOB takes " + v, true
	}
	return v, name + " is not set: SLOB takes " + v, true
}

// problem describes the line that sets a parameter to an unknown value; empty = there is none.
func (c Conf) problem(name string) string {
	line, set := c.doubtful(name), c.notRead(name)
	if line == 0 {
		return ""
	}
	at := "on a line below it"
	switch fixed := c.fixed[name]; {
	case set == 0 && line == 1 && c.marked:
		return "not set by line 1, which begins with a byte order mark; remove that, and the shell reads the line"
	case set == 0:
		return fmt.Sprintf("not set, although named by line %d; write NAME=value there, without blanks", line)
	case c.broken > 0:
		return fmt.Sprintf("set by line %d, but not as a plain value, because that line is no shell; correct it", c.broken)
	case c.references > 0:
		return fmt.Sprintf("set by line %d, but not as a plain value that holds in any case; remove line %d, which may "+
			"let a name stand for another, or stay as it is", line, c.references)
	case fixed > 0:
		at = fmt.Sprintf("in place of line %d, which lets no other line simply set it", fixed)
	case c.ends > 0 && c.ends <= line:
		at = fmt.Sprintf("on a line above line %d, which may end the file", c.ends)
	case c.ends > 0:
		at += fmt.Sprintf(", above line %d, which may end the file", c.ends)
	}
	return fmt.Sprintf("set by line %d, but not as a plain value that holds in any case; write NAME=value %s, and "+
		"outside of if, for, functions and the like", line, at)
}

// number returns a parameter that is a whole number within bounds.
func (w *writer) number(name string, lowest, highest int64) (n int64, note string) {
	v, note, known := w.value(name)
	if !known {
		return 0, ""
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < lowest || n > highest {
		w.fail("%s is %q; write a number from %d to %d", name, v, lowest, highest)
	}
	return n, note
}

// size returns a parameter that is the size of a table; 0 on failure.
func (w *writer) size(name string, blockBytes int64) (bytes int64, word, note string) {
	word, note, known := w.value(name)
	if !known {
		return 0, "", ""
	}
	bytes, err := size(word, blockBytes)
	if err != nil {
		w.fail("%s: %v", name, err)
	}
	return bytes, word, note
}

// choice writes the line for a value of the parameter.
func (w *writer) choice(name, permitted string, lines map[string]string) {
	word, note, known := w.value(name)
	if !known {
		return
	}
	line, ok := lines[strings.ToUpper(word)]
	if !ok {
		w.fail("%s is %q; write %s", name, word, permitted)
		return
	}
	w.line("    "+line, note)
}

func (w *writer) access() {
	pct, note := w.number("SCAN_PCT", 0, 100)
	w.scan = pct == 100
	switch {
	case w.scan:
		w.line("    access: FullTableScan # %s", note)
	case pct == 0:
		w.line("    access: RandomRead # %s", note)
	default:
		w.line("    access: RandomRead # SCAN_PCT is %d: a load does not mix accesses; make a second benchmark with "+
			"FullTableScan", pct)
	}
	w.line("    schemas: 1 # the first argument of runit.sh; slob.conf does not say")
	threads, note := w.number("THREADS_PER_SCHEMA", 1, 16384)
	if threads > maxThreads {
		note = fmt.Sprintf("THREADS_PER_SCHEMA is %d: take more schemas", threads)
	}
	w.line("    threadsPerSchema: %d # %s; or users, a list, for a ramp", min(threads, maxThreads), note)
}

// maxThreads is the maximum of workload.slob.threadsPerSchema.
const maxThreads = 128

func (w *writer) sizes() {
	block, _ := w.number("BLOCK_SZ", 2048, 32768)
	for _, s := range []struct{ name, field string }{{"SCALE", "scale"}, {"SCAN_TABLE_SZ", "scanTableSize"}} {
		bytes, v, note := w.size(s.name, block)
		if bytes == 0 && v == "" {
			continue
		}
		if v == strings.Trim(v, "KMGTkmgt") {
			note += fmt.Sprintf(", %s blocks of %d bytes", v, block)
		}
		mebi := max(1, (bytes+1<<20-1)>>20)
		if mebi<<20 != bytes {
			note += ", rounded up"
		}
		quantity := fmt.Sprintf("%dMi", mebi)
		if mebi%1024 == 0 {
			quantity = fmt.Sprintf("%dGi", mebi/1024)
		}
		w.line("    %s: %s # %s", s.field, quantity, note)
	}
}

func (w *writer) statements() {
	unit, note := w.number("WORK_UNIT", 3, 1024)
	w.line("    workUnit: %d # %s", unit, note)
	if loops, note := w.number("WORK_LOOP", 0, 1_000_000_000); loops > 0 {
		w.line("    workLoop: %d # %s; run.durationSeconds is then the longest that a step may take", loops, note)
	}
	update, note := w.number("UPDATE_PCT", 0, 100)
	switch {
	case update > 50 && update < 100:
		w.fail("UPDATE_PCT is %d; write 0 to 50, or 100", update)
	case w.scan && update > 0:
		w.line("    # UPDATE_PCT is %d: FullTableScan only reads", update)
	default:
		w.line("    updatePercent: %d # %s", update, note)
	}
	w.choice("REDO_STRESS", "LITE or HEAVY", map[string]string{
		"LITE": "redoStress: Lite # %s", "HEAVY": "redoStress: Heavy # %s",
	})
	degree, note := w.number("LOAD_PARALLEL_DEGREE", 1, 4096)
	if degree > 64 {
		note = fmt.Sprintf("LOAD_PARALLEL_DEGREE is %d: at most 64", degree)
	}
	w.line("    loadParallelDegree: %d # %s", min(degree, 64), note)
}

func (w *writer) think() {
	frequency, _ := w.number("THINK_TM_FREQUENCY", 0, 1_000_000)
	least, most := w.milliseconds("THINK_TM_MIN"), w.milliseconds("THINK_TM_MAX")
	if frequency == 0 {
		return
	}
	if most < least {
		w.fail("THINK_TM_MAX is less than THINK_TM_MIN; swap them")
	}
	w.line("    think: # THINK_TM_*")
	w.line("      frequency: %d", frequency)
	w.line("      minimumMilliseconds: %d", least)
	w.line("      maximumMilliseconds: %d", max(most, 1))
}

func (w *writer) milliseconds(name string) int64 {
	v, _, known := w.value(name)
	if !known {
		return 0
	}
	s, err := strconv.ParseFloat(v, 64)
	if err != nil || !(s >= 0 && s <= 60) {
		w.fail("%s is %q; write seconds from 0 to 60", name, v)
		return 0
	}
	return int64(s*1000 + 0.5)
}

// without reports parameters without a counterpart that would change what SLOB does.
func (w *writer) without() {
	known := map[string]bool{}
	for _, k := range keys() {
		known[k.name] = true
		if line := w.conf.doubtful(k.name); line > 0 && k.none != "" {
			w.line("# %s of line %d was left out: %s.", k.name, line, k.none)
			continue
		}
		v, set := w.conf.values[k.name]
		if !set || k.none == "" || slices.Contains(k.off, strings.ToUpper(v)) {
			continue
		}
		if k.secret {
			w.line("# %s was left out: %s.", k.name, k.none)
		} else {
			w.line("# %s=%s was left out: %s.", k.name, v, k.none)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.conf.values)) {
		if !known[name] {
			w.line("# %s was left out: it is no parameter of SLOB 2.5.", name)
		}
	}
}
