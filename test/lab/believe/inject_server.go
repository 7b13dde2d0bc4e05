package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// serviceTime is the time of a server behind a relay for one call: that of a disk.
const serviceTime = 8 * time.Millisecond

// cacheTime is its time when its cache has the block.
const cacheTime = 300 * time.Microsecond

// diskRelay is a relay behind which each call of data takes serviceTime.
func diskRelay() *relay {
	return &relay{answer: func(c rpcCall) time.Duration {
		if !c.data() {
			return 0
		}
		return serviceTime
	}}
}

// thoughtful is a closed loop with so few outstanding I/Os that it measures the time of the server,
// not the path.
func thoughtful() shape {
	s := randomRead()
	raw := *s.workload.Raw
	raw.Depth = 1
	s.workload.Raw = &raw
	return s
}

// relayed makes a run through a relay in front of the server.
func (l *Lane) relayed(ctx context.Context, p runfile.Plan, r *relay, o Load) (result runfile.Result, err error) {
	if err := r.open(l.server, l.paths[:len(p.Engine.Channels)]); err != nil {
		return result, err
	}
	p.Engine.Ports.NFS = portRelay
	result, err = l.run(ctx, p, o)
	return result, errors.Join(err, r.close())
}

// inTime makes a run through a relay. The function returns the server's time per call from the
// share of the window that is over (negative before the window) and the strength.
func inTime(s shape, took func(at float64, v float64) time.Duration) func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, l *Lane, strength Strength) (runfile.Result, error) {
		var window onset
		r := &relay{answer: func(c rpcCall) time.Duration {
			if !c.data() {
				return 0
			}
			if strength.None() {
				return serviceTime
			}
			at := -1.0
			if passed, began := window.since(c.at); began {
				at = passed.Seconds() / float64(l.rig.Seconds)
			}
			return took(at, strength.Value)
		}}
		return l.relayed(ctx, l.plan(s), r, Load{During: func(ctx context.Context, p *Process) error {
			return window.await(ctx, p, runfile.SpanMeasure)
		}})
	})
}

func times(d time.Duration, v float64) time.Duration { return time.Duration(float64(d) * v) }

// place maps each block of a file to a fixed number from 0 to 1.
func place(c rpcCall) float64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(fmt.Sprint(c.file, c.offset)) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	h ^= h >> 29
	return float64(h%100_003) / 100_003
}

func serverInjections() []Injection {
	afterHalf := func(at, v float64) time.Duration {
		if at > 0.5 {
			return times(serviceTime, v)
		}
		return serviceTime
	}
	slowdown := []Strength{{"1.05 times", 1.05}, {"1.2 times", 1.2}, {"1.5 times", 1.5}, {"3 times", 3}}
	held := []Strength{{"a tenth", 0.1}, {"a quarter", 0.25}, {"half", 0.5}, {"all", 1}}
	openThoughtful := thoughtful()
	openThoughtful.workload.Raw.OperationsPerSecond, openThoughtful.workload.Raw.Depth = new(int64(openRate)), 16
	return []Injection{
		{
			Name: "the server is slower from mid-run on, closed loop", Kind: "server", Place: placeGanesha, Strengths: slowdown,
			Expect: []judge.Code{judge.NotSteady}, Gross: "3 times", Run: inTime(thoughtful(), afterHalf),
		},
		{
			Name: "the server is slower from mid-run on, open loop", Kind: "server", Place: placeEmbedded, Strengths: slowdown,
			Expect: []judge.Code{judge.NotSteady}, Run: inTime(openThoughtful, afterHalf),
		},
		{
			Name: "the server gets slower all the time", Kind: "server", Place: placeEmbedded,
			Strengths: []Strength{{"by 10 % over the window", 0.1}, {"by 30 %", 0.3}, {"by 100 %", 1}},
			Expect:    []judge.Code{judge.NotSteady},
			Run:       inTime(thoughtful(), func(at, v float64) time.Duration { return times(serviceTime, 1+v*max(0, at)) }),
		},
		{
			Name: "the server is 3 times slower for a part of the window", Kind: "server", Place: placeGanesha,
			Strengths: []Strength{{"a twentieth", 0.05}, {"a sixth", 1.0 / 6}, {"a third", 1.0 / 3}},
			Expect:    []judge.Code{judge.NotSteady},
			Run: inTime(thoughtful(), func(at, v float64) time.Duration {
				if at > 0.4 && at < 0.4+v {
					return 3 * serviceTime
				}
				return serviceTime
			}),
		},
		{
			Name: "the server oscillates, three times in the window", Kind: "server", Place: placeEmbedded,
			Strengths: []Strength{{"by 10 %", 0.1}, {"by 30 %", 0.3}, {"by 60 %", 0.6}},
			Expect:    []judge.Code{judge.NotSteady},
			Run: inTime(thoughtful(), func(at, v float64) time.Duration {
				return times(serviceTime, 1+v*math.Copysign(1, math.Sin(at*3*2*math.Pi)))
			}),
		},
		{
			Name: "the server stops in each second (SIGSTOP)", Kind: "server", Place: placeEmbedded,
			Strengths: []Strength{{"0.02 s", 0.02}, {"0.1 s", 0.1}, {"0.3 s", 0.3}, {"0.6 s", 0.6}},
			Expect:    []judge.Code{judge.Stalls},
			Run: beside(thoughtful(), runfile.SpanMeasure, func(ctx context.Context, l *Lane, _ *Process, v float64) error {
				for ctx.Err() == nil {
					err := errors.Join(l.process.Process.Signal(syscall.SIGSTOP), ignore(pause(ctx, seconds(v))),
						l.process.Process.Signal(syscall.SIGCONT), ignore(pause(ctx, seconds(1-v))))
					if err != nil {
						return err
					}
				}
				return nil
			}),
		},
		{
			Name: "a cache of the server holds a part of the files", Kind: "server", Place: placeEmbedded, Strengths: held,
			Expect: []judge.Code{judge.CacheSuspected}, Small: true, Run: caches(),
		},
		{
			Name: "a cache before the server answers, the server counts", Kind: "server", Place: placeEmbedded, Strengths: held,
			Expect: []judge.Code{judge.ArrayDisagrees, judge.CacheSuspected}, Gross: "all", Run: remembers(),
		},
		{
			Name: "a cache before the server answers, server without counters", Kind: "server", Place: placeGanesha, Strengths: held,
			Expect: []judge.Code{judge.CacheSuspected}, Small: true, Run: remembers(),
		},
		{
			Name: "calls reach the server two times", Kind: "server", Place: placeEmbedded, Storage: true,
			Strengths: []Strength{{"a twentieth", 0.05}, {"a fifth", 0.2}, {"all", 1}}, Expect: []judge.Code{judge.ArrayDisagrees},
			Run: in(func(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
				return l.relayed(ctx, l.plan(thoughtful()), &relay{
					answer: func(rpcCall) time.Duration { return serviceTime },
					twice:  func(c rpcCall) bool { return place(c) < s.Value },
				}, Load{})
			}),
		},
		{
			Name: "the version is not the declared one", Kind: "server", Place: placeGanesha,
			Strengths: []Strength{{"3 for 4.1", 3}, {"4.0 for 4.1", 4}, {"4.1 for pNFS", 41}},
			Expect:    []judge.Code{judge.ProtocolMismatch},
			Run:       in(otherVersion),
		},
		{
			Name: "the files became sparse before the run", Kind: "server", Place: placeGanesha,
			Strengths: []Strength{{"a part", 0.3}, {"all", 1}}, Expect: []judge.Code{judge.VerificationFailed},
			Run: in(thin),
		},
	}
}

