package main

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/lab/bench/score"
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
			if e.Place == placePNFS {
				if e.Tool != toolOurs || e.NFS == "" || len(e.Links) != 1 || e.Links[0] > 1 {
					t.Errorf("%s: %s is no client of one node of the pNFS array", r.Name, e.Name)
				}
				continue
			}
			if (e.Bound > 0) != (r.Unit == score.UnitCapacity) {
				t.Errorf("%s: %s has the bound %v in a row of unit %q", r.Name, e.Name, e.Bound, r.Unit)
			}
			if e.Tool == toolFio && e.Bound == 0 && (e.Place == placeDirectory) != (e.How != "") {
				t.Errorf("%s: %s has engine %q in place %q", r.Name, e.Name, e.How, e.Place)
			}
			if e.Tool == toolSocket && (e.Work.Jobs != 1 || e.NFS != "") {
				t.Errorf("%s: a bare socket is one, and sends NFSv3", r.Name)
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
	type bound struct{ Rate, CPU float64 }
	got := map[string]bound{}
	for _, r := range allRows() {
		var b bound
		for _, c := range slices.Backward(r.Checks) { // the first one counts
			switch c.Metric {
			case score.MetricRate:
				b.Rate = c.AtLeast
			case score.MetricCPU:
				b.CPU = c.AtMost
			}
		}
		got[r.Name] = b
	}
	want := map[string]bound{
		"1gbe-read": {Rate: 0.99}, "1gbe-overwrite": {Rate: 0.97},
		"links-2": {Rate: 1.95}, "links-4": {Rate: 3.9}, "v4.1-links-4": {Rate: 3.9}, "pnfs-2": {Rate: 1.9},
		"v4.1-read-j1-d1": {0.95, 1.25}, "v4.1-read-j1-d8": {0.95, 1.25},
		"v4.1-random-j1-d1": {CPU: 1.25}, "v4.1-random-j1-d16": {0.85, 1.25}, "memory-d256": {},
		"floor-read-j1-d1": {CPU: 1.3}, "floor-read-j1-d8": {CPU: 1.3},
		"rate-4000": {Rate: 0.99}, "rate-8000": {Rate: 0.99}, "rate-12000": {Rate: 0.99},
		"capacity-link": {}, "capacity-relay": {}, "capacity-cpu": {},
	}
	for _, version := range []string{"", "v4.0-", "veth-", "veth-v4.0-"} {
		for _, name := range []string{"read-j1-d1", "read-j1-d2", "read-j1-d8", "read-j1-d32", "read-j2-d1", "read-j4-d1"} {
			want[version+name] = bound{1, 1}
		}
		for _, name := range []string{"random-j1-d1", "random-j1-d16", "random-j1-d64", "random-j4-d16"} {
			want[version+name] = bound{Rate: 1}
		}
	}
	for _, name := range []string{"random-j1-d1", "random-j1-d16"} {
		for _, version := range []string{"", "v4.0-", "v4.1-"} {
			want["floor-"+version+name] = bound{CPU: 1.3}
		}
	}
	for _, depth := range []string{"d1", "d16", "d64"} {
		want["kernel-random-j1-"+depth], want["kernel-read-j1-"+depth] = bound{0.97, 1.2}, bound{0.97, 1.2}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows and what they must reach (-want +got):\n%s", diff)
	}
}

func TestRowsThatCannotBeMeasuredAreLeftOutByName(t *testing.T) {
	for _, c := range []struct {
		versions, array bool
		without         []string
	}{
		{true, true, nil},
		{true, false, []string{"pnfs-2"}},
		{false, true, []string{"v4.0-read-j1-d1", "v4.1-links-4", "floor-v4.1-random-j1-d1", "pnfs-2"}},
	} {
		keep, left := possible(allRows(), c.versions, c.array)
		if len(keep)+len(left) != len(allRows()) || (len(left) == 0) != (len(c.without) == 0) {
			t.Errorf("%+v: %d rows are kept and %d left out", c, len(keep), len(left))
		}
		for _, name := range c.without {
			if slices.Contains(names(keep), name) || !slices.ContainsFunc(left, func(s string) bool { return strings.HasPrefix(s, name+": ") }) {
				t.Errorf("%+v: %s is kept, or left out without a word", c, name)
			}
		}
		if !slices.Contains(names(keep), "kernel-random-j1-d16") {
			t.Errorf("%+v: a row that needs neither is left out", c)
		}
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
		{[]string{"v4.1-links", "pnfs"}, []string{"v4.1-links-4", "pnfs-2"}},
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
	search, err1 := chosen(allRows(), []string{capacityPrefix})
	rest, err2 := chosen(allRows(), []string{others})
	if err := errors.Join(err1, err2); err != nil || len(search) != 3 || len(search)+len(rest) != len(allRows()) {
		t.Errorf("%d rows of capacity and %d others of %d, %v", len(search), len(rest), len(allRows()), err)
	}
	if _, err := chosen(allRows(), []string{"links", "nothing"}); err == nil || !strings.Contains(err.Error(), `"nothing"`) {
		t.Errorf("an unknown row: %v", err)
	}
}

func TestTheQuickRowsUseEveryProgramAndPlace(t *testing.T) {
	rows, err := chosen(allRows(), []string{quick, "links-4"})
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != len(quickRows())+1 {
		t.Errorf("%d rows, want the %d quick ones and one more", len(rows), len(quickRows()))
	}
	if needs(rows, isPNFS) {
		t.Error("the pNFS array takes too long for a quick look")
	}
	for _, tool := range []string{toolOurs, toolFio, toolReader, toolCat, toolIperf, toolSocket} {
		if !needs(rows, func(e entry) bool { return e.Tool == tool }) {
			t.Errorf("%s is in none of them", tool)
		}
	}
	for _, e := range []entry{{NFS: v40}, {NFS: v41}, {Place: placeDirectory}} {
		if !needs(rows, func(have entry) bool { return have.NFS == e.NFS && have.Place == e.Place }) {
			t.Errorf("none has NFS %q in place %q", e.NFS, e.Place)
		}
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
