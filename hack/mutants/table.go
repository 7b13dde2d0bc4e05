package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

const header = "name\tverdict\ttier\twhere\tpackage\ttest\tseconds\tfile\tnote"

// table is a file of results, written as they come.
type table struct {
	file *os.File
	rows map[string][]string // by name, the last of each
}

// openTable begins a table, or goes on with one.
func openTable(path string, resume bool) (*table, error) {
	t := &table{rows: map[string][]string{}}
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if resume {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
		if err := t.read(path); err != nil {
			return nil, err
		}
	}
	f, err := os.OpenFile(path, flags, 0o644) //nolint:gosec // the user names it
	if err != nil {
		return nil, err
	}
	t.file = f
	if len(t.rows) == 0 {
		_, err = fmt.Fprintln(f, header)
	}
	return t, err
}

func (t *table) read(path string) error {
	f, err := os.Open(path) //nolint:gosec // the user names it
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if row := strings.Split(lines.Text(), "\t"); len(row) == 9 && lines.Text() != header {
			t.rows[row[0]] = row
		}
	}
	return lines.Err()
}

func (t *table) close() { _ = t.file.Close() }

// settled says that the table knows a mutant already. One that has survived is
// tried again by tests that could not run, or were not to.
func (t *table) settled(m mutant, j *judge) bool {
	row, ok := t.rows[m.name]
	if !ok || row[1] != survived {
		return ok
	}
	switch row[2] {
	case tierOwn:
		return j.ownOnly || len(j.runs(m)) == 1
	case tierUnit:
		return j.ownOnly || !j.integration() || !mayNeedServer(m)
	default:
		return true
	}
}

func mayNeedServer(m mutant) bool {
	return strings.HasPrefix(m.file, "controllers/") || strings.HasPrefix(m.file, "charts/") ||
		slices.ContainsFunc(m.tests, func(r testRun) bool { return tierOf(r.dir) == tierIntegration })
}

func (t *table) add(r result) error {
	row := []string{
		r.name, r.verdict, r.tier, r.where, r.dir, oneLine(r.test), fmt.Sprintf("%.0f", r.took.Seconds()), r.file, oneLine(r.note),
	}
	t.rows[r.name] = row
	if _, err := fmt.Fprintln(t.file, strings.Join(row, "\t")); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	return nil
}

// summary counts by area: the first part of a name. It is an error that a mutant
// was not killed.
func (t *table) summary(w io.Writer) error {
	type counts struct{ all, own, other, left, bad int }
	areas := map[string]*counts{}
	sum := &counts{}
	for _, row := range t.rows {
		area, _, _ := strings.Cut(row[0], "/")
		if areas[area] == nil {
			areas[area] = &counts{}
		}
		for _, c := range []*counts{areas[area], sum} {
			c.all++
			switch {
			case row[1] == killed && row[3] == "own":
				c.own++
			case row[1] == killed:
				c.other++
			case row[1] == survived:
				c.left++
			default:
				c.bad++
			}
		}
	}
	fmt.Fprintf(w, "%-14s %5s %5s %9s %9s %6s\n", "area", "all", "own", "importer", "survived", "stale")
	for _, area := range slices.Sorted(maps.Keys(areas)) {
		c := areas[area]
		fmt.Fprintf(w, "%-14s %5d %5d %9d %9d %6d\n", area, c.all, c.own, c.other, c.left, c.bad)
	}
	fmt.Fprintf(w, "%-14s %5d %5d %9d %9d %6d\n", "sum", sum.all, sum.own, sum.other, sum.left, sum.bad)
	if sum.left+sum.bad > 0 {
		return fmt.Errorf("%d mutants have survived, %d are stale or do not compile", sum.left, sum.bad)
	}
	return nil
}
