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
	for id, i := range after.instances {
		b, ok := before.instances[id]
		d.lived[id] = ok && b.StartupTime.Equal(i.StartupTime)
	}
	for id := range before.instances {
		if _, ok := after.instances[id]; !ok {
			d.lived[id] = false
		}
	}
	w := runfile.OracleWindow{Files: d.files(), InstanceBytes: d.instanceBytes()}
	if d.complete() {
		w.Statistics = d.sums(before.statistics, after.statistics)
		w.Events = d.events()
		cpu := d.sums(before.cpu, after.cpu)
		w.BusyCentiseconds, w.IdleCentiseconds = known(cpu, "BUSY_TIME"), known(cpu, "IDLE_TIME")
		w.ServiceTimeUnit = serviceTimeUnit(w.Files, w.Events)
	}
	w.Files = largest(w.Files)
	return w
}

// difference works out what happened between two snapshots.
type difference struct {
	before, after *Snapshot
	lived         map[int32]bool // instances, whether they lived through
}

func (d difference) complete() bool {
	for _, lived := range d.lived {
		if !lived {
			return false
		}
	}
	return len(d.lived) > 0
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
	waits := d.sums(waitsOf(d.before), waitsOf(d.after))
	micros := d.sums(microsOf(d.before), microsOf(d.after))
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

func waitsOf(s *Snapshot) map[counter]int64 {
	m := map[counter]int64{}
	for c, w := range s.events {
		m[c] = w.waits
	}
	return m
}

func microsOf(s *Snapshot) map[counter]int64 {
	m := map[counter]int64{}
	for c, w := range s.events {
		m[c] = w.microseconds
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
	slices.SortFunc(list, func(a, b runfile.LatencyBucket) int { return cmp.Compare(a.BelowMicroseconds, b.BelowMicroseconds) })
	return list
}

// files returns what each file counted: datafiles and tempfiles all, others if
// there was I/O on them.
func (d difference) files() []runfile.OracleFile {
	var list []runfile.OracleFile
	for key, after := range d.after.files {
		before := d.before.files[key] // zero for a file that was added
		delta, forward := subFile(after, before)
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

// largest keeps the files with the most I/O, in their order.
func largest(files []runfile.OracleFile) []runfile.OracleFile {
	if len(files) <= maxFiles {
		return files
	}
	slices.SortStableFunc(files, func(a, b runfile.OracleFile) int { return cmp.Compare(traffic(b), traffic(a)) })
	files = files[:maxFiles]
	slices.SortFunc(files, byPlace)
	return files
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
