package queue

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/gen"
)

func TestPlaceAmong(t *testing.T) {
	t0 := time.Unix(1000, 0)
	of := func(id string, age int, keys ...string) entry {
		return entry{ID: id, Name: "ns/" + id, Keys: keys, Created: t0.Add(-time.Duration(age) * time.Second)}
	}
	active := func(e entry) entry { e.Active = true; return e }
	cases := map[string]struct {
		reason string
		me     entry
		others []entry
		want   Place
	}{
		"Alone":         {"Nobody else wants the target", of("a", 5, "x"), []entry{of("a", 5, "x")}, Place{}},
		"OtherTarget":   {"Other targets do not matter", of("a", 5, "x"), []entry{active(of("b", 9, "y"))}, Place{}},
		"Second":        {"The older one goes first", of("a", 5, "x"), []entry{of("b", 9, "x")}, Place{Position: 1, Behind: "ns/b"}},
		"First":         {"The younger one waits", of("a", 5, "x"), []entry{of("b", 2, "x")}, Place{}},
		"ActiveYounger": {"A run under way is not pushed out by an older one", of("a", 5, "x"), []entry{active(of("b", 2, "x"))}, Place{Position: 1, Behind: "ns/b"}},
		"IAmActive":     {"A run under way keeps its turn", active(of("a", 5, "x")), []entry{of("b", 9, "x")}, Place{}},
		"PartOfKeys":    {"One address in common is enough", of("a", 5, "x", "y"), []entry{of("b", 9, "y", "z")}, Place{Position: 1, Behind: "ns/b"}},
		"Third":         {"All before me count, the head is named", of("c", 1, "x"), []entry{of("b", 5, "x"), active(of("a", 3, "x"))}, Place{Position: 2, Behind: "ns/a"}},
		"SameSecond":    {"Names decide within one second", of("b", 5, "x"), []entry{of("a", 5, "x"), of("c", 5, "x")}, Place{Position: 1, Behind: "ns/a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, placeAmong(tc.me, tc.others), cmp.AllowUnexported(Place{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNextAreThoseThatWaitInTheOrderOfTheirTurns(t *testing.T) {
	t0 := time.Unix(1000, 0)
	all := []entry{
		{ID: "1", Name: "ns/young", Created: t0.Add(time.Minute)},
		{ID: "2", Name: "ns/b", Created: t0},
		{ID: "3", Name: "ns/runs", Created: t0.Add(time.Second), Active: true},
		{ID: "4", Name: "ns/a", Created: t0},
	}
	for n, want := range map[int][]string{0: nil, 2: {"ns/a", "ns/b"}, 9: {"ns/a", "ns/b", "ns/young"}} {
		var got []string
		for _, e := range firstWaiting(all, n) {
			got = append(got, e.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the first %d (-want +got):\n%s", n, diff)
		}
	}
	if all[0].Name != "ns/young" {
		t.Error("the list of the caller was sorted")
	}
}

// TestNamespacesTakeTurns plays a target that one run at a time has: a namespace with many
// benchmarks, which came first, does not keep another from it.
func TestNamespacesTakeTurns(t *testing.T) {
	var waiting []entry
	for i, name := range []string{"many/1", "many/2", "many/3", "many/4", "few/1", "few/2", "one/1"} {
		waiting = append(waiting, entry{ID: name, Name: name, Keys: []string{"x"}, Created: time.Unix(int64(i), 0)})
	}
	waiting = append(waiting, entry{ID: "many/0", Name: "many/0", Keys: []string{"y"}}) // another target does not count
	last, order := map[string]time.Time{}, []string{}
	for now := int64(100); len(order) < 7; now++ {
		for i := range waiting {
			waiting[i].LastUse = last[strings.Split(waiting[i].Name, "/")[0]]
		}
		setTurns(waiting, waiting)
		heads := 0
		for _, e := range waiting {
			if e.Keys[0] == "x" && placeAmong(e, waiting).Position == 0 {
				heads++
			}
		}
		next := firstWaiting(slices.DeleteFunc(slices.Clone(waiting), func(e entry) bool { return e.Keys[0] == "y" }), 1)[0]
		if heads != 1 || placeAmong(next, waiting).Position != 0 {
			t.Fatalf("after %q it is the turn of %d", order, heads)
		}
		order = append(order, next.Name)
		last[strings.Split(next.Name, "/")[0]] = time.Unix(now, 0)
		waiting = slices.DeleteFunc(waiting, func(e entry) bool { return e.ID == next.ID })
	}
	want := []string{"many/1", "few/1", "one/1", "many/2", "few/2", "many/3", "many/4"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// TestTurnsCountTheOlderOfTheNamespace compares the turns with their definition.
func TestTurnsCountTheOlderOfTheNamespace(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	for range 200 {
		all := make([]entry, 12)
		for i := range all {
			all[i] = entry{
				ID: strconv.Itoa(i), Name: string("abc"[random.IntN(3)]) + "/x", Active: random.IntN(4) == 0,
				Created: time.Unix(random.Int64N(5), 0), Keys: []string{"k1", "k2", "k3", "k4"}[random.IntN(3):],
			}
		}
		setTurns(all[:6], all)
		for _, e := range all[:6] {
			want := 0
			for _, o := range all {
				if !o.Active && o.Name == e.Name && compareAges(o, e) < 0 && shareTarget(o, e) {
					want++
				}
			}
			if e.Turn != want {
				t.Fatalf("the turn of %s among %+v is %d, want %d", e.ID, all, e.Turn, want)
			}
		}
	}
}

// TestATurnIsWhenATargetIsTaken: a run that waits or that has its target does not put back its namespace with each pass.
func TestATurnIsWhenATargetIsTaken(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	keys := plan.ServerKeys([]string{"10.0.0.5"})
	b := gen.Benchmark("b", gen.In("team"), gen.UID("b"), gen.Export("/x", "10.0.0.5"))
	b.Finalizers = []string{owned.Finalizer}
	byHand := manifest.TargetLease(b, "team", keys[0], metav1.NewMicroTime(noon))
	byHand.Labels, byHand.Spec.HolderIdentity = nil, new("somebody")
	q := queueOf(t, b, byHand)
	take := func(at time.Time) int32 {
		t.Helper()
		place, _, err := q.Take(t.Context(), b, keys, nil, at)
		if err != nil {
			t.Fatal(err)
		}
		return place.Position
	}
	if at := take(noon); at != 1 || !q.uses.last("team", keys).IsZero() {
		t.Errorf("a run at position %d has had its turn at %v", at, q.uses.last("team", keys))
	}
	if err := q.Client.Delete(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{noon.Add(time.Hour), noon.Add(2 * time.Hour)} {
		if position, last := take(at), q.uses.last("team", keys); position != 0 || !last.Equal(noon.Add(time.Hour)) {
			t.Errorf("a run at position %d has had its turn at %v", position, last)
		}
	}
}

// Whoever else may use the name of our Lease: it is not taken from him.
func TestALeaseOfSomebodyElseIsNotFree(t *testing.T) {
	t.Parallel()
	b := &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	for _, c := range []struct {
		reason, manager, holder string
		free                    bool
	}{
		{"we hold it", manifest.ManagedBy, "1", true},
		{"another tool made it", "another-tool", "2", false},
		{"somebody made it by hand", "", "2", false},
	} {
		held := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "x", Labels: map[string]string{manifest.LabelManagedBy: c.manager}}}
		held.Spec.HolderIdentity = &c.holder
		got, err := queueOf(t).otherHolder(t.Context(), b, held, time.Time{})
		if err != nil || (got.name == "") != c.free || !c.free && !strings.Contains(got.name, "ns/x") {
			t.Errorf("%s: held by %q, %v", c.reason, got, err)
		}
	}
}

// queueOf is a queue of benchmarks, all of which want their targets.
func queueOf(t *testing.T, all ...client.Object) *Queue {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(v1alpha1.AddToScheme(scheme), coordinationv1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	keys := func(obj client.Object) []string {
		return plan.KnownKeys(obj.(*v1alpha1.NFSBenchmark)) //nolint:forcetypeassert // of the index
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(all...).
		WithIndex(&v1alpha1.NFSBenchmark{}, IndexTarget, keys).Build()
	return New(Options{
		Client: c, Reader: c,
		Finished: func(*v1alpha1.NFSBenchmark) bool { return false },
		Released: func(*v1alpha1.NFSBenchmark) bool { return false },
		Wants:    func(*v1alpha1.NFSBenchmark, time.Time) bool { return true },
		WithUID:  func(context.Context, string) ([]v1alpha1.NFSBenchmark, error) { return nil, nil },
	})
}

// TestTurnsAreThoseOfATarget: a namespace that used another target a moment ago has its turn before one that
// had this target all day.
func TestTurnsAreThoseOfATarget(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	const server = "10.0.0.5"
	b := gen.Benchmark("waits", gen.In("victim"), gen.UID("v"), gen.Export("/x", server))
	other := gen.Benchmark("hog", gen.In("hog"), gen.UID("h"), gen.Export("/x", server))
	b.CreationTimestamp = metav1.NewTime(noon.Add(-time.Hour))
	other.CreationTimestamp = metav1.NewTime(noon.Add(-2 * time.Hour))
	q, keys := queueOf(t, b, other), plan.ServerKeys([]string{server})
	q.uses.note("hog", keys, noon.Add(-24*time.Hour))
	q.uses.note("victim", []string{"embedded/victim/x"}, noon.Add(-time.Minute))
	if place, err := q.Place(t.Context(), b, keys, noon); err != nil || place.Position != 0 {
		t.Errorf("position %d, %v", place.Position, err)
	}
	q.uses.note("victim", keys, noon)
	if place, err := q.Place(t.Context(), b, keys, noon); err != nil || place.Position != 1 {
		t.Errorf("after its turn: position %d, %v", place.Position, err)
	}
}

// An address that an array names does not count in the queue, because a tenant may have written it.
func TestAnAddressOfAnArrayIsNotInTheQueue(t *testing.T) {
	t.Parallel()
	const server = "10.0.0.5"
	b := gen.Benchmark("waits", gen.In("victim"), gen.UID("v"), gen.Export("/x", server))
	surveyed := gen.Benchmark("hog", gen.In("hog"), gen.UID("h"), gen.Export("/x", "192.0.2.1"), gen.ONTAP("192.0.2.9", "svm", "s"))
	surveyed.Status.StartTime, surveyed.Status.Phase = new(metav1.NewTime(time.Unix(0, 0))), v1alpha1.PhaseRunning
	surveyed.Status.Resolved = &v1alpha1.ResolvedStatus{Paths: runfile.ChannelsTo(server)}
	place, err := queueOf(t, b, surveyed).Place(t.Context(), b, plan.ServerKeys([]string{server}), time.Unix(1, 0))
	if err != nil || place.Position != 0 {
		t.Errorf("position %d behind %q, %v", place.Position, place.Behind, err)
	}
}

// TestTheEndOfAHoldIsNamedWhenItIsNear: it is a limit, and a run usually ends long before it.
func TestTheEndOfAHoldIsNamedWhenItIsNear(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	me := gen.Benchmark("me", gen.In("team-a"))
	for name, tc := range map[string]struct {
		namespace string
		left      time.Duration
		want      holder
	}{
		"a day away":     {"team-a", 24 * time.Hour, holder{"team-a/other", ", which is Running: window 1 of 2"}},
		"an hour away":   {"team-a", time.Hour, holder{"team-a/other", ", which is Running and gives the target back at the latest at 2026-07-01T13:00:00Z: window 1 of 2"}},
		"of a stranger":  {"team-b", 24 * time.Hour, holder{"a benchmark of another namespace", ", which is Running"}},
		"of one, by now": {"team-b", 0, holder{"a benchmark of another namespace", ", which is Running and gives the target back at the latest at 2026-07-01T12:00:00Z"}},
	} {
		other := gen.Benchmark("other", gen.In(tc.namespace))
		other.Status.Phase, other.Status.Message = v1alpha1.PhaseRunning, "window 1 of 2"
		other.Status.HoldEndTime = new(metav1.NewTime(noon.Add(tc.left)))
		if got := seen(me, other, noon); got != tc.want {
			t.Errorf("%s: %+v, want %+v", name, got, tc.want)
		}
	}
}
