package oracle

import (
	"context"
	"database/sql"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Snapshot is what the cumulative views of all instances said at one time. It
// does not change any more once it was taken.
type Snapshot struct {
	At         time.Time
	instances  map[int32]instance
	statistics map[counter]int64
	events     map[counter]wait
	buckets    map[bucket]int64
	files      map[file]runfile.OracleFile // cumulative
	cpu        map[counter]int64           // GV$OSSTAT
}

// counter is one named counter of one instance.
type counter struct {
	instance int32
	name     string
}

// wait is what V$SYSTEM_EVENT has of one event.
type wait struct{ waits, microseconds int64 }

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

// Snapshot reads the cumulative views of all instances: seven queries, which the
// database answers from memory but for the names of files.
func (a *Admin) Snapshot(ctx context.Context) (*Snapshot, error) {
	s := &Snapshot{
		At: a.now(), instances: map[int32]instance{}, statistics: map[counter]int64{}, events: map[counter]wait{},
		buckets: map[bucket]int64{}, files: map[file]runfile.OracleFile{}, cpu: map[counter]int64{},
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
		{"osstat", scanCounters(s.cpu)},
		{"system_event", func(r *sql.Rows) error {
			var c counter
			var w wait
			err := r.Scan(&c.instance, &c.name, &w.waits, &w.microseconds)
			sum := s.events[c]
			s.events[c] = wait{sum.waits + w.waits, sum.microseconds + w.microseconds}
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
			err := r.Scan(&f.kind, &f.number, &name)
			names[f] = name.String
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
