package run

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func scanPlan() runfile.Plan {
	p := testPlan()
	p.Workload.SLOB.Access, p.Workload.SLOB.ScanTableSize, p.Workload.SLOB.Users = bench.SLOBFullTableScan, *bench.Bytes(64 << 20), []int32{3}
	p.Schedule.Repetitions = 1
	return p
}

func TestScansReadPastTheCacheAndHaveNoLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		load, _ := runOn(t.Context(), t, d, scanPlan())
		wantSuccess(t, load)
		rep := load.Repetitions[0]
		waits := map[string]int64{}
		for _, e := range rep.Oracle.Events {
			waits[e.Name] = e.Waits
		}
		if waits["direct path read"] == 0 || waits["db file scattered read"] != 0 {
			t.Errorf("waits %v", waits)
		}
		if len(rep.Read.Buckets) != 0 || rep.Read.TotalMicroseconds != 0 || rep.Read.Bytes == 0 {
			t.Errorf("%+v", rep.Read)
		}
		if d.has("slob_direct_read_true") || d.has("slob_index_create") {
			t.Error("the second way was tried after the first worked, or a table to scan has an index")
		}
	})
}

func TestADatabaseThatRefusesDirectReadsIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.fail = func(name, _ string, _ int) error {
			if strings.HasPrefix(name, "slob_direct_read") {
				return errors.New("ORA-02097: parameter cannot be modified because specified value is invalid")
			}
			return nil
		}
		load, sink := runOn(t.Context(), t, d, scanPlan())
		wantSuccess(t, load)
		told := false
		for _, e := range sink.events {
			told = told || strings.Contains(e.Message, "_serial_direct_read")
		}
		if !told || !d.has("slob_direct_read_always", "slob_direct_read_true", "slob_full_scan") {
			t.Errorf("told %v", told)
		}
	})
}

func TestUsersAreSpreadOverServices(t *testing.T) {
	for name, c := range map[string]struct {
		reason   string
		schemas  int32
		users    int32
		services []string
		want     map[string]int
	}{
		"schemas": {
			"all users of a schema are in one instance", 3, 6,
			[]string{"a/x", "b/x"},
			map[string]int{"NFSBENCH1@a/x": 2, "NFSBENCH2@b/x": 2, "NFSBENCH3@a/x": 2},
		},
		"one schema": {"those of a single schema go in turns", 1, 5, []string{"a/x", "b/x"}, map[string]int{"NFSBENCH1@a/x": 3, "NFSBENCH1@b/x": 2}},
		"few users":  {"the first schemas have one each", 4, 2, []string{"a/x"}, map[string]int{"NFSBENCH1@a/x": 1, "NFSBENCH2@a/x": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), keepPlan()
				plan.Workload.SLOB.Schemas, plan.Workload.SLOB.Users, plan.Database.Connects = c.schemas, []int32{c.users}, c.services
				plan.Workload.SLOB.Scale = *bench.Bytes(1 << 20)
				wantSuccessOf(t, d, plan)
				maps.DeleteFunc(d.most, func(key string, _ int) bool { return strings.HasPrefix(key, "sys@") })
				if diff := cmp.Diff(c.want, d.most); diff != "" {
					t.Errorf("%s: %s", c.reason, diff)
				}
			})
		})
	}
}

func TestUpdatesAreAsManyAsAskedFor(t *testing.T) {
	for stress, name := range map[bench.SLOBRedoStress]string{bench.SLOBRedoLite: "slob_update_lite", bench.SLOBRedoHeavy: "slob_update_heavy"} {
		synctest.Test(t, func(t *testing.T) {
			d, plan := newDatabase(), keepPlan()
			plan.Workload.SLOB.UpdatePercent, plan.Workload.SLOB.RedoStress = 25, stress
			plan.Schedule.DurationSeconds = 60
			load, _ := runOn(t.Context(), t, d, plan)
			wantSuccess(t, load)
			updates, reads := d.counts[name], d.counts["slob_random_read"]
			if percent := 100 * updates / (updates + reads); percent < 20 || percent > 30 {
				t.Errorf("%d updates and %d reads", updates, reads)
			}
			if load.Repetitions[0].Write == nil || load.Repetitions[0].Write.Bytes == 0 {
				t.Error("no writes are counted")
			}
		})
	}
}

func TestUsersThink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		plan.Workload.SLOB.Think = &bench.SLOBThink{Frequency: 5, MinimumMilliseconds: 400, MaximumMilliseconds: 600}
		plan.Schedule.DurationSeconds = 60
		wantSuccessOf(t, d, plan)
		// Five statements take 500 ms and are followed by about 500 ms: half the rate.
		if n := d.counts["slob_random_read"]; n < 290 || n > 310 {
			t.Errorf("%d statements", n)
		}
	})
}

