// Command believe measures how often our findings are right. It makes real runs with and without
// something that falsifies a benchmark, judges them, and counts what was noticed. hack/believe.sh
// builds what it needs and calls it.
//
//	believe.go   what a place, a world, an injection and a strength are
//	load.go      one run of `nfsbench load` as a process, which an injection can follow
//	trial.go     what is kept of a pair of runs: the effect, the findings, whether it was noticed
//	rig.go       the order of all runs, in lanes side by side
//	table.go     rates, intervals and the tables of test/lab/records
//
// The other files have places and injections by subject. A new one is a row of places or injections, below.
package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// World is one storage with its clients, opened by a Place. It has only one run at a time.
type World interface {
	Close() error
}

// Place is where runs take place.
type Place struct {
	Name string
	// Lanes is the number of worlds that may be open at once; 0 = as many as --lanes says.
	Lanes int
	// Seconds is the length of its windows, if more than --seconds. Counters of storage and clients
	// are compared second by second only in windows of 30 s or more.
	Seconds int32
	// Open creates a world. lane is the number of the lane, from 0. Worlds that are open at once have
	// different numbers: names and subnets derive from them.
	Open func(ctx context.Context, rig *Rig, lane int) (World, error)
}

// Strength is the amount of an injection. The zero Strength injects nothing and leaves everything
// else equal: its run is the honest one of the pair.
type Strength struct {
	Name  string // text in the table, such as "half of the link"
	Value float64
}

// None reports that nothing is injected.
func (s Strength) None() bool { return s.Name == "" }

// Injection is one cause that falsifies a benchmark.
type Injection struct {
	Name      string // in plain words, such as "another client reads"
	Kind      string // client, network, server, counters, ...; the table groups rows by kind
	Place     string // name of a Place
	Strengths []Strength
	// Expect are the findings that name the cause. Other findings notice it too.
	Expect []judge.Code
	// Alone: no other lane works meanwhile, because the injection would disturb it.
	Alone bool
	// Gross is the name of the strength that the tests inject, which must be noticed. Empty = no test
	// injects it.
	Gross string
	// Storage: the injection falsifies the storage's counters, not what the client measured.
	Storage bool
	// Latency: the injection falsifies the mean latency.
	Latency bool
	// Short: the injection concerns the length of the window, so TooShort counts.
	Short bool
	// Small: the injection is a cache, in a place where nothing counts what it answers. Findings can
	// only say that the files are small, and say so in every run of the rig.
	Small bool
	// Run makes one run in a world of the place, and then undoes its changes to the world.
	Run func(ctx context.Context, w World, s Strength) (runfile.Result, error)
}

// Honest is one kind of load for runs without an injection.
type Honest struct {
	Name  string
	Place string
	Alone bool // see Injection
	// Run makes one run. noise = another process of the machine works meanwhile, and another link or
	// volume too if the place supports it.
	Run func(ctx context.Context, w World, noise bool) (runfile.Result, error)
}

// in makes a run of an injection from a function for the worlds of its place.
func in[W World](run func(ctx context.Context, w W, s Strength) (runfile.Result, error)) func(context.Context, World, Strength) (runfile.Result, error) {
	return func(ctx context.Context, w World, s Strength) (runfile.Result, error) {
		own, err := as[W](w)
		if err != nil {
			return runfile.Result{}, err
		}
		return run(ctx, own, s)
	}
}

// as converts a world to the type of its place.
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
