package loadgen

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/fileset"
	"github.com/nfsbench/nfsbench/internal/loadgen/recorder"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// watched writes down what is done with the streams of a target.
type watched struct {
	*targettest.Memory
	mu    sync.Mutex
	heard []string
	fail  error
}

func (w *watched) note(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, fmt.Sprintf(format, args...))
}

func (w *watched) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	w.note("open %d x %d", opt.Slots, opt.BlockBytes)
	if w.fail != nil && len(w.heard) > 4 { // behind the stream that fills
		return nil, w.fail
	}
	s, err := w.Memory.NewStream(ctx, opt)
	return &watchedStream{s, w}, err
}

type watchedStream struct {
	target.Stream
	of *watched
}

func (s *watchedStream) Run(ctx context.Context, d target.Driver) {
	s.of.note("run")
	s.Stream.Run(ctx, d)
}

func (s *watchedStream) Close() error {
	s.of.note("close")
	return s.Stream.Close()
}

func runWatched(t *testing.T, fail error) (*runfile.Load, string) {
	t.Helper()
	w := &watched{fail: fail, Memory: &targettest.Memory{ThreadCount: 1, Delay: 10 * time.Millisecond}}
	load, _ := runMem(t.Context(), t, testPlan(bench.PatternRead), w.Memory, func(o *Options) {
		o.Open = func(context.Context) (target.Target, error) { return w, nil }
	})
	return load, strings.Join(w.heard, ";")
}

func TestEachJobHasOneStreamForAllRepetitions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load, heard := runWatched(t, nil)
		if want := "open 16 x 262144;run;close;open 3 x 4096;open 3 x 4096;run;run;run;run;open 8 x 262144;run;close;close;close"; load.Failure != nil || heard != want {
			t.Errorf("the target saw %s, want %s (failure %+v)", heard, want, load.Failure)
		}
	})
}

func TestAStreamThatCannotBeOpenedEndsTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load, heard := runWatched(t, target.Fail(runfile.FailureUnreachable, "no more connections", nil))
		if load.Failure == nil || load.Failure.Code != runfile.FailureUnreachable || !strings.Contains(load.Failure.Message, "no more connections") {
			t.Errorf("failure %+v", load.Failure)
		}
		if !strings.HasSuffix(heard, "close") || strings.Count(heard, "run") != 1 {
			t.Errorf("the target saw %s", heard)
		}
	})
}

func TestAPacedRunThatIsStoppedDoesNotWaitForWhatIsDue(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRandomRead) // 6 workers
		plan.Workload.Raw.OperationsPerSecond = new(int64(1))
		plan.Schedule = runfile.Schedule{DurationSeconds: 60, Repetitions: 1}
		ctx, cancel := context.WithCancelCause(t.Context())
		start, fill := time.Now(), time.Duration(0)
		var stopped time.Time
		tgt := &targettest.Memory{Delay: time.Millisecond}
		tgt.BeforeIO = func(op, _ string, _ int64) error {
			if op == "read" && fill == 0 {
				fill = time.Since(start)
				time.AfterFunc(10*time.Second+time.Millisecond, func() { stopped = time.Now(); cancel(errors.New("enough")) })
			}
			return nil
		}
		load, _ := t.run(ctx, t.T, plan, tgt)
		if took := time.Since(stopped); load.Failure == nil || load.Failure.Code != runfile.FailureCancelled || took > time.Second {
			t.Errorf("it took %v to stop; failure %+v", took, load.Failure)
		}
		if rep := load.Repetitions[0]; rep.DroppedOps != 0 || rep.LateOps != 0 || rep.Read.Count < 10 || rep.Read.Count > 11 {
			t.Errorf("in ten seconds of one I/O each: %d, %d late, %d dropped", rep.Read.Count, rep.LateOps, rep.DroppedOps)
		}
	})
}

func TestAPacedStreamStartsEachIOWhenItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := testPlan(bench.PatternRandomRead)
		plan.Workload.Raw.OperationsPerSecond = new(int64(7)) // none is due when all look up
		plan.Schedule = runfile.Schedule{DurationSeconds: 30, Repetitions: 1}
		load, _ := runStreams(t.Context(), t, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		rep := load.Repetitions[0]
		h, err := stats.DecodeHistogram(rep.Read.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Read.Count != 210 || rep.LateOps != 0 || h.Percentile(100) > 10_010 {
			t.Errorf("%d reads, %d late, the slowest %d us; want 210 of 10 ms", rep.Read.Count, rep.LateOps, h.Percentile(100))
		}
	})
}

// ticks is a clock that goes on by one second with each look.
func ticks(e *engine) (looks func() int) {
	n := 0
	base := e.load.base
	e.now = func() time.Time {
		n++
		return base.Add(time.Duration(n) * time.Second)
	}
	return func() int { return n }
}

func TestTheClockIsReadOnceForAReadAndTwiceForAWrite(t *testing.T) {
	for pattern, want := range map[bench.RawPattern]int{bench.PatternRandomRead: 1, bench.PatternOverwrite: 2, bench.PatternCopy: 3} {
		e := hotEngine(t, pattern, 0)
		d := e.drivers[0].ready()
		looks := ticks(e)
		operation := func(slot, steps int) {
			for range steps {
				io := target.IO{Slot: slot}
				d.Next(&io)
				d.Done(&io)
			}
		}
		steps := 1
		if pattern == bench.PatternCopy {
			steps = 2
		}
		operation(0, steps)
		before := looks()
		operation(0, 10*steps)
		if got := looks() - before; got != 10*want {
			t.Errorf("%s: %d looks for 10 operations, want %d", pattern, got, 10*want)
		}
		// Another slot's end is no start of this one.
		operation(1, steps)
		before = looks()
		operation(0, steps)
		if got := looks() - before; got != want+1 {
			t.Errorf("%s: %d looks after another slot, want %d", pattern, got, want+1)
		}
	}
}

func TestMakingTheDataIsNoLatency(t *testing.T) {
	for _, pattern := range []bench.RawPattern{bench.PatternOverwrite, bench.PatternRandomWrite, bench.PatternCopy} {
		e := hotEngine(t, pattern, 0)
		d := e.drivers[0].ready()
		ticks(e)
		now, atLook := e.now, ""
		e.now = func() time.Time {
			atLook = string(e.workers[0].buf)
			return now()
		}
		for range 10 {
			var io target.IO
			d.Next(&io)
			if io.Write && atLook != string(io.Buf) {
				t.Errorf("%s: the write began before its data were made", pattern)
			}
			d.Done(&io)
		}
		var s recorder.Snapshot
		e.rec.Read(&s, recorder.Write, recorder.Measure)
		ops, err := s.Ops()
		if err != nil {
			t.Fatal(err)
		}
		h, err := stats.DecodeHistogram(ops.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		// The look after the data were made starts it, the next one ends it.
		if got := h.Percentile(100) / 1_000_000; got != 1 {
			t.Errorf("%s: a write took %d looks at the clock, want 1", pattern, got)
		}
	}
}

func TestWhatCouldNotBeReadIsNotCopied(t *testing.T) {
	e := hotEngine(t, bench.PatternCopy, 0)
	d := e.drivers[0].ready()
	var io target.IO
	d.Next(&io)
	io.Err = errors.New("boom")
	d.Done(&io)
	if d.Next(&io) {
		t.Errorf("after a read that failed came write %v", io.Write)
	}
	if err := <-e.load.failed; !strings.Contains(err.Error(), `read "c0-j0.dat" at offset 0: boom`) {
		t.Errorf("the level failed because of %v", err)
	}
}

func TestEveryThreadRecordsInAPlaceOfItsOwn(t *testing.T) {
	e := hotEngine(t, bench.PatternRead, 0)
	seen := map[*recorder.Shard]bool{}
	for _, d := range e.drivers {
		for i := range d.threads {
			seen[d.threads[i].shard] = true
		}
	}
	if len(seen) != 4 {
		t.Errorf("two streams of two threads record in %d places", len(seen))
	}
}

func TestAThreadForgetsTheTimeOverAPause(t *testing.T) {
	e := hotEngine(t, bench.PatternRead, 0)
	d := e.drivers[0].ready()
	looks := ticks(e)
	var io target.IO
	d.Next(&io)
	d.Done(&io)
	before := looks()
	d.ready().Next(&io)
	if looks() == before {
		t.Error("an I/O of a new level starts when the last one of the old level ended")
	}
}

func TestOneSetOfStreamsServesAllSteps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for name, tc := range map[string]struct {
			plan runfile.Plan
			want string
		}{
			// Only the streams that have users run: one, then four of which two have one.
			"few users": {slobPlan(bench.SLOBRandomRead, 1, 3), "open 3 x 4096;run;run;run;run;open 8 x 1048576;run;close;close"},
			"many users": {
				slobPlan(bench.SLOBRandomRead, 1, 2, 200),
				"open 50 x 4096;open 50 x 4096;open 50 x 4096;open 50 x 4096;run;run;run;run;run;run;run;run;run;run;run;run;run;run;open 8 x 1048576;run;close;close;close;close;close",
			},
			"scans": {slobPlan(bench.SLOBFullTableScan, 33), "open 33 x 32768;open 33 x 32768;run;run;run;run;open 8 x 1048576;run;close;close;close"},
		} {
			tc.plan.Schedule = runfile.Schedule{BaselineSeconds: 1, WarmupSeconds: 1, DurationSeconds: 1, Repetitions: 2}
			w := &watched{Memory: &targettest.Memory{ThreadCount: 1, Delay: 100 * time.Millisecond}}
			load, _ := runMem(t.Context(), t, tc.plan, w.Memory, func(o *Options) {
				o.Open = func(context.Context) (target.Target, error) { return w, nil }
			})
			if heard := strings.TrimPrefix(strings.Join(w.heard, ";"), "open 16 x 1048576;run;close;"); load.Failure != nil || heard != tc.want {
				t.Errorf("%s: the target saw %s, want %s (failure %+v)", name, heard, tc.want, load.Failure)
			}
		}
	})
}

