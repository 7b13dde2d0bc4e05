package main

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/kit/repository"
	"github.com/nfsbench/nfsbench/test/lab/bench/score"
)

// TestThePagesShowTheRecordedRepeats: both pages are those that publish would write.
func TestThePagesShowTheRecordedRepeats(t *testing.T) {
	for record, begin := range map[string]string{
		"performance": score.BeginMarker, "performance-capacity": score.BeginCapacityMarker,
	} {
		var doc score.Document
		if err := json.Unmarshal([]byte(recorded(t, "test/lab/records/"+record+".json")), &doc); err != nil {
			t.Fatal(err)
		}
		for name, table := range map[string]string{
			"test/lab/records/performance.md": score.Markdown(doc), "docs/performance.md": score.Summary(doc),
		} {
			page := recorded(t, name)
			want, err := score.Between(page, table, begin, score.EndMarker)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(want, page); diff != "" {
				t.Errorf("%s does not show %s.json (-want +got):\n%s", name, record, diff)
			}
		}
	}
}

func recorded(t *testing.T, name string) string {
	t.Helper()
	path, err := repository.Path(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
