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
	"strings"
)

//go:embed *.sql
var files embed.FS //nolint:gochecknoglobals // go:embed needs a package variable

// Text returns the text of that name. It panics where there is none, or where
// it has places to be filled in by Render: both are mistakes of ours.
func Text(name string) string {
	text := mustRead(name)
	if strings.Contains(text, "{{") {
		panic(fmt.Sprintf("SQL text %q must be rendered", name))
	}
	return text
}

// Raw returns the text as it stands in its file, with places if it has any. It
// panics on an unknown name.
func Raw(name string) string { return mustRead(name) }

func mustRead(name string) string {
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
