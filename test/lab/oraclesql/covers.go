package oraclesql

import (
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
)

// Covers returns the releases that a text is for, by the line "-- releases: ..."
// near its head: all, from R, to R, or R to R. Without that line it is all.
func Covers(sql string) ([]sqltext.Release, error) {
	for line := range strings.Lines(sql) {
		words, ok := strings.CutPrefix(strings.TrimSpace(line), "-- releases: ")
		if !ok {
			continue
		}
		return covers(strings.Fields(words))
	}
	return sqltext.Releases(), nil
}

func covers(words []string) ([]sqltext.Release, error) {
	first, last := "12.1", "23"
	switch {
	case len(words) == 1 && words[0] == "all":
	case len(words) == 2 && words[0] == "from":
		first = words[1]
	case len(words) == 2 && words[0] == "to":
		last = words[1]
	case len(words) == 3 && words[1] == "to":
		first, last = words[0], words[2]
	default:
		return nil, fmt.Errorf("releases %q: want all, from R, to R, or R to R", strings.Join(words, " "))
	}
	all := sqltext.Releases()
	is := func(name string) func(sqltext.Release) bool {
		return func(r sqltext.Release) bool { return r.String() == name }
	}
	from, to := slices.IndexFunc(all, is(first)), slices.IndexFunc(all, is(last))
	if from < 0 || to < from {
		return nil, fmt.Errorf("releases %q: unknown, or none", strings.Join(words, " "))
	}
	return all[from : to+1], nil
}
