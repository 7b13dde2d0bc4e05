package gen

import (
	"maps"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// stepsOf are the levels of load of a plan in the order in which a client goes
// through them; one without a step where there is one level only.
func stepsOf(p runfile.Plan) []*runfile.Step {
	var out []*runfile.Step
	rounds := p.Schedule.Repetitions
	add := func(kind string, warmup bool, round int32, users ...int32) {
		for _, u := range users {
			out = append(out, &runfile.Step{Kind: kind, Users: u, Round: round, Warmup: warmup})
		}
	}
	round := func(warmup bool, n int32) {
		switch w := p.Workload; {
		case w.SLOB != nil:
			add(runfile.StepUsers, warmup, n, w.SLOB.Users...)
		case w.Calibrate != nil && p.Database != nil:
			add(runfile.StepCalibrate, warmup, n, 0)
		case w.Calibrate != nil:
			add(runfile.StepSmallReads, warmup, n, 1, 2, 4, 8)
			add(runfile.StepLargeReads, warmup, n, 4)
		default:
			out = append(out, nil)
		}
	}
	if w := p.Workload.Calibrate; w != nil {
		for n := range w.WarmupRuns {
			round(true, n+1)
		}
	}
	for n := range rounds {
		round(false, n+1)
	}
	return out
}

// blockOf is the size of one read.
func blockOf(p runfile.Plan, step *runfile.Step) int64 {
	switch {
	case p.Workload.Raw != nil:
		return p.Workload.Raw.BlockSizeBytes
	case step != nil && step.Kind == runfile.StepLargeReads:
		return 1 << 20
	default:
		return 8192
	}
}

// bytesOf is what is read in one window: more users give more, up to eight.
func bytesOf(p runfile.Plan, step *runfile.Step) int64 {
	total := bytesPerSecond * int64(p.Schedule.DurationSeconds)
	if step != nil && step.Users > 0 {
		total = total / 8 * int64(min(step.Users, 8))
	}
	return total
}

func keepsFiles(p runfile.Plan) bool { return p.Workload.Raw != nil && p.Workload.Raw.KeepFiles }

// meanOf is the latency of reads at a level of load, in microseconds.
func meanOf(step *runfile.Step) int64 {
	if step == nil {
		return 1000
	}
	return 400 + 100*int64(max(step.Users-8, 0))
}

// ofOracle turns a repetition into the report of a database: it counts by
// itself, in buckets, and knows the protocol.
func ofOracle(r *runfile.Repetition, p runfile.Plan, step *runfile.Step) {
	mean := meanOf(step)
	n := r.Read.Count
	r.Read.Histogram, r.Channels = "", nil
	r.Read.Buckets = []runfile.LatencyBucket{{BelowMicroseconds: 512, Count: n / 2}, {BelowMicroseconds: 2048, Count: n - n/2}}
	r.Read.TotalMicroseconds = n * mean
	method := "OS_LIB"
	w := &runfile.OracleWindow{
		Statistics: map[string]int64{"physical read total bytes": r.Read.Bytes, "physical write total bytes": 0},
		Events: []runfile.OracleEvent{{
			Name: "db file sequential read", Waits: n, Microseconds: n * mean, Buckets: r.Read.Buckets,
		}},
		ServiceTimeUnit: runfile.UnitMicroseconds,
	}
	if p.Database.DirectNFS {
		method = "DNFS_LIB"
		w.DirectNFS = directNFS(p, r.Read.Bytes, n)
	}
	w.Files = []runfile.OracleFile{{
		Number: 4, Instance: 1, Type: "Data File", Name: "/opt/oracle/oradata/users01.dbf", AccessMethod: method, AsynchIO: "ASYNC_ON",
		SmallReads: n, SmallReadTime: float64(n * mean), SmallSyncReads: n, SmallSyncReadTime: float64(n * mean), SmallReadMegabyte: r.Read.Bytes >> 20,
	}}
	if step.Kind == runfile.StepCalibrate {
		w.Calibration = &runfile.Calibration{MaxIOPS: 27_000 + int64(step.Round), MaxMegabytesPerSecond: 1100, ActualLatencyMilliseconds: 1}
	}
	r.Oracle = w
}

// directNFS is what Oracle's client reports about the paths of the plan, all of which
// it uses alike.
func directNFS(p runfile.Plan, bytes, ops int64) runfile.DirectNFS {
	version := map[string]string{"NFSv3": "NFSv3.0", "NFSv4.0": "NFSv4.0", "NFSv4.1": "NFSv4.1", "pNFS": "Parallel NFS"}[p.Engine.NFSVersion]
	none := int64(0)
	d := runfile.DirectNFS{
		Servers: []runfile.DNFSServer{{Instance: 1, Server: p.Engine.Server, Export: p.Engine.Export, Version: version}},
		ReadOps: &ops, WriteOps: &none, ReadBytes: &bytes, WriteBytes: &none,
	}
	paths := pathsOf(p)
	for _, path := range paths {
		share := ops / int64(len(paths))
		d.Channels = append(d.Channels, runfile.DNFSChannel{
			Instance: 1, Server: p.Engine.Server, Path: path, Local: "10.9.9.9", Processes: 3, Sends: share, Receives: share,
		})
	}
	return d
}

// oracleOf is what a loader finds of the database of a plan.
func oracleOf(p runfile.Plan, start time.Time) *runfile.Oracle {
	o := &runfile.Oracle{
		Banner: "Oracle Database 19c Enterprise Edition Release 19.0.0.0.0", Version: "19.0.0.0.0",
		Instances: []runfile.OracleInstance{{ID: 1, Name: "ORCLCDB", Host: "pod", StartupTime: start}},
	}
	if p.Database.Kind != runfile.DatabaseContainer {
		return o
	}
	o.ReadyMilliseconds = new(int64(754_600))
	o.Library = &runfile.DirectNFSLibrary{Wanted: p.Database.DirectNFS, OradismMode: "-rwsr-x---"}
	if p.Database.DirectNFS {
		o.Library.AlertLine = "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0"
	}
	for _, name := range slices.Sorted(maps.Keys(p.Database.Parameters)) {
		o.Parameters = append(o.Parameters, runfile.OracleParameter{Name: name, Requested: p.Database.Parameters[name], Value: p.Database.Parameters[name]})
	}
	return o
}
