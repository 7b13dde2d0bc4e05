package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// iptables adds a rule (-A) in the namespace of the client, or removes it (-D).
func (l *Lane) iptables(ctx context.Context, action, rule string) error {
	return commands(ctx, fmt.Sprintf("nsenter --net=/run/netns/%s iptables -w %s %s", l.client, action, rule))
}

// filter applies a rule until the context ends.
func (l *Lane) filter(ctx context.Context, rule string) error {
	if err := l.iptables(context.WithoutCancel(ctx), "-A", rule); err != nil {
		return err
	}
	<-ctx.Done()
	return l.iptables(context.WithoutCancel(ctx), "-D", rule)
}

// slower makes a path slower until the load ends.
func slower(path int) func(ctx context.Context, l *Lane, p *Process, v float64) error {
	return func(ctx context.Context, l *Lane, _ *Process, v float64) error {
		err := l.setRate(context.WithoutCancel(ctx), path, v)
		if err == nil {
			<-ctx.Done()
		}
		return errors.Join(err, l.setRate(context.WithoutCancel(ctx), path, 1))
	}
}

func networkInjections() []Injection {
	two, four := randomRead().over(2), randomRead().over(4)
	lossy := []Strength{{"0.1 %", 0.001}, {"1 %", 0.01}, {"3 %", 0.03}, {"10 %", 0.1}}
	lose := func(s shape) func(ctx context.Context, l *Lane, p *Process, v float64) error {
		return func(ctx context.Context, l *Lane, _ *Process, v float64) error {
			return l.filter(ctx, fmt.Sprintf("INPUT -s %s -p tcp -m statistic --mode random --probability %g -j DROP", l.paths[s.paths-1], v))
		}
	}
	return []Injection{
		{
			Name: "one of two paths is slower", Kind: "network", Place: placeGanesha,
			Strengths: []Strength{{"95 % of its rate", 0.95}, {"80 %", 0.8}, {"50 %", 0.5}, {"20 %", 0.2}},
			Expect:    []judge.Code{judge.PathImbalance}, Run: beside(two, runfile.SpanBaseline, slower(1)),
		},
		{
			Name: "one of four paths is slower, full scans", Kind: "network", Place: placeEmbedded,
			Strengths: []Strength{{"80 % of its rate", 0.8}, {"50 %", 0.5}, {"10 %", 0.1}},
			Expect:    []judge.Code{judge.PathImbalance}, Run: beside(sequentialRead().over(4), runfile.SpanBaseline, slower(3)),
		},
		{
			Name: "one of two paths loses packets", Kind: "network", Place: placeGanesha, Strengths: lossy,
			Expect: []judge.Code{judge.Retransmits, judge.PathImbalance}, Run: beside(two, runfile.SpanBaseline, lose(two)),
		},
		{
			Name: "the only path loses packets", Kind: "network", Place: placeEmbedded, Strengths: lossy,
			Expect: []judge.Code{judge.Retransmits}, Run: beside(randomRead(), runfile.SpanBaseline, lose(randomRead())),
		},
		{
			Name: "paths that refuse connections from the start", Kind: "network", Place: placeEmbedded,
			Strengths: []Strength{{"1 of 4", 1}, {"2 of 4", 2}, {"3 of 4", 3}},
			Expect:    []judge.Code{judge.PathUnused}, Gross: "3 of 4",
			Run: in(func(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
				return l.without(ctx, four, s)
			}),
		},
		{
			Name: "Direct NFS uses one path, two are declared", Kind: "network", Place: placeGanesha,
			Strengths: []Strength{{"the other refuses", 1}},
			Expect:    []judge.Code{judge.PathUnused},
			Run: in(func(ctx context.Context, l *Lane, s Strength) (runfile.Result, error) {
				return l.without(ctx, two, s)
			}),
		},
		{
			Name: "one of two paths falls silent in mid-run", Kind: "network", Place: placeGanesha,
			Strengths: []Strength{{"0.5 s", 0.5}, {"2 s", 2}, {"5 s", 5}},
			Expect:    []judge.Code{judge.ChannelLost, judge.NotSteady},
			Run: beside(two, runfile.SpanMeasure, func(ctx context.Context, l *Lane, _ *Process, v float64) error {
				if err := l.rig.into(ctx, 0.3); err != nil {
					return err
				}
				silent, cancel := context.WithTimeout(ctx, seconds(v))
				defer cancel()
				return l.filter(silent, fmt.Sprintf("INPUT -s %s -j DROP", l.paths[1]))
			}),
		},
		{
			Name: "another client reads over the same path, from the warm-up on", Kind: "network", Place: placeEmbedded,
			Strengths: shares(), Expect: []judge.Code{judge.ArrayDisagrees}, Gross: "half of the path",
			Run: beside(randomRead(), runfile.SpanBaseline, otherClient(fromWarmup)),
		},
		{
			Name: "another client reads over the same path, all the time", Kind: "network", Place: placeEmbedded,
			Strengths: shares(), Expect: []judge.Code{judge.ForeignLoad, judge.ArrayDisagrees},
			Run: beside(randomRead(), runfile.SpanBaseline, otherClient(fromBaseline)),
		},
		{
			Name: "another client reads over the same path, server without counters", Kind: "network", Place: placeGanesha,
			Strengths: shares(), Run: beside(randomRead(), runfile.SpanBaseline, otherClient(fromWarmup)),
		},
		{
			Name: "another client reads over the same path, sequential load, server without counters", Kind: "network", Place: placeGanesha,
			Strengths: shares(), Expect: []judge.Code{judge.BelowWireSpeed},
			Run: beside(sequentialRead(), runfile.SpanBaseline, otherClient(fromWarmup)),
		},
		{
			Name: "another client reads over the same path from mid-run on, server without counters", Kind: "network", Place: placeGanesha,
			Strengths: shares(), Expect: []judge.Code{judge.NotSteady}, Run: beside(randomRead(), runfile.SpanBaseline, otherClient(fromMidRun)),
		},
	}
}