func TestTheSameSeedReadsTheSameBlocks(t *testing.T) {
	var first []string
	for range 2 {
		synctest.Test(t, func(t *testing.T) {
			d, plan := newDatabase(), keepPlan()
			plan.Schedule.DurationSeconds = 11
			wantSuccessOf(t, d, plan)
			if len(d.ranges) < 100 {
				t.Fatalf("%d statements", len(d.ranges))
			}
			ranges := d.ranges[:100]
			if first == nil {
				first = ranges
			} else if diff := cmp.Diff(first, ranges); diff != "" {
				t.Error(diff)
			}
			seen := map[string]bool{}
			for _, r := range ranges {
				seen[r] = true
			}
			if len(seen) < 95 {
				t.Errorf("only %d of 100 ranges differ", len(seen))
			}
		})
	}
}

func TestRowsThatAreMissingAreNoticed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		wantSuccessOf(t, d, plan)
		for key := range int64(1000) {
			d.users["NFSBENCH1"].tables["NFSBENCH_RANGES"].add(5000+key, -1)
		}
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureVerify, "rows where 64 were loaded", "drop the schemas")
	})
}

func TestAWRSnapshotsAreTakenOnlyWhereTheLicenceIs(t *testing.T) {
	for _, licensed := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			d, plan := newDatabase(), keepPlan()
			plan.Workload.SLOB.AWR = map[bool]bench.Toggle{true: bench.Enabled, false: bench.Disabled}[licensed]
			wantSuccessOf(t, d, plan)
			if n := d.counts["awr_snapshot"]; n != map[bool]int{true: 2}[licensed] {
				t.Errorf("licence %v: %d snapshots", licensed, n)
			}
		})
	}
}

func TestASampleThatFailsDoesNotEndTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		plan.Schedule.DurationSeconds = 10
		d.fail = func(name, _ string, nth int) error {
			if name == "slob_sample" && nth == 5 || name == "dnfs_servers" && nth == 6 {
				return errors.New("ORA-12805: parallel query server died unexpectedly")
			}
			return nil
		}
		load, sink := runOn(t.Context(), t, d, plan)
		wantSuccess(t, load)
		told := false
		for _, e := range sink.events {
			told = told || strings.Contains(e.Message, "could not be sampled")
		}
		var sum int64
		for _, s := range load.Samples {
			sum += s.Read.Count
		}
		if n := len(load.Samples); !told || n < 8 || n > 9 || sum < load.Repetitions[0].Read.Count-3*640 {
			t.Errorf("told %v, %d samples", told, n)
		}
		if time.Duration(load.SampleSeconds) != 1 {
			t.Error(load.SampleSeconds)
		}
	})
}

func TestFixedWorkEndsWhenAllUsersHaveDoneIt(t *testing.T) {
	for name, c := range map[string]struct {
		loops int32
		code  string
	}{
		"done":     {50, ""}, // of 100 ms each
		"too much": {200, runfile.FailureTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), testPlan()
				w := plan.Workload.SLOB
				w.WorkLoop, w.Users = c.loops, []int32{4}
				w.Think = &bench.SLOBThink{Frequency: 10, MinimumMilliseconds: 200, MaximumMilliseconds: 200}
				plan.Schedule.Repetitions = 1
				load, _ := runOn(t.Context(), t, d, plan)
				if c.code != "" {
					wantFailure(t, load, c.code, "4 users did not execute 200 statements each (workload.slob.workLoop) in 10 s", "raise run.durationSeconds")
					return
				}
				wantSuccess(t, load)
				if got := d.counts["slob_random_read"]; got != 4*50 {
					t.Errorf("%d statements, want 50 of each of 4 users", got)
				}
				rep := load.Repetitions[0]
				if took := rep.End.Sub(rep.Start); took < 5900*time.Millisecond || took > 6100*time.Millisecond || rep.Read.Count != 4*50*64 {
					t.Errorf("the window is %v with %d reads; 50 statements of 100 ms and 5 pauses of 200 ms are 6 s", took, rep.Read.Count)
				}
				if got := spansOf(load); strings.Contains(got, "Warmup") {
					t.Errorf("a warm-up would do a part of the work: %s", got)
				}
			})
		})
	}
}

// TestAStatementThatDoesNotEndEndsTheRun: a break may be lost, and a server may wait for its storage.
func TestAStatementThatDoesNotEndEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		plan.Workload.SLOB.AWR = bench.Enabled
		released, opened := make(chan struct{}), []*sql.DB(nil)
		d.fail = func(name, _ string, nth int) error {
			if name == "slob_random_read" && nth == 20 { // within the window
				<-released
			}
			return nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		load, _ := runOn(ctx, t, d, plan, func(o *Options) {
			o.Open = func(ctx context.Context, c connectOptions) (*sql.DB, error) {
				db, err := d.open(ctx, c)
				opened = append(opened, db)
				return db, err
			}
		})
		close(released)
		for _, db := range opened { // a run that is stuck leaves them, and the process ends
			if db != nil {
				_ = db.Close()
			}
		}
		wantFailure(t, load, runfile.FailureTimeout, "a call did not return within 30s", "ends with what it has measured", "DISABLE_OOB=ON")
		rep := load.Repetitions[0]
		if rep.Oracle == nil || rep.Read == nil || rep.Read.Count != 19*64 {
			t.Errorf("measured %+v", rep)
		}
		if n := d.counts["awr_snapshot"]; n != 1 {
			t.Errorf("%d snapshots of AWR; the window has not ended while a statement runs", n)
		}
	})
}
