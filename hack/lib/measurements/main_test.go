package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheRecordHasATableForEachPart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "measure-lab.amounts")
	lines := `{"date":"2026-11-28T01:00:00Z","test":"TestMeasureA","what":"rate","unit":"1/s","n":3,"median":1430.4,"lowest":1400,"highest":1500}
{"date":"2026-11-28T01:00:00Z","test":"TestMeasureA/b|c","what":"cost","unit":"%","n":1,"median":7.125,"lowest":7.125,"highest":7.125,"wanted":"at most 5","holds":false}
{"date":"2026-11-28T01:00:00Z","test":"TestMeasureB","what":"link","n":1,"median":0,"lowest":0,"highest":0,"outcome":"Worse","wanted":"Worse","holds":true}
`
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run([]string{file}, &out); err != nil {
		t.Fatal(err)
	}
	head, table, _ := strings.Cut(out.String(), "\n## ")
	if !regexp.MustCompile(`^# Measurements of \d{4}-\d\d-\d\d \d\d:\d\d UTC\n\n\d+ processors, .*kernel .*\n$`).MatchString(head) {
		t.Errorf("the head is\n%s", head)
	}
	want := `measure-lab

| test | what | unit | median | range | n | wanted | holds |
|---|---|---|---:|---:|---:|---|---|
| TestMeasureA | rate | 1/s | 1430 | 1400 to 1500 | 3 |  |  |
| TestMeasureA/b\|c | cost | % | 7.12 |  | 1 | at most 5 | **no** |
| TestMeasureB | link |  | Worse |  | 1 | Worse | yes |
`
	if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}

func TestALineThatIsNoAmountIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.amounts")
	if err := os.WriteFile(file, []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := run([]string{file}, &out); err == nil || out.Len() > 0 {
		t.Errorf("error %v, and the record\n%s", err, out.String())
	}
}