func TestTheFirstUsersAreSpreadOverAllChannelsAndThenOverAllStreams(t *testing.T) {
	for _, tc := range []struct {
		channels int
		users    int32
		want     string // which slots of each stream are busy
	}{
		{0, 6, "[0 1] [0 1] [0] [0]"},
		{1, 1, "[0] [] [] []"},
		{4, 3, "[0 1 2] [] [] []"},
		{4, 6, "[0 1 2 3] [0 1] [] []"},
		{4, 18, "[0 1 2 3 4 5] [0 1 2 3] [0 1 2 3] [0 1 2 3]"},
		{3, 10, "[0 1 2] [0 1 2] [0 1 2] [0]"},
	} {
		step := runfile.Step{Kind: runfile.StepUsers, Users: tc.users}
		e := hotUsersOver(t, &targettest.Memory{ThreadCount: 1}, tc.channels, slobPlan(bench.SLOBRandomRead, 200), step)
		var busy []string
		for _, d := range e.drivers {
			slots := []int{}
			for i := range d.workers {
				if !d.workers[i].idle {
					slots = append(slots, i)
				}
			}
			busy = append(busy, fmt.Sprint(slots))
		}
		if got := strings.Join(busy, " "); got != tc.want {
			t.Errorf("%d users over %d channels are on %s, want %s", tc.users, tc.channels, got, tc.want)
		}
	}
}

func TestEveryUserOfTheLargestStepHasAWorker(t *testing.T) {
	for channels := range 6 {
		for users := int32(1); users < 300; users += 7 {
			step := runfile.Step{Kind: runfile.StepUsers, Users: users}
			plan := slobPlan(bench.SLOBRandomRead, users)
			e, err := newUserEngine(&plan, 0, make([]fileset.Job, 2), channels, time.Now)
			if err != nil {
				t.Fatal(err)
			}
			e.take(&step)
			got := 0
			for i := range e.workers {
				if !e.workers[i].idle {
					got++
				}
			}
			if got != int(users) {
				t.Errorf("%d users over %d channels have %d workers", users, channels, got)
			}
			if err := e.release(); err != nil {
				t.Error(err)
			}
		}
	}
}