// ignore discards the error of a context that has ended.
func ignore(error) error { return nil }

func caches() func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, l *Lane, strength Strength) (runfile.Result, error) {
		return l.relayed(ctx, l.plan(thoughtful()), &relay{answer: func(c rpcCall) time.Duration {
			if c.data() && place(c) >= strength.Value {
				return serviceTime
			}
			return cacheTime
		}}, Load{})
	})
}

func remembers() func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, l *Lane, strength Strength) (runfile.Result, error) {
		held := func(c rpcCall) bool { return place(c) < strength.Value }
		// Use so few blocks that the cache is filled when the window begins.
		s := thoughtful()
		raw := *s.workload.Raw
		raw.FileSize, raw.Directory = *bench.Bytes(1 << 20), "small"
		s.workload.Raw = &raw
		return l.relayed(ctx, l.plan(s), &relay{
			remember: held,
			answer: func(c rpcCall) time.Duration {
				if c.data() && !held(c) {
					return serviceTime
				}
				return cacheTime
			},
		}, Load{})
	})
}

// otherVersion makes a run over one version and declares another, like a silent fallback.
func otherVersion(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
	declared, used := bench.NFSv41, bench.NFSv41
	switch s.Value {
	case 3:
		used = bench.NFSv3
	case 4:
		used = bench.NFSv40
	case 41:
		declared = bench.PNFS
	}
	p := l.plan(randomRead())
	p.Engine.NFSVersion = used
	r, err := l.run(ctx, p, Load{})
	r.Plan.Engine.NFSVersion = declared
	return r, err
}

// thin makes the files of a run sparse on the server. A server that need not read from its disks
// answers at once; here a relay does so.
func thin(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
	shape := thoughtful()
	raw := *shape.workload.Raw
	// The server may remember a directory that was removed locally.
	l.thin++
	raw.Directory = fmt.Sprint("thin", l.thin)
	shape.workload.Raw = &raw
	p := l.plan(shape)
	short := p
	short.Schedule = runfile.Schedule{DurationSeconds: 1, Repetitions: 1}
	r, err := l.run(ctx, short, Load{}) // fills the files
	if err = errors.Join(err, failureOf(r)); err != nil {
		return r, fmt.Errorf("fill the files: %w", err)
	}
	if !s.None() {
		if err := makeThin(filepath.Join(l.data, raw.Directory), s.Value); err != nil {
			return runfile.Result{}, err
		}
	}
	result, err := l.relayed(ctx, p, &relay{answer: func(c rpcCall) time.Duration {
		if c.data() && float64(c.offset) < fileBytes*(1-s.Value) {
			return serviceTime
		}
		return cacheTime
	}}, Load{})
	return result, errors.Join(err, os.RemoveAll(filepath.Join(l.data, raw.Directory)))
}

// makeThin makes the last part of each file of a load a hole.
func makeThin(dir string, share float64) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.Size() < fileBytes {
			return err
		}
		kept := int64(float64(info.Size()) * (1 - share))
		return errors.Join(os.Truncate(path, kept), os.Truncate(path, info.Size()))
	})
}
