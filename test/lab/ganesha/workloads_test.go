package ganesha_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
	"github.com/nfsbench/nfsbench/internal/stats"
	"github.com/nfsbench/nfsbench/test/kit/measure"
	"github.com/nfsbench/nfsbench/test/lab/ganesha"
)

const (
	blockBytes = 8192
	fileBytes  = 16 << 20
	// The links are so slow that it matters little what else this machine does.
	rate, bytesPerSecond = "50mbit", 50e6 / 8
	// lineIOPS is what one carries of blocks of 8 KiB, each in six packets of 66
	// bytes around what they carry, and an RPC header.
	lineIOPS = bytesPerSecond / (blockBytes + 6*66 + 140)
)

func fourSubnets() []string {
	return []string{"10.250.1.0/24", "10.250.2.0/24", "10.250.3.0/24", "10.250.4.0/24"}
}

type nothing struct{}

func (nothing) Event(runfile.Event)      {}
func (nothing) Load(*runfile.Load) error { return nil }

// load runs a workload over the first paths of an array with our own client.
func load(t *testing.T, a ganesha.Array, paths int, w bench.Workload, s runfile.Schedule, change ...func(*runfile.Plan),
) *runfile.Load {
	t.Helper()
	return loadOver(t, runfile.Engine{Export: a.Export, Channels: runfile.ChannelsTo(a.LIFs[:paths]...)}, w, s, change...)
}

// loadOver runs a workload over the channels of an engine.
func loadOver(t *testing.T, e runfile.Engine, w bench.Workload, s runfile.Schedule, change ...func(*runfile.Plan),
) *runfile.Load {
	t.Helper()
	e.Client, e.RequireNFS, e.Server = bench.ClientDirectNFS, true, "lab"
	plan := runfile.Plan{
		Version: runfile.PlanVersion, Clients: 1, Seed: 1, Run: runfile.Identity{Name: "lab"}, Workload: w, Schedule: s, Engine: e,
	}
	for _, c := range change {
		c(&plan)
	}
	r, err := loadgen.New(loadgen.Options{
		Plan: plan, Now: time.Now, Usage: runloop.ProcessUsage, Sink: nothing{},
		Open: func(ctx context.Context) (target.Target, error) {
			return loadgen.OpenTarget(ctx, plan.Engine, time.Now, slog.New(slog.DiscardHandler))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Run(t.Context())
	if err != nil || l.Failure != nil {
		t.Fatalf("error %v, failure %+v", err, l.Failure)
	}
	if v := l.Verification; v == nil || v.BlocksWrong != 0 || v.BlocksChecked == 0 {
		t.Fatalf("verification %+v", v)
	}
	return l
}

func files(count int32) bench.NativeFiles {
	return bench.NativeFiles{Count: count, Size: *bench.Bytes(fileBytes), Directory: "workloads"}
}

func slob(access bench.SLOBAccess, users ...int32) bench.Workload {
	return bench.Workload{SLOB: &bench.SLOBWorkload{
		Access: access, Users: users, Schemas: 2, Scale: *bench.Bytes(fileBytes), ScanTableSize: *bench.Bytes(fileBytes), WorkUnit: 64, ReadAhead: 2, NativeFiles: files(2),
	}}
}

// level is what one step gave.
type level struct {
	iops, mb  float64 // a second
	mean, p50 time.Duration
	paths     []float64 // share of each
}

func levelOf(t *testing.T, rep runfile.Repetition) level {
	t.Helper()
	h, err := stats.DecodeHistogram(rep.Read.Histogram)
	if err != nil {
		t.Fatal(err)
	}
	seconds := rep.End.Sub(rep.Start).Seconds()
	l := level{
		iops: float64(rep.Read.Count) / seconds, mb: float64(rep.Read.Bytes) / seconds / 1e6,
		mean: time.Duration(h.Latency().MeanMicroseconds) * time.Microsecond, p50: time.Duration(h.Percentile(50)) * time.Microsecond,
	}
	for _, c := range rep.Channels {
		l.paths = append(l.paths, float64(c.BytesRead)/float64(max(rep.Read.Bytes, 1)))
	}
	return l
}

// best gives the best round of each step: on a shared machine any round can be
// disturbed, and none can be better than the storage.
func best(t *testing.T, l *runfile.Load, kind string) map[int32]level {
	t.Helper()
	out := map[int32]level{}
	for _, rep := range l.Repetitions {
		if rep.Step.Kind != kind {
			continue
		}
		got := levelOf(t, rep)
		t.Logf("%s %2d: %6.0f IOPS %6.1f MB/s, mean %v, paths %.2f", kind, rep.Step.Users, got.iops, got.mb, got.mean, got.paths)
		if got.iops > out[rep.Step.Users].iops {
			out[rep.Step.Users] = got
		}
	}
	return out
}

// TestMeasureRampShowsTheKnee shapes the links, because a line saturates at the
// same load whatever else this machine does.
func TestMeasureRampShowsTheKnee(t *testing.T) {
	a := ganesha.Start(t, "native", fourSubnets(), "--rate", rate)
	ramp := slob(bench.SLOBRandomRead, 1, 2, 4, 8, 16)
	schedule := runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 2, Repetitions: 2}
	t.Run("one path", func(t *testing.T) {
		at := best(t, load(t, a, 1, slob(bench.SLOBRandomRead, 1, 2, 8), schedule), runfile.StepUsers)
		// One user nearly fills the line, which knows nothing but waiting beyond.
		for _, n := range []int32{2, 8} {
			measure.Expect(t, fmt.Sprintf("IOPS of %d users", n), "of the line", measure.Between(0.75, 1.03), at[n].iops/lineIOPS)
		}
		grows(t, at, 2, 8, measure.Between(0.8, 1.3), measure.Between(3, 5))
	})
	t.Run("four paths", func(t *testing.T) {
		at := best(t, load(t, a, 4, ramp, schedule), runfile.StepUsers)
		grows(t, at, 1, 4, measure.Between(3, 5.3), measure.Between(0.7, 1.5))
		for _, n := range []int32{8, 16} { // beyond the knee
			measure.Expect(t, fmt.Sprintf("IOPS of %d users", n), "of the four lines", measure.Between(0.75, 1.03), at[n].iops/lineIOPS/4)
			measure.Expect(t, fmt.Sprintf("shares of the paths with %d users", n), "of 1", measure.Between(0.2, 0.3), at[n].paths...)
		}
		grows(t, at, 8, 16, measure.Between(0.8, 1.25), measure.Between(1.6, 2.6))
	})
}

// grows records what more users change.
func grows(t *testing.T, at map[int32]level, from, to int32, iops, latency measure.Wanted) {
	t.Helper()
	peer := fmt.Sprintf("that of %d", from)
	measure.Ratio(t, fmt.Sprintf("IOPS of %d users", to), peer, iops, []float64{at[to].iops}, []float64{at[from].iops})
	measure.Ratio(t, fmt.Sprintf("latency of %d users", to), peer, latency, []float64{at[to].mean.Seconds()}, []float64{at[from].mean.Seconds()})
}

// TestMeasureCalibration finds what the lines carry: IOPS in small reads,
// megabytes a second in large ones.
func TestMeasureCalibration(t *testing.T) {
	a := ganesha.Start(t, "native", fourSubnets(), "--rate", rate)
	for paths, disks := range map[int]int32{1: 2, 4: 100} {
		t.Run(fmt.Sprintf("%d paths", paths), func(t *testing.T) {
			w := bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: disks, MaxLatencyMilliseconds: 20, NativeFiles: files(3)}}
			l := load(t, a, paths, w, runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 2, Repetitions: 1})
			iops, mb := 0.0, 0.0
			for _, at := range best(t, l, runfile.StepSmallReads) {
				if at.mean <= 20*time.Millisecond {
					iops = max(iops, at.iops)
				}
			}
			for _, at := range best(t, l, runfile.StepLargeReads) {
				mb = max(mb, at.mb)
			}
			measure.Expect(t, "IOPS within 20 ms", "of the lines", measure.Between(0.6, 1.03), iops/lineIOPS/float64(paths))
			measure.Expect(t, "MB/s", "of the lines", measure.Between(0.6, 1.15), mb*1e6/bytesPerSecond/float64(paths))
		})
	}
}

