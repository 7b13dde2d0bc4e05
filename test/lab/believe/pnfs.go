package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
	"github.com/nfsbench/nfsbench/test/lab/pnfs"
)

const (
	placePNFS = "pNFS array"

	// pnfsBits is the rate of a data server's LIF, and the limit of all runs.
	pnfsBits  = 40_000_000
	pnfsBlock = 32 << 10
)

// pnfsPlaces lists the places of this file.
func pnfsPlaces() []Place {
	return []Place{{Name: placePNFS, Open: openPNFS}}
}

// pnfsWorld is an array of two data servers. The first is the metadata server of the runs.
type pnfsWorld struct {
	rig     *Rig
	array   *pnfs.Array
	standin *ontap.Standin
	client  client
	source  source
}

func openPNFS(ctx context.Context, rig *Rig, lane int) (World, error) {
	subnet := func(n int) string { return fmt.Sprintf("10.%d.%d.0/24", 233+lane/16, lane%16*8+n) }
	name := fmt.Sprintf("barp%d", lane)
	a, err := pnfs.Up(pnfs.Options{
		Name: name, Subnets: []string{subnet(1), subnet(2)}, BitsPerSecond: pnfsBits, GraceSeconds: 5,
	})
	if err != nil {
		return nil, errors.Join(err, pnfs.Down(name))
	}
	w := &pnfsWorld{rig: rig, array: a}
	if err := w.begin(ctx, name, subnet(4)); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *pnfsWorld) begin(ctx context.Context, name, subnet string) error {
	rest, err := w.array.ServeREST(pnfs.RESTOptions{Grid: countersEvery})
	if err != nil {
		return err
	}
	w.standin = rest.Standin
	if w.client, err = newClient(ctx, name, subnet); err != nil {
		return err
	}
	for i := range w.array.Nodes {
		if err := w.client.reaches(fmt.Sprintf("np-%s-%d", name, i+1)); err != nil {
			return err
		}
	}
	w.source = source{
		secrets: filepath.Join(w.rig.Dir, name),
		plan: runfile.Source{
			Kind: runfile.SourceONTAP, Name: "array", URL: rest.URL, CABundle: string(rest.CA), SVM: rest.SVM, Volume: rest.Volume,
			Credentials: "array", IntervalMilliseconds: 250, OneClient: true,
		},
		export: w.array.Export,
	}
	// Create the files of other clients in advance.
	return errors.Join(w.source.keep(rest.Account), w.readBeside(ctx, 1, 1))
}

// Close ends the array and everything around it.
func (w *pnfsWorld) Close() error {
	if w.standin != nil {
		w.standin.Close()
	}
	return errors.Join(w.client.close(), pnfs.Down(w.array.Name))
}

// run makes a run over the first data server, which grants the layouts.
func (w *pnfsWorld) run(ctx context.Context, during func(context.Context, *Process) error, change ...func(*runfile.Plan)) (runfile.Result, error) {
	p, err := w.source.plannedRun(ctx, w.rig, w.array.Nodes[0].Address)
	if err != nil {
		return runfile.Result{}, err
	}
	p.Engine.NFSVersion = bench.PNFS
	raw := p.Workload.Raw
	raw.BlockSize, raw.FileSize = bench.Bytes(pnfsBlock), *bench.Bytes(64 * pnfsBlock)
	for _, c := range change {
		c(&p)
	}
	return w.rig.Run(ctx, Load{Plan: p, Netns: w.client.netns, Args: []string{"--secrets-dir", w.source.secrets}, During: during})
}

func pnfsHonest() []Honest {
	return []Honest{{Name: "random reads by pNFS", Place: placePNFS, Run: func(ctx context.Context, w World, noise bool) (runfile.Result, error) {
		a, err := as[*pnfsWorld](w)
		if err != nil {
			return runfile.Result{}, err
		}
		defer a.rig.noise.during(noise)()
		return a.run(ctx, nil)
	}}}
}

