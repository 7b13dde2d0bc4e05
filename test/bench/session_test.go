package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

func TestOnlyCompleteRunsArePutOnRecord(t *testing.T) {
	for name, c := range map[string]struct {
		complete   bool
		rows, only []string
		short      bool
		want       string // the files beside the page
	}{
		"everything":        {complete: true, want: "page.json page-capacity.json"},
		"interrupted":       {complete: false},
		"some rows":         {complete: true, rows: []string{"links"}},
		"some peers":        {complete: true, only: []string{toolFio}},
		"capacity rows":     {complete: true, rows: []string{"capacity"}, want: "page-capacity.json"},
		"one capacity row":  {complete: true, rows: []string{"capacity-link"}},
		"their short form":  {complete: true, rows: []string{"capacity"}, short: true},
		"capacity and more": {complete: true, rows: []string{"capacity", "links"}},
	} {
		dir := t.TempDir()
		page, summary := filepath.Join(dir, "page.md"), filepath.Join(dir, "summary.md")
		for _, file := range []string{page, summary} {
			if err := os.WriteFile(file, []byte("# Title\n"+score.BeginMarker+"\n"+score.EndMarker+"\n"+score.BeginCapacityMarker+"\n"+score.EndMarker+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := settings{page: page, summary: summary, out: filepath.Join(dir, "out"), rows: c.rows, only: c.only, short: c.short}
		doc := score.Document{Complete: c.complete, Started: "then"}
		for name, unit := range map[string]string{"r": score.UnitOps, "q": score.UnitCapacity} {
			if unit == score.UnitCapacity || len(c.rows) == 0 {
				doc.Rows = append(doc.Rows, score.Row{Name: name, Title: name, Unit: unit, Contenders: []score.Contender{{Name: "c"}}})
				doc.Samples = append(doc.Samples, score.Sample{Row: name, Contender: "c"})
			}
		}
		if err := s.report(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, file := range []string{page, summary} {
			if got, want := strings.Count(readText(t, file), "then"), len(strings.Fields(c.want)); got != want {
				t.Errorf("%s: %d tables in %s, want %d", name, got, filepath.Base(file), want)
			}
		}
		for file, row := range map[string]string{"page.json": "r", "page-capacity.json": "q"} {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if want := slices.Contains(strings.Fields(c.want), file); (err == nil) != want {
				t.Errorf("%s: %s on record: %v", name, file, err)
			} else if want && (strings.Count(string(data), `"row":`) != 1 || !strings.Contains(string(data), `"row": "`+row+`"`)) {
				t.Errorf("%s: %s has other rows than %q:\n%s", name, file, row, data)
			}
		}
		for _, file := range []string{"results.json", "results.md"} { // these in any case
			if text := readText(t, filepath.Join(dir, "out", file)); !strings.Contains(text, "then") {
				t.Errorf("%s: %s has %q", name, file, text)
			}
		}
	}
}
