// Package sqltext holds every SQL and PL/SQL text of ours, each in a file of its
// own.
//
// A file begins with the two lines
//
//	/* nfsbench NAME */
//	-- releases: all | from R | to R | R to R
//
// so that a DBA sees in V$SQL who asked, and a test knows which releases of
// Oracle it must be right for. A file holds one statement without a closing
// semicolon, or one PL/SQL block. Binds have names (:disks) for the reader, and
// are bound by position; :1 does as well. Identifiers and numbers that cannot be
// bound stand as {{.Name}} and are filled in by Render, which takes nothing that
// could be more than one.
package sqltext

import (
	"embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

//go:embed *.sql
var files embed.FS //nolint:gochecknoglobals // go:embed needs a package variable

// Text returns the text of that name. It panics where there is none, or where
// it has places to be filled in by Render: both are mistakes of ours.
func Text(name string) string {
	text := Raw(name)
	if strings.Contains(text, "{{") {
		panic(fmt.Sprintf("SQL text %q must be rendered", name))
	}
	return text
}

// Raw returns the text as it stands in its file, with places if it has any. It
// panics on an unknown name.
func Raw(name string) string {
	raw, err := files.ReadFile(name + ".sql")
	if err != nil {
		panic(fmt.Sprintf("no SQL text %q", name))
	}
	return strings.TrimSuffix(string(raw), "\n")
}

// NameOf reads the name from the comment that a text begins with, and says
// whether there is one. Drivers and V$SQL pass it on.
func NameOf(sql string) (string, bool) {
	m := regexp.MustCompile(`^\s*/\* nfsbench ([a-z0-9_]+) \*/`).FindStringSubmatch(sql)
	if m == nil {
		return "", false
	}
	return m[1], true
}

// Names lists all texts in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // of an embedded folder
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".sql"))
	}
	return names
}

// Release is a release of Oracle Database whose views are known.
type Release int

// The releases. A release between two of them has the columns of the older.
const (
	Release12c1 Release = 1201 // 12.1.0.2
	Release12c2 Release = 1202
	Release19   Release = 1900
	Release21   Release = 2100
	Release23   Release = 2300 // 23ai and 26ai
)

// Releases lists those that are known, in order.
func Releases() []Release {
	return []Release{Release12c1, Release12c2, Release19, Release21, Release23}
}

// String returns the release as people write it.
func (r Release) String() string {
	if minor := int(r) % 100; minor != 0 {
		return fmt.Sprintf("%d.%d", int(r)/100, minor)
	}
	return strconv.Itoa(int(r) / 100)
}

// ReleaseOf returns the release of a version such as V$INSTANCE has it, 19.3.0.0.0. It
// fails for one that is older than 12.1.0.2.
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
