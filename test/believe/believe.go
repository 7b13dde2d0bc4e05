// Command believe measures how often our findings are right: it makes real runs with and
// without something that falsifies a benchmark, judges them, and counts what was noticed.
// hack/believe.sh builds what it needs and calls it.
//
//	believe.go   what a place, a world, an injection and a strength are
//	load.go      one run of `nfsbench load` as a process, which an injection can follow
//	trial.go     what is kept of a pair of runs: the effect, the findings, whether it was noticed
//	rig.go       the order of all runs, in lanes side by side
//	table.go     rates, intervals and the table in docs/findings.md
//
// The rest is places and injections, in the file of their subject. A new one is a row of
// places or of injections, below.
package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// World is one storage with its clients, opened by a Place. Only one run is made in it at a
// time.
type World interface {
	Close() error
}

// Place is where runs are made.
type Place struct {
	Name string
	// Lanes is how many worlds may be open at once; 0 = as many as --lanes says.
	Lanes int
	// Open makes a world. lane is the number of the lane, from 0, and no two worlds that are
	// open at once have the same: names and subnets are made of it.
	Open func(ctx context.Context, rig *Rig, lane int) (World, error)
}

// Strength is how much of something is injected. The zero Strength injects nothing, and
// leaves all else equal: the run that it gives is the honest one of the pair.
type Strength struct {
	Name  string // what the table shows, such as "half of the link"
	Value float64
}

// None says that nothing is injected.
func (s Strength) None() bool { return s.Name == "" }

// Injection is one thing that falsifies a benchmark.
type Injection struct {
	Name      string // in plain words, such as "another client reads"
	Kind      string // client, network, server, counters, ...: rows of one kind stand together
	Place     string // name of a Place
	Strengths []Strength
	// Expect are the findings that name the cause. Others notice it too.
	Expect []judge.Code
	// Alone: no other lane works meanwhile, because the injection would disturb it.
	Alone bool
	// Gross is the strength, by name, that the short form injects, and which must be
	// noticed. Empty = not part of the short form.
	Gross string
	// Storage: the number that it falsifies is that of the storage's counters, and not what
	// the client measured.
	Storage bool
	// Latency: the number that it falsifies is the mean latency.
	Latency bool
	// Short: it is about the length of the window, so TooShort counts.
	Short bool
	// Run makes one run in a world of the place. It undoes what it did to the world.
	Run func(ctx context.Context, w World, s Strength) (runfile.Result, error)
}

// Honest is one kind of load for the runs in which nothing is injected.
type Honest struct {
	Name  string
	Place string
	Alone bool // see Injection
	// Run makes one run. noise = another process of the machine has work meanwhile, and where
	// the place can, another link or volume too.
	Run func(ctx context.Context, w World, noise bool) (runfile.Result, error)
}

// in makes a run of an injection from a function that knows which worlds its place has.
func in[W World](run func(ctx context.Context, w W, s Strength) (runfile.Result, error)) func(context.Context, World, Strength) (runfile.Result, error) {
	return func(ctx context.Context, w World, s Strength) (runfile.Result, error) {
		own, err := as[W](w)
		if err != nil {
			return runfile.Result{}, err
		}
		return run(ctx, own, s)
	}
}

// as is a world that its place has opened.
func as[W World](w World) (own W, err error) {
	own, ok := w.(W)
	if !ok {
		err = fmt.Errorf("the place opens %T, not %T", w, own)
	}
	return own, err
}

// places lists all places.
func places() []Place {
	return slices.Concat(lanePlaces(), arrayPlaces(), pnfsPlaces(), guestPlaces(), oraclePlaces())
}

// injections lists all injections.
func injections() []Injection {
	return slices.Concat(clientInjections(), networkInjections(), serverInjections(), counterInjections(),
		arrayInjections(), pnfsInjections(), guestInjections(), oracleInjections())
}
