package loadgen

import (
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// levelReport counts per second the operations of a level that a search for capacity needs.
type levelReport struct {
	runfile.LevelReport

	bounds   []time.Duration
	snapshot recorder.Snapshot
	done     int64 // total so far
	slow     []int64
}

// newLevelReport returns nil for a level of another kind of load.
func (r *Runner) newLevelReport(rep int32, l runloop.Level) *levelReport {
	c := r.opt.Plan.Workload.Capacity()
	if c == nil || l.Step == nil || l.Step.Kind != runfile.StepRate {
		return nil
	}
	out := &levelReport{LevelReport: runfile.LevelReport{Index: rep}, slow: make([]int64, len(runfile.Bounds(c)))}
	for _, b := range runfile.Bounds(c) {
		out.bounds = append(out.bounds, time.Duration(b.Microseconds)*time.Microsecond)
		out.Slow = append(out.Slow, nil)
	}
	return out
}

// read counts the operations of phases, and those slower than each bound.
func (l *levelReport) read(rec *recorder.Recorder, phases ...recorder.Phase) (done, failed int64, slow []int64) {
	slow = make([]int64, len(l.bounds))
	for _, d := range []recorder.Direction{recorder.Read, recorder.Write} {
		rec.Read(&l.snapshot, d, phases...)
		done, failed = done+l.snapshot.Count, failed+l.snapshot.Errors
		for i, b := range l.bounds {
			slow[i] += l.snapshot.SlowerThan(b)
		}
	}
	return done, failed, slow
}

// second adds the second of the window that has just ended.
func (l *levelReport) second(rec *recorder.Recorder) {
	l.Done = append(l.Done, 0)
	for i := range l.Slow {
		l.Slow[i] = append(l.Slow[i], 0)
	}
	l.update(rec)
}

// update adds the operations since the last call to the last second.
func (l *levelReport) update(rec *recorder.Recorder) {
	done, failed, slow := l.read(rec, recorder.Measure, recorder.Failed)
	last := len(l.Done) - 1
	l.Done[last] += done - l.done
	for i, n := range slow {
		l.Slow[i][last] += n - l.slow[i]
	}
	l.done, l.slow, l.Errors = done, slow, failed
}

// finish completes the report after all workers of a level have ended. It returns at most the given number of
// parts. Operations that were due in the window and did not end in it are slow if they were due long enough
// before its end.
func (l *levelReport) finish(e *engine, on *levelLoad, parts int) *runfile.LevelReport {
	l.update(e.rec)
	_, _, unended := l.read(e.rec, recorder.Unended)
	last := len(l.Done) - 1
	for i, b := range l.bounds {
		l.Slow[i][last] += unended[i] + notStarted(e, on, on.to-b)
	}
	for s := range l.Done {
		from := on.from + time.Duration(s)*time.Second
		l.Due = append(l.Due, int64(e.rate.countBefore(from+time.Second)-e.rate.countBefore(from)))
	}
	l.LevelReport = l.InParts(parts)
	return &l.LevelReport
}

// waitInVain records the operations that were due in the window and did not start before end.
func (e *engine) waitInVain(on *levelLoad, end time.Duration) {
	d := recorder.Read
	if e.overwrites {
		d = recorder.Write
	}
	for i := max(on.ticket.Load(), e.rate.countBefore(on.from)); i < e.rate.countBefore(end); i++ {
		e.rec.Shard(0).Record(recorder.Unended, d, end-e.rate.due(i), int(e.blockBytes))
	}
	for i := range e.workers {
		if w := &e.workers[i]; !w.idle && w.waiting && w.due >= on.from && w.due < end {
			e.rec.Shard(0).Record(recorder.Unended, d, end-w.due, int(e.blockBytes))
		}
	}
}

// notStarted counts the operations that were due in the window before a time and did not start: no worker
// took them, or a worker took them too late.
func notStarted(e *engine, on *levelLoad, before time.Duration) (n int64) {
	taken := max(on.ticket.Load(), e.rate.countBefore(on.from))
	if due := e.rate.countBefore(before); due > taken {
		n = int64(due - taken)
	}
	for i := range e.workers {
		if w := &e.workers[i]; !w.idle && w.waiting && w.due >= on.from && w.due < before {
			n++
		}
	}
	return n
}
