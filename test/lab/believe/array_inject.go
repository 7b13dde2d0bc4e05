package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/array/control"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

// arrayHonest lists the loads of this file in which nothing is injected.
func arrayHonest() []Honest {
	return []Honest{{Name: "random reads of an array", Place: placeArray, Run: func(ctx context.Context, w World, noise bool) (runfile.Result, error) {
		a, err := as[*arrayWorld](w)
		if err != nil {
			return runfile.Result{}, err
		}
		defer a.rig.noise.during(noise)()
		return a.run(ctx, []string{a.path(1)}, func(ctx context.Context, _ *Process) error {
			if !noise {
				return nil
			}
			return a.others(ctx, "other", arrayOps/4, 600) // through another LIF
		})
	}}}
}

// arrayInjections lists the injections of this file.
func arrayInjections() []Injection {
	all := []Injection{
		{
			Name: "all goes over the other node", Kind: "array", Strengths: percents("the link of the nodes carries %.0f %% of it", 90, 75, 50),
			Expect: []judge.Code{judge.IndirectPath}, Run: onArray((*arrayWorld).detour),
		},
		{
			Name: "one path of two goes over the other node", Kind: "array", Strengths: percents("the link of the nodes carries %.0f %% of it", 90, 75, 50),
			Expect: []judge.Code{judge.IndirectPath}, Run: onArray((*arrayWorld).halfDetour),
		},
		{
			Name: "the LIF is not at home", Kind: "array", Strengths: percents("the link of the nodes carries %.0f %% of the load", 90, 50),
			Expect: []judge.Code{judge.LIFNotHome, judge.IndirectPath}, Run: onArray((*arrayWorld).notHome),
		},
		{
			Name: "the volume moves to the other node", Kind: "array", Strengths: percents("after %.0f %% of the window", 90, 50, 10),
			Expect: []judge.Code{judge.VolumeMoved}, Run: onArray((*arrayWorld).moves),
		},
		{
			Name: "another client reads the volume in the window", Kind: "array", Strengths: percents("%.0f %% of what the disks give", 2, 10, 30),
			Expect: []judge.Code{judge.ArrayDisagrees}, Run: onArray((*arrayWorld).othersInWindow),
		},
		{
			Name: "another client reads the volume all the time", Kind: "array", Strengths: percents("%.0f %% of what the disks give", 2, 10, 30),
			Expect: []judge.Code{judge.ArrayDisagrees, judge.ForeignLoad}, Run: onArray((*arrayWorld).othersAlways),
		},
		{
			Name: "a cache before the volume answers reads", Kind: "array", Strengths: percents("%.0f %% of them", 5, 20, 50),
			Expect: []judge.Code{judge.ArrayDisagrees, judge.CacheSuspected}, Run: onArray((*arrayWorld).cached),
		},
		{
			Name: "a QoS policy is the limit", Kind: "array", Strengths: percents("%.0f %% of what the disks give", 90, 75, 50),
			Expect: []judge.Code{judge.QoSThrottled}, Run: onArray((*arrayWorld).policy),
		},
		{
			Name: "a QoS policy is set in mid-window", Kind: "array", Strengths: percents("%.0f %% of what the disks give", 90, 75, 50),
			Expect: []judge.Code{judge.NotSteady, judge.QoSThrottled}, Run: onArray((*arrayWorld).policyLater),
		},
		{
			Name: "the node works for others", Kind: "array", Strengths: []Strength{{"2 processes", 2}, {"8 processes", 8}, {"32 processes", 32}},
			Expect: []judge.Code{judge.StorageCPUBound}, Alone: true, Run: onArray((*arrayWorld).busyNode),
		},
		{
			Name: "one path of two falls silent", Kind: "array", Strengths: percents("after %.0f %% of the window", 80, 50, 20),
			Expect: []judge.Code{judge.ChannelLost, judge.PathUnused}, Run: onArray((*arrayWorld).silentPath),
		},
		{
			Name: "one path of two comes and goes", Kind: "array", Strengths: percents("it is silent for %.0f %% of the time", 10, 30, 60),
			Expect: []judge.Code{judge.ChannelLost, judge.ChannelReconnected, judge.PathImbalance, judge.Stalls}, Run: onArray((*arrayWorld).flappingPath),
		},
		{
			Name: "pNFS is declared and NFSv4.1 is used", Kind: "array", Strengths: []Strength{{"all of the time", 1}},
			Expect: []judge.Code{judge.ProtocolMismatch}, Run: onArray((*arrayWorld).noLayouts),
		},
	}
	return withPlace(placeArray, append(all, countersOfTheArray()...))
}

