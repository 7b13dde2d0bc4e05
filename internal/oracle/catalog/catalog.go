// Package catalog knows which columns the views that we read have, and since
// which release of Oracle, and holds SQL texts against that.
//
// The columns of V$DNFS_*, of V$IOSTAT_*, of the statistics, waits and
// histograms, and those of CALIBRATE_IO are those that Oracle's reference gives
// for 12.1 to 23; Oracle AI Database 26ai is release 23 here. Of the views that
// only say what a database is (V$INSTANCE, V$SESSION, ...) there are those
// columns that we have a use for.
package catalog

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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

// Of returns the release of a version such as V$INSTANCE has it, 19.3.0.0.0. It
// fails for one that is older than 12.1.0.2.
func Of(version string) (Release, error) {
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

// Covers returns the releases that a text is for, by the line "-- releases: ..."
// near its head: all, from R, to R, or R to R. Without that line it is all.
func Covers(sql string) ([]Release, error) {
	for line := range strings.Lines(sql) {
		words, ok := strings.CutPrefix(strings.TrimSpace(line), "-- releases: ")
		if !ok {
			continue
		}
		return covers(strings.Fields(words))
	}
	return Releases(), nil
}

func covers(words []string) ([]Release, error) {
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
	all := Releases()
	is := func(name string) func(Release) bool { return func(r Release) bool { return r.String() == name } }
	from, to := slices.IndexFunc(all, is(first)), slices.IndexFunc(all, is(last))
	if from < 0 || to < from {
		return nil, fmt.Errorf("releases %q: unknown, or none", strings.Join(words, " "))
	}
	return all[from : to+1], nil
}

// columnsOf returns the columns that a view has in a release, and false for a
// view that is not known. Names are in upper case; GV$ views have INST_ID.
func columnsOf(view string, r Release) (map[string]bool, bool) {
	list, ok := views()[strings.TrimPrefix(view, "G")]
	if !ok {
		list, ok = views()[view]
	}
	if !ok {
		return nil, false
	}
	columns := map[string]bool{}
	for word := range strings.FieldsSeq(list) {
		name, since, dated := strings.Cut(word, "@")
		if !dated || since <= r.String() {
			columns[name] = true
		}
	}
	if strings.HasPrefix(view, "GV$") {
		columns["INST_ID"] = true
	}
	return columns, true
}
