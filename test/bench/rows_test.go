package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

func TestEveryRowIsWellFormed(t *testing.T) {
	links := len(strings.Split(linkRates(), ","))
	seen := map[string]bool{}
	for _, r := range allRows() {
		if seen[r.Name] {
			t.Errorf("two rows are called %s", r.Name)
		}
		seen[r.Name] = true
		if r.Entries[0].Tool != toolOurs {
			t.Errorf("%s: the subject is %s", r.Name, r.Entries[0].Tool)
		}
		names := map[string]bool{}
		for _, e := range r.Entries {
			if names[e.Name] {
				t.Errorf("%s: two contenders are called %s", r.Name, e.Name)
			}
			names[e.Name] = true
			if e.Work.Pattern == "overwrite" && e.Tool == toolReader {
				t.Errorf("%s: %s only reads", r.Name, e.Name)
			}
			if e.Tool == toolIperf && len(e.Links) != 1 {
				t.Errorf("%s: iperf3 pours over one link, not over %v", r.Name, e.Links)
			}
			if slices.ContainsFunc(e.Links, func(i int) bool { return i < 0 || i >= links }) {
				t.Errorf("%s: links %v of %d", r.Name, e.Links, links)
			}
		}
		if len(r.Checks) == 0 {
			t.Errorf("%s asks for nothing", r.Name)
		}
		for _, c := range r.Checks {
			if !names[c.Of] || (c.To != "" && !names[c.To]) {
				t.Errorf("%s: check of %q to %q, who are not all there", r.Name, c.Of, c.To)
			}
			if c.AtLeast == 0 && c.AtMost == 0 {
				t.Errorf("%s: a check without a bound", r.Name)
			}
		}
	}
}

func TestTheRowsThatAreAskedForAreThere(t *testing.T) {
	least := map[string]float64{}
	for _, r := range allRows() {
		least[r.Name] = r.Checks[0].AtLeast
	}
	want := map[string]float64{
		"1gbe-read": 0.99, "1gbe-overwrite": 0.97, "links-2": 1.95, "links-4": 3.9,
		"read-j1-d1": 1, "read-j1-d2": 1, "read-j1-d8": 1, "read-j1-d32": 1, "read-j2-d1": 1, "read-j4-d1": 1,
		"random-j1-d1": 1, "random-j1-d16": 1, "random-j1-d64": 1, "random-j4-d16": 1, "memory-d256": 0,
	}
	if diff := cmp.Diff(want, least); diff != "" {
		t.Errorf("rows and what they must reach (-want +got):\n%s", diff)
	}
}

func names(rows []row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.Name)
	}
	return out
}

func TestRowsAreChosenByNameOrItsBeginning(t *testing.T) {
	for _, c := range []struct{ ask, want []string }{
		{[]string{"links"}, []string{"links-2", "links-4"}},
		{[]string{"random-j1-d16"}, []string{"random-j1-d16"}},
		{[]string{"random-j1-d1"}, []string{"random-j1-d1"}}, // not d16
		{[]string{"memory", "1gbe-read"}, []string{"1gbe-read", "memory-d256"}},
		{nil, names(allRows())},
	} {
		got, err := chosen(allRows(), c.ask)
		if err != nil {
			t.Errorf("%v: %v", c.ask, err)
		}
		if diff := cmp.Diff(c.want, names(got)); diff != "" {
			t.Errorf("%v (-want +got):\n%s", c.ask, diff)
		}
	}
	if _, err := chosen(allRows(), []string{"links", "nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown row: %v", err)
	}
}

func TestOnlyThoseWhoAreThereTakePart(t *testing.T) {
	all, err := chosen(allRows(), []string{"read-j1-d1"})
	if err != nil {
		t.Fatal(err)
	}
	r := all[0]
	tools := func(r row) (out []string) {
		for _, e := range r.Entries {
			out = append(out, e.Tool)
		}
		return out
	}
	for _, c := range []struct {
		without map[string]bool
		only    []string
		other   bool
		want    []string
	}{
		{nil, nil, false, []string{toolOurs, toolFio, toolReader, toolCat}},
		{map[string]bool{toolFio: true}, nil, false, []string{toolOurs, toolReader, toolCat}},
		{nil, []string{toolFio}, false, []string{toolOurs, toolFio}},
		{nil, []string{toolIperf}, true, []string{toolOurs, toolOther}},
	} {
		if diff := cmp.Diff(c.want, tools(r.field(c.without, c.only, c.other))); diff != "" {
			t.Errorf("without %v, only %v, other %v (-want +got):\n%s", c.without, c.only, c.other, diff)
		}
	}
}

func TestPartsOfOurselvesThatARowComparesAlwaysTakePart(t *testing.T) {
	rows, err := chosen(allRows(), []string{"links-4"})
	if err != nil {
		t.Fatal(err)
	}
	if got := rows[0].field(nil, []string{toolFio}, false); len(got.Entries) != 2 {
		t.Errorf("of links-4 there is left: %+v", got.Entries)
	}
}

func TestTheTitleSaysTheWorkAndAContenderWhereItDiffers(t *testing.T) {
	got := allRows()[0].score()
	want := []score.Contender{{Name: "nfsbench"}, {Name: "iperf3"}, {Name: "fio", Work: "1 job, depth 1"}, {Name: "libnfs", Work: "1 job, depth 1"}}
	if diff := cmp.Diff(want, got.Contenders); diff != "" {
		t.Errorf("contenders (-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Title, "2 jobs, depth 8") || got.Unit != score.UnitBytes {
		t.Errorf("title %q, unit %s", got.Title, got.Unit)
	}
	if last := allRows()[len(allRows())-1].score(); last.Unit != score.UnitOps {
		t.Errorf("random blocks are counted in %s", last.Unit)
	}
}
