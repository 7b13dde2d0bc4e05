package loadgen

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// calibrateLarge is no larger than it must be to differ from a small read: a ladder moves
// it ten thousands of times.
const calibrateLarge = 2 * slobBlock

func calibratePlan(disks int32) runfile.Plan {
	plan := testPlan(bench.PatternRead)
	plan.Workload = bench.Workload{Calibrate: &bench.CalibrateWorkload{
		PhysicalDisks: disks, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1)),
		NativeFiles: bench.NativeFiles{Count: 3, Size: *bench.Bytes(1 << 20)},
	}}
	plan.BlockBytes, plan.LargeReadBytes = slobBlock, calibrateLarge
	plan.Schedule = runfile.Schedule{BaselineSeconds: 2, WarmupSeconds: 3, DurationSeconds: 4, CooldownSeconds: 5, Repetitions: 1}
	return plan
}

// queue is storage in memory with so many servers, each of which takes so long
// for a read. Filling is free.
func queue(servers int, service time.Duration) *targettest.Memory {
	free := make(chan struct{}, servers)
	return &targettest.Memory{BeforeIO: func(op, name string, _ int64) error {
		if op == "read" && strings.HasSuffix(name, ".dat") {
			free <- struct{}{}
			time.Sleep(service) // of the bubble
			<-free
		}
		return nil
	}}
}

func kindsAndReads(load *runfile.Load, which func(*runfile.Step) bool) string {
	var parts []string
	for _, rep := range load.Repetitions {
		if which(rep.Step) {
			parts = append(parts, fmt.Sprintf("%c%d", rep.Step.Kind[0], rep.Step.Users))
		}
	}
	return strings.Join(parts, " ")
}

func TestACalibrationEndsWhereTheLatencyPassesTheLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		load, _ := runMem(t.Context(), t, calibratePlan(100), queue(10, 15*time.Millisecond))
		if load.Failure != nil || load.Verification.BlocksWrong != 0 {
			t.Fatalf("failure %+v", load.Failure)
		}
		// 10 servers are busy at 10 reads outstanding, 13 of them take 19.5 ms.
		want := "S1 S2 S4 S8 S16 S12 S14 S13 L1 L2 L4 L8 L16 L32 L64"
		for _, warmup := range []bool{true, false} {
			got := kindsAndReads(load, func(s *runfile.Step) bool { return s.Warmup == warmup && s.Round == 1 })
			if got != want {
				t.Errorf("warm-up %v: it went through %s, want %s", warmup, got, want)
			}
		}
		if len(load.Repetitions) != 30 || load.Repetitions[29].Index != 30 {
			t.Errorf("%d repetitions, the last is %d", len(load.Repetitions), load.Repetitions[len(load.Repetitions)-1].Index)
		}
		for _, rep := range load.Repetitions {
			name := fmt.Sprintf("%+v", *rep.Step)
			n := int64(rep.Step.Users)
			checkMean(t, name, rep.Read, time.Duration(max(10, n)*1500)*time.Microsecond)
			perSecond := min(10, n) * 1000 / 15
			if got := rep.Read.Count / 4; got < perSecond-10 || got > perSecond+10 {
				t.Errorf("%s: %d reads a second, want %d", name, got, perSecond)
			}
			block := int64(slobBlock)
			if rep.Step.Kind == runfile.StepLargeReads {
				block = calibrateLarge
			}
			if rep.Read.Bytes != rep.Read.Count*block {
				t.Errorf("%s: %d bytes by %d reads", name, rep.Read.Bytes, rep.Read.Count)
			}
		}
	})
}

func TestACalibrationTellsHowLongItTakesAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := calibratePlan(2)
		_, sink := runMem(t.Context(), t, plan, queue(1, 2*time.Millisecond))
		// At most: 1 2 4 8 16 32, 3 between, 1 2 4 8, 5 s each; it ends with 1 2 4 of either.
		checkEstimates(t, sink.events, 2*(13-6)*5*time.Second)
	})
}

