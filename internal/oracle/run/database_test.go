package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func TestParametersAreSetAndReadBackAfterTheRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), keepPlan()
		plan.Database.RestartBeforeRun = false // parameters need it nevertheless
		plan.Database.Parameters = map[string]string{
			"filesystemio_options": "SETALL", "db_cache_size": "128M", "_db_block_prefetch_limit": "0", "_no_such": "0",
		}
		load, _ := runOn(t.Context(), t, d, plan)
		wantSuccess(t, load)
		if !d.has("set_parameter", "slob_load_obfuscated", "restart", "parameters", "slob_random_read") {
			t.Errorf("order of statements: %v", d.log)
		}
		got := map[string]runfile.OracleParameter{}
		for _, p := range load.Oracle.Parameters {
			got[p.Name] = p
		}
		for _, want := range []runfile.OracleParameter{
			{Name: "filesystemio_options", Requested: "SETALL", Value: "SETALL"},
			{Name: "db_cache_size", Requested: "128M", Value: "134217728"},
			{Name: "_db_block_prefetch_limit", Requested: "0", Value: "0"},
			{Name: "_no_such", Requested: "0"}, // hidden, and not known to this release
			{Name: "db_block_size", Value: "8192"},
		} {
			if diff := cmp.Diff(want, got[want.Name]); diff != "" {
				t.Error(diff)
			}
		}
	})
}

func TestAParameterThatDidNotTakeIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		asked map[string]string
		words []string
	}{
		"another value": {map[string]string{"cpu_count": "16"}, []string{"cpu_count = 16", "says 2"}},
		"refused":       {map[string]string{"no_such": "1"}, []string{"no_such"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, plan := newDatabase(), calibratePlan()
				plan.Database.Parameters = c.asked
				restart := func(o *Options) {
					o.Database = restarted{d, func() { d.parameters["cpu_count"] = "2" }}
				}
				load, _ := runOn(t.Context(), t, d, plan, restart)
				wantFailure(t, load, runfile.FailureParameter, c.words...)
				if d.has("calibrate") {
					t.Error("it was calibrated nevertheless")
				}
			})
		})
	}
}

// restarted changes something after a restart.
type restarted struct {
	*database
	change func()
}

func (r restarted) Restart(ctx context.Context) error {
	err := r.database.Restart(ctx)
	r.change()
	return err
}

func TestTheRunWaitsForTheDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.state = runfile.DatabaseStarting
		time.AfterFunc(5*time.Minute, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			d.state = runfile.DatabaseReady
		})
		load, sink := runOn(t.Context(), t, d, keepPlan())
		wantSuccess(t, load)
		if took := load.Spans[0].End.Sub(load.Spans[0].Start); took < 5*time.Minute || took > 5*time.Minute+5*time.Second {
			t.Errorf("connected after %v", took)
		}
		if e := sink.events[100]; e.ETASeconds != nil || e.Percent != 0 {
			t.Errorf("while nobody can know: %+v", e)
		}
	})
}

// deaf does not restart.
type deaf struct{ *database }

func (deaf) Restart(context.Context) error { return nil }

func TestADatabaseThatDoesNotGetReadyFailsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		d.state = runfile.DatabaseStarting
		load, _ := runOn(t.Context(), t, d, testPlan())
		wantFailure(t, load, runfile.FailureDatabaseNotReady, "is not ready after 10m0s; its container said Starting last", "startupTimeoutSeconds")
		d.state = runfile.DatabaseReady // and does not hear that it is to restart
		load, _ = runOn(t.Context(), t, d, testPlan(), func(o *Options) { o.Database = deaf{d} })
		wantFailure(t, load, runfile.FailureDatabaseNotReady, "was asked to restart and is not ready after 1h15m0s", "said Ready last")
		d.failure = &runfile.Failure{Code: runfile.FailureOradism, Message: "oradism is not setuid"}
		load, _ = runOn(t.Context(), t, d, testPlan())
		wantFailure(t, load, runfile.FailureOradism, "oradism is not setuid")
	})
}

func TestAWrongPasswordIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		start := time.Now()
		load, _ := runOn(t.Context(), t, d, testPlan(), func(o *Options) { o.Password = "wrong" })
		wantFailure(t, load, runfile.FailurePassword)
		if took := time.Since(start); took > time.Second {
			t.Errorf("it took %v", took)
		}
		if strings.Contains(load.Failure.Message, "wrong") {
			t.Error(load.Failure.Message)
		}
	})
}

func TestAListenerThatDoesNotKnowTheServiceYetIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDatabase()
		late := errors.New("ORA-12514: TNS:listener does not currently know of service requested in connect descriptor")
		tries := 0
		flaky := func(o *Options) {
			open := o.Open
			o.Open = func(ctx context.Context, c connectOptions) (db, error) {
				if tries++; tries < 10 {
					return nil, late
				}
				return open(ctx, c)
			}
		}
		load, _ := runOn(t.Context(), t, d, keepPlan(), flaky)
		wantSuccess(t, load)
		load, _ = runOn(t.Context(), t, d, keepPlan(), func(o *Options) {
			open := o.Open
			o.Open = func(ctx context.Context, c connectOptions) (db, error) {
				if tries++; c.User == "NFSBENCH1" && tries < 20 {
					return nil, late // the service of the pluggable database, after the restart
				}
				return open(ctx, c)
			}
		})
		wantSuccess(t, load)
		tries = -1000
		load, _ = runOn(t.Context(), t, d, keepPlan(), flaky)
		if load.Failure == nil || !strings.Contains(load.Failure.Message, "ORA-12514") {
			t.Errorf("%+v", load.Failure)
		}
	})
}

func TestADatabaseThatDiesIsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), testPlan()
		d.fail = func(name, _ string, nth int) error {
			if name == "slob_random_read" && nth == 500 {
				d.mu.Lock()
				defer d.mu.Unlock()
				d.generation++ // every session is lost
				d.failure = &runfile.Failure{Code: runfile.FailureDatabaseEnded, Message: "the database was killed: out of memory"}
			}
			return nil
		}
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureDatabaseEnded, "out of memory")
		if len(load.Repetitions) != 2 || load.Repetitions[0].Oracle == nil {
			t.Fatalf("%d repetitions are kept", len(load.Repetitions))
		}
		if cut := load.Repetitions[1]; cut.Oracle != nil || cut.Read == nil || cut.Read.Count == 0 || !cut.End.After(cut.Start) {
			t.Errorf("of the window in which it died the samples are kept: %+v", cut)
		}
	})
}

func TestAPlanThatIsNotForADatabaseIsRefused(t *testing.T) {
	for name, change := range map[string]func(*runfile.Plan){
		"no database": func(p *runfile.Plan) { p.Database = nil },
		"raw": func(p *runfile.Plan) {
			p.Workload = bench.Workload{Raw: &bench.RawWorkload{Pattern: bench.PatternRead, BlockSize: bench.Bytes(4096), FileSize: *bench.Bytes(4096), Jobs: 1, Depth: 1, Directory: "x"}}
		},
		"no users": func(p *runfile.Plan) { p.Workload.SLOB.Users = []int32{0} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				plan := testPlan()
				change(&plan)
				load, sink := runOn(t.Context(), t, newDatabase(), plan)
				wantFailure(t, load, runfile.FailureInvalidPlan)
				if spansOf(load) != "Done" || sink.loads == 0 {
					t.Errorf("%s, saved %d times", spansOf(load), sink.loads)
				}
			})
		})
	}
}

func TestARunThatTakesTooLongIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, plan := newDatabase(), testPlan()
		plan.Schedule.TimeoutSeconds = 100
		load, _ := runOn(t.Context(), t, d, plan)
		wantFailure(t, load, runfile.FailureTimeout, "schedule.timeoutSeconds")
		if len(d.users) != 0 {
			t.Error("schemas are left behind")
		}
	})
}
