package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	planner "github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// oracleWorld runs stand-ins of a database in this process, with an embedded NFS server whose disk
// takes time. Each run has its own database.
type oracleWorld struct {
	rig   *Rig
	lane  int
	paths []string
}

func openOracle(_ context.Context, rig *Rig, lane int) (World, error) {
	w := &oracleWorld{rig: rig, lane: lane}
	for n := range 2 {
		w.paths = append(w.paths, fmt.Sprintf("127.60.%d.%d", lane+1, n+1))
	}
	return w, nil
}

func (w *oracleWorld) Close() error { return nil }

// databaseRun is one run against a stand-in, with its declaration and its actual setup.
type databaseRun struct {
	access  bench.SLOBAccess
	users   int32
	updates int32 // percent
	kernel  bool  // declared: the client of the kernel
	options func(*standin.Options)
	// declare changes only the plan, so that the declaration differs from the setup.
	declare func(*runfile.Plan)
	// observe changes what the collector saw of the node.
	observe func(*runfile.ObservedWindow)
	change  func(*runfile.Plan)
}

// The disk behind the server: so slow that the CPU use of other lanes hardly affects it.
const (
	diskSmall = 5 * time.Millisecond
	diskLarge = 40 * time.Millisecond // 1 MiB
)

// disk returns a time that varies by a quarter, as with disks.
func disk(bytes int) time.Duration {
	mean := diskSmall + (diskLarge-diskSmall)*time.Duration(bytes)/(1<<20)
	return mean*7/8 + time.Duration(rand.Int64N(int64(mean/4)))
}

// run makes one run.
func (w *oracleWorld) run(ctx context.Context, d databaseRun) (result runfile.Result, err error) {
	dir, err := os.MkdirTemp(w.rig.Dir, "oracle")
	if err != nil {
		return result, err
	}
	tb := &holder{ctx: ctx, dir: dir}
	defer func() { err = errors.Join(err, tb.close(recover())) }()
	o := standin.Options{Paths: w.paths, Config: standin.Config{Disk: disk, Faults: standin.Faults{Uncached: 100}}}
	if d.kernel {
		o.Paths = nil
	}
	if d.options != nil {
		d.options(&o)
	}
	s := standin.NewWorld(tb, o)
	plan, err := w.plan(s, d)
	if err != nil {
		return result, err
	}
	eyes := &eyes{world: s, observe: d.observe}
	load, err := run.Run(ctx, run.Options{
		Plan: plan, Now: time.Now, Open: s.Opener(), User: "sys", Password: standin.Password, Sink: eyes, Database: s,
	})
	if err != nil {
		return result, err
	}
	if d.kernel {
		load.Mount = &runfile.MountFacts{
			FilesystemType: "nfs", Source: "server:/export", Options: []string{"vers=3"}, NFSVersion: "NFSv3", DirectIO: true,
		}
	}
	if d.declare != nil {
		d.declare(&plan)
	}
	return runfile.Result{
		Version: runfile.ResultVersion, Plan: plan, Simulated: load.Oracle.StandIn,
		Clients: []runfile.ClientResult{{
			Host: runfile.Host{Name: "loader", Node: "node0", CPUs: 4}, Load: *load,
			Observed: &runfile.Observed{IntervalMilliseconds: 1000, Windows: eyes.windows},
		}},
	}, nil
}

