package oracle

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// counted is what one instance has counted.
type counted struct {
	instance int
	started  time.Time
	bytes    int64
	commits  int64
	waits    int64 // db file sequential read
	micros   int64
	below512 int64
	files    []fileCount
	busy     int64
	sessions map[string]int64 // what they waited, by event
}

type fileCount struct {
	number int
	kind   string
	reads  int64
	time   float64
}

func boot(hour int) time.Time { return time.Date(2026, 11, 22, hour, 0, 0, 0, time.UTC) }

// views makes the rows of the cumulative views.
func views(instances ...counted) map[string][]row {
	rows := map[string][]row{"datafiles": {
		{"FILETYPE_NAME": "Data File", "FILE_NO": 1, "NAME": "/opt/oracle/oradata/system01.dbf", "BYTES": 1 << 30},
		{"FILETYPE_NAME": "Temp File", "FILE_NO": 1, "NAME": "/opt/oracle/oradata/temp01.dbf", "BYTES": 1 << 20},
	}}
	add := func(name string, r row) { rows[name] = append(rows[name], r) }
	for _, c := range instances {
		name := []string{"", "RAC1", "RAC2", "RAC3"}[c.instance]
		add("instances", row{"INST_ID": c.instance, "INSTANCE_NAME": name, "HOST_NAME": "h", "VERSION": "19.0.0.0.0", "STARTUP_TIME": c.started, "STATUS": "OPEN"})
		add("sysstat", row{"INST_ID": c.instance, "NAME": "physical read total bytes", "VALUE": c.bytes})
		add("sysstat", row{"INST_ID": c.instance, "NAME": "user commits", "VALUE": c.commits})
		add("own_reads", row{"INST_ID": c.instance, "NAME": "physical read total bytes", "VALUE": c.bytes / 2})
		add("osstat", row{"INST_ID": c.instance, "STAT_NAME": "BUSY_TIME", "NAME": "", "VALUE": c.busy})
		add("osstat", row{"INST_ID": c.instance, "STAT_NAME": "IDLE_TIME", "NAME": "", "VALUE": 2 * c.busy})
		add("time_model", row{"INST_ID": c.instance, "STAT_NAME": "DB CPU", "VALUE": 1000 * c.busy})
		add("time_model", row{"INST_ID": c.instance, "STAT_NAME": "background cpu time", "VALUE": 100 * c.busy})
		if c.waits > 0 {
			add("system_event", row{"INST_ID": c.instance, "EVENT": "db file sequential read", "TOTAL_WAITS": c.waits, "TIME_WAITED_MICRO": c.micros})
			add("event_histogram", row{"INST_ID": c.instance, "EVENT": "db file sequential read", "WAIT_TIME_MICRO": 512, "WAIT_COUNT": c.below512})
			add("event_histogram", row{"INST_ID": c.instance, "EVENT": "db file sequential read", "WAIT_TIME_MICRO": 1024, "WAIT_COUNT": c.waits - c.below512})
		}
		add("system_event", row{"INST_ID": c.instance, "EVENT": "log file sync", "TOTAL_WAITS": 5, "TIME_WAITED_MICRO": 5000})
		for event, micros := range c.sessions {
			add("foreground_waits", row{"INST_ID": c.instance, "EVENT": event, "WAIT_CLASS": "Other", "TOTAL_WAITS_FG": micros / 100, "TIME_WAITED_MICRO_FG": micros})
		}
		for _, f := range c.files {
			add("iostat_file", row{
				"INST_ID": c.instance, "FILE_NO": f.number, "FILETYPE_NAME": f.kind, "ACCESS_METHOD": "DNFS_LIB", "ASYNCH_IO": "ASYNC_ON",
				"SMALL_READ_REQS": f.reads, "SMALL_READ_SERVICETIME": f.time, "SMALL_SYNC_READ_REQS": f.reads / 2, "SMALL_SYNC_READ_LATENCY": f.time / 2,
				"LARGE_READ_REQS": 3 * f.reads, "LARGE_READ_SERVICETIME": 4 * f.time, "SMALL_READ_MEGABYTES": 5 * f.reads, "LARGE_READ_MEGABYTES": 6 * f.reads,
				"SMALL_WRITE_REQS": 7 * f.reads, "LARGE_WRITE_REQS": 8 * f.reads,
			})
		}
	}
	return rows
}

