package oraclesql

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestATextSaysForWhichReleasesItIs(t *testing.T) {
	for line, want := range map[string]string{
		"-- releases: all":          "12.1 12.2 18 19 21 23",
		"-- releases: from 19":      "19 21 23",
		"-- releases: to 12.2":      "12.1 12.2",
		"-- releases: 12.2 to 21":   "12.2 18 19 21",
		"-- nothing":                "12.1 12.2 18 19 21 23",
		"-- releases: from 20":      "error",
		"-- releases: 21 to 19":     "error",
		"-- releases: every":        "error",
		"-- releases: from 19 to 2": "error",
	} {
		releases, err := Covers("/* nfsbench x */\n" + line + "\nSELECT name FROM v$pdbs")
		var names []string
		for _, r := range releases {
			names = append(names, r.String())
		}
		if err != nil {
			names = []string{"error"}
		}
		if diff := cmp.Diff(want, strings.Join(names, " ")); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
}
