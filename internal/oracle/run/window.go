package run

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// The cumulative counters of V$SYSSTAT that a run reads.
const (
	readRequests  = "physical read total IO requests"
	readBytes     = "physical read total bytes"
	writeRequests = "physical write total IO requests"
	writeBytes    = "physical write total bytes"
)

// observer samples the database every second in a goroutine of its own. It
// keeps the samples until the run collects them.
type observer struct {
	r      *runner
	span   string
	index  int32
	watch  *oracle.Watch // nil = do not watch Direct NFS
	phases bool          // look for the phases of CALIBRATE_IO
	stop   context.CancelFunc
	done   chan struct{}
	before map[string]int64         // counters of all instances; nil = unknown
	states []oracle.CalibrationLook // with phases; belongs to the goroutine until done is closed

	mu      sync.Mutex
	seen    []runfile.LoadSample
	trouble error // the first failed look
}

// observe starts an observer, in a window with a Watch. Call end when the span ends.
func (r *runner) observe(ctx context.Context, span string, index int32, watch *oracle.Watch) *observer {
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{
		r: r, span: span, index: index, watch: watch, phases: watch != nil && r.plan.Workload.Calibrate != nil,
		stop: cancel, done: make(chan struct{}),
	}
	go o.run(ctx)
	return o
}

func (o *observer) run(ctx context.Context) {
	defer close(o.done)
	o.before = o.read(ctx)
	o.lookAtCalibration(ctx)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-ticker.C:
			if now := o.read(ctx); now != nil {
				if o.before != nil {
					o.add(at, now)
				}
				o.before = now
			}
			o.lookAtCalibration(ctx)
			if o.watch != nil {
				o.note(ctx, o.watch.Look(ctx))
			}
		}
	}
}

// read returns the few counters of every second; nil on an error.
func (o *observer) read(ctx context.Context) map[string]int64 {
	counters := map[string]int64{}
	err := oracle.Rows(ctx, o.r.adminDB, sqltext.Text("slob_sample"), nil, func(rows *sql.Rows) error {
		var name string
		var value int64
		err := rows.Scan(&name, &value)
		counters[name] = value
		return err
	})
	if err != nil {
		o.note(ctx, err)
		return nil
	}
	return counters
}

func (o *observer) lookAtCalibration(ctx context.Context) {
	if !o.phases {
		return
	}
	state, err := o.r.admin.LookAtCalibration(ctx)
	o.note(ctx, err)
	if err == nil {
		o.states = append(o.states, state)
	}
}

func (o *observer) note(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trouble == nil {
		o.trouble = err
	}
}

// add records the counts since the previous look.
func (o *observer) add(at time.Time, now map[string]int64) {
	since := func(name string) int64 { return now[name] - o.before[name] }
	s := runfile.LoadSample{Time: at, Span: o.span, Repetition: o.index}
	s.Read = &runfile.SampleOps{Count: since(readRequests), Bytes: since(readBytes)}
	if n := since(writeRequests); n > 0 {
		s.Write = &runfile.SampleOps{Count: n, Bytes: since(writeBytes)}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, s)
}

// collect moves the samples into the load. Only the goroutine of the run may call it.
func (o *observer) collect() {
	o.mu.Lock()
	seen := o.seen
	o.seen = nil
	o.mu.Unlock()
	for _, s := range seen {
		o.r.loop.Sample(s)
	}
}

// end stops the observer, and logs whether something could not be observed: the
// run continues, and package judge reports what is missing.
func (o *observer) end() {
	o.stop()
	<-o.done
	o.collect()
	if o.trouble != nil {
		o.r.opt.Log.Warn("Not everything could be sampled", "span", o.span, "repetition", o.index, "error", o.trouble)
		o.r.loop.Tell("the database could not be sampled every second: " + runloop.OneLine(o.trouble))
	}
}

// window is one measured repetition.
type window struct {
	r      *runner
	at     int // in r.load.Repetitions
	watch  *oracle.Watch
	before *oracle.Snapshot
	cpu    time.Duration
	first  int // its first sample in r.load.Samples
}