// plan returns the plan of a run, with the operator's init parameters.
func (w *oracleWorld) plan(s *standin.World, d databaseRun) (runfile.Plan, error) {
	paths, err := planner.SelectPaths(v1alpha1.NFSBenchmarkSpec{}, w.paths, nil)
	if err != nil {
		return runfile.Plan{}, err
	}
	own, err := planner.Build(gen.Benchmark("believe", gen.Calibrate(0), gen.Oracle), planner.Target{Export: "/export", Paths: paths})
	if err != nil {
		return runfile.Plan{}, err
	}
	p := runfile.Plan{
		Version: runfile.PlanVersion, Run: runfile.Identity{Name: "believe"}, Clients: 1, Seed: 7, Schedule: w.rig.Schedule(),
		Engine: runfile.Engine{
			Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Server: "flashblade", Export: "/export",
			Channels: runfile.ChannelsTo(w.paths...), MountPath: s.Config().Data,
		},
		Workload: bench.Workload{SLOB: &bench.SLOBWorkload{
			Access: d.access, Users: []int32{max(d.users, 4)}, Schemas: 2, Scale: *bench.Bytes(16 << 20), ScanTableSize: *bench.Bytes(40 << 20), WorkUnit: 16,
			LoadParallelDegree: 2, Tablespace: "NFSBENCH", RedoStress: bench.SLOBRedoLite, UpdatePercent: d.updates,
		}},
		Database: &runfile.Database{
			Kind: runfile.DatabaseContainer, DirectNFS: true, User: "sys", Role: "SYSDBA", RestartBeforeRun: true,
			Parameters: own.Database.Parameters, AdminConnect: s.Admin(), Connects: []string{s.Load()},
			SID: standin.DefaultSID, DataDirectory: s.Config().Data, StartupTimeoutSeconds: 60,
		},
	}
	if d.kernel {
		p.Database.DirectNFS = false
		p.Database.Parameters["filesystemio_options"] = "SETALL"
		p.Engine = runfile.Engine{Client: bench.ClientKernel, NFSVersion: "NFSv3", MountPath: s.Config().Data}
	}
	if d.change != nil {
		d.change(&p)
	}
	return p, nil
}

// eyes observe a run like a collector: they count what the kernel's mount carries in the window.
type eyes struct {
	world   *standin.World
	observe func(*runfile.ObservedWindow)

	mu            sync.Mutex
	windows       []runfile.ObservedWindow
	open          bool
	read, written int64
}

func (e *eyes) Load(*runfile.Load) error { return nil }

func (e *eyes) Event(v runfile.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	read, written := e.world.Instance().KernelBytes()
	measures := v.Span == runfile.SpanMeasure
	switch {
	case measures && !e.open:
		e.windows = append(e.windows, runfile.ObservedWindow{Kind: "Measure", Repetition: v.Repetition, Start: v.Time})
		e.read, e.written = read, written
	case e.open:
		w := &e.windows[len(e.windows)-1]
		w.End = v.Time
		w.Mount = &runfile.MountCounters{
			ServerReadBytes: read - e.read, ServerWriteBytes: written - e.written,
			DirectReadBytes: read - e.read, DirectWriteBytes: written - e.written,
		}
		if e.observe != nil {
			e.observe(w)
		}
	}
	e.open = measures
}

// holder implements the testing.TB that a stand-in for tests needs.
type holder struct {
	testing.TB

	ctx  context.Context //nolint:containedctx // like that of a test
	dir  string
	dirs int
	undo []func()
	bad  []error
}

// fatal ends the run, as Fatal ends a test.
type fatal struct{ error }

func (h *holder) Helper()                  {}
func (h *holder) Context() context.Context { return h.ctx }
func (h *holder) Cleanup(f func())         { h.undo = append(h.undo, f) }
func (h *holder) Error(args ...any)        { h.bad = append(h.bad, errors.New(fmt.Sprint(args...))) }
func (h *holder) Fatal(args ...any)        { panic(fatal{errors.New(fmt.Sprint(args...))}) }

func (h *holder) Errorf(format string, args ...any) {
	h.bad = append(h.bad, fmt.Errorf(format, args...))
}

func (h *holder) Fatalf(format string, args ...any) { panic(fatal{fmt.Errorf(format, args...)}) }

func (h *holder) TempDir() string {
	h.dirs++
	dir := filepath.Join(h.dir, strconv.Itoa(h.dirs))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		h.Fatal(err)
	}
	return dir
}

// close undoes everything, and returns what went wrong.
func (h *holder) close(recovered any) error {
	for _, undo := range slices.Backward(h.undo) {
		undo()
	}
	if f, ok := recovered.(fatal); ok {
		h.bad = append(h.bad, f)
	} else if recovered != nil {
		panic(recovered)
	}
	return errors.Join(append(h.bad, os.RemoveAll(h.dir))...)
}
