package targettest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/loadgen/target"
)

// NewStream implements target.Target.
func (t *Memory) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if opt.Slots < 1 || opt.BlockBytes < 1 {
		return nil, fmt.Errorf("a stream of %d slots of %d bytes: both must be positive", opt.Slots, opt.BlockBytes)
	}
	s := &stream{slots: make([]slot, opt.Slots), threads: make([]thread, min(cmp.Or(t.ThreadCount, opt.Slots), opt.Slots))}
	for i := range s.slots {
		l := &s.threads[i%len(s.threads)]
		s.slots[i].io.Slot, s.slots[i].io.Thread = i, i%len(s.threads)
		s.slots[i].most = opt.BlockBytes
		l.own = append(l.own, &s.slots[i])
	}
	for i := range s.threads {
		s.threads[i].order = make([]*slot, 0, len(s.threads[i].own))
	}
	return s, nil
}

type stream struct {
	slots   []slot
	threads []thread
}

// slot is one I/O that is under way, or waits to be asked for.
type slot struct {
	io    target.IO
	most  int64
	at    time.Time // when it is done, or to be asked for
	never bool      // it is done only when the context is
}

// thread serves its own slots, one after the other in the order of their times.
type thread struct {
	own   []*slot
	order []*slot // those that are under way, the earliest first
}

// push puts a slot behind those that are done no later.
func (l *thread) push(o *slot) {
	at, _ := slices.BinarySearchFunc(l.order, o, func(before, o *slot) int {
		if before.never && !o.never || before.never == o.never && before.at.After(o.at) {
			return 1
		}
		return -1
	})
	l.order = slices.Insert(l.order, at, o)
}

func (s *stream) Threads() int { return len(s.threads) }

func (s *stream) Run(ctx context.Context, d target.Driver) {
	var running sync.WaitGroup
	for i := range s.threads {
		running.Go(func() { s.serve(ctx, &s.threads[i], d) })
	}
	running.Wait()
}

// serve is one thread.
func (s *stream) serve(ctx context.Context, l *thread, d target.Driver) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for _, o := range l.own {
		s.ask(ctx, l, d, o)
	}
	for len(l.order) > 0 && s.await(ctx, timer, l.order[0]) {
		o := l.order[0]
		l.order = slices.Delete(l.order, 0, 1)
		if o.io.Wait == 0 {
			if o.io.Err == nil {
				o.io.Err = perform(&o.io)
			}
			d.Done(&o.io)
		}
		s.ask(ctx, l, d, o)
	}
	for _, o := range l.order {
		if o.io.Wait > 0 {
			continue
		}
		if o.io.Err == nil {
			o.io.Err = context.Cause(ctx)
		}
		d.Done(&o.io)
	}
	l.order = l.order[:0]
}

// ask starts the next I/O of a slot, if there is one.
func (s *stream) ask(ctx context.Context, l *thread, d target.Driver, o *slot) {
	if ctx.Err() != nil || !d.Next(&o.io) {
		return
	}
	defer l.push(o)
	o.at, o.never, o.io.Err = time.Now(), false, nil
	if o.io.Wait > 0 {
		o.at = o.at.Add(o.io.Wait)
		return
	}
	f, ok := o.io.File.(*file)
	switch {
	case !ok:
		o.io.Err = fmt.Errorf("a file of type %T is none of this target", o.io.File)
	case int64(len(o.io.Buf)) > o.most:
		o.io.Err = fmt.Errorf("an I/O of %d bytes over a stream for %d", len(o.io.Buf), o.most)
	default:
		op := "read"
		if o.io.Write {
			op = "write"
		}
		if f.t.BeforeIO != nil {
			o.io.Err = f.t.BeforeIO(op, f.name, o.io.Offset)
		}
		if o.io.Err == nil {
			o.never = f.t.Hang != nil && f.t.Hang(op, f.name, o.io.Offset)
			o.at = o.at.Add(f.t.Delay)
		}
	}
}

// await returns true when the time of o has come, and false when ctx is done.
func (s *stream) await(ctx context.Context, timer *time.Timer, o *slot) bool {
	if ctx.Err() != nil {
		return false
	}
	due := timer.C
	if o.never {
		due = nil
	} else {
		d := time.Until(o.at)
		if d <= 0 {
			return true
		}
		timer.Reset(d)
	}
	select {
	case <-due:
		return true
	case <-ctx.Done():
		return false
	}
}

func perform(o *target.IO) error {
	f := o.File.(*file)
	if o.Write {
		f.write(o.Buf, o.Offset)
		return nil
	}
	if n := f.read(o.Buf, o.Offset); n < len(o.Buf) {
		return io.EOF
	}
	return nil
}

func (s *stream) Close() error { return nil }