// pnfsInjections lists the injections of this file.
func pnfsInjections() []Injection {
	return withPlace(placePNFS, []Injection{
		{
			Name: "a data server has a slower link", Kind: "pNFS", Strengths: percents("%.0f %% of the other's", 90, 70, 40),
			Expect: []judge.Code{judge.PathImbalance}, Run: onPNFS((*pnfsWorld).slower),
		},
		{
			Name: "a data server becomes slower in mid-window", Kind: "pNFS", Strengths: percents("%.0f %% of the other's", 90, 70, 40),
			Expect: []judge.Code{judge.NotSteady, judge.PathImbalance}, Run: onPNFS((*pnfsWorld).slowerLater),
		},
		{
			Name: "a data server has no files", Kind: "pNFS", Strengths: []Strength{{"one of two", 1}},
			Expect: []judge.Code{judge.PathUnused, judge.PathImbalance}, Run: onPNFS((*pnfsWorld).idleServer),
		},
		{
			Name: "I/O falls back to the metadata server", Kind: "pNFS", Strengths: percents("from %.0f %% of the window", 90, 50, 10),
			Expect: []judge.Code{judge.LayoutFallback, judge.ChannelLost}, Run: onPNFS((*pnfsWorld).fallsBack),
		},
		{
			Name: "I/O to a data server goes through the metadata server", Kind: "pNFS", Strengths: []Strength{{"all of the run", 1}},
			Expect: []judge.Code{judge.LayoutFallback, judge.PNFSNotRedirected}, Run: onPNFS((*pnfsWorld).noDataServer),
		},
		{
			Name: "a data server comes and goes", Kind: "pNFS", Strengths: percents("it is silent for %.0f %% of the time", 10, 30, 60),
			Expect: []judge.Code{judge.LayoutFallback, judge.ChannelLost, judge.Stalls}, Run: onPNFS((*pnfsWorld).flappingServer),
		},
		{
			Name: "another client reads by the link of a data server", Kind: "pNFS", Strengths: percents("%.0f %% of the load", 2, 10, 30),
			Expect: []judge.Code{judge.ArrayDisagrees, judge.PathImbalance}, Run: onPNFS((*pnfsWorld).others),
		},
	})
}

// onPNFS turns a method of the world into the run of an injection.
func onPNFS(run func(w *pnfsWorld, ctx context.Context, s Strength) (runfile.Result, error)) func(context.Context, World, Strength) (runfile.Result, error) {
	return in(func(ctx context.Context, w *pnfsWorld, s Strength) (runfile.Result, error) { return run(w, ctx, s) })
}

// shape gives the second data server a share of the link rate of the first.
func (w *pnfsWorld) shape(share float64) error {
	return w.array.Nodes[1].Do("shape", strconv.Itoa(int(share*pnfsBits))+"bit")
}

func (w *pnfsWorld) slower(ctx context.Context, s Strength) (r runfile.Result, err error) {
	if s.None() {
		return w.run(ctx, nil)
	}
	defer func() { err = errors.Join(err, w.shape(1)) }()
	if err := w.shape(s.Value); err != nil {
		return r, err
	}
	return w.run(ctx, nil)
}

func (w *pnfsWorld) slowerLater(ctx context.Context, s Strength) (r runfile.Result, err error) {
	defer func() { err = errors.Join(err, w.shape(1)) }()
	return w.run(ctx, w.rig.inWindow(s, 0.5, func(context.Context) error { return w.shape(s.Value) }))
}

// idleServer uses one file instead of four, with the same number of outstanding I/Os.
func (w *pnfsWorld) idleServer(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, nil, func(p *runfile.Plan) {
		if raw := p.Workload.Raw; !s.None() {
			raw.Jobs, raw.Depth, raw.FileSize = 1, raw.Jobs*raw.Depth, *bench.Bytes(raw.FileSize.Value() * int64(raw.Jobs))
			raw.Directory = "narrow"
		}
	})
}

// cut silences the second data server for clients; its cluster link stays.
func (w *pnfsWorld) cut(context.Context) error { return w.array.Nodes[1].Do("cut") }

func (w *pnfsWorld) heal() error { return w.array.Nodes[1].Do("heal") }

func (w *pnfsWorld) fallsBack(ctx context.Context, s Strength) (r runfile.Result, err error) {
	defer func() { err = errors.Join(err, w.heal()) }()
	return w.run(ctx, w.rig.inWindow(s, s.Value, w.cut))
}

func (w *pnfsWorld) noDataServer(ctx context.Context, s Strength) (r runfile.Result, err error) {
	if s.None() {
		return w.run(ctx, nil)
	}
	defer func() { err = errors.Join(err, w.heal()) }()
	if err := w.cut(ctx); err != nil {
		return r, err
	}
	return w.run(ctx, nil)
}

func (w *pnfsWorld) flappingServer(ctx context.Context, s Strength) (r runfile.Result, err error) {
	defer func() { err = errors.Join(err, w.heal()) }()
	return w.run(ctx, w.rig.inWindow(s, 0, func(ctx context.Context) error {
		return flap(ctx, s.Value, w.cut, w.heal)
	}))
}

// others also reads through layouts, at up to the rate of the link that half the files use.
func (w *pnfsWorld) others(ctx context.Context, s Strength) (runfile.Result, error) {
	return w.run(ctx, w.rig.inWindow(s, 0, func(ctx context.Context) error {
		const opsPerSecond = 2 * pnfsBits * 95 / 100 / 8 / arrayBlock
		return w.readBeside(ctx, int64(s.Value*opsPerSecond), 600)
	}))
}

// readBeside acts as another client, which gets layouts from the second data server.
func (w *pnfsWorld) readBeside(ctx context.Context, ops int64, seconds int32) error {
	return readBeside(ctx, w.rig, bench.PNFS, w.array.Export, w.array.Nodes[1].Address, ops, seconds)
}
