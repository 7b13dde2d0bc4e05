package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Snapshot holds the cumulative views of all instances at one time. It is
// immutable.
type Snapshot struct {
	At         time.Time
	instances  map[int32]instance
	statistics map[counter]int64 // V$SYSSTAT and V$SYS_TIME_MODEL
	own        map[counter]int64 // V$SESSTAT of the sessions of our schemas
	waits      map[counter]int64 // V$SYSTEM_EVENT, by event
	waited     map[counter]int64 // wait time in microseconds, by event
	buckets    map[bucket]int64
	files      map[file]runfile.OracleFile // cumulative
	dataBytes  int64                       // of all datafiles
	cpu        map[counter]int64           // GV$OSSTAT

	// Of foreground sessions, from V$SYSTEM_EVENT without idle events.
	foreground, foregroundTime map[counter]int64
	classes                    map[string]string // of waits, by event
}

// counter is one named counter of one instance.
type counter struct {
	instance int32
	name     string
}

// bucket is one bucket of the histogram of an event. Its exclusive upper bound
// in microseconds is below.
type bucket struct {
	counter
	below int64
}

// file identifies a row of V$IOSTAT_FILE.
type file struct {
	instance int32
	kind     string
	number   int64
}

// Snapshot reads the cumulative views of all instances with ten queries. The
// database answers all but the one for file names from memory.
func (a *Admin) Snapshot(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{
		At: a.now(), instances: map[int32]instance{}, statistics: map[counter]int64{}, waits: map[counter]int64{},
		own:    map[counter]int64{},
		waited: map[counter]int64{}, buckets: map[bucket]int64{}, files: map[file]runfile.OracleFile{},
		cpu: map[counter]int64{}, foreground: map[counter]int64{}, foregroundTime: map[counter]int64{},
		classes: map[string]string{},
	}
	instances, err := a.instances(ctx)
	if err != nil {
		return nil, err
	}
	for _, i := range instances {
		s.instances[i.ID] = i
	}
	names := map[file]string{}
	for _, view := range []struct {
		text string
		scan func(*sql.Rows) error
	}{
		{"sysstat", scanCounters(s.statistics)},
		{"time_model", scanCounters(s.statistics)},
		{"own_reads", scanCounters(s.own)},
		{"osstat", scanCounters(s.cpu)},
		{"system_event", func(r *sql.Rows) error {
			var c counter
			var waits, microseconds int64
			err := r.Scan(&c.instance, &c.name, &waits, &microseconds)
			s.waits[c] += waits
			s.waited[c] += microseconds
			return err
		}},
		{"foreground_waits", func(r *sql.Rows) error {
			var c counter
			var class sql.NullString
			var waits, microseconds sql.NullInt64
			err := r.Scan(&c.instance, &c.name, &class, &waits, &microseconds)
			s.foreground[c] += waits.Int64
			s.foregroundTime[c] += microseconds.Int64
			s.classes[c.name] = class.String
			return err
		}},
		{"event_histogram", func(r *sql.Rows) error {
			var b bucket
			var count int64
			err := r.Scan(&b.instance, &b.name, &b.below, &count)
			s.buckets[b] += count
			return err
		}},
		{"datafiles", func(r *sql.Rows) error {
			var f file
			var name sql.NullString
			var bytes sql.NullInt64
			err := r.Scan(&f.kind, &f.number, &name, &bytes)
			if names[f] = name.String; f.kind == "Data File" {
				s.dataBytes += bytes.Int64
			}
			return err
		}},
		{"iostat_file", func(r *sql.Rows) error {
			var f runfile.OracleFile
			var access, asynch sql.NullString
			var times [3]sql.NullFloat64
			err := r.Scan(&f.Instance, &f.Number, &f.Type, &access, &asynch,
				&f.SmallReads, &times[0], &f.SmallSyncReads, &times[1], &f.LargeReads, &times[2],
				&f.SmallReadMegabyte, &f.LargeReadMegabyte, &f.SmallWrites, &f.LargeWrites)
			f.AccessMethod, f.AsynchIO = access.String, asynch.String
			f.SmallReadTime, f.SmallSyncReadTime, f.LargeReadTime = times[0].Float64, times[1].Float64, times[2].Float64
			f.Name = names[file{kind: f.Type, number: f.Number}]
			key := file{f.Instance, f.Type, f.Number}
			if have, ok := s.files[key]; ok { // one row for each container
				f, _ = addFile(have, f, 1)
			}
			s.files[key] = f
			return err
		}},
	} {
		if err := a.each(ctx, view.text, view.scan); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// scanCounters adds up rows of instance, name and value.
func scanCounters(into map[counter]int64) func(*sql.Rows) error {
	return func(r *sql.Rows) error {
		var c counter
		var value sql.NullFloat64 // V$OSSTAT has fractions in rows that the query leaves out
		err := r.Scan(&c.instance, &c.name, &value)
		into[c] += int64(value.Float64)
		return err
	}
}

// counts lists the counters of a file, so that sums and differences include all of them.
func counts(f *runfile.OracleFile) ([]*int64, []*float64) {
	numbers := []*int64{
		&f.SmallReads, &f.SmallSyncReads, &f.LargeReads, &f.SmallReadMegabyte, &f.LargeReadMegabyte,
		&f.SmallWrites, &f.LargeWrites,
	}
	times := []*float64{&f.SmallReadTime, &f.SmallSyncReadTime, &f.LargeReadTime}
	return numbers, times
}

// addFile adds the counters of b to a, or with sign -1 subtracts them, and
// reports whether no result is negative.
func addFile(a, b runfile.OracleFile, sign int64) (sum runfile.OracleFile, forward bool) {
	ai, af := counts(&a)
	bi, bf := counts(&b)
	forward = true
	for i := range ai {
		*ai[i] += sign * *bi[i]
		forward = forward && *ai[i] >= 0
	}
	for i := range af {
		*af[i] += float64(sign) * *bf[i]
		forward = forward && *af[i] >= 0
	}
	return a, forward
}

// maxFiles bounds the files of a window, so that the result of a large database
// stays small enough.
const maxFiles = 500

// topWaits bounds the waits of a window.
const topWaits = 5

// Window returns the differences between two snapshots. It sets Statistics, OwnReads and OwnReadBytes, Events,
// TopWaits and their total, Files, DatafileBytes, ServiceTimeUnit, the times of GV$OSSTAT and InstanceBytes, and no
// other field of an OracleWindow.
//
// Unknown values are absent. An instance that was started between the snapshots, or that one of them lacks, has no
// differences. Sums over all instances are then absent, because they would lack its part. If a single counter went
// back, only this counter is absent. A counter that is new in the second snapshot began at zero: V$SYSTEM_EVENT has
// no row for an event that never happened.
//
// Of more than 500 files, Window keeps those with the most I/O.
func Window(before, after *Snapshot) runfile.OracleWindow {
	d := difference{before: before, after: after, lived: map[int32]bool{}}
	for id := range before.instances {
		d.lived[id] = false
	}
	complete := len(after.instances) > 0
	for id, i := range after.instances {
		b, ok := before.instances[id]
		d.lived[id] = ok && b.StartupTime.Equal(i.StartupTime)
	}
	for _, lived := range d.lived {
		complete = complete && lived
	}
	w := runfile.OracleWindow{Files: d.files(), InstanceBytes: d.instanceBytes(), DatafileBytes: after.dataBytes}
	if complete {
		w.Statistics = d.sums(before.statistics, after.statistics)
		own := d.sums(before.own, after.own)
		w.OwnReads, w.OwnReadBytes = known(own, "physical read total IO requests"), known(own, "physical read total bytes")
		w.Events = d.events()
		w.TopWaits, w.ForegroundWaitMicroseconds = d.topWaits()
		cpu := d.sums(before.cpu, after.cpu)
		w.BusyCentiseconds, w.IdleCentiseconds = known(cpu, "BUSY_TIME"), known(cpu, "IDLE_TIME")
		w.ServiceTimeUnit = cmp.Or(serviceTimeUnit(w.Files, w.Events), after.unitSinceStart())
	}
	if len(w.Files) > maxFiles {
		slices.SortStableFunc(w.Files, func(a, b runfile.OracleFile) int { return cmp.Compare(traffic(b), traffic(a)) })
		w.Files = w.Files[:maxFiles]
		slices.SortFunc(w.Files, byPlace)
	}
	return w
}

// difference computes the differences between two snapshots.
type difference struct {
	before, after *Snapshot
	lived         map[int32]bool // whether each instance ran through both snapshots
}

// sums returns the differences of counters over all instances, by name. It
// leaves out counters that went back or disappeared in any instance.
func (d difference) sums(before, after map[counter]int64) map[string]int64 {
	sum, bad := map[string]int64{}, map[string]bool{}
	for c, value := range after {
		delta := value - before[c]
		sum[c.name] += delta
		bad[c.name] = bad[c.name] || delta < 0
	}
	for c := range before {
		if _, ok := after[c]; !ok {
			bad[c.name] = true
		}
	}
	for name, is := range bad {
		if is {
			delete(sum, name)
		}
	}
	return sum
}

func (d difference) events() []runfile.OracleEvent {
	waits, micros := d.sums(d.before.waits, d.after.waits), d.sums(d.before.waited, d.after.waited)
	var list []runfile.OracleEvent
	for name, n := range waits {
		us, ok := micros[name]
		if n == 0 || !ok {
			continue
		}
		list = append(list, runfile.OracleEvent{Name: name, Waits: n, Microseconds: us, Buckets: d.buckets(name)})
	}
	slices.SortFunc(list, func(a, b runfile.OracleEvent) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// topWaits returns the longest waits of foreground sessions, and the total wait time.
func (d difference) topWaits() (top []runfile.OracleWait, total *int64) {
	waits := d.sums(d.before.foreground, d.after.foreground)
	micros := d.sums(d.before.foregroundTime, d.after.foregroundTime)
	if len(micros) == 0 {
		return nil, nil
	}
	total = new(int64)
	for name, us := range micros {
		n, ok := waits[name]
		if !ok || us <= 0 {
			continue
		}
		*total += us
		top = append(top, runfile.OracleWait{Name: name, Class: d.after.classes[name], Waits: n, Microseconds: us})
	}
	slices.SortFunc(top, func(a, b runfile.OracleWait) int {
		return cmp.Or(cmp.Compare(b.Microseconds, a.Microseconds), cmp.Compare(a.Name, b.Name))
	})
	return top[:min(topWaits, len(top))], total
}

// buckets returns the histogram of an event over all instances, or none if a
// bucket went back: percentiles of an incomplete histogram would be wrong.
func (d difference) buckets(event string) []runfile.LatencyBucket {
	sum := map[int64]int64{}
	for b, count := range d.after.buckets {
		if b.name != event {
			continue
		}
		delta := count - d.before.buckets[b]
		if delta < 0 {
			return nil
		}
		sum[b.below] += delta
	}
	var list []runfile.LatencyBucket
	for below, count := range sum {
		if count > 0 {
			list = append(list, runfile.LatencyBucket{BelowMicroseconds: below, Count: count})
		}
	}
	slices.SortFunc(list, func(a, b runfile.LatencyBucket) int {
		return cmp.Compare(a.BelowMicroseconds, b.BelowMicroseconds)
	})
	return list
}

// files returns the counters of the files: of all datafiles and tempfiles, and
// of other files with I/O.
func (d difference) files() []runfile.OracleFile {
	var list []runfile.OracleFile
	for key, after := range d.after.files {
		before := d.before.files[key] // zero for a file that was added
		delta, forward := addFile(after, before, -1)
		if !d.lived[key.instance] || !forward {
			continue
		}
		if isData(delta) || traffic(delta) > 0 {
			list = append(list, delta)
		}
	}
	slices.SortFunc(list, byPlace)
	return list
}

func isData(f runfile.OracleFile) bool { return f.Type == "Data File" || f.Type == "Temp File" }

func traffic(f runfile.OracleFile) int64 {
	return f.SmallReads + f.LargeReads + f.SmallWrites + f.LargeWrites
}

func byPlace(a, b runfile.OracleFile) int {
	return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Number, b.Number))
}

// instanceBytes returns the bytes read by each instance that ran through both
// snapshots, by instance name.
func (d difference) instanceBytes() map[string]int64 {
	bytes := map[string]int64{}
	for id, lived := range d.lived {
		c := counter{id, "physical read total bytes"}
		after, ok := d.after.statistics[c]
		if delta := after - d.before.statistics[c]; lived && ok && delta >= 0 {
			bytes[d.after.instances[id].Name] = delta
		}
	}
	if len(bytes) == 0 {
		return nil
	}
	return bytes
}

func known(values map[string]int64, name string) *int64 {
	if v, ok := values[name]; ok {
		return &v
	}
	return nil
}

// unitSinceStart determines the unit from all counts since the start of the instances. A release has one unit, and
// during the second of two calibrations the dictionary is in the buffer cache, so that nobody waits for reads.
func (s *Snapshot) unitSinceStart() string {
	d := difference{before: &Snapshot{}, after: s, lived: map[int32]bool{}}
	for id := range s.instances {
		d.lived[id] = true
	}
	return serviceTimeUnit(d.files(), d.events())
}

// serviceTimeUnit determines the unit of the times in V$IOSTAT_FILE. Oracle's
// reference documents milliseconds for every release, but 12.2 was observed to
// use microseconds. The unit is derived from the ratio between the mean time of
// a read in that view and the mean wait for such reads in V$SYSTEM_EVENT, which
// is in microseconds, over the same interval:
//
//	q = (time / reads) / (TIME_WAITED_MICRO / TOTAL_WAITS)
//
// q is about 1 if the times are microseconds, and about 1/1000 if they are
// milliseconds. The two views do not count exactly the same reads, some
// releases count wrongly (pNFS on 12.2: q = 0.05), and whole milliseconds round
// a read of 0.1 ms up to ten times its time, or down to zero. The result is
//
//	1/50 <= q <= 50      Microseconds
//	1/50000 <= q <= 1/80 Milliseconds
//
// Other ratios, and fewer than 10 reads or waits, give no unit. The first of
// these pairs that gives a unit decides: synchronous single-block reads with db
// file sequential read; all single-block reads with db file sequential read,
// then with db file parallel read; multiblock reads with db file scattered
// read. The event direct path read is unsuitable: its waits are shorter than
// its reads, which begin earlier.
func serviceTimeUnit(files []runfile.OracleFile, events []runfile.OracleEvent) string {
	var sync, small, large mean
	for _, f := range files {
		if isData(f) {
			sync.add(f.SmallSyncReads, f.SmallSyncReadTime)
			small.add(f.SmallReads, f.SmallReadTime)
			large.add(f.LargeReads, f.LargeReadTime)
		}
	}
	waits := map[string]mean{}
	for _, e := range events {
		waits[e.Name] = mean{e.Waits, float64(e.Microseconds)}
	}
	for _, pair := range []struct {
		reads mean
		event string
	}{
		{sync, "db file sequential read"},
		{small, "db file sequential read"},
		{small, "db file parallel read"},
		{large, "db file scattered read"},
	} {
		if unit := compare(pair.reads, waits[pair.event]); unit != "" {
			return unit
		}
	}
	return ""
}

// mean is a sum of times and their number.
type mean struct {
	n   int64
	sum float64
}

func (m *mean) add(n int64, sum float64) {
	m.n += n
	m.sum += sum
}

// compare returns the unit of reads that the waits for them show; empty if they show none.
func compare(reads, waits mean) string {
	const enough = 10
	if reads.n < enough || waits.n < enough || waits.sum <= 0 {
		return ""
	}
	q := reads.sum / float64(reads.n) / (waits.sum / float64(waits.n))
	switch {
	case 1.0/50 <= q && q <= 50:
		return runfile.UnitMicroseconds
	case 1.0/50000 <= q && q <= 1.0/80:
		return runfile.UnitMilliseconds
	default:
		return ""
	}
}
