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
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
)

// columnsOf returns the columns that a view has in a release, and false for a
// view that is not known. Names are in upper case; GV$ views have INST_ID.
func columnsOf(view string, r sqltext.Release) (map[string]bool, bool) {
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

// Views are the names of all views, in order.
func Views() []string { return slices.Sorted(maps.Keys(views())) }

// Columns are those of a view in a release, in order.
func Columns(view string, r sqltext.Release) []string {
	columns, _ := columnsOf(view, r)
	return slices.Sorted(maps.Keys(columns))
}
