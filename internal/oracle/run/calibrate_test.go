package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestCalibrationsAreMadeInARowAndTheFirstIsWarmUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		load, sink := runOn(t.Context(), t, d, calibratePlan())
		wantSuccess(t, load)
		want := "Connect Baseline1 Measure1 Cooldown1 Baseline2 Measure2 Cooldown2 Baseline3 Measure3 Done"
		if got := spansOf(load); got != want {
			t.Errorf("spans\n%s, want\n%s", got, want)
		}
		wantSteps := []runfile.Step{
			{Kind: runfile.StepCalibrate, Round: 1, Warmup: true},
			{Kind: runfile.StepCalibrate, Round: 1},
			{Kind: runfile.StepCalibrate, Round: 2},
		}
		for i, rep := range load.Repetitions {
			if diff := cmp.Diff(wantSteps[i], *rep.Step); diff != "" || rep.Index != int32(i+1) {
				t.Error(diff)
			}
			checkCalibration(t, rep)
		}
		if !d.has("restart", "calibrate_status", "active_sessions", "iostat_file", "calibrate", "iostat_file", "calibrate", "calibrate") {
			t.Errorf("order of statements: %v", d.log)
		}
		checkEstimate(t, sink.events)
	})
}

// A new database has a few GiB, and the calibration reads all datafiles.
func TestACalibrationReadsADatabaseOfTheSizeOfThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), calibratePlan()
		d.tablespaces[calibrateTablespace] = "of a run that was killed"
		plan.Database.TablespaceBytes = 64 << 30
		load, _ := runOn(t.Context(), t, d, plan)
		wantSuccess(t, load)
		if !d.has("slob_tablespace_drop", "slob_tablespace_create", "restart", "calibrate", "slob_tablespace_drop") || len(d.tablespaces) != 1 {
			t.Errorf("statements %v left %v", d.log, d.tablespaces)
		}
		if got := load.Repetitions[0].Oracle.DatafileBytes; got != 1<<30 {
			t.Errorf("%d bytes of datafiles", got)
		}
	})
}

func checkCalibration(t *testing.T, rep runfile.Repetition) {
	t.Helper()
	want := &runfile.Calibration{MaxIOPS: 27000, MaxMegabytesPerSecond: 1050, ActualLatencyMilliseconds: 3, Seconds: 540}
	if diff := cmp.Diff(want, rep.Oracle.Calibration); diff != "" {
		t.Error(diff)
	}
	if took := rep.End.Sub(rep.Start); took < 9*time.Minute || took > 9*time.Minute+2*time.Second {
		t.Errorf("it took %v", took)
	}
	// What V$IOSTAT_FILE counted: 500,000 small reads and 50,000 large ones.
	if rep.Read.Count != 550_000 || rep.Read.Bytes != (500_000/128+50_000)<<20 || len(rep.Read.Buckets) != 0 {
		t.Errorf("reads %+v", rep.Read)
	}
	p := rep.Oracle.Phases
	if len(p) != 2 || p[0].Kind != runfile.StepSmallReads || p[1].Kind != runfile.StepLargeReads {
		t.Fatalf("phases %+v", p)
	}
	if small, large := p[0].End.Sub(p[0].Start), p[1].End.Sub(p[1].Start); small < 298*time.Second || small > 301*time.Second || large < 237*time.Second || large > 241*time.Second {
		t.Errorf("%v of small and %v of large reads", small, large)
	}
	if p[0].Start.Before(rep.Start) || p[1].End.After(rep.End) || p[0].ReadTime != 300*float64(p[0].Reads) || p[1].ReadTime != 9000*float64(p[1].Reads) || *p[1].BusyCentiseconds*3 != *p[1].IdleCentiseconds {
		t.Errorf("phases %+v of %v to %v", p, rep.Start, rep.End)
	}
	if c := rep.Oracle.DirectNFS.Channels; len(c) != 1 || c[0].Sends < 5*530 {
		t.Errorf("Direct NFS was not looked at under load: %+v", c)
	}
}

// checkEstimate wants it said that the estimate is one, and the second call to be
// estimated by the first.
func checkEstimate(t *testing.T, events []runfile.Event) {
	t.Helper()
	told, first, second := false, int64(0), int64(0)
	for _, e := range events {
		told = told || strings.Contains(e.Message, "estimate")
		if e.Span == runfile.SpanBaseline && e.Repetition == 1 && first == 0 {
			first = *e.ETASeconds
		}
		if e.Span == runfile.SpanBaseline && e.Repetition == 3 && second == 0 {
			second = *e.ETASeconds
		}
	}
	if !told || first != 3*602+2 || second != 542 {
		t.Errorf("told %v; %d s left at first, %d s before the last", told, first, second)
	}
}

// The rest of the calibration does not need what tells its phases apart.
func TestACalibrationThatCannotBeLookedAtHasNoPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.fail = failing("calibrate_sample", always, "ORA-00942: table or view does not exist")
		load, _ := runOn(t.Context(), t, d, calibratePlan())
		wantSuccess(t, load)
		if o := load.Repetitions[1].Oracle; o.Calibration == nil || o.Phases != nil {
			t.Errorf("%+v", o)
		}
	})
}

func TestCalibrationNeedsADatabaseForItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.busy = []string{"rman@db"}
		load, _ := runOn(t.Context(), t, d, calibratePlan())
		wantFailure(t, load, runfile.FailureBusy, "rman@db")
		d.busy, d.parameters["timed_statistics"] = nil, "FALSE"
		load, _ = runOn(t.Context(), t, d, calibratePlan())
		wantFailure(t, load, runfile.FailureTimedStatistics, "timed_statistics")
		if d.has("calibrate") {
			t.Error("it was calibrated nevertheless")
		}
	})
}

func TestARefusedCalibrationIsExplained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.fail = failing("calibrate", 2, "ORA-56708: Could not find any datafiles with asynchronous i/o capability")
		load, _ := runOn(t.Context(), t, d, calibratePlan())
		wantFailure(t, load, runfile.FailureAsyncIO, "CALIBRATE_IO")
		if load.Repetitions[0].Oracle.Calibration == nil {
			t.Error("the first calibration is lost")
		}
	})
}

func TestACalibrationIsStoppedWithTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		time.AfterFunc(15*time.Minute, func() { cancel(errors.New("SIGTERM")) })
		load, _ := runOn(ctx, t, d, calibratePlan())
		wantFailure(t, load, runfile.FailureCancelled, "SIGTERM")
		if took := time.Since(start); took > 15*time.Minute+time.Second {
			t.Errorf("it ended after %v", took)
		}
		if len(load.Repetitions) != 2 || load.Repetitions[0].Oracle.Calibration == nil || load.Repetitions[1].Oracle.Calibration != nil {
			t.Errorf("%+v", load.Repetitions)
		}
	})
}

func TestTheStateIsSavedEveryFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &memory{}
		var last time.Time
		var longest time.Duration
		partial := 0
		sink.onLoad = func(l *runfile.Load) {
			now := time.Now()
			if !last.IsZero() {
				longest = max(longest, now.Sub(last))
			}
			last = now
			if n := len(l.Repetitions); n > 0 && l.Partial && l.Repetitions[n-1].Oracle == nil && l.Repetitions[n-1].Read != nil && l.Repetitions[n-1].Read.Count > 0 {
				partial++
			}
		}
		load, _ := runOn(t.Context(), t, newDatabase(), testPlan(), func(o *Options) { o.Sink = sink })
		wantSuccess(t, load)
		if longest > 6*time.Second || partial < 4 {
			t.Errorf("%v between two, %d with half a window", longest, partial)
		}
	})
}
