package integration

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
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

// shape is a kind of run.
type shape struct {
	world func(*testing.T) *world
	mods  func(*world) []gen.Mod
}

func plain(mods ...gen.Mod) shape {
	return shape{world: newWorld, mods: func(*world) []gen.Mod { return mods }}
}

// create makes a world with the benchmark of the shape.
func (s shape) create(t *testing.T) *world {
	t.Helper()
	w := s.world(t)
	w.create("demo", s.mods(w)...)
	return w
}

// TestAManagerThatIsKilledAtAnyWriteLosesNothing kills the manager just after
// its n-th write, for every n of a run, and wants the same end every time. Just
// before a write is just after the one before it: nothing else has changed. Of
// other shapes it takes the writes that the first does not make.
func TestAManagerThatIsKilledAtAnyWriteLosesNothing(t *testing.T) {
	t.Parallel()
	known := killAtEveryWrite(t, "Raw", plain(gen.Embedded("1Gi", 1), gen.Kernel, gen.Clients(2), gen.Expect(100)), nil)
	known = killAtEveryWrite(t, "Oracle", plain(gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 1, 4), gen.Repetitions(2), gen.Expect(100)), known)
	killAtEveryWrite(t, "Trident", shape{world: withTrident, mods: func(w *world) []gen.Mod { return []gen.Mod{w.backend()} }}, known)
}

// killAtEveryWrite does so for a shape, except at the moments that are known,
// and gives these and its own.
func killAtEveryWrite(t *testing.T, name string, s shape, known []string) []string {
	t.Helper()
	w := s.create(t)
	w.survive()
	moments := w.moments
	w.wantPhase(w.get("demo"), v1alpha1.PhaseSucceeded)
	want := ending(w, w.get("demo"))
	kills := 0
	for i, moment := range moments {
		if slices.Contains(known, moment) {
			continue
		}
		kills++
		t.Run(fmt.Sprintf("%s/Write%d", name, i+1), func(t *testing.T) {
			t.Parallel()
			w := s.create(t)
			w.faults.killAt = i + 1
			if !w.survive() {
				t.Error("the manager was not killed")
			}
			if diff := cmp.Diff(want, ending(w, w.get("demo"))); diff != "" {
				t.Errorf("another end than without the kill just after %q (-want +got):\n%s", moment, diff)
			}
			w.wantOneVolume()
		})
	}
	if kills < 5 || len(moments) < 30 {
		t.Fatalf("%s: %d kills in a run of %d writes only: %q", name, kills, len(moments), moments)
	}
	return append(known, moments...)
}

// wantOneVolume fails the test unless Trident, if there is one, has made one
// volume and removed it.
func (w *world) wantOneVolume() {
	w.Helper()
	if w.array == nil {
		return
	}
	if made := w.array.volumes.history; len(made) != 1 {
		w.Errorf("volumes made: %q", made)
	}
	w.wantMade()
}

// TestAManagerThatIsKilledDuringADeletionLeavesNothing does the same while a
// run is deleted under load.
func TestAManagerThatIsKilledDuringADeletionLeavesNothing(t *testing.T) {
	t.Parallel()
	known := killDuringADeletion(t, "Raw", plain(gen.Kernel), nil)
	killDuringADeletion(t, "Trident", shape{world: withTrident, mods: func(w *world) []gen.Mod { return []gen.Mod{w.backend()} }}, known)
}

func killDuringADeletion(t *testing.T, name string, s shape, known []string) []string {
	t.Helper()
	deleted := func(t *testing.T) *world {
		t.Helper()
		w := s.create(t)
		w.until("demo", v1alpha1.PhaseRunning)
		w.delete("demo")
		w.faults.reset()
		w.moments = nil
		return w
	}
	w := deleted(t)
	w.survive()
	kills := 0
	for i, moment := range w.moments {
		if slices.Contains(known, moment) {
			continue
		}
		kills++
		t.Run(fmt.Sprintf("%s/Write%d", name, i+1), func(t *testing.T) {
			t.Parallel()
			w := deleted(t)
			w.faults.killAt = i + 1
			if !w.survive() {
				t.Error("the manager was not killed")
			}
			if left := w.ours(); len(left) > 0 || w.get("demo") != nil {
				t.Errorf("left after a kill just after %q: %q", moment, left)
			}
			w.wantOneVolume()
		})
	}
	if kills < 4 || len(w.moments) < 8 {
		t.Fatalf("%s: %d kills in a deletion of %d writes only: %q", name, kills, len(w.moments), w.moments)
	}
	return append(known, w.moments...)
}

func TestDeletionInEveryPhaseLeavesNothing(t *testing.T) {
	t.Parallel()
	shapes := map[string]shape{
		"Embedded":     plain(gen.Embedded("1Gi", 2), gen.Clients(2)),
		"ExportKernel": plain(gen.Kernel),
		"Database":     plain(gen.Oracle, gen.SLOB(bench.SLOBRandomRead, 4)),
		"OwnBackend":   {withTrident, func(w *world) []gen.Mod { return []gen.Mod{w.backend(), gen.Clients(2)} }},
		"ClassKernel":  {withTrident, func(w *world) []gen.Mod { return []gen.Mod{gen.TridentClass(w.class(nil)), gen.Kernel} }},
	}
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			steps := s.steps(t)
			if steps < 10 || steps > 40 {
				t.Fatalf("a run takes %d steps of the cluster", steps)
			}
			for n := range steps + 1 {
				t.Run(fmt.Sprintf("AfterStep%d", n), func(t *testing.T) {
					t.Parallel()
					s.deleteAfter(t, n)
				})
			}
		})
	}
}

// steps counts those of the cluster in a run.
func (s shape) steps(t *testing.T) int {
	t.Helper()
	w := s.create(t)
	for n := range 100 {
		w.settle("demo")
		if w.robot("demo") == "" {
			return n
		}
	}
	t.Fatal("the run does not come to an end")
	return 0
}

// deleteAfter deletes a run after so many steps of the cluster.
func (s shape) deleteAfter(t *testing.T, steps int) {
	t.Helper()
	w := s.world(t)
	mods := s.mods(w) // may make what is there before
	before := w.made()
	w.create("demo", mods...)
	for range steps {
		w.settle("demo")
		w.robot("demo")
	}
	phase := v1alpha1.Phase("")
	if steps > 0 {
		phase = w.settle("demo").Status.Phase
	}
	w.delete("demo")
	if b := w.finish("demo"); b != nil {
		t.Errorf("deleted in phase %q, it stays: %s", phase, b.Status.Message)
	}
	if left := append(w.ours(), w.made()...); !slices.Equal(left, before) {
		t.Errorf("deleted in phase %q, these are left: %q, of which were there: %q", phase, left, before)
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