// window takes a snapshot of each and returns what was counted in between.
func window(t *testing.T, before, after map[string][]row) runfile.OracleWindow {
	t.Helper()
	var shots [2]*Snapshot
	for i, rows := range []map[string][]row{before, after} {
		a, _ := admin(t, sqltext.Release19, rows)
		s, err := a.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		shots[i] = s
	}
	return Window(shots[0], shots[1])
}

func TestAWindowIsTheDifferenceOverAllInstances(t *testing.T) {
	got := window(t,
		views(
			counted{instance: 1, started: boot(1), bytes: 1000, commits: 10, waits: 100, micros: 30000, below512: 90, busy: 5, files: []fileCount{{1, "Data File", 100, 30000}}},
			counted{instance: 2, started: boot(2), bytes: 5000, commits: 50, busy: 7, files: []fileCount{{1, "Data File", 10, 3000}, {0, "Control File", 4, 4}}},
		),
		views(
			counted{instance: 1, started: boot(1), bytes: 4000, commits: 10, waits: 300, micros: 100000, below512: 190, busy: 9, files: []fileCount{{1, "Data File", 300, 101000}}},
			counted{instance: 2, started: boot(2), bytes: 5500, commits: 60, waits: 20, micros: 8000, below512: 4, busy: 10, files: []fileCount{{1, "Data File", 30, 11000}, {0, "Control File", 4, 4}, {1, "Temp File", 0, 0}}},
		))
	file := func(instance int32, kind, name string, reads int64, us float64) runfile.OracleFile {
		return runfile.OracleFile{
			Number: 1, Instance: instance, Type: kind, Name: "/opt/oracle/oradata/" + name, AccessMethod: "DNFS_LIB", AsynchIO: "ASYNC_ON",
			SmallReads: reads, SmallReadTime: us, SmallSyncReads: reads / 2, SmallSyncReadTime: us / 2, LargeReads: 3 * reads, LargeReadTime: 4 * us,
			SmallReadMegabyte: 5 * reads, LargeReadMegabyte: 6 * reads, SmallWrites: 7 * reads, LargeWrites: 8 * reads,
		}
	}
	busy, idle := int64(7), int64(14)
	want := runfile.OracleWindow{
		Statistics:   map[string]int64{"physical read total bytes": 3500, "user commits": 10, "DB CPU": 7000, "background cpu time": 700},
		OwnReadBytes: new(int64(1750)),
		Events: []runfile.OracleEvent{{
			Name: "db file sequential read", Waits: 220, Microseconds: 78000,
			Buckets: []runfile.LatencyBucket{{BelowMicroseconds: 512, Count: 104}, {BelowMicroseconds: 1024, Count: 116}},
		}},
		Files: []runfile.OracleFile{
			file(1, "Data File", "system01.dbf", 200, 71000), file(2, "Data File", "system01.dbf", 20, 8000), file(2, "Temp File", "temp01.dbf", 0, 0),
		},
		DatafileBytes: 1 << 30, ServiceTimeUnit: runfile.UnitMicroseconds, BusyCentiseconds: &busy, IdleCentiseconds: &idle,
		InstanceBytes: map[string]int64{"RAC1": 3000, "RAC2": 500},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheLongestWaitsOfSessionsAreKept(t *testing.T) {
	waited := func(micros map[string]int64) counted { return counted{instance: 1, started: boot(1), sessions: micros} }
	before := waited(map[string]int64{"a": 1000, "back": 900})
	after := waited(map[string]int64{"a": 5000, "b": 3000, "c": 2000, "d": 1500, "e": 1000, "f": 900, "g": 0, "back": 100})
	got := window(t, views(before), views(after))
	var names []string
	for _, w := range got.TopWaits {
		names = append(names, w.Name)
	}
	if diff := cmp.Diff("a b c d e", strings.Join(names, " ")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(runfile.OracleWait{Name: "a", Class: "Other", Waits: 40, Microseconds: 4000}, got.TopWaits[0]); diff != "" {
		t.Error(diff)
	}
	if all := got.ForegroundWaitMicroseconds; all == nil || *all != 4000+3000+2000+1500+1000+900 {
		t.Errorf("all waits: %v", all)
	}
	restarted := after
	restarted.started = boot(2)
	if w := window(t, views(before), views(restarted)); w.TopWaits != nil || w.ForegroundWaitMicroseconds != nil {
		t.Errorf("after a restart: %+v", w.TopWaits)
	}
}

func TestAnInstanceThatWasRestartedGivesNoDifference(t *testing.T) {
	one := counted{instance: 1, started: boot(1), bytes: 1000, waits: 100, micros: 30000, files: []fileCount{{1, "Data File", 100, 30000}}}
	two := counted{instance: 2, started: boot(1), bytes: 1000, waits: 100, micros: 30000, files: []fileCount{{1, "Data File", 100, 30000}}}
	later := one
	later.bytes, later.waits, later.micros, later.files = 3000, 200, 60000, []fileCount{{1, "Data File", 150, 50000}}
	restarted := two
	restarted.started, restarted.bytes = boot(6), 9000 // it has already read more than before
	for name, w := range map[string]runfile.OracleWindow{
		"restarted": window(t, views(one, two), views(later, restarted)),
		"gone":      window(t, views(one, two), views(later)),
		"new":       window(t, views(one), views(later, two)),
	} {
		if w.Statistics != nil || w.Events != nil || w.BusyCentiseconds != nil || w.IdleCentiseconds != nil || w.ServiceTimeUnit != "" {
			t.Errorf("%s: sums without a part: %+v", name, w)
		}
		if diff := cmp.Diff(map[string]int64{"RAC1": 2000}, w.InstanceBytes); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if len(w.Files) != 1 || w.Files[0].Instance != 1 || w.Files[0].SmallReads != 50 {
			t.Errorf("%s: %+v", name, w.Files)
		}
	}
}

func TestACounterThatWentBackIsLeftOut(t *testing.T) {
	before := counted{instance: 1, started: boot(1), bytes: 1000, commits: 9, waits: 100, micros: 30000, below512: 50, files: []fileCount{{1, "Data File", 100, 30000}}}
	after := before
	after.bytes, after.commits, after.micros, after.waits, after.files = 999, 11, 29999, 150, []fileCount{{1, "Data File", 101, 29999}}
	w := window(t, views(before), views(after))
	if diff := cmp.Diff(map[string]int64{"user commits": 2, "DB CPU": 0, "background cpu time": 0}, w.Statistics); diff != "" {
		t.Error(diff)
	}
	if w.Events != nil || w.Files != nil || w.InstanceBytes != nil {
		t.Errorf("%+v", w)
	}
	after = before
	after.waits, after.micros, after.below512 = 200, 60000, 49
	w = window(t, views(before), views(after))
	if len(w.Events) != 1 || w.Events[0].Buckets != nil || w.Events[0].Waits != 100 {
		t.Errorf("half a histogram: %+v", w.Events)
	}
}

func TestACounterThatIsGoneIsLeftOut(t *testing.T) {
	one, two := counted{instance: 1, started: boot(1), waits: 100, micros: 30000}, counted{instance: 2, started: boot(1), waits: 100, micros: 30000}
	later, gone := one, counted{instance: 2, started: boot(1)}
	later.waits, later.micros = 200, 60000
	if w := window(t, views(one, two), views(later, gone)); w.Events != nil {
		t.Errorf("%+v", w.Events)
	}
}

func TestRowsOfSeveralContainersAreAdded(t *testing.T) {
	before, after := views(counted{instance: 1, started: boot(1)}), views(counted{
		instance: 1, started: boot(1),
		waits: 10, micros: 100, below512: 10, files: []fileCount{{0, "Log File", 6, 60}, {0, "Log File", 4, 40}},
	})
	after["system_event"] = append(after["system_event"], row{"INST_ID": 1, "EVENT": "db file sequential read", "TOTAL_WAITS": 1, "TIME_WAITED_MICRO": 7})
	after["event_histogram"] = append(after["event_histogram"], row{"INST_ID": 1, "EVENT": "db file sequential read", "WAIT_TIME_MICRO": 512, "WAIT_COUNT": 1})
	for _, n := range []int{3, 4} {
		after["sysstat"] = append(after["sysstat"], row{"INST_ID": 1, "NAME": "user commits", "VALUE": n})
	}
	w := window(t, before, after)
	if got := w.Statistics["user commits"]; got != 7 {
		t.Errorf("%d commits", got)
	}
	if len(w.Files) != 1 || w.Files[0].SmallReads != 10 || w.Files[0].LargeReadTime != 400 || w.Files[0].LargeWrites != 80 {
		t.Errorf("%+v", w.Files)
	}
	want := []runfile.OracleEvent{{Name: "db file sequential read", Waits: 11, Microseconds: 107, Buckets: []runfile.LatencyBucket{{BelowMicroseconds: 512, Count: 11}}}}
	if diff := cmp.Diff(want, w.Events); diff != "" {
		t.Error(diff)
	}
}

func TestOfManyFilesThoseWithTheMostTrafficAreKept(t *testing.T) {
	c := counted{instance: 1, started: boot(1)}
	for i := range 700 {
		c.files = append(c.files, fileCount{i + 1, "Data File", int64(i), 1})
	}
	w := window(t, views(counted{instance: 1, started: boot(1)}), views(c))
	if len(w.Files) != maxFiles || w.Files[0].Number != 201 || w.Files[maxFiles-1].Number != 700 {
		t.Errorf("%d files, from %d to %d", len(w.Files), w.Files[0].Number, w.Files[len(w.Files)-1].Number)
	}
}

// The mean times of single-block reads that dnfs-vs-pnfs prints, in microseconds,
// and what one read really took.
func TestTheUnitOfServiceTimesIsDerived(t *testing.T) {
	for name, c := range map[string]struct {
		mean, wait float64 // of V$IOSTAT_FILE, and in microseconds of V$SYSTEM_EVENT
		want       string
	}{
		"NFSv3, owner":               {355.507436, 361, runfile.UnitMicroseconds},
		"NFSv3, other node":          {392.113305, 401, runfile.UnitMicroseconds},
		"NFSv4, other node":          {492.882536, 508, runfile.UnitMicroseconds},
		"pNFS, 18.9 us of 355":       {18.8971259, 355, runfile.UnitMicroseconds},
		"pNFS, 24 us of 900":         {24.034558, 900, runfile.UnitMicroseconds},
		"as documented":              {0.355, 361, runfile.UnitMilliseconds},
		"whole, rounded up":          {1, 361, runfile.UnitMilliseconds},
		"whole, rounded down mostly": {0.02, 361, runfile.UnitMilliseconds},
		"slow disk, documented":      {7.3, 7500, runfile.UnitMilliseconds},
		"slow disk, microseconds":    {7300, 7500, runfile.UnitMicroseconds},
		"neither":                    {6, 361, ""},
		"nothing was counted":        {0, 361, ""},
		"no wait was timed":          {355, 0, ""},
		"a hundred times too long":   {36100, 361, ""},
	} {
		const reads, waits = 40000, 20000
		w := window(t, views(counted{instance: 1, started: boot(1)}), views(counted{
			instance: 1, started: boot(1), waits: waits, micros: int64(c.wait * waits), files: []fileCount{{1, "Data File", reads, c.mean * reads}},
		}))
		if w.ServiceTimeUnit != c.want {
			t.Errorf("%s: %q, want %q", name, w.ServiceTimeUnit, c.want)
		}
		if len(w.Files) != 1 || math.Abs(w.Files[0].SmallReadTime/float64(w.Files[0].SmallReads)-c.mean) > 1e-6 {
			t.Errorf("%s: the mean of the file is not %v: %+v", name, c.mean, w.Files)
		}
	}
}

// The second calibration in a row reads no block of the dictionary that the buffer cache does not hold.
func TestTheUnitOfAWarmWindowIsThatSinceTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		mean  float64 // of V$IOSTAT_FILE until the window
		waits int64
		want  string
	}{
		"microseconds": {380, 300, runfile.UnitMicroseconds},
		"milliseconds": {.38, 300, runfile.UnitMilliseconds},
		"never told":   {380, 3, ""},
	} {
		now := func(reads int64) map[string][]row {
			return views(counted{
				instance: 1, started: boot(1), waits: c.waits, micros: 400 * c.waits, files: []fileCount{{1, "Data File", reads, c.mean * float64(reads)}},
			})
		}
		if w := window(t, now(5000), now(90_000)); w.ServiceTimeUnit != c.want {
			t.Errorf("%s: %q, want %q", name, w.ServiceTimeUnit, c.want)
		}
	}
}

func TestTheUnitRestsOnTheReadsThatTheWaitsAreFor(t *testing.T) {
	f := func(sync, small, large int64, us float64) []runfile.OracleFile {
		return []runfile.OracleFile{{
			Type: "Data File", SmallSyncReads: sync, SmallSyncReadTime: us * float64(sync), SmallReads: small, SmallReadTime: us * float64(small),
			LargeReads: large, LargeReadTime: us * float64(large),
		}}
	}
	event := func(name string, waits int64) []runfile.OracleEvent {
		return []runfile.OracleEvent{{Name: name, Waits: waits, Microseconds: 400 * waits}}
	}
	other := f(50, 50, 50, 400)
	other[0].Type = "Log File"
	for name, c := range map[string]struct {
		files  []runfile.OracleFile
		events []runfile.OracleEvent
		want   string
	}{
		"synchronous":            {f(10, 0, 0, 400), event("db file sequential read", 10), runfile.UnitMicroseconds},
		"too few reads":          {f(9, 0, 0, 400), event("db file sequential read", 10), ""},
		"too few waits":          {f(10, 0, 0, 400), event("db file sequential read", 9), ""},
		"asynchronous":           {f(0, 10, 0, 400), event("db file sequential read", 10), runfile.UnitMicroseconds},
		"asynchronous, parallel": {f(0, 10, 0, 0.4), event("db file parallel read", 10), runfile.UnitMilliseconds},
		"multiblock":             {f(0, 0, 10, 400), event("db file scattered read", 10), runfile.UnitMicroseconds},
		"direct path":            {f(0, 0, 10, 400), event("direct path read", 10), ""},
		"multiblock by single":   {f(0, 0, 10, 400), event("db file sequential read", 10), ""},
		"other files":            {other, event("db file sequential read", 10), ""},
		"no waits":               {f(10, 10, 10, 400), nil, ""},
	} {
		if got := serviceTimeUnit(c.files, c.events); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestASnapshotKnowsItsTime(t *testing.T) {
	a, _ := admin(t, sqltext.Release19, views(counted{instance: 1, started: boot(1)}))
	s, err := a.Snapshot(t.Context())
	if err != nil || s.At.IsZero() {
		t.Errorf("taken at %v, %v", s.At, err)
	}
	if diff := cmp.Diff(runfile.OracleWindow{}, Window(s, s), cmpopts.IgnoreFields(runfile.OracleWindow{}, "Statistics", "DatafileBytes", "OwnReadBytes", "BusyCentiseconds", "IdleCentiseconds", "InstanceBytes")); diff != "" {
		t.Error(diff)
	}
}