// onArray turns a method of the world into the run of an injection.
func onArray(run func(w *arrayWorld, ctx context.Context, s Strength) (runfile.Result, error)) func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, w *arrayWorld, s Strength) (runfile.Result, error) { return run(w, ctx, s) })
}

// countersOfTheArray are injections that do not change the result, only the array's report on it.
func countersOfTheArray() []Injection {
	return []Injection{
		{
			Name: "an array counts other volumes too", Kind: "counters", Storage: true, Strengths: percents("%.0f %% of the load", 10, 20, 50),
			Expect: []judge.Code{judge.ArrayDisagrees}, Run: onArray((*arrayWorld).othersCounted),
		},
		{
			Name: "counters of an array begin at zero", Kind: "counters", Storage: true, Strengths: percents("after %.0f %% of the window", 90, 50, 10),
			Expect: []judge.Code{judge.ArrayMetricsPartial}, Run: onArray((*arrayWorld).resets),
		},
		{
			Name: "counters of an array stand still with their time", Kind: "counters", Storage: true, Strengths: percents("from %.0f %% of the window", 90, 50, 10),
			Expect: []judge.Code{judge.ArrayMetricsPartial}, Run: onArray((*arrayWorld).freezes),
		},
		{
			Name: "counters of an array stand still, their time does not", Kind: "counters", Storage: true, Strengths: percents("from %.0f %% of the window", 90, 50, 10),
			Expect: []judge.Code{judge.ArrayDisagrees}, Run: onArray((*arrayWorld).sticks),
		},
		{
			Name: "counters of an array are late", Kind: "counters", Storage: true, Strengths: []Strength{{"3 s", 3}, {"9 s", 9}, {"18 s", 18}},
			Expect: []judge.Code{judge.ArrayDisagrees}, Run: onArray((*arrayWorld).late),
		},
		{
			Name: "an array counts twice", Kind: "counters", Storage: true, Strengths: percents("%.0f %% of the load", 10, 20, 50, 100),
			Expect: []judge.Code{judge.ArrayDisagrees}, Run: onArray((*arrayWorld).twice),
		},
	}
}

// percents makes strengths from percentages; Value is a fraction.
func percents(name string, percent ...float64) []Strength {
	all := make([]Strength, 0, len(percent))
	for _, p := range percent {
		all = append(all, Strength{Name: fmt.Sprintf(name, p), Value: p / 100})
	}
	return all
}

// withPlace sets the place of injections.
func withPlace(place string, all []Injection) []Injection {
	for i := range all {
		all[i].Place = place
	}
	return all
}

// inWindow calls do when a share of the window is over, unless nothing is injected.
func (r *Rig) inWindow(s Strength, share float64, do func(context.Context) error) func(context.Context, *Process) error {
	return func(ctx context.Context, p *Process) error {
		if s.None() {
			return nil
		}
		if err := p.Await(ctx, runfile.SpanMeasure); err != nil {
			return err
		}
		if err := r.into(ctx, share); err != nil {
			return err
		}
		return do(ctx)
	}
}

// between makes the link between the nodes carry a share of the load.
func (w *arrayWorld) between(ctx context.Context, share, load float64) error {
	if share == 0 {
		share = 0.5
	}
	return w.array.ShapeCluster(ctx, int64(share*load*arrayNeeds))
}

