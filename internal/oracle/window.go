package oracle

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Snapshot is what the cumulative views of all instances said at one time. It
// does not change any more once it was taken.
type Snapshot struct {
	At         time.Time
	instances  map[int32]instance
	statistics map[counter]int64 // V$SYSSTAT and V$SYS_TIME_MODEL
	own        map[counter]int64 // V$SESSTAT of the sessions of our schemas
	waits      map[counter]int64 // V$SYSTEM_EVENT, by event
	waited     map[counter]int64 // and how long, in microseconds
	buckets    map[bucket]int64
	files      map[file]runfile.OracleFile // cumulative
	dataBytes  int64                       // of all datafiles
	cpu        map[counter]int64           // GV$OSSTAT

	// Of foreground sessions, in V$SYSTEM_EVENT without idle events.
	foreground, foregroundTime map[counter]int64
	classes                    map[string]string // of waits, by event
}

// counter is one named counter of one instance.
type counter struct {
	instance int32
	name     string
}

// bucket is one of the histogram of an event; below is its exclusive upper
// bound in microseconds.
type bucket struct {
	counter
	below int64
}

// file is what identifies a row of V$IOSTAT_FILE.
type file struct {
	instance int32
	kind     string
	number   int64
}

// Snapshot reads the cumulative views of all instances: ten queries, which the
// database answers from memory but for the names of files.
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
		var value sql.NullFloat64 // V$OSSTAT has fractions in rows that we do not ask for
		err := r.Scan(&c.instance, &c.name, &value)
		into[c] += int64(value.Float64)
		return err
	}
}

// counts lists what a file counts, so that sums and differences leave out none.
func counts(f *runfile.OracleFile) ([]*int64, []*float64) {
	numbers := []*int64{
		&f.SmallReads, &f.SmallSyncReads, &f.LargeReads, &f.SmallReadMegabyte, &f.LargeReadMegabyte,
		&f.SmallWrites, &f.LargeWrites,
	}
	times := []*float64{&f.SmallReadTime, &f.SmallSyncReadTime, &f.LargeReadTime}
	return numbers, times
}

// addFile adds what b counted to a, or takes it away, and says whether nothing is
// below zero then.
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

// maxFiles bounds the files of a window, so that a result of a large database
// still fits.
const maxFiles = 500

// topWaits is how many waits of a window are kept.
const topWaits = 5

// Window returns what was counted between two snapshots. It fills Statistics,
// Events, TopWaits and their total, Files, ServiceTimeUnit, the times of GV$OSSTAT and InstanceBytes, and
// leaves the rest of an OracleWindow to others.
//
// What cannot be known is absent. An instance that was started in between, or
// was not there at one of the ends, has no differences; sums over all instances
// are then left out altogether, because they would lack its part. A single
// counter that went back is left out alone. A counter that is new in the second
// snapshot began at zero: V$SYSTEM_EVENT has no row for what never happened.
//
// Of more than 500 files, those with the most I/O are kept.
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

// difference works out what happened between two snapshots.
type difference struct {
	before, after *Snapshot
	lived         map[int32]bool // instances, whether they lived through
}

// sums returns the differences of counters over all instances, by name, without
// those that went back in any of them or are gone.
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

// topWaits returns the longest waits of foreground sessions, and the time of all.
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
// bucket went back: percentiles of a part would be wrong.
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

// files returns what each file counted: datafiles and tempfiles all, others if
// there was I/O on them.
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

// instanceBytes returns the bytes read by each instance that lived through, by
// its name.
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

// unitSinceStart tells the unit by all that the instances have counted since they were started: a release has one unit,
// and the second of two calibrations finds the dictionary in the buffer cache, so that nobody waits for its reads.
func (s *Snapshot) unitSinceStart() string {
	d := difference{before: &Snapshot{}, after: s, lived: map[int32]bool{}}
	for id := range s.instances {
		d.lived[id] = true
	}
	return serviceTimeUnit(d.files(), d.events())
}

// serviceTimeUnit tells the unit of the times in V$IOSTAT_FILE. Oracle's
// reference says milliseconds for every release; 12.2 was seen to have
// microseconds. So it is derived, by holding the mean time of a read in that view
// against the mean wait for such reads in V$SYSTEM_EVENT, which is in
// microseconds, over the same interval:
//
//	q = (time / reads) / (TIME_WAITED_MICRO / TOTAL_WAITS)
//
// q is about 1 if the times are microseconds, and about 1/1000 if they are
// milliseconds. The two views do not count the very same reads, some releases
// count wrongly (pNFS on 12.2: q = 0.05), and whole milliseconds round a read of
// 0.1 ms up to ten times its time, or down to nothing. So
//
//	1/50 <= q <= 50      Microseconds
//	1/50000 <= q <= 1/80 Milliseconds
//
// and what lies elsewhere, or rests on fewer than 10 reads or waits, is not
// told. The closest pair that can tell decides: synchronous single-block reads
// are what db file sequential read waits for; all single-block reads, by
// db file sequential read and db file parallel read; multiblock reads, by db file
// scattered read. direct path read is no measure: its waits are shorter than
// its reads, which have begun before.
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

// mean is a sum of times with their number.
type mean struct {
	n   int64
	sum float64
}

func (m *mean) add(n int64, sum float64) {
	m.n += n
	m.sum += sum
}

// compare tells the unit of reads by waits for them, or says nothing.
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
