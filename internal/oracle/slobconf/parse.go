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
	return !strings.ContainsAny(value, "$`\\") && strings.IndexFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) < 0
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
