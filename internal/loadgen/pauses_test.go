package loadgen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// standsStill returns a target that answers no read from one time after the first read to another.
func standsStill(from, to time.Duration, end error) *targettest.Memory {
	var once sync.Once
	var first time.Time
	return &targettest.Memory{Delay: 20 * time.Millisecond, BeforeIO: func(op, _ string, _ int64) error {
		if op != "read" {
			return nil
		}
		once.Do(func() { first = time.Now() })
		if at := time.Since(first); at >= from && at < to {
			time.Sleep(to - at)
			return end
		}
		return nil
	}}
}

// pausePlan has a warm-up of 3 s and a window of 20 s.
func pausePlan(perSecond int64) runfile.Plan {
	plan := testPlan(bench.PatternRandomRead)
	plan.Schedule = runfile.Schedule{WarmupSeconds: 3, DurationSeconds: 20, Repetitions: 1}
	if perSecond > 0 {
		plan.Workload.Raw.OperationsPerSecond = new(perSecond)
	}
	return plan
}

func TestAPauseHasABeginAndALength(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		perSecond  int64
		from, to   time.Duration // of the target, from the begin of the load
		end        error
		wantFrom   int64
		wantLength int64
	}{
		"in the window of a closed loop":    {from: 8 * s, to: 15 * s, wantFrom: 5000, wantLength: 7000},
		"in the window of an open loop":     {perSecond: 50, from: 8 * s, to: 15 * s, wantFrom: 5000, wantLength: 7000},
		"from before the window":            {from: 2 * s, to: 5 * s, wantFrom: 0, wantLength: 2000},
		"to after the window":               {from: 21 * s, to: 30 * s, wantFrom: 18_000, wantLength: 2000},
		"to after the end of an open loop":  {perSecond: 50, from: 21 * s, to: 30 * s, wantFrom: 18_000, wantLength: 2000},
		"that ends with an error":           {from: 8 * s, to: 15 * s, end: errors.New("no answer"), wantFrom: 5000, wantLength: 7000},
		"that ends an open loop with error": {perSecond: 50, from: 8 * s, to: 15 * s, end: errors.New("no answer"), wantFrom: 5000, wantLength: 7000},
		"of a slow open loop":               {perSecond: 1, from: 8200 * time.Millisecond, to: 15 * s, wantFrom: 6000, wantLength: 6000},
		"none":                              {from: 8 * s, to: 8 * s},
		"none of a slow open loop":          {perSecond: 1, from: 8 * s, to: 8 * s},
	} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				load, _ := t.run(t.Context(), t.T, pausePlan(c.perSecond), standsStill(c.from, c.to, c.end))
				if (load.Failure != nil) != (c.end != nil) || len(load.Repetitions) != 1 {
					t.Fatalf("failure %+v, %d repetitions", load.Failure, len(load.Repetitions))
				}
				got := load.Repetitions[0].Pauses
				if got == nil || len(got.Paths) != 0 {
					t.Fatalf("%+v", got)
				}
				if c.wantLength == 0 {
					if len(got.Client) != 0 {
						t.Errorf("%+v", got)
					}
					return
				}
				near := func(a, b int64) bool { return a-b <= 60 && b-a <= 60 }
				if len(got.Client) != 1 || !near(got.Client[0].StartMilliseconds, c.wantFrom) ||
					!near(got.Client[0].Milliseconds, c.wantLength) {
					t.Errorf("%+v", got)
				}
			})
		})
	}
}

// A loader may be killed at any time: what it has saved last says how long the pause has lasted.
func TestAPauseThatLastsIsInWhatIsSaved(t *testing.T) {
	t.Parallel()
	for name, perSecond := range map[string]int64{"closed loop": 0, "open loop": 50, "slow open loop": 1} {
		t.Run(name, func(t *testing.T) {
			eachWay(t, func(t bubble) {
				var saved []runfile.Pauses
				k := &memory{onSave: func(l *runfile.Load) {
					if n := len(l.Repetitions); n == 1 && l.Repetitions[0].Pauses != nil {
						saved = append(saved, *l.Repetitions[0].Pauses)
					}
				}}
				still := standsStill(8*s, 30*s, nil)
				t.run(t.Context(), t.T, pausePlan(perSecond), still, func(o *Options) {
					o.Sink = k
					o.Open = func(context.Context) (target.Target, error) { return onPaths{Memory: still}, nil }
				})
				var lasted []int64
				for _, p := range saved {
					for _, c := range p.Client {
						lasted = append(lasted, c.Milliseconds)
						if c.StartMilliseconds < 4900 || c.StartMilliseconds > 6100 {
							t.Errorf("%+v, want the pause from 5 s of the window on", c)
						}
					}
				}
				// The window has seven seconds when it is saved for the second time, and is saved every five.
				want := []int64{2000, 7000, 12_000, 15_000}
				for i := range want {
					if len(lasted) > i && max(lasted[i]-want[i], want[i]-lasted[i]) < 100 {
						want[i] = lasted[i]
					}
				}
				if len(lasted) < len(want) || !slices.Equal(lasted[:len(want)], want) {
					t.Errorf("the pause has lasted %v ms in what was saved: %+v", lasted, saved)
				}
			})
		})
	}
}

const s = time.Second

// onPaths is a target whose threads are on two paths in turn. The second one stands still from one time to another.
type onPaths struct {
	*targettest.Memory
	from, to time.Duration
}

func (p onPaths) NewStream(ctx context.Context, opt target.StreamOptions) (target.Stream, error) {
	st, err := p.Memory.NewStream(ctx, opt)
	return &streamOnPaths{Stream: st, onPaths: p}, err
}

type streamOnPaths struct {
	target.Stream
	target.Driver
	onPaths

	start time.Time
}

func (*streamOnPaths) Path(thread int) string { return fmt.Sprintf("path %d", thread%2) }

func (p *streamOnPaths) Threads() int { return p.Stream.Threads() }

func (p *streamOnPaths) Close() error { return p.Stream.Close() }

func (p *streamOnPaths) Run(ctx context.Context, d target.Driver) {
	p.Driver, p.start = d, time.Now()
	p.Stream.Run(ctx, p)
}

func (p *streamOnPaths) Done(io *target.IO) {
	if at := time.Since(p.start); io.Thread%2 == 1 && at >= p.from && at < p.to {
		time.Sleep(p.to - at)
	}
	p.Driver.Done(io)
}

func TestAPathStandsStillWhileTheClientDoesNot(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		memory := &targettest.Memory{Delay: 20 * time.Millisecond}
		load, _ := t.run(t.Context(), t.T, pausePlan(0), memory, func(o *Options) {
			o.Open = func(context.Context) (target.Target, error) { return onPaths{memory, 8 * s, 15 * s}, nil }
		})
		got := load.Repetitions[0].Pauses
		if got == nil || load.Failure != nil || len(got.Client) != 0 || len(got.Paths) != 1 {
			t.Fatalf("%+v, failure %+v", got, load.Failure)
		}
		if p := got.Paths[0]; p.Path != "path 1" || p.StartMilliseconds < 4900 || p.Milliseconds < 6900 || p.Milliseconds > 7060 {
			t.Errorf("%+v", p)
		}
	})
}
