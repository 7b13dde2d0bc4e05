package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/test/bench/score"
)

func TestOnlyACompleteRunOfAllRowsIsPutOnRecord(t *testing.T) {
	for name, c := range map[string]struct {
		complete   bool
		rows, only []string
		want       bool
	}{
		"everything":  {complete: true, want: true},
		"interrupted": {complete: false},
		"some rows":   {complete: true, rows: []string{"links"}},
		"some peers":  {complete: true, only: []string{toolFio}},
	} {
		dir := t.TempDir()
		page := filepath.Join(dir, "page.md")
		if err := os.WriteFile(page, []byte("# Title\n"+score.BeginMarker+"\n"+score.EndMarker+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := settings{page: page, out: filepath.Join(dir, "out"), rows: c.rows, only: c.only}
		doc := score.Document{Complete: c.complete, Started: "then", Samples: []score.Sample{{Row: "r", Contender: "c"}}}
		if err := s.report(doc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := strings.Contains(readText(t, page), "then"); got != c.want {
			t.Errorf("%s: on record: %v", name, got)
		}
		if _, err := os.Stat(filepath.Join(dir, "page.json")); (err == nil) != c.want {
			t.Errorf("%s: repeats on record: %v", name, err)
		}
		for _, file := range []string{"results.json", "results.md"} { // these in any case
			if text := readText(t, filepath.Join(dir, "out", file)); !strings.Contains(text, "then") {
				t.Errorf("%s: %s has %q", name, file, text)
			}
		}
	}
}
