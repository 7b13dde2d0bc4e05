package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/test/gen"
)

// ending is all of a finished run that must not depend on its managers' fates.
func ending(w *world, b *v1alpha1.NFSBenchmark) map[string]any {
	w.Helper()
	out := map[string]any{
		"phase": b.Status.Phase, "verdict": b.Status.Verdict, "validity": b.Status.Validity, "message": b.Status.Message,
		"summary": b.Status.Summary, "paths": b.Status.Paths, "findings": b.Status.Findings, "left": w.ours(),
	}
	for _, c := range b.Status.Conditions {
		message := c.Message
		if e := b.Spec.Storage.Export; e != nil { // addresses differ from run to run
			message = strings.ReplaceAll(message, e.Servers[0], "server")
		}
		out["condition "+c.Type] = fmt.Sprintf("%s %s %s", c.Status, c.Reason, message)
	}
	for i := range b.Status.Paths {
		b.Status.Paths[i].Path = fmt.Sprint("path-", i)
	}
	return out
}

// survive is finish of demo with a manager that may die: the next pass is its
// successor's.
func (w *world) survive() (killed bool) {
	w.Helper()
	for range 150 {
		before := len(w.faults.writes)
		_, err := w.pass("demo")
		if errors.Is(err, errDead) || w.faults.dead {
			w.restart()
			killed = true
			continue
		}
		if err != nil {
			w.Fatal(err)
		}
		if len(w.faults.writes) == before && w.robot("demo") == "" {
			return killed
		}
	}
	w.Fatal("the run does not come to an end")
	return killed
}

// TestAManagerThatIsKilledAtAnyWriteLosesNothing kills the manager just after
// its n-th write, for every n of a run, and wants the same end every time. Just
// before a write is just after the one before it: nothing else has changed.
func TestAManagerThatIsKilledAtAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	for name, mods := range map[string][]gen.Mod{
		"Raw":    {gen.Embedded("1Gi", 1), gen.Kernel, gen.Clients(2), gen.Expect(100)},
		"Oracle": {gen.Oracle, gen.SLOB(v1alpha1.SLOBRandomRead, 1, 4), gen.Repetitions(2), gen.Expect(100)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killAtEveryWrite(t, mods)
		})
	}
}

func killAtEveryWrite(t *testing.T, mods []gen.Mod) {
	t.Helper()
	w := newWorld(t)
	w.create("demo", mods...)
	w.survive()
	total := len(w.faults.writes)
	w.wantPhase(w.get("demo"), v1alpha1.PhaseSucceeded)
	want := ending(w, w.get("demo"))
	if total < 15 {
		t.Fatalf("the run takes %d writes only: %q", total, w.faults.writes)
	}
	for n := 1; n <= total; n++ {
		t.Run(fmt.Sprintf("Write%d", n), func(t *testing.T) {
			w := newWorld(t)
			w.create("demo", mods...)
			w.faults.killAt = n
			if !w.survive() {
				t.Error("the manager was not killed")
			}
			if diff := cmp.Diff(want, ending(w, w.get("demo"))); diff != "" {
				t.Errorf("another end than without the kill (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAManagerThatIsKilledDuringADeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	for n := 1; ; n++ {
		killed := false
		t.Run(fmt.Sprintf("Write%d", n), func(t *testing.T) {
			w := newWorld(t)
			w.create("demo", gen.Kernel)
			w.until("demo", v1alpha1.PhaseRunning)
			w.delete("demo")
			w.faults.reset()
			w.faults.killAt = n
			killed = w.survive()
			if left := w.ours(); len(left) > 0 || w.get("demo") != nil {
				t.Errorf("left: %q", left)
			}
		})
		if !killed || t.Failed() {
			if n < 8 {
				t.Errorf("a deletion takes %d writes only", n-1)
			}
			return
		}
	}
}

func TestEventsOfAFailedRunNameItOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b, _ := w.started()
	w.final(b, gen.FailedClient(0, "AccessDenied", "the export denies"))
	w.finish("demo")
	want := []string{"Preparing", "Failed"}
	if got := w.rec.reasons(); !slices.Equal(got, want) {
		t.Errorf("events are %q, want %q", got, want)
	}
}
