package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// databaseSection shows what Oracle reports about itself: its version and settings, Direct NFS, the times of its data
// files and of its waits.
func databaseSection(j judge.Judgement) doc.Section {
	s := doc.Section{ID: "database", Title: "Database"}
	if j.Database == nil {
		return s
	}
	s.Add(doc.Block{In: doc.TextOnly, Apart: true})
	for _, o := range j.Facts.Oracles {
		s.Add(doc.Block{Facts: identity(o)})
	}
	s.Add(doc.Block{Table: serverTable(j.Database.Servers)},
		doc.Block{Table: channelTable(*j.Summary, j.Database.Channels)}, doc.Block{Table: fileTable(j.Database.Files)},
		doc.Block{Table: topWaitTable(j.Database.Waits)}, doc.Block{Table: waitTable(j.Facts.Overall.Databases)},
		doc.Block{Table: statisticTable(*j.Facts.Overall)},
		doc.Block{In: doc.TextOnly, Apart: true})
	return s
}

func identity(o runfile.Oracle) []doc.Fact {
	banner := strings.TrimSpace(strings.ReplaceAll(o.Banner, "\n", " "))
	out := []doc.Fact{{Label: "database", Text: cmp.Or(banner, "of unknown version")}}
	add := func(label, text string) {
		if text != "" {
			out = append(out, doc.Fact{Label: label, Text: text})
		}
	}
	var instances, settings []string
	for _, i := range o.Instances {
		name := i.Name
		if i.Host != "" {
			name += " on " + i.Host
		}
		instances = append(instances, strings.TrimSpace(name))
	}
	for _, x := range o.Parameters {
		text := x.Name + "=" + cmp.Or(x.Value, "(empty)")
		if x.Requested != "" && !strings.EqualFold(x.Requested, x.Value) {
			text += " (asked for " + x.Requested + ")"
		}
		settings = append(settings, text)
	}
	add("instances", joined(instances))
	add("settings", joined(doc.Whole(settings)))
	if o.Library != nil {
		add("alert log", o.Library.AlertLine)
	}
	if o.Host != nil {
		add("container", joined(doc.Whole(hostFacts(*o.Host))))
	}
	if v := o.ReadyMilliseconds; v != nil {
		add("ready", fmt.Sprintf("%.0f s after the start of its container, which are no part of the run", float64(*v)/1000))
	}
	return out
}

// hostFacts returns what the container of the database changed, and what the NFS servers refused.
func hostFacts(h runfile.DatabaseHost) []string {
	var out []string
	for _, l := range h.Limits {
		if l.HardBefore != nil && l.Hard != nil {
			out = append(out, fmt.Sprintf("%s lowered from %d to %d", l.Name, *l.HardBefore, *l.Hard))
		}
	}
	out = append(out, h.Mended...)
	for _, s := range h.Servers {
		if s.Problem != "" {
			out = append(out, s.String()+" refused the probe before the start: "+s.Problem)
		}
	}
	if h.ServersNotProbed != "" {
		out = append(out, "no server was probed before the start: "+h.ServersNotProbed)
	}
	return out
}

// calibrationTable shows the result of CALIBRATE_IO, or of the native engine in its place.
func calibrationTable(j judge.Judgement) *doc.Table {
	t := &doc.Table{Caption: "Calibration", Columns: []doc.Column{
		{Head: "Run", Width: 10},
		{Head: "Max IOPS", Number: true, Width: 12},
		{Head: "Max MB/s", Number: true, Width: 12},
		{Head: "Latency", Number: true, Width: 14},
	}}
	counted := 0
	for _, c := range j.Calibrations {
		name := "warm-up"
		if !c.Warmup {
			counted++
			name = fmt.Sprint(counted)
		}
		t.Row(name, number(c.MaxIOPS), number(c.MaxMegabytesPerSecond),
			known(c.ActualLatencyMilliseconds, func(v int64) string { return fmt.Sprintf("%d ms", v) }))
	}
	return t
}

func serverTable(all []runfile.DNFSServer) *doc.Table {
	t := &doc.Table{
		Caption: "Servers of Direct NFS (V$DNFS_SERVERS)",
		Columns: doc.Columns(3, 9, "Server", "Export", "Protocol", "rtmax", "wtmax"),
	}
	for _, s := range all {
		t.Row(s.Server, s.Export, cmp.Or(s.Version, doc.Unknown), nonZero(s.ReadMaxBytes), nonZero(s.WriteMaxBytes))
	}
	return t
}

// channelTable lists the paths that Direct NFS used, and those that are missing.
func channelTable(s measure.Summary, all []runfile.DNFSChannel) *doc.Table {
	t := &doc.Table{
		Caption: "Channels of Direct NFS (V$DNFS_CHANNELS)",
		Columns: doc.Columns(2, 12, "Server", "Path", "Instance", "Processes", "Sends", "Receives", "Reconnects"),
	}
	t.Columns[3].In, t.Columns[6].In = doc.HTMLOnly, doc.HTMLOnly
	for _, c := range all {
		t.Row(c.Server, pathName(c.Local, c.Path), nonZero(int64(c.Instance)), fmt.Sprint(c.Processes),
			fmt.Sprint(c.Sends), fmt.Sprint(c.Receives), fmt.Sprint(c.Reconnects))
	}
	for _, p := range s.Paths {
		if p.State == bench.PathMissing {
			const none = doc.Unknown
			t.Row(none, pathName(p.Local, p.Path), none, none, "missing", "missing", none)
		}
	}
	return t
}

