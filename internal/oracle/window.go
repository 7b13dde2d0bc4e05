package oracle

import (
	"cmp"
	"slices"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// maxFiles bounds the files of a window, so that a result of a large database
// still fits.
const maxFiles = 500

// Window returns what was counted between two snapshots. It fills Statistics,
// Events, Files, ServiceTimeUnit, the times of GV$OSSTAT and InstanceBytes, and
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
	w := runfile.OracleWindow{Files: d.files(), InstanceBytes: d.instanceBytes()}
	if complete {
		w.Statistics = d.sums(before.statistics, after.statistics)
		w.Events = d.events()
		cpu := d.sums(before.cpu, after.cpu)
		w.BusyCentiseconds, w.IdleCentiseconds = known(cpu, "BUSY_TIME"), known(cpu, "IDLE_TIME")
		w.ServiceTimeUnit = serviceTimeUnit(w.Files, w.Events)
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
	sums := func(count func(wait) int64) map[string]int64 {
		return d.sums(countsOf(d.before, count), countsOf(d.after, count))
	}
	waits := sums(func(w wait) int64 { return w.waits })
	micros := sums(func(w wait) int64 { return w.microseconds })
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

// countsOf gives one of the counters that events have.
func countsOf(s *Snapshot, count func(wait) int64) map[counter]int64 {
	m := map[counter]int64{}
	for c, w := range s.events {
		m[c] = count(w)
	}
	return m
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
