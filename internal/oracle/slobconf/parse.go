// Package slobconf reads the slob.conf of a SLOB 2.5 kit and writes it as the
// workload.slob of an NFSBenchmark, with a comment where the two differ. The
// file is a piece of shell; only plain assignments in it are read, and nothing
// is executed. Passwords are never written.
package slobconf

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// maxLines is far above any real slob.conf.
const maxLines = 10000

// Conf is what a slob.conf says.
type Conf struct {
	values  map[string]string
	skipped []int // lines that are no plain assignment
}

// Parse reads the plain assignments of a slob.conf; as in a shell, the last of a
// name counts. It fails where there is none that SLOB knows.
func Parse(in io.Reader) (Conf, error) {
	c := Conf{values: map[string]string{}}
	assignment := regexp.MustCompile(`^(?:export\s+)?([A-Z][A-Z0-9_]*)=(.*)$`)
	scan := bufio.NewScanner(in)
	line := 0
	for scan.Scan() {
		if line++; line > maxLines {
			return Conf{}, fmt.Errorf("more than %d lines: this is no slob.conf", maxLines)
		}
		text := strings.TrimSpace(scan.Text())
		if text == "" || text[0] == '#' || strings.HasPrefix(text, "export ") && !strings.Contains(text, "=") {
			continue
		}
		m := assignment.FindStringSubmatch(text)
		if m == nil {
			c.skipped = append(c.skipped, line)
			continue
		}
		value, ok := word(m[2])
		if !ok {
			c.skipped = append(c.skipped, line)
			continue
		}
		c.values[m[1]] = value
	}
	if err := scan.Err(); err != nil {
		return Conf{}, err
	}
	for _, k := range keys() {
		if _, ok := c.values[k.name]; ok {
			return c, nil
		}
	}
	return Conf{}, errors.New("no parameter of SLOB is set in it, such as SCALE=80M: this is no slob.conf")
}

// word reads the value of an assignment: quoted or not, with a comment behind
// it or not. What the shell would have to compute is not understood.
func word(raw string) (string, bool) {
	if raw == "" {
		return "", true
	}
	var value, rest string
	if quote := raw[0]; quote == '"' || quote == '\'' {
		end := strings.IndexByte(raw[1:], quote)
		if end < 0 {
			return "", false
		}
		value, rest = raw[1:1+end], raw[2+end:]
	} else {
		end := strings.IndexAny(raw, " \t;")
		if end < 0 {
			end = len(raw)
		}
		value, rest = raw[:end], raw[end:]
	}
	rest = strings.TrimLeft(rest, " \t;")
	return value, plain(value) && (rest == "" || rest[0] == '#')
}

// plain says that a value can stand in a comment, and means what it is.
func plain(value string) bool {
	return !strings.ContainsAny(value, "$`\\") &&
		strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
}

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
	unit := blockBytes
	if m[2] != "" {
		unit = int64(1024) << (10 * strings.Index("KMGT", strings.ToUpper(m[2])))
	}
	if n > (1<<62)/unit {
		return 0, fmt.Errorf("%q is too large", word)
	}
	return n * unit, nil
}

// key is one parameter of SLOB.
type key struct {
	name     string
	fallback string // what SLOB takes where slob.conf does not say
	// none says why it has no counterpart, for those that have none.
	none string
	// off are the values with which SLOB does not do what has no counterpart.
	off []string
	// secret values are not shown.
	secret bool
}

// keys are those of SLOB 2.5.4, in the order in which they are written.
func keys() []key {
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
		{name: "WORK_LOOP", fallback: "0", off: []string{"0"}, none: "runs end by time: set run.durationSeconds"},
		{name: "DO_HOTSPOT", fallback: "FALSE", off: []string{"FALSE"}, none: "there are no hot spots"},
		{name: "HOTSPOT_MB"},
		{name: "HOTSPOT_OFFSET_MB"},
		{name: "HOTSPOT_FREQUENCY"},
		{name: "HOT_SCHEMA_FREQUENCY", fallback: "0", off: []string{"0"}, none: "there is no hot schema"},
		{name: "EXTERNAL_SCRIPT", off: []string{""}, none: "no script is called"},
		{
			name: "ADMIN_SQLNET_SERVICE", off: []string{""},
			none: "set database.external.connectString to it, as host:port/service",
		},
		{
			name: "SQLNET_SERVICE_BASE", off: []string{""},
			none: "set database.external.services to host:port/service of each instance",
		},
		{name: "SQLNET_SERVICE_MAX", off: []string{"", "0"}, none: "list so many database.external.services"},
		{
			name: "DBA_PRIV_USER", off: []string{""},
			none: "it belongs into the Secret of database.external.credentialsSecretRef",
		},
		{name: "SYSDBA_PASSWD", off: []string{""}, none: "it belongs into a Secret", secret: true},
		{name: "UNIQUE_INDEX"},
		{name: "NO_OS_PERF_DATA"},
		{name: "SLOB_TEMPDIR"},
		{name: "SLOB_DEBUG"},
	}
}