// fileTable shows the usual columns of V$IOSTAT_FILE.
func fileTable(all []measure.DatabaseFile) *doc.Table {
	t := &doc.Table{Caption: "Data files (V$IOSTAT_FILE)", Columns: []doc.Column{
		{Head: "File", Short: "FILE_NO"},
		{Head: "Access"},
		{Head: "Small reads", Short: "READS", Number: true, Width: 10},
		{Head: "Mean small read, µs", Short: "AVG_SMALL_READ_US", Narrow: "SMALL_READ_US", Number: true, Width: 10},
		{Head: "Mean synchronous, µs", Short: "AVG_SMALL_SYNC_READ_US", Narrow: "SYNC_READ_US", Number: true, Width: 10},
	}}
	microseconds := func(ns int64) string { return fmt.Sprintf("%d.%03d", ns/1000, ns%1000) }
	for _, f := range all {
		t.Row(fmt.Sprint(f.Number), f.AccessMethod, number(f.SmallReads), known(f.SmallReadNanoseconds, microseconds),
			known(f.SmallSyncReadNanoseconds, microseconds))
	}
	return t
}

// topWaitTable lists the events that sessions waited for longest, as in an AWR report.
func topWaitTable(all []measure.DatabaseWait) *doc.Table {
	t := &doc.Table{
		Caption: "Top waits of sessions (V$SYSTEM_EVENT, without idle ones)",
		Columns: doc.Columns(2, 10, "Event", "Class", "Waits", "Seconds", "Mean, ms", "% of waits"),
	}
	t.Columns[4].Short, t.Columns[5].Short = "AVG MS", "%"
	for _, w := range all {
		s := float64(w.Microseconds) / 1e6
		t.Row(w.Name, cmp.Or(w.Class, doc.Unknown), fmt.Sprint(w.Waits), fmt.Sprintf("%.1f", s), average(s, w.Waits),
			known(w.Permille, human.Percent))
	}
	return t
}

// waitTable lists the wait events of the representative repetition: from an AWR report if the user's own kit made
// one, with the average that people compute from it, or else from V$SYSTEM_EVENT.
func waitTable(windows []runfile.OracleWindow) *doc.Table {
	t := &doc.Table{Caption: "Wait events", Columns: doc.Columns(1, 12, "Event", "Waits", "Seconds", "Mean, ms")}
	t.Columns[3].Short = "AVG MS"
	for _, w := range windows {
		addWaits(t, w)
	}
	return t
}

func addWaits(t *doc.Table, w runfile.OracleWindow) {
	for _, row := range w.AWR {
		t.Row(row.Event, fmt.Sprint(row.Waits), fmt.Sprintf("%g", row.Seconds), reportedAverage(row))
	}
	for _, e := range w.Events {
		name, has := e.Name, len(w.AWR) == 0
		for _, row := range w.AWR { // the report may cover one instance of several
			switch {
			case judge.OtherWaits(row, e):
				name, has = e.Name+" (V$SYSTEM_EVENT, other waits than the report)", true
			case row.Event == e.Name && row.IsCoarse():
				name, has = e.Name+" (V$SYSTEM_EVENT, exact)", true
			}
		}
		if has && e.Waits > 0 {
			s := float64(e.Microseconds) / 1e6
			t.Row(name, fmt.Sprint(e.Waits), fmt.Sprintf("%.1f", s), average(s, e.Waits))
		}
	}
}

// statisticTable lists the counters of the instances in the representative repetition, as the table "Instance
// Activity Stats" of an AWR report does.
func statisticTable(s measure.RepetitionFacts) *doc.Table {
	t := &doc.Table{
		Caption: "Statistics of the database (V$SYSSTAT; CPU in microseconds, V$SYS_TIME_MODEL)",
		Columns: doc.Columns(1, 14, "Statistic", "Value", "Each second"),
	}
	for _, w := range s.Databases { // at most one: one client loads a database
		for _, name := range slices.Sorted(maps.Keys(w.Statistics)) {
			v := w.Statistics[name]
			t.Row(name, fmt.Sprint(v), fmt.Sprintf("%.1f", float64(v)/s.Seconds()))
		}
	}
	return t
}

// reportedAverage returns the average that people compute from a report, or its possible range if the report rounds
// too much.
func reportedAverage(row runfile.AWRRow) string {
	low, high := row.MeanSeconds()
	switch {
	case row.Waits <= 0 || !row.IsCoarse():
		return average(row.Seconds, row.Waits)
	case low == 0:
		return "below " + human.Digits(high*1000)
	default:
		return fmt.Sprintf("%.2f to %.2f", low*1000, high*1000)
	}
}

// average returns milliseconds for each wait.
func average(seconds float64, waits int64) string {
	if waits <= 0 {
		return doc.Unknown
	}
	return fmt.Sprintf("%.2f", seconds/float64(waits)*1000)
}