func (w *arrayWorld) detour(ctx context.Context, s Strength) (runfile.Result, error) {
	lif := 1
	if !s.None() {
		lif = 2
	}
	if err := w.between(ctx, s.Value, 1); err != nil {
		return runfile.Result{}, err
	}
	return w.run(ctx, []string{w.path(lif)}, nil)
}

func (w *arrayWorld) halfDetour(ctx context.Context, s Strength) (runfile.Result, error) {
	lif := 3
	if !s.None() {
		lif = 2
	}
	if err := w.between(ctx, s.Value, 0.5); err != nil {
		return runfile.Result{}, err
	}
	return w.run(ctx, []string{w.path(1), w.path(lif)}, nil)
}

func (w *arrayWorld) notHome(ctx context.Context, s Strength) (runfile.Result, error) {
	lif := 1
	if !s.None() {
		lif = 2
		w.rest.Standin.Change(func(m *ontap.Model) { m.LIFs[1].Node, m.LIFs[1].HomeNode = m.Nodes[1].Name, m.Nodes[0].Name })
	}
	if err := w.between(ctx, s.Value, 1); err != nil {
		return runfile.Result{}, err
	}
	return w.run(ctx, []string{w.path(lif)}, nil)
}

func (w *arrayWorld) moves(ctx context.Context, s Strength) (runfile.Result, error) {
	if err := w.between(ctx, 0.5, 1); err != nil {
		return runfile.Result{}, err
	}
	return w.run(ctx, []string{w.path(1)}, w.rig.inWindow(s, s.Value, func(ctx context.Context) error {
		return w.array.Move(ctx, "data", w.array.Nodes()[1])
	}))
}

func (w *arrayWorld) othersInWindow(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, w.rig.inWindow(s, 0, func(ctx context.Context) error {
		return w.others(ctx, "data", int64(s.Value*arrayOps), 600)
	}))
}

func (w *arrayWorld) othersAlways(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, func(ctx context.Context, _ *Process) error {
		if s.None() {
			return nil
		}
		return w.others(ctx, "data", int64(s.Value*arrayOps), 600)
	})
}

func (w *arrayWorld) cached(ctx context.Context, s Strength) (runfile.Result, error) {
	for _, l := range w.array.LIFs() { // the cache is faster than the disks, so the path to it must be too
		if err := w.array.Shape(ctx, l, 3*lifBits); err != nil {
			return runfile.Result{}, err
		}
	}
	l := control.Limits{OpsPerSecond: arrayOps, CachedPermille: int(1000 * s.Value)}
	if err := w.array.Limit(ctx, "data", l); err != nil {
		return runfile.Result{}, err
	}
	return w.run(ctx, []string{w.path(1)}, nil)
}

// setPolicy puts a QoS ceiling on the volume and reports it.
func (w *arrayWorld) setPolicy(ctx context.Context, share float64) error {
	ops := int64(share * arrayOps)
	w.rest.Standin.Change(func(m *ontap.Model) {
		m.QoS = []ontap.QoSPolicy{{Name: "gold", MaxIOPS: ops}}
		m.Volumes[0].QoSPolicy = "gold"
	})
	return w.array.Limit(ctx, "data", control.Limits{OpsPerSecond: ops})
}

func (w *arrayWorld) policy(ctx context.Context, s Strength) (runfile.Result, error) {
	if !s.None() {
		if err := w.setPolicy(ctx, s.Value); err != nil {
			return runfile.Result{}, err
		}
	}
	return w.run(ctx, []string{w.path(1)}, nil)
}

func (w *arrayWorld) policyLater(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, w.rig.inWindow(s, 0.5, func(ctx context.Context) error { return w.setPolicy(ctx, s.Value) }))
}

func (w *arrayWorld) busyNode(ctx context.Context, s Strength) (r runfile.Result, err error) {
	for range int(s.Value) {
		stop, err := w.array.Work(w.array.Nodes()[0], "sh", "-c", "while :; do :; done")
		if err != nil {
			return r, err
		}
		defer func() { _ = stop() }()
	}
	return w.run(ctx, []string{w.path(1)}, nil)
}