func shares() []Strength {
	return []Strength{{"5 % of the path", 0.05}, {"10 %", 0.1}, {"25 %", 0.25}, {"half of the path", 0.5}}
}

// without makes a run with some of its paths unreachable, the last ones.
func (l *Lane) without(ctx context.Context, s shape, strength Strength) (r runfile.Result, err error) {
	for i := range int(strength.Value) {
		rule := "OUTPUT -d " + l.paths[s.paths-1-i] + " -p tcp -j REJECT --reject-with tcp-reset"
		if err := l.iptables(ctx, "-A", rule); err != nil {
			return r, err
		}
		defer func() { err = errors.Join(err, l.iptables(context.WithoutCancel(ctx), "-D", rule)) }()
	}
	return l.run(ctx, l.plan(s), Load{})
}

// The times at which another client begins.
const (
	fromBaseline = iota
	fromWarmup
	fromMidRun
)

// otherClient loads the first path with a share of its capacity. It connects before the load of the
// run begins, because that takes longer over a full path.
func otherClient(from int) func(ctx context.Context, l *Lane, p *Process, v float64) error {
	const pathIOPS = laneBits / 8 / (blockBytes + 6*66 + 140)
	return func(ctx context.Context, l *Lane, _ *Process, v float64) error {
		s := randomRead()
		raw := *s.workload.Raw
		// Use the files of the load itself: filling others would take longer than the run.
		raw.OperationsPerSecond, raw.Depth = new(int64(v*pathIOPS)), 16
		s.workload.Raw = &raw
		p := l.plan(s)
		p.Collect.Sources = nil
		own := l.rig.Schedule()
		p.Schedule = runfile.Schedule{DurationSeconds: own.DurationSeconds * 3, Repetitions: 1}
		switch from {
		case fromWarmup:
			p.Schedule.BaselineSeconds = own.BaselineSeconds
		case fromMidRun:
			p.Schedule.BaselineSeconds = own.BaselineSeconds + own.WarmupSeconds + own.DurationSeconds/2
		}
		r, err := l.rig.Run(ctx, Load{Plan: p, Netns: l.other})
		return unlessEnded(ctx, errors.Join(err, failureOf(r)))
	}
}
