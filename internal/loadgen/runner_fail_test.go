package loadgen

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/targettest"
)

func TestAFailedIOEndsTheRunWithWhatWasMeasured(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		boom := errors.New("NFS3ERR_IO")
		start := time.Now()
		tgt := &targettest.Memory{Delay: 10 * time.Millisecond, BeforeIO: func(op, _ string, off int64) error {
			if op == "read" && off == 4096*7 && time.Since(start) > 10*time.Second {
				return boom
			}
			return nil
		}}
		load, sink := t.run(t.Context(), t.T, testPlan(bench.PatternRead), tgt)
		if load.Failure == nil || load.Failure.Code != runfile.FailureIO {
			t.Fatalf("failure %+v", load.Failure)
		}
		for _, part := range []string{"read", "c0-j", "offset 28672", "NFS3ERR_IO"} {
			if !strings.Contains(load.Failure.Message, part) {
				t.Errorf("the message lacks %q: %s", part, load.Failure.Message)
			}
		}
		if !sink.last.Partial || len(sink.last.Repetitions) != 1 {
			t.Fatalf("the last word is %+v", sink.last)
		}
		rep := sink.last.Repetitions[0]
		if rep.Read == nil || rep.Read.Count == 0 || rep.Read.Errors == 0 {
			t.Errorf("the window until the failure has %+v", rep.Read)
		}
		if took := rep.End.Sub(rep.Start); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("the window ended after %v, the failure came after 5 s", took)
		}
		if _, err := tgt.Directory(t.Context(), "nfsbench", false); !target.IsNotExist(err) {
			t.Errorf("the files were left behind (%v)", err)
		}
	})
}

// A storage that stands still, and then fails what it owes: the run that breaks off must not look faster than
// one that waits.
func TestAStandstillCountsInTheLatencyOfARunThatBreaksOff(t *testing.T) {
	t.Parallel()
	for name, stands := range map[string]struct {
		rate int64
		p99  time.Duration
	}{"closed loop": {0, 10 * time.Millisecond}, "open loop": {200, 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				start := time.Now()
				tgt := &targettest.Memory{Delay: 10 * time.Millisecond, BeforeIO: func(string, string, int64) error {
					at := time.Since(start)
					if at <= 8*time.Second {
						return nil
					}
					time.Sleep(11*time.Second - at)
					return errors.New("NFS3ERR_IO")
				}}
				plan := testPlan(bench.PatternRandomRead)
				if stands.rate > 0 {
					plan.Workload.Raw.OperationsPerSecond = new(stands.rate)
				}
				load, _ := t.run(t.Context(), t.T, plan, tgt)
				if load.Failure == nil || len(load.Repetitions) != 1 {
					t.Fatalf("%+v", load)
				}
				ops := load.Repetitions[0].Read
				h, err := stats.DecodeHistogram(ops.Histogram)
				if err != nil || ops.Errors == 0 {
					t.Fatalf("%+v: %v", ops, err)
				}
				if l := h.Latency(); l.MaxMicroseconds < 2_900_000 || l.P99Microseconds < stands.p99.Microseconds() {
					t.Errorf("after 3 s without an answer p99 is %d us and the longest %d", l.P99Microseconds, l.MaxMicroseconds)
				}
			})
		})
	}
}

// The window ends before the answers come.
func TestAStandstillAtTheEndOfTheWindowCounts(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		start := time.Now()
		tgt := &targettest.Memory{Delay: 10 * time.Millisecond, BeforeIO: func(string, string, int64) error {
			if at := time.Since(start); at > 8*time.Second && at < 20*time.Second {
				time.Sleep(20*time.Second - at)
			}
			return nil
		}}
		plan := testPlan(bench.PatternRead)
		plan.Schedule.Repetitions = 1
		load, _ := t.run(t.Context(), t.T, plan, tgt)
		if load.Failure != nil {
			t.Fatalf("%+v", load.Failure)
		}
		ops := load.Repetitions[0].Read
		h, err := stats.DecodeHistogram(ops.Histogram)
		if err != nil || h.Count() != ops.Count+6 || h.Percentile(100) < 5_000_000 {
			t.Errorf("%d of %d latencies, the longest %d us (%v); want those of 6 workers that wait for 7 s",
				h.Count(), ops.Count, h.Percentile(100), err)
		}
	})
}

func TestACancelledRunDrainsAndKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]time.Duration{"in the fill": 50 * time.Millisecond, "in the baseline": time.Second, "in the window": 8 * time.Second} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(after, func() { cancel(errors.New("terminated")) })
				plan := testPlan(bench.PatternOverwrite)
				load, sink := t.run(ctx, t.T, plan, &targettest.Memory{Delay: 40 * time.Millisecond})
				if load.Failure == nil || load.Failure.Code != runfile.FailureCancelled || !strings.Contains(load.Failure.Message, "terminated") {
					t.Fatalf("failure %+v", load.Failure)
				}
				if !sink.last.Partial || sink.events[len(sink.events)-1].Span != runfile.SpanDone {
					t.Error("the end was not told")
				}
				if got := len(load.Repetitions); (got == 1) != (name == "in the window") {
					t.Errorf("%d repetitions", got)
				}
				for _, rep := range load.Repetitions {
					if rep.Write == nil || rep.Write.Errors != 0 || rep.Write.Count == 0 {
						t.Errorf("drained window has %+v", rep.Write)
					}
				}
			})
		})
	}
}

func TestARunThatTakesTooLongEndsWithTimeout(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRead)
		plan.Schedule = runfile.Schedule{DurationSeconds: 6, Repetitions: 1, TimeoutSeconds: 10}
		plan.Workload.Raw.FileSize.Mul(16)
		start := time.Now()
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 3 * time.Second})
		if load.Failure == nil || load.Failure.Code != runfile.FailureTimeout || !strings.Contains(load.Failure.Message, "timeoutSeconds") {
			t.Errorf("failure %+v", load.Failure)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

func TestAStorageThatStopsAnsweringDoesNotHangTheRun(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		start := time.Now()
		hang := make(chan struct{})
		tgt := &targettest.Memory{Delay: 20 * time.Millisecond, BeforeIO: func(op, _ string, _ int64) error {
			if op == "read" && time.Since(start) > 10*time.Second {
				<-hang
			}
			return nil
		}}
		load, _ := t.run(t.Context(), t.T, testPlan(bench.PatternRead), tgt)
		close(hang)
		if load.Failure == nil || load.Failure.Code != runfile.FailureTimeout || !strings.Contains(load.Failure.Message, "not answered") {
			t.Errorf("failure %+v", load.Failure)
		}
		if len(load.Repetitions) != 1 || load.Repetitions[0].Read.Count == 0 {
			t.Errorf("repetitions %+v", load.Repetitions)
		}
	})
}

func TestIOsThatAreNeverAnsweredAreNotForgottenAtTheEnd(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		start := time.Now()
		tgt := &targettest.Memory{Delay: 20 * time.Millisecond, Hang: func(op, _ string, off int64) bool {
			return op == "read" && off == 0 && time.Since(start) > 10*time.Second
		}}
		load, _ := t.run(t.Context(), t.T, testPlan(bench.PatternRead), tgt)
		if load.Failure == nil || load.Failure.Code != runfile.FailureTimeout || !strings.Contains(load.Failure.Message, "not answered") {
			t.Errorf("failure %+v", load.Failure)
		}
		if _, err := tgt.Directory(t.Context(), "nfsbench", false); !target.IsNotExist(err) {
			t.Errorf("nothing was stuck, but the files were left behind (%v)", err)
		}
	})
}

func TestACallThatNeverReturnsDoesNotHangACancelledRun(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Second, cancel)
		never := make(chan struct{})
		start := time.Now()
		load, _ := t.run(ctx, t.T, testPlan(bench.PatternRead), &targettest.Memory{}, func(o *Options) {
			o.Open = func(context.Context) (target.Target, error) {
				<-never // a dead hard mount
				return &targettest.Memory{}, nil
			}
		})
		close(never)
		if load.Failure == nil || load.Failure.Code != runfile.FailureCancelled {
			t.Errorf("failure %+v", load.Failure)
		}
		if took := time.Since(start); took > 30*time.Second {
			t.Errorf("it took %v to give up", took)
		}
	})
}

func TestAClientThatIsNeverReleasedSaysSo(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := testPlan(bench.PatternRead)
		plan.Clients = 2
		load, _ := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: time.Millisecond}, func(o *Options) {
			o.Release = func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) }
		})
		if load.Failure == nil || load.Failure.Code != runfile.FailureTimeout || !strings.Contains(load.Failure.Message, "not all clients") {
			t.Errorf("failure %+v", load.Failure)
		}
	})
}