// twoPaths makes each of two paths carry little more than half of the load, so that one alone is not enough.
func (w *arrayWorld) twoPaths(ctx context.Context) ([]string, error) {
	var errs []error
	for _, l := range w.array.LIFs() {
		errs = append(errs, w.array.Shape(ctx, l, lifBits/2))
	}
	return []string{w.path(1), w.path(3)}, errors.Join(errs...)
}

func (w *arrayWorld) silentPath(ctx context.Context, s Strength) (r runfile.Result, err error) {
	paths, err := w.twoPaths(ctx)
	if err != nil {
		return r, err
	}
	lif := w.array.LIFs()[2]
	defer func() { _ = w.array.Heal(context.WithoutCancel(ctx), lif) }() // it may not have been cut
	return w.run(ctx, paths, w.rig.inWindow(s, s.Value, func(ctx context.Context) error { return w.array.Cut(ctx, lif) }))
}

func (w *arrayWorld) flappingPath(ctx context.Context, s Strength) (r runfile.Result, err error) {
	paths, err := w.twoPaths(ctx)
	if err != nil {
		return r, err
	}
	lif := w.array.LIFs()[2]
	defer func() { _ = w.array.Heal(context.WithoutCancel(ctx), lif) }()
	return w.run(ctx, paths, w.rig.inWindow(s, 0, func(ctx context.Context) error {
		return flap(ctx, s.Value, func(ctx context.Context) error { return w.array.Cut(ctx, lif) },
			func() error { return w.array.Heal(context.WithoutCancel(ctx), lif) })
	}))
}

// flap repeatedly silences something for a share of the time.
func flap(ctx context.Context, share float64, cut func(context.Context) error, heal func() error) error {
	const period = 2 * time.Second
	silent := time.Duration(share * float64(period))
	for {
		if err := cut(ctx); err != nil {
			return unlessEnded(ctx, err)
		}
		_ = pause(ctx, silent)
		if err := heal(); err != nil || pause(ctx, period-silent) != nil {
			return err
		}
	}
}

func (w *arrayWorld) noLayouts(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, nil, func(p *runfile.Plan) {
		p.Engine.NFSVersion = bench.NFSv41
		if !s.None() {
			p.Engine.NFSVersion = bench.PNFS
		}
	})
}

func (w *arrayWorld) othersCounted(ctx context.Context, s Strength) (runfile.Result, error) {
	share := s.Value
	if s.None() {
		share = 0.2
	}
	return w.run(ctx, []string{w.path(1)}, func(ctx context.Context, p *Process) error {
		if err := p.Await(ctx, runfile.SpanMeasure); err != nil {
			return err
		}
		if !s.None() {
			w.rest.Standin.SetMiscount(ontap.Miscount{Beside: []string{"other"}})
		}
		return w.others(ctx, "other", int64(share*arrayOps), 600)
	})
}

func (w *arrayWorld) resets(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, w.rig.inWindow(s, s.Value, func(context.Context) error {
		w.rest.Standin.Reset()
		return nil
	}))
}

func (w *arrayWorld) freezes(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, w.rig.inWindow(s, s.Value, func(context.Context) error {
		w.rest.Standin.Freeze(true)
		return nil
	}))
}

func (w *arrayWorld) sticks(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, []string{w.path(1)}, w.rig.inWindow(s, s.Value, func(context.Context) error {
		w.rest.Standin.SetMiscount(ontap.Miscount{Stuck: true})
		return nil
	}))
}

// late and twice miscount from before the run.
func (w *arrayWorld) late(ctx context.Context, s Strength) (runfile.Result, error) {
	w.rest.Standin.SetMiscount(ontap.Miscount{Lag: seconds(s.Value)})
	return w.run(ctx, []string{w.path(1)}, nil)
}

func (w *arrayWorld) twice(ctx context.Context, s Strength) (runfile.Result, error) {
	w.rest.Standin.SetMiscount(ontap.Miscount{Percent: uint64(100 + 100*s.Value)})
	return w.run(ctx, []string{w.path(1)}, nil)
}
