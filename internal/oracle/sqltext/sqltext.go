// Package sqltext holds all our SQL and PL/SQL texts, one per file.
//
// A file begins with the two lines
//
//	/* nfsbench NAME */
//	-- releases: all | from R | to R | R to R
//
// so that a DBA sees the origin of a statement in V$SQL, and a test knows the
// releases of Oracle that the text must be valid for. A file holds one
// statement without a closing semicolon, or one PL/SQL block. Binds have names
// (:disks) for the reader, but are bound by position; :1 works as well.
// Identifiers and numbers that cannot be bound are places such as {{.Name}}.
// Render fills them, and accepts only values that are a single word of SQL.
package sqltext

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

//go:embed *.sql
var files embed.FS //nolint:gochecknoglobals // go:embed needs a package variable

// Text returns the text with a name. It panics on an unknown name, and on a
// text with places for Render: both are programming errors.
func Text(name string) string {
	text := Raw(name)
	if strings.Contains(text, "{{") {
		panic(fmt.Sprintf("SQL text %q must be rendered", name))
	}
	return text
}

// Raw returns the text as it is in its file, including its places. It panics on
// an unknown name.
func Raw(name string) string {
	raw, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("no SQL text %q", name))
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// Names lists all texts in order.
func Names() []string {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		panic(err) // the pattern is valid
	}
	for i, name := range names {
		names[i] = strings.TrimSuffix(name, ".sql")
	}
	return names
}

// Release is a release of Oracle Database with known views.
type Release int

// The known releases. A release between two of them has the columns of the older one.
const (
	Release12c1 Release = 1201 // 12.1.0.2
	Release12c2 Release = 1202
	Release18   Release = 1800
	Release19   Release = 1900
	Release21   Release = 2100
	Release23   Release = 2300 // 23ai and 26ai
)

// Releases returns the known releases in order.
func Releases() []Release {
	return []Release{Release12c1, Release12c2, Release18, Release19, Release21, Release23}
}

// String returns the usual name of the release.
func (r Release) String() string {
	if minor := int(r) % 100; minor != 0 {
		return fmt.Sprintf("%d.%d", int(r)/100, minor)
	}
	return strconv.Itoa(int(r) / 100)
}

// ReleaseOf returns the release of a version such as 19.3.0.0.0 in V$INSTANCE. It fails for releases older than
// 12.1.0.2.
func ReleaseOf(version string) (Release, error) {
	var part [4]int
	for i, s := range strings.SplitN(version, ".", 5) {
		if i == len(part) {
			break
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 || n > 99 {
			return 0, fmt.Errorf("version %q is not that of an Oracle database", version)
		}
		part[i] = n
	}
	have := Release(part[0]*100 + part[1])
	if have < Release12c1 || have == Release12c1 && part[3] < 2 && strings.Count(version, ".") >= 3 {
		return 0, fmt.Errorf("oracle Database %s is too old: 12.1.0.2 is the oldest whose views are known", version)
	}
	found := Release12c1
	for _, r := range Releases() {
		if have >= r {
			found = r
		}
	}
	return found, nil
}

// The types of values that Render takes. A plain string is an Identifier.
type (
	// Identifier is the unquoted name of a schema object or a user, of at most
	// 128 bytes: a letter, then letters, digits, _, $ and #.
	Identifier string
	// Parameter is the name of an init parameter. A hidden parameter, which begins
	// with _, is quoted.
	Parameter string
	// Value is the value of an init parameter. A number, a size such as 2G, TRUE
	// and FALSE stay as they are; all other values are quoted.
	Value string
	// Literal is the content of a string literal.
	Literal string
	// Password becomes a quoted password for IDENTIFIED BY. Errors never show it.
	Password string
)

// Render fills the places {{.Key}} of a text. Every place must have a value,
// and every value a place. A value has one of the types above, or is a whole number.
// Render refuses a value that does not match the grammar of its type, so that
// no value can be more than one word of SQL. Like Text it panics on an unknown
// name.
func Render(name string, values map[string]any) (string, error) {
	text := Raw(name)
	var errs []error
	used := map[string]bool{}
	text = regexp.MustCompile(`\{\{\.([A-Za-z]+)\}\}`).ReplaceAllStringFunc(text, func(place string) string {
		key := place[len("{{.") : len(place)-len("}}")]
		used[key] = true
		value, ok := values[key]
		if !ok {
			errs = append(errs, fmt.Errorf("SQL text %s: no value for %s", name, key))
			return place
		}
		word, err := render(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("SQL text %s: %s: %w", name, key, err))
		}
		return word
	})
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if !used[key] {
			errs = append(errs, fmt.Errorf("SQL text %s has no place for %s", name, key))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	return text, nil
}

func render(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return render(Identifier(v))
	case Identifier:
		return matching(string(v), `^[A-Za-z][A-Za-z0-9_$#]{0,127}$`,
			"Oracle identifier: a letter, then at most 127 letters, digits, _, $ or #")
	case Parameter:
		word, err := matching(string(v), `^_{0,2}[a-z][a-z0-9_]{0,79}$`,
			"name of an init parameter: lower-case letters, digits and _")
		if strings.HasPrefix(word, "_") {
			word = `"` + word + `"`
		}
		return word, err
	case Value:
		if regexp.MustCompile(`^(?i:-?[0-9]{1,19}[kmgt]?|true|false)$`).MatchString(string(v)) {
			return string(v), nil
		}
		return render(Literal(v))
	case Literal:
		if strings.ContainsFunc(string(v), unprintable) || len(v) > 1000 {
			return "", errors.New("the value has control characters, or more than 1000 bytes")
		}
		return "'" + strings.ReplaceAll(string(v), "'", "''") + "'", nil
	case Password:
		if v == "" || len(v) > 1024 || strings.ContainsRune(string(v), '"') || strings.ContainsFunc(string(v), unprintable) {
			return "", errors.New("an Oracle password has 1 to 1024 bytes, no double quote and no control characters")
		}
		return `"` + string(v) + `"`, nil
	case int, int32, int64:
		return fmt.Sprint(v), nil
	default:
		return "", fmt.Errorf("%T is no kind of value that SQL text takes", value)
	}
}

// matching returns the word if it matches a grammar. The error calls the word what.
func matching(word, grammar, what string) (string, error) {
	if !regexp.MustCompile(grammar).MatchString(word) {
		return "", fmt.Errorf("%q is no %s", word, what)
	}
	return word, nil
}

func unprintable(r rune) bool { return r < ' ' || r == 0x7f || r == utf8.RuneError }
