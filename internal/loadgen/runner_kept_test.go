package loadgen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/loadgen/target"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/targettest"
)

// keeper is a sink that knows how many repetitions were saved to their end when
// the loader goes on to a span.
type keeper struct {
	memory
	kept  int
	after map[string]int
}

func (k *keeper) Load(l *runfile.Load) error {
	k.kept = 0
	for _, s := range l.Spans {
		if s.Kind == runfile.SpanMeasure && !s.End.IsZero() {
			k.kept++
		}
	}
	return k.memory.Load(l)
}

func (k *keeper) Event(e runfile.Event) { k.after[e.Span] = k.kept }

func TestARepetitionIsSavedBeforeAnythingElseIsDone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		k := &keeper{after: map[string]int{}}
		plan := testPlan(bench.PatternRead)
		plan.Schedule.DurationSeconds = 4 // so short that no other save falls into it
		runMem(t.Context(), t, plan, &targettest.Memory{Delay: 10 * time.Millisecond}, func(o *Options) { o.Sink = k })
		if k.after[runfile.SpanCooldown] != 1 || k.after[runfile.SpanVerify] != 2 {
			t.Errorf("%d repetitions were saved when the first cool-down began, %d before the files were verified",
				k.after[runfile.SpanCooldown], k.after[runfile.SpanVerify])
		}
	})
}

// sticky is a target whose files cannot be removed.
type sticky struct{ *targettest.Memory }

type stickyDirectory struct{ target.Directory }

var errSticky = errors.New("read-only file system")

func (s sticky) Directory(ctx context.Context, name string, create bool) (target.Directory, error) {
	d, err := s.Memory.Directory(ctx, name, create)
	return stickyDirectory{d}, err
}

func (stickyDirectory) Remove(context.Context, string) error { return errSticky }

func TestTheResultSaysWhetherFilesAreLeft(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		wrap func(*targettest.Memory) target.Target
		want bool
	}{
		"removed":           {func(m *targettest.Memory) target.Target { return m }, false},
		"cannot be removed": {func(m *targettest.Memory) target.Target { return sticky{m} }, true},
	} {
		for _, fails := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &targettest.Memory{Delay: 10 * time.Millisecond}
					start := time.Now()
					m.BeforeIO = func(op, _ string, _ int64) error {
						if fails && op == "read" && time.Since(start) > 8*time.Second {
							return errors.New("NFS3ERR_IO")
						}
						return nil
					}
					load, _ := runMem(t.Context(), t, testPlan(bench.PatternRead), m, func(o *Options) {
						o.Open = func(context.Context) (target.Target, error) { return tc.wrap(m), nil }
					})
					if load.FilesLeft != tc.want || (load.Failure != nil) != (fails || tc.want) {
						t.Errorf("files left: %v, failure: %+v", load.FilesLeft, load.Failure)
					}
				})
			})
		}
	}
}
