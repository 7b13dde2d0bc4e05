package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/runfile"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// oraclePlace is the name of the place with databases.
const oraclePlace = "a database"

// oraclePlaces lists the places of this file.
// In windows shorter than 24 s, the load of other lanes looks like a drift of the database.
func oraclePlaces() []Place { return []Place{{Name: oraclePlace, Seconds: 24, Open: openOracle}} }

// honestDatabases lists the database loads of the runs without an injection.
func honestDatabases() []Honest {
	var all []Honest
	for name, load := range map[string]databaseRun{
		"SLOB, random reads":             {access: bench.SLOBRandomRead},
		"SLOB, random reads and updates": {access: bench.SLOBRandomRead, updates: 20},
		"SLOB, full scans":               {access: bench.SLOBFullTableScan},
		"SLOB, kernel's client":          {access: bench.SLOBRandomRead, kernel: true},
	} {
		all = append(all, Honest{Name: name, Place: oraclePlace, Run: func(ctx context.Context, w World, noise bool) (runfile.Result, error) {
			o, err := as[*oracleWorld](w)
			if err != nil {
				return runfile.Result{}, err
			}
			defer o.rig.noise.during(noise)()
			return o.run(ctx, load)
		}})
	}
	slices.SortFunc(all, func(a, b Honest) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// oracleInjections lists the injections of this file.
func oracleInjections() []Injection {
	var all []Injection
	for _, d := range databaseInjections() {
		i := d.Injection
		i.Kind, i.Place = "database", oraclePlace
		i.Run = in(func(ctx context.Context, w *oracleWorld, s Strength) (runfile.Result, error) {
			r := databaseRun{access: bench.SLOBRandomRead}
			if d.load != nil {
				d.load(&r)
			}
			d.inject(w, &r, s)
			return w.run(ctx, r)
		})
		all = append(all, i)
	}
	return all
}

// databaseInjection is an Injection into a run with a database.
type databaseInjection struct {
	Injection

	load   func(*databaseRun) // nil = random reads
	inject func(w *oracleWorld, r *databaseRun, s Strength)
}

// wholePercents makes strengths from percentages.
func wholePercents(values ...float64) []Strength {
	var all []Strength
	for _, v := range values {
		all = append(all, Strength{Name: fmt.Sprintf("%g %%", v), Value: v})
	}
	return all
}

// faults sets the faults of the database.
func faults(set func(f *standin.Faults, s Strength)) func(*oracleWorld, *databaseRun, Strength) {
	return func(_ *oracleWorld, r *databaseRun, s Strength) {
		r.options = func(o *standin.Options) { set(&o.Config.Faults, s) }
	}
}

func scans(r *databaseRun)         { r.access = bench.SLOBFullTableScan }
func updates(r *databaseRun)       { r.updates = 20 }
func throughKernel(r *databaseRun) { r.kernel = true }

// databaseInjections are all the ways in which a database can falsify the number of a storage.
func databaseInjections() []databaseInjection {
	return append(append(directInjections(), insideInjections()...), waitInjections()...)
}

// directInjections change what carries the load.
func directInjections() []databaseInjection {
	return []databaseInjection{
		{Injection: Injection{
			Name: "Direct NFS falls back to the kernel", Strengths: []Strength{{"completely", 100}}, Gross: "completely",
			Expect: []judge.Code{judge.DNFSNotActive, judge.ProtocolMismatch},
		}, inject: faults(func(f *standin.Faults, s Strength) { f.Fallback = !s.None() })},
		{
			Injection: Injection{
				Name: "some processes fall back to the kernel", Strengths: wholePercents(10, 25, 50), Gross: "50 %",
				Expect: []judge.Code{judge.DNFSNotActive, judge.ProtocolMismatch},
			}, load: func(r *databaseRun) { r.users = 20 },
			inject: faults(func(f *standin.Faults, s Strength) { f.KernelSessions = int(s.Value) }),
		},
		{Injection: Injection{
			Name: "Direct NFS uses one path of two", Strengths: []Strength{{"one of two", 1}}, Gross: "one of two",
			Expect: []judge.Code{judge.PathUnused},
		}, inject: func(w *oracleWorld, r *databaseRun, s Strength) {
			if !s.None() {
				r.options = func(o *standin.Options) { o.Paths = w.paths[:1] }
			}
		}},
		{Injection: Injection{
			Name: "the oranfstab is not used", Strengths: []Strength{{"not at all", 1}}, Gross: "not at all",
			Expect: []judge.Code{judge.OranfstabNotUsed, judge.PathUnused},
		}, inject: func(_ *oracleWorld, r *databaseRun, s Strength) {
			r.options = func(o *standin.Options) { o.NoOranfstab = !s.None() }
		}},
		{Injection: Injection{
			Name: "Direct NFS uses another version", Strengths: []Strength{{"NFSv3 for NFSv4.1", 41}, {"NFSv3 for pNFS", 42}},
			Gross: "NFSv3 for NFSv4.1", Expect: []judge.Code{judge.ProtocolMismatch},
		}, inject: func(_ *oracleWorld, r *databaseRun, s Strength) {
			version := map[float64]bench.NFSVersion{41: bench.NFSv41, 42: bench.PNFS}[s.Value]
			if version != "" {
				r.declare = func(p *runfile.Plan) { p.Engine.NFSVersion = version }
			}
		}},
		{
			Injection: Injection{
				Name: "no asynchronous I/O is left, with the kernel's client", Strengths: []Strength{{"none", 1}}, Gross: "none",
				Expect: []judge.Code{judge.AsyncIOExhausted, judge.SyncIO},
			}, load: func(r *databaseRun) { scans(r); throughKernel(r) },
			inject: func(_ *oracleWorld, r *databaseRun, s Strength) {
				requests := int64(16_384)
				if !s.None() {
					requests = 65_500
				}
				r.options = func(o *standin.Options) { o.Config.Faults.NoKernelAIO = !s.None() }
				r.observe = func(w *runfile.ObservedWindow) { w.AsyncIO = &runfile.AsyncIO{Requests: requests, Limit: 65_536} }
			},
		},
		{
			Injection: Injection{
				Name: "files without asynchronous I/O, with the kernel's client", Strengths: []Strength{{"all", 1}}, Gross: "all",
				Expect: []judge.Code{judge.SyncIO},
			}, load: func(r *databaseRun) { scans(r); throughKernel(r) },
			inject: faults(func(f *standin.Faults, s Strength) { f.AsyncOff = !s.None() }),
		},
	}
}

// insideInjections make a database do something other than the I/O that it was asked for.
func insideInjections() []databaseInjection {
	return []databaseInjection{
		{Injection: Injection{
			Name: "the buffer cache answers random reads", Strengths: wholePercents(10, 50, 90), Gross: "90 %",
			Expect: []judge.Code{judge.CacheSuspected},
		}, inject: faults(func(f *standin.Faults, s Strength) { f.Uncached = 100 - int(s.Value) })},
		{Injection: Injection{
			Name: "full scans go through the buffer cache", Gross: "and 90 % are in it",
			Strengths: []Strength{{"and nothing is in it", 1}, {"and 50 % are in it", 50}, {"and 90 % are in it", 90}},
			Expect:    []judge.Code{judge.BufferedScan},
		}, load: scans, inject: faults(func(f *standin.Faults, s Strength) {
			f.BufferedScans = !s.None()
			if s.Value > 1 {
				f.Uncached = 100 - int(s.Value)
			}
		})},
		{Injection: Injection{
			Name: "range scans are read in batches", Latency: true, Strengths: wholePercents(5, 20, 100), Gross: "100 %",
			Expect: []judge.Code{judge.BatchedReads},
		}, inject: faults(func(f *standin.Faults, s Strength) { f.Batches = int(s.Value) })},
		{Injection: Injection{
			Name: "a job reads in the same database", Strengths: wholePercents(5, 10, 50), Gross: "50 %",
			Expect: []judge.Code{judge.ForeignLoad},
		}, inject: faults(func(f *standin.Faults, s Strength) { f.ForeignReads = int(s.Value) })},
		{Injection: Injection{
			Name: "a job reads in the same database beside scans", Strengths: append(wholePercents(100), Strength{"all that 8 processes can", 1000}), Gross: "all that 8 processes can",
			Expect: []judge.Code{judge.ForeignLoad},
		}, load: scans, inject: faults(func(f *standin.Faults, s Strength) { f.ForeignReads = int(s.Value) })},
		{Injection: Injection{
			Name: "the statistics of files say a part of the latency", Strengths: wholePercents(80, 40, 5), Gross: "5 %",
			Expect: []judge.Code{judge.SuspectLatency},
		}, inject: faults(func(f *standin.Faults, s Strength) { f.ServiceTimes = int(s.Value) })},
		{Injection: Injection{
			Name: "all views say a part of the latency", Latency: true, Strengths: wholePercents(80, 40, 5), Gross: "5 %",
			Expect: []judge.Code{judge.SuspectLatency},
		}, inject: faults(func(f *standin.Faults, s Strength) {
			f.ServiceTimes, f.EventTimes = int(s.Value), int(s.Value)
		})},
		{Injection: Injection{
			Name: "an init parameter differs", Strengths: []Strength{{"db_cache_size 16 times as large", 16}},
			Gross: "db_cache_size 16 times as large", Expect: []judge.Code{judge.Partial, judge.ParameterDiffers},
		}, inject: func(_ *oracleWorld, r *databaseRun, s Strength) {
			const asked = 128 << 20
			r.change = func(p *runfile.Plan) { p.Database.Parameters["db_cache_size"] = strconv.Itoa(asked) }
			r.options = func(o *standin.Options) {
				if !s.None() {
					o.Config.Faults.Running = map[string]string{"db_cache_size": strconv.Itoa(asked * int(s.Value))}
				}
			}
		}},
		{Injection: Injection{
			Name: "the database reaches its limit of CPU", Gross: "a quarter of what it needs",
			Strengths: []Strength{{"three quarters of what it needs", .75}, {"half of what it needs", .5}, {"a quarter of what it needs", .25}},
			Expect:    []judge.Code{judge.ClientCPUBound},
		}, inject: func(_ *oracleWorld, r *databaseRun, s Strength) {
			// Four sessions that wait 2 ms for each block need 4 * 0.1 / 2.1 cores.
			const need = .19
			r.options = func(o *standin.Options) {
				o.Config.Faults.BlockCPU, o.Config.Faults.Cores = 100*time.Microsecond, need*s.Value
			}
			r.change = func(p *runfile.Plan) {
				p.Database.CPUMillis = 2000
				if !s.None() {
					p.Database.CPUMillis = int64(need * s.Value * 1000)
				}
			}
		}},
		{Injection: Injection{
			Name: "one instance of two reads less", Strengths: []Strength{{"by 15 %", .15}, {"by half", .5}}, Gross: "by half",
			Expect: []judge.Code{judge.RACImbalance},
		}, inject: faults(func(f *standin.Faults, s Strength) {
			f.Instances = []string{"FREE1", "FREE2"}
			f.SlowInstance = time.Duration(float64(diskSmall) * (1/(1-s.Value) - 1))
		})},
	}
}

// waitInjections make sessions wait for something other than the storage.
func waitInjections() []databaseInjection {
	var all []databaseInjection
	for _, w := range []struct{ event, class string }{
		{"resmgr:cpu quantum", "Scheduler"},
		{"buffer busy waits", "Concurrency"},
		{"free buffer waits", "Configuration"},
		{"enq: TX - row lock contention", "Application"},
		{"gc cr block 2-way", "Cluster"},
		{"latch free", "Other"},
		{"SQL*Net more data to client", "Network"},
		{"JS coord start wait", "Administrative"},
		{"Streams AQ: enqueue blocked", "Queueing"},
	} {
		all = append(all, databaseInjection{Injection: Injection{
			Name: "sessions wait for " + w.event, Strengths: wholePercents(5, 15, 40), Gross: "40 %",
			Expect: []judge.Code{judge.WaitsNotStorage},
		}, inject: faults(func(f *standin.Faults, s Strength) {
			if !s.None() {
				f.Waits = []standin.Waiting{{Event: w.event, Class: w.class, Percent: int(s.Value)}}
			}
		})})
	}
	all = append(all, databaseInjection{Injection: Injection{
		Name: "sessions wait for three things a little", Strengths: wholePercents(6, 15, 39), Gross: "39 %",
		Expect: []judge.Code{judge.WaitsNotStorage},
	}, inject: faults(func(f *standin.Faults, s Strength) {
		for n, class := range []string{"Scheduler", "Concurrency", "Configuration"} {
			if !s.None() {
				f.Waits = append(f.Waits, standin.Waiting{Event: fmt.Sprintf("event %d", n), Class: class, Percent: int(s.Value) / 3})
			}
		}
	})})
	return append(all, databaseInjection{Injection: Injection{
		Name: "commits wait for a switch of the redo log", Gross: "50 ms each",
		Strengths: []Strength{{"1 ms each", 1}, {"10 ms each", 10}, {"50 ms each", 50}},
		Expect:    []judge.Code{judge.WaitsNotStorage},
	}, load: updates, inject: faults(func(f *standin.Faults, s Strength) {
		f.CheckpointWait = time.Duration(s.Value) * time.Millisecond
	})})
}
