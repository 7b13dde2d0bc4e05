package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// beside makes an injection that runs beside the load from the start of a span. The function
// returns at the latest when its context ends, and undoes its changes.
func beside(s shape, span string, do func(ctx context.Context, l *Lane, p *Process, v float64) error) func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, l *Lane, strength Strength) (runfile.Result, error) {
		o := Load{}
		if !strength.None() {
			o.During = func(ctx context.Context, p *Process) error {
				if err := p.Await(ctx, span); err != nil {
					return err
				}
				return do(ctx, l, p, strength.Value)
			}
		}
		return l.load(ctx, s, o)
	})
}

// into waits for a share of the measured window.
func (r *Rig) into(ctx context.Context, share float64) error {
	if pause(ctx, seconds(share*float64(r.Seconds))) != nil {
		return errors.New("the load ended before the injection")
	}
	return nil
}

func seconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }

// stall stops the load in the middle of its window.
func stall(ctx context.Context, l *Lane, p *Process, v float64) error {
	if err := l.rig.into(ctx, 0.4); err != nil {
		return err
	}
	if err := p.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	_ = pause(ctx, seconds(v)) // a stopped load does not end
	return p.Signal(syscall.SIGCONT)
}

func clientInjections() []Injection {
	stalls := []Strength{{"0.2 s", 0.2}, {"1 s", 1}, {"2 s", 2}, {"5 s", 5}}
	return []Injection{
		{
			Name: "the load stands still (SIGSTOP), closed loop", Kind: "client", Place: placeGanesha, Strengths: stalls,
			Expect: []judge.Code{judge.NotSteady, judge.Stalls}, Gross: "5 s", Run: beside(randomRead(), runfile.SpanMeasure, stall),
		},
		{
			Name: "the load stands still (SIGSTOP), open loop", Kind: "client", Place: placeEmbedded, Strengths: stalls,
			Expect: []judge.Code{judge.NotSteady, judge.LateOperations, judge.Stalls}, Run: beside(openRead(), runfile.SpanMeasure, stall),
		},
		{
			Name: "the load has a CPU quota", Kind: "client", Place: placeGanesha,
			Strengths: []Strength{{"0.2 cores", 0.2}, {"0.05 cores", 0.05}, {"0.02 cores", 0.02}, {"0.01 cores", 0.01}},
			Expect:    []judge.Code{judge.ClientCPUBound}, Gross: "0.02 cores",
			Run: beside(randomRead(), runfile.SpanBaseline, func(ctx context.Context, l *Lane, _ *Process, v float64) error {
				if err := l.limit.Limit(v); err != nil {
					return err
				}
				<-ctx.Done()
				return l.limit.Limit(0)
			}),
		},
		{
			Name: "other processes use the CPUs of the client and the server, from the warm-up on", Kind: "client", Place: placeGanesha, Alone: true,
			Strengths: []Strength{{"half of one CPU", 0.5}, {"1 CPU", 1}, {"2 CPUs", 2}, {"4 processes", 4}, {"8 processes", 8}},
			Expect:    []judge.Code{judge.ClientCPUBound},
			Run:       in(busy),
		},
		{
			Name: "the clock of the client jumps", Kind: "client", Place: placeGanesha,
			Strengths: []Strength{{"1 s ahead", 1}, {"5 s ahead", 5}, {"5 s back", -5}, {"60 s ahead", 60}},
			Run: in(func(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
				o := Load{Program: l.rig.Jump}
				if !s.None() {
					// After the start: baseline, warm-up, half of the window.
					after := 3.5 + float64(l.rig.Seconds)/2
					o.Env = []string{fmt.Sprintf("NFSBENCH_CLOCK_JUMP=%+.0fs@%.0fs", s.Value, after)}
				}
				return l.run(ctx, l.plan(randomRead()), o)
			}),
		},
		{
			Name: "the window is too short for a server with burst credits", Kind: "client", Place: placeEmbedded, Short: true,
			Strengths: []Strength{{"25 s", 25}, {"10 s", 10}, {"5 s", 5}, {"2 s", 2}},
			Expect:    []judge.Code{judge.TooShort},
			Run: in(func(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
				p := l.plan(thoughtful())
				p.Schedule.DurationSeconds = 31
				if s.None() {
					p.Schedule.WarmupSeconds = 8 // longer than the credits
				} else {
					p.Schedule.DurationSeconds = int32(s.Value)
				}
				var warmup onset
				return l.relayed(ctx, p, &relay{answer: burst(&warmup)}, Load{During: func(ctx context.Context, p *Process) error {
					return warmup.await(ctx, p, runfile.SpanWarmup)
				}})
			}),
		},
	}
}

// burst is a server with credits for six seconds, including one second of warm-up. Filling the
// files uses no credits.
func burst(warmup *onset) func(rpcCall) time.Duration {
	return func(c rpcCall) time.Duration {
		if !c.data() {
			return 0
		}
		if passed, began := warmup.since(c.at); began && passed >= 6*time.Second {
			return serviceTime
		}
		return serviceTime / 2
	}
}

// busy makes a run over a path so fast that the CPUs are the limit.
func busy(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
	const faster = 100
	if err := l.setRate(ctx, 0, faster); err != nil {
		return runfile.Result{}, err
	}
	p := l.plan(randomRead())
	p.Link.BitsPerSecond.Mul(faster)
	o := Load{RealMachine: true}
	if !s.None() {
		o.During = func(ctx context.Context, p *Process) error {
			if err := p.Await(ctx, runfile.SpanWarmup); err != nil {
				return err
			}
			hogs(ctx, s.Value)
			return nil
		}
	}
	r, err := l.run(ctx, p, o)
	return r, errors.Join(err, l.setRate(context.WithoutCancel(ctx), 0, 1))
}

// hogs keep CPUs busy: a share of one, or several.
func hogs(ctx context.Context, v float64) {
	var wait sync.WaitGroup
	for range int(max(1, v)) {
		wait.Go(func() { _ = burn(ctx, min(1, v)) })
	}
	wait.Wait()
}
