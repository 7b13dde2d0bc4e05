package run

import (
	"context"
	"database/sql"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// totals are cumulative counters of all instances.
type totals struct{ readOps, readBytes, writeOps, writeBytes int64 }

func (t totals) since(b totals) totals {
	return totals{t.readOps - b.readOps, t.readBytes - b.readBytes, t.writeOps - b.writeOps, t.writeBytes - b.writeBytes}
}

// observer looks at the database every second in a goroutine of its own. What it
// saw waits until the run takes it.
type observer struct {
	r      *runner
	span   string
	index  int32
	looks  bool // at Direct NFS as well
	stop   context.CancelFunc
	done   chan struct{}
	before totals

	mu      sync.Mutex
	seen    []runfile.LoadSample
	trouble error // the first that it could not look
}

// observe begins to look. Call end when the span ends.
func (r *runner) observe(ctx context.Context, span string, index int32) *observer {
	ctx, cancel := context.WithCancel(ctx)
	o := &observer{r: r, span: span, index: index, looks: span == runfile.SpanMeasure, stop: cancel, done: make(chan struct{})}
	go o.run(ctx)
	return o
}

func (o *observer) run(ctx context.Context) {
	defer close(o.done)
	began := o.read(ctx, &o.before)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case at := <-ticker.C:
			var now totals
			switch ok := o.read(ctx, &now); {
			case ok && began:
				o.add(at, now.since(o.before))
				o.before = now
			case ok:
				began, o.before = true, now
			}
			if o.looks {
				o.note(ctx, o.r.watch.Look(ctx))
			}
		}
	}
}

// read reads the few counters of every second.
func (o *observer) read(ctx context.Context, into *totals) (ok bool) {
	*into = totals{}
	counters := map[string]*int64{
		"physical read total IO requests":  &into.readOps,
		"physical read total bytes":        &into.readBytes,
		"physical write total IO requests": &into.writeOps,
		"physical write total bytes":       &into.writeBytes,
	}
	err := oracle.Rows(ctx, o.r.adminDB, sqltext.Text("slob_sample"), nil, func(rows *sql.Rows) error {
		var name string
		var value int64
		err := rows.Scan(&name, &value)
		if p := counters[name]; p != nil {
			*p = value
		}
		return err
	})
	o.note(ctx, err)
	return err == nil
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

func (o *observer) add(at time.Time, t totals) {
	s := runfile.LoadSample{Time: at, Span: o.span, Repetition: o.index}
	s.Read = &runfile.SampleOps{Count: t.readOps, Bytes: t.readBytes}
	if t.writeOps > 0 {
		s.Write = &runfile.SampleOps{Count: t.writeOps, Bytes: t.writeBytes}
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.seen = append(o.seen, s)
}

// collect moves what was seen into the load. It is for the goroutine of the run.
func (o *observer) collect() {
	o.mu.Lock()
	seen := o.seen
	o.seen = nil
	o.mu.Unlock()
	for _, s := range seen {
		rate := course.Rate{Bytes: s.Read.Bytes, Ops: s.Read.Count}
		if s.Write != nil {
			rate.Bytes += s.Write.Bytes
			rate.Ops += s.Write.Count
		}
		o.r.course.Rate(rate)
	}
	o.r.load.Samples = append(o.r.load.Samples, seen...)
}

// end stops looking, and says whether something could not be seen: the run goes
// on without, and what is missing is missed by the judgement.
func (o *observer) end() {
	o.stop()
	<-o.done
	o.collect()
	if o.trouble != nil {
		o.r.opt.Log.Warn("Not everything could be sampled", "span", o.span, "repetition", o.index, "error", o.trouble)
		o.r.course.Tell("the database could not be sampled every second: " + course.OneLine(o.trouble))
	}
}