// measure takes a window around load, which returns when the window is over. It
// records the measurements in the Load, even after an error. The function
// finish adds the numbers of a workload.
func (r *runner) measure(ctx context.Context, index int32, step runfile.Step, load func(context.Context) error,
	finish func(*runfile.Repetition),
) error {
	watch := r.admin.Watch()
	before, err := do(ctx, r, func(ctx context.Context) (*oracle.Snapshot, error) {
		if err := watch.Look(ctx); err != nil {
			r.opt.Log.Warn("Direct NFS could not be looked at", "error", err)
		}
		return r.admin.Snapshot(ctx)
	})
	if err != nil {
		return fmt.Errorf("read the views of the database before the window: %w", err)
	}
	r.loop.Enter(runfile.SpanMeasure, index, before.At)
	w := &window{r: r, at: len(r.load.Repetitions), watch: watch, before: before, first: len(r.load.Samples)}
	w.cpu, _ = r.opt.Usage()
	r.load.Repetitions = append(r.load.Repetitions,
		runfile.Repetition{Index: index, Start: before.At, End: before.At, Step: &step})
	o := r.observe(ctx, runfile.SpanMeasure, index, watch)
	err = r.loop.During(ctx, func() { // saved every second: a killed loader leaves this much
		o.collect()
		rep := &r.load.Repetitions[w.at]
		rep.End = r.opt.Now()
		w.sumSamples(rep)
	}, load)
	o.end()
	end := w.end(ctx, err)
	if view := r.load.Repetitions[w.at].Oracle; view != nil {
		view.Phases = oracle.Phases(o.states)
	}
	finish(&r.load.Repetitions[w.at])
	// Save the measurements before anything else.
	r.loop.Save()
	return errors.Join(err, end)
}

func (w *window) sumSamples(rep *runfile.Repetition) {
	var read, write runfile.Ops
	for _, s := range w.r.load.Samples[w.first:] {
		read.Count += s.Read.Count
		read.Bytes += s.Read.Bytes
		if s.Write != nil {
			write.Count += s.Write.Count
			write.Bytes += s.Write.Bytes
		}
	}
	rep.Read, rep.Write = &read, nil
	if write.Count > 0 {
		rep.Write = &write
	}
}

// end takes the second snapshot. If the run was stopped, it uses a short time
// of its own.
func (w *window) end(ctx context.Context, failed error) error {
	r := w.r
	if failed != nil {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTimeout)
		defer cancel()
		ctx = last
	}
	after, err := do(ctx, r, func(ctx context.Context) (*oracle.Snapshot, error) {
		after, err := r.admin.Snapshot(ctx)
		if looked := w.watch.Look(ctx); looked != nil {
			r.opt.Log.Warn("Direct NFS could not be looked at", "error", looked)
		}
		return after, err
	})
	rep := &r.load.Repetitions[w.at]
	now, peak := r.opt.Usage()
	rep.CPUMicroseconds, rep.PeakMemoryBytes = (now - w.cpu).Microseconds(), peak
	if err != nil {
		rep.End = r.opt.Now()
		w.sumSamples(rep)
		r.loop.CloseSpan(rep.End)
		return fmt.Errorf("read the views of the database after the window: %w", err)
	}
	rep.End = after.At
	r.loop.CloseSpan(rep.End)
	o := oracle.Window(w.before, after)
	o.DirectNFS = w.watch.Result()
	o.Connections = r.seeConnections()
	rep.Oracle = &o
	w.putOps(rep)
	return nil
}

// putOps records the requests and bytes that the instances counted, and for reads those of our sessions. If an
// instance did not run through the window there is no such sum, and the samples are used.
func (w *window) putOps(rep *runfile.Repetition) {
	s := rep.Oracle.Statistics
	reads, known := s[readRequests]
	if !known {
		w.sumSamples(rep)
		return
	}
	rep.Read, rep.Write = &runfile.Ops{Count: reads, Bytes: s[readBytes]}, nil
	if o := rep.Oracle; o.OwnReads != nil && o.OwnReadBytes != nil {
		rep.Read.Count, rep.Read.Bytes = *o.OwnReads, *o.OwnReadBytes
	}
	if n := s[writeRequests]; n > 0 {
		rep.Write = &runfile.Ops{Count: n, Bytes: s[writeBytes]}
	}
}

// putLatency records the waits for single reads as the latencies of random reads. The waits of scans are unsuitable:
// their reads are asynchronous, and a wait covers only the rest of a read.
func (r *runner) putLatency(rep *runfile.Repetition) {
	if r.plan.Workload.SLOB.Access != bench.SLOBRandomRead || rep.Oracle == nil || rep.Read == nil {
		return
	}
	for _, e := range rep.Oracle.Events {
		if e.Name == "db file sequential read" {
			rep.Read.Buckets, rep.Read.TotalMicroseconds = e.Buckets, e.Microseconds
		}
	}
}