func TestGaneshaScansAndUpdates(t *testing.T) {
	a := ganesha.Start(t, "native", fourSubnets(), "--rate", rate)
	schedule := runfile.Schedule{WarmupSeconds: 1, DurationSeconds: 2, Repetitions: 1}
	scan := best(t, load(t, a, 4, slob(bench.SLOBFullTableScan, 4), schedule), runfile.StepUsers)[4]
	if scan.mb == 0 {
		t.Error("no table was scanned")
	}
	measure.Expect(t, "MB/s of scans", "of the lines", measure.Between(0.7, 1.15), scan.mb*1e6/bytesPerSecond/4)

	updates := slob(bench.SLOBRandomRead, 8)
	updates.SLOB.UpdatePercent = 50
	rep := load(t, a, 4, updates, schedule).Repetitions[0]
	if rep.Read == nil || rep.Write == nil || rep.Read.Count == 0 || rep.Write.Count == 0 {
		t.Fatalf("reads %+v, writes %+v; want both", rep.Read, rep.Write)
	}
	measure.Expect(t, "writes", "of each read", measure.Between(0.4, 0.6), float64(rep.Write.Count)/float64(rep.Read.Count))
}

// TestMeasureUserAgainstARawReadAtDepthOne takes turns, because what else
// this machine does changes the latency by more than the engine could.
func TestMeasureUserAgainstARawReadAtDepthOne(t *testing.T) {
	a := ganesha.Start(t, "native", fourSubnets()[:1])
	schedule := runfile.Schedule{DurationSeconds: 1, Repetitions: 1}
	raw := bench.Workload{Raw: &bench.RawWorkload{
		Pattern: bench.PatternRandomRead, BlockSize: bench.Bytes(blockBytes), FileSize: *bench.Bytes(fileBytes), Jobs: 1, Depth: 1, Directory: "workloads",
	}}
	user := slob(bench.SLOBRandomRead, 1)
	user.SLOB.Schemas = 1
	keep := func(p *runfile.Plan) { p.Keep = true } // the files, which the next turn finds filled
	of := map[string][]float64{}
	for turn := range 21 {
		order := []string{"raw", "user"}
		if turn%2 == 1 {
			slices.Reverse(order)
		}
		for _, name := range order {
			l := load(t, a, 1, map[string]bench.Workload{"raw": raw, "user": user}[name], schedule, keep)
			of[name] = append(of[name], levelOf(t, l.Repetitions[0]).p50.Seconds()*1e6)
		}
	}
	measure.Record(t, "median latency of a raw read", "µs", of["raw"]...)
	measure.Record(t, "median latency of one user", "µs", of["user"]...)
	measure.Ratio(t, "median latency of one user", "a raw read", measure.Between(0.9, 1.1), of["user"], of["raw"])
}
