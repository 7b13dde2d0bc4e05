package benchmark

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
		"Second":        {"The older one goes first", entry("a", 5, "x"), []queueEntry{entry("b", 9, "x")}, queuePlace{1, "ns/b"}},
		"First":         {"The younger one waits", entry("a", 5, "x"), []queueEntry{entry("b", 2, "x")}, queuePlace{}},
		"ActiveYounger": {"A run under way is not pushed out by an older one", entry("a", 5, "x"), []queueEntry{active(entry("b", 2, "x"))}, queuePlace{1, "ns/b"}},
		"IAmActive":     {"A run under way keeps its turn", active(entry("a", 5, "x")), []queueEntry{entry("b", 9, "x")}, queuePlace{}},
		"PartOfKeys":    {"One address in common is enough", entry("a", 5, "x", "y"), []queueEntry{entry("b", 9, "y", "z")}, queuePlace{1, "ns/b"}},
		"Third":         {"All before me count, the head is named", entry("c", 1, "x"), []queueEntry{entry("b", 5, "x"), active(entry("a", 3, "x"))}, queuePlace{2, "ns/a"}},
		"SameSecond":    {"Names decide within one second", entry("b", 5, "x"), []queueEntry{entry("a", 5, "x"), entry("c", 5, "x")}, queuePlace{1, "ns/a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, placeAmong(tc.me, tc.others)); diff != "" {
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
