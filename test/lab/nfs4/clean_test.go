package nfs4

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	v4 "github.com/nfsbench/nfsbench/internal/nfs/v4"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/faulty"
	"github.com/nfsbench/nfsbench/test/lab/nfs4test"
)

// countedTime is the clock and the Sink of a run: a millisecond passes with each I/O that a server gets, whatever the
// speed of the machine.
type countedTime struct {
	began time.Time
	ios   atomic.Int64
}

func (c *countedTime) now() time.Time {
	return c.began.Add(time.Duration(c.ios.Load()) * time.Millisecond)
}

func (*countedTime) Event(runfile.Event) {}

func (*countedTime) Load(*runfile.Load) error { return nil }

// cleanServer starts a server without faults and returns the engine of its clients.
func cleanServer(t *testing.T, v bench.NFSVersion, clock *countedTime) runfile.Engine {
	t.Helper()
	if v == bench.NFSv3 {
		s := &faulty.Server{Hook: func(c faulty.Call) faulty.Action {
			if c.IsRead() || c.IsWrite() {
				clock.ios.Add(1)
			}
			return faulty.Answer
		}}
		s.Start(t, here, there)
		return runfile.Engine{
			Client: bench.ClientDirectNFS, Server: "lab", Export: "/export", NFSVersion: v, MountTimeoutSeconds: 600,
			CallTimeoutSeconds: 600, Channels: runfile.ChannelsTo(here, there), Ports: runfile.Ports{NFS: s.Port(), Mount: s.Port()},
		}
	}
	s := serveNFS4(t, v == bench.PNFS)
	s.Hook = func(c nfs4test.Call) (a nfs4test.Action) {
		if c.Has(v4.OpRead) || c.Has(v4.OpWrite) {
			clock.ios.Add(1)
		}
		return a
	}
	e := engineOf(s, here, there)
	e.NFSVersion, e.MountTimeoutSeconds, e.CallTimeoutSeconds = v, 600, 600
	return e
}

// TestNothingIsFoundOfACleanServer: no read or block is wrong, nothing pauses, no state is lost, and nothing is in doubt
// or sent again. On a machine that does not run for a while, TCP may lose a connection; then something may be.
func TestNothingIsFoundOfACleanServer(t *testing.T) {
	for _, v := range append(versions(), bench.NFSv3, bench.PNFS) {
		for _, pattern := range bench.Patterns() {
			t.Run(string(v)+"/"+string(pattern), func(t *testing.T) {
				clock := &countedTime{began: time.Now()}
				raw := &bench.RawWorkload{
					Pattern: pattern, BlockSize: bench.Bytes(8192), FileSize: *bench.Bytes(128 * 8192), Jobs: 2, Depth: 4,
					Directory: "clean", Verify: bench.VerifyAll,
				}
				if pattern == bench.PatternMixed || pattern == bench.PatternRandomMixed {
					raw.ReadPercent = new(int32(50))
				}
				plan := runfile.Plan{
					Version: runfile.PlanVersion, Clients: 1, Run: runfile.Identity{Name: "clean"}, Engine: cleanServer(t, v, clock),
					Workload: bench.Workload{Raw: raw}, Schedule: runfile.Schedule{DurationSeconds: 1, Repetitions: 1},
				}
				runner, err := loadgen.New(loadgen.Options{
					Plan: plan, Now: clock.now, Sink: clock, Usage: func() (time.Duration, int64) { return 0, 0 },
					Open: func(ctx context.Context) (target.Target, error) {
						return loadgen.OpenTarget(ctx, plan.Engine, time.Now, nil)
					},
				})
				if err != nil {
					t.Fatal(err)
				}
				load, err := runner.Run(t.Context())
				if err != nil || load.Failure != nil {
					t.Fatalf("%v, failure %+v", err, load.Failure)
				}
				checkClean(t, load)
			})
		}
	}
}

func checkClean(t *testing.T, load *runfile.Load) {
	t.Helper()
	const blocks = 2 * 128
	lost := false
	for _, rep := range load.Repetitions {
		if rep.Pauses == nil || len(rep.Pauses.Client) > 0 {
			t.Errorf("pauses %+v", rep.Pauses)
		}
		for _, c := range rep.Channels {
			lost = lost || c.Reconnects > 0
			if c.Retransmits > 0 && !lost {
				t.Errorf("channel %+v", c)
			}
		}
		for _, s := range rep.Servers {
			if s.Recoveries > 0 || s.LayoutFallbacks > 0 && !lost {
				t.Errorf("server %+v", s)
			}
		}
	}
	found := load.Verification
	if found.Wrong() > 0 || found.Cut || found.BlocksInDoubt+found.WritesSentAgain > 0 && !lost ||
		found.BlocksChecked < blocks || found.ReadsChecked+found.WritesAcknowledged < 500 {
		t.Errorf("verification %+v", found)
	}
	if lost {
		t.Logf("a connection was lost: %+v", load.Repetitions)
	}
}