func TestACalibrationReadsAllFiles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tr trace
		plan := calibratePlan(1)
		plan.Workload.Calibrate.WarmupRuns = new(int32(0))
		runMem(t.Context(), t, plan, tr.target(10*time.Millisecond), tr.follow)
		all := 0
		for _, offsets := range tr.offsets {
			all += len(offsets)
		}
		for _, name := range []string{"c0-j0.dat", "c0-j1.dat", "c0-j2.dat"} {
			if n := len(tr.offsets[name]); n < all/4 || n > all/2 {
				t.Errorf("%s was read %d times of %d", name, n, all)
			}
			last := int64(0)
			for _, off := range tr.offsets[name] {
				last = max(last, off)
			}
			if last < 1<<20-calibrateLarge {
				t.Errorf("the end of %s was never read; the last was at %d", name, last)
			}
		}
		if tr.most != 16 {
			t.Errorf("%d reads were outstanding, want 16 for one disk", tr.most)
		}
	})
}

func TestCalibrationOverStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		plan := calibratePlan(1)
		load, _ := runStreams(t.Context(), t, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		if load.Failure != nil {
			t.Fatalf("failure %+v", load.Failure)
		}
		if got := kindsAndReads(load, func(s *runfile.Step) bool { return !s.Warmup }); got != "S1 S2 S4 S8 S16 L1 L2 L4" {
			t.Errorf("it went through %s", got)
		}
		for _, rep := range load.Repetitions {
			if want := 400 * int64(rep.Step.Users); rep.Read.Count < want-int64(rep.Step.Users) || rep.Read.Count > want+int64(rep.Step.Users) {
				t.Errorf("%+v: %d reads, want %d", *rep.Step, rep.Read.Count, want)
			}
		}
	})
}

func TestACalibrationThatTakesTooLongKeepsItsLevels(t *testing.T) {
	t.Parallel()
	eachWay(t, func(t bubble) {
		plan := calibratePlan(1)
		plan.Schedule.TimeoutSeconds = 20
		load, sink := t.run(t.Context(), t.T, plan, &targettest.Memory{Delay: 10 * time.Millisecond})
		if load.Failure == nil || load.Failure.Code != runfile.FailureTimeout || !load.Partial {
			t.Fatalf("failure %+v", load.Failure)
		}
		// After 2 s each level takes 5 s: three are whole, and of the fourth its warm-up and 2 s.
		var seconds []float64
		for _, rep := range load.Repetitions {
			seconds = append(seconds, rep.End.Sub(rep.Start).Round(time.Second/2).Seconds())
			if want := 100 * rep.Step.Users * int32(seconds[len(seconds)-1]); rep.Read.Count < int64(want)*9/10 {
				t.Errorf("%+v: %d reads, want about %d", *rep.Step, rep.Read.Count, want)
			}
		}
		if diff := cmp.Diff([]float64{4, 4, 4, 2}, seconds); diff != "" {
			t.Errorf("seconds of each level (-want +got):\n%s", diff)
		}
		if n := len(sink.last.Repetitions); n != 4 {
			t.Errorf("%d levels were saved", n)
		}
	})
}

func TestWhatOneClientFindsIsNotFoundByMany(t *testing.T) {
	plan := calibratePlan(1)
	plan.Clients = 2
	if err := CheckPlan(&plan); err == nil || !strings.Contains(err.Error(), "clients") {
		t.Errorf("a calibration by two clients gave %v", err)
	}
	plan = slobPlan(bench.SLOBFullTableScan, 1024)
	plan.Workload.SLOB.ReadAhead = 64
	plan.LargeReadBytes = 1 << 20
	if err := CheckPlan(&plan); err == nil || !strings.Contains(err.Error(), "readAhead") {
		t.Errorf("a terabyte of buffers gave %v", err)
	}
	for pattern, refused := range map[bench.RawPattern]bool{bench.PatternOverwrite: true, bench.PatternRead: false} {
		plan = testPlan(pattern)
		plan.Workload.Raw.BlockSize = bench.Bytes(512)
		for _, size := range []int64{4 << 40, 1 << 62} {
			plan.Workload.Raw.FileSize, plan.Workload.Raw.Jobs = *bench.Bytes(size), 256
			if err := CheckPlan(&plan); (err != nil) != refused || refused && !strings.Contains(err.Error(), "state of all blocks") {
				t.Errorf("%s of 256 x %d bytes in blocks of 512 bytes gave %v", pattern, size, err)
			}
		}
	}
	plan = slobPlan(bench.SLOBRandomRead, 1)
	plan.Workload.SLOB.NativeFiles.Directory = "a\nb"
	if diff := cmp.Diff(true, strings.Contains(fmt.Sprint(CheckPlan(&plan)), "workload.slob.nativeFiles.directory")); diff != "" {
		t.Errorf("a directory of two lines gave %v", CheckPlan(&plan))
	}
}
