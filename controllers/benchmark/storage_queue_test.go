package benchmark

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/manifest"
)

func TestPlaceAmong(t *testing.T) {
	t0 := time.Unix(1000, 0)
	entry := func(id string, age int, keys ...string) queueEntry {
		return queueEntry{ID: id, Name: "ns/" + id, Keys: keys, Created: t0.Add(-time.Duration(age) * time.Second)}
	}
	active := func(e queueEntry) queueEntry { e.Active = true; return e }
	cases := map[string]struct {
		reason string
		me     queueEntry
		others []queueEntry
		want   queuePlace
	}{
		"Alone":         {"Nobody else wants the target", entry("a", 5, "x"), []queueEntry{entry("a", 5, "x")}, queuePlace{}},
		"OtherTarget":   {"Other targets do not matter", entry("a", 5, "x"), []queueEntry{active(entry("b", 9, "y"))}, queuePlace{}},
		"Second":        {"The older one goes first", entry("a", 5, "x"), []queueEntry{entry("b", 9, "x")}, queuePlace{Position: 1, Behind: "ns/b"}},
		"First":         {"The younger one waits", entry("a", 5, "x"), []queueEntry{entry("b", 2, "x")}, queuePlace{}},
		"ActiveYounger": {"A run under way is not pushed out by an older one", entry("a", 5, "x"), []queueEntry{active(entry("b", 2, "x"))}, queuePlace{Position: 1, Behind: "ns/b"}},
		"IAmActive":     {"A run under way keeps its turn", active(entry("a", 5, "x")), []queueEntry{entry("b", 9, "x")}, queuePlace{}},
		"PartOfKeys":    {"One address in common is enough", entry("a", 5, "x", "y"), []queueEntry{entry("b", 9, "y", "z")}, queuePlace{Position: 1, Behind: "ns/b"}},
		"Third":         {"All before me count, the head is named", entry("c", 1, "x"), []queueEntry{entry("b", 5, "x"), active(entry("a", 3, "x"))}, queuePlace{Position: 2, Behind: "ns/a"}},
		"SameSecond":    {"Names decide within one second", entry("b", 5, "x"), []queueEntry{entry("a", 5, "x"), entry("c", 5, "x")}, queuePlace{Position: 1, Behind: "ns/a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, placeAmong(tc.me, tc.others), cmp.AllowUnexported(queuePlace{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestNextAreThoseThatWaitInTheOrderOfTheirTurns(t *testing.T) {
	t0 := time.Unix(1000, 0)
	all := []queueEntry{
		{ID: "1", Name: "ns/young", Created: t0.Add(time.Minute)},
		{ID: "2", Name: "ns/b", Created: t0},
		{ID: "3", Name: "ns/runs", Created: t0.Add(time.Second), Active: true},
		{ID: "4", Name: "ns/a", Created: t0},
	}
	for n, want := range map[int][]string{0: nil, 2: {"ns/a", "ns/b"}, 9: {"ns/a", "ns/b", "ns/young"}} {
		var got []string
		for _, e := range nextInQueue(all, n) {
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
	var waiting []queueEntry
	for i, name := range []string{"many/1", "many/2", "many/3", "many/4", "few/1", "few/2", "one/1"} {
		waiting = append(waiting, queueEntry{ID: name, Name: name, Keys: []string{"x"}, Created: time.Unix(int64(i), 0)})
	}
	waiting = append(waiting, queueEntry{ID: "many/0", Name: "many/0", Keys: []string{"y"}}) // another target does not count
	last, order := map[string]time.Time{}, []string{}
	for now := int64(100); len(order) < 7; now++ {
		for i := range waiting {
			waiting[i].Turn, waiting[i].LastUse = turnOf(waiting[i], waiting), last[strings.Split(waiting[i].Name, "/")[0]]
		}
		heads := 0
		for _, e := range waiting {
			if e.Keys[0] == "x" && placeAmong(e, waiting).Position == 0 {
				heads++
			}
		}
		next := nextInQueue(slices.DeleteFunc(slices.Clone(waiting), func(e queueEntry) bool { return e.Keys[0] == "y" }), 1)[0]
		if heads != 1 || placeAmong(next, waiting).Position != 0 {
			t.Fatalf("after %q it is the turn of %d", order, heads)
		}
		order = append(order, next.Name)
		last[strings.Split(next.Name, "/")[0]] = time.Unix(now, 0)
		waiting = slices.DeleteFunc(waiting, func(e queueEntry) bool { return e.ID == next.ID })
	}
	want := []string{"many/1", "few/1", "one/1", "many/2", "few/2", "many/3", "many/4"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

// Whoever else may use the name of our Lease: it is not taken from him.
func TestALeaseOfSomebodyElseIsNotFree(t *testing.T) {
	t.Parallel()
	s := &scope{b: &v1alpha1.NFSBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "1"}}}
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
		got, err := reconcilerWith(t).otherHolder(t.Context(), s, held)
		if err != nil || (got.name == "") != c.free || !c.free && !strings.Contains(got.name, "ns/x") {
			t.Errorf("%s: held by %q, %v", c.reason, got, err)
		}
	}
}
