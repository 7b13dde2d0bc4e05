package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDrawnMutantsFitTheirFilesAndDependOnTheSeedAlone(t *testing.T) {
	const n = 50
	first, err := draw(root, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := draw(root, n, 1)
	if err != nil {
		t.Fatal(err)
	}
	names := cmp.AllowUnexported(mutant{}, testRun{})
	if len(first) != n || !cmp.Equal(first, again, names) {
		t.Errorf("%d mutants, or others the second time", len(first))
	}
	if other, _ := draw(root, n, 2); cmp.Equal(first, other, names) {
		t.Error("another seed draws the same")
	}
	for _, m := range first {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(m.file)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.applied(string(text)); err != nil {
			t.Errorf("mutant %s: %v", m.name, err)
		}
	}
	if read, err := parse(format(first)); err != nil || !cmp.Equal(first, read, names) {
		t.Errorf("they are read back as others: %v", err)
	}
}

func TestEditsAreOfSingleTokens(t *testing.T) {
	const text = `package a

import "b"

const limit = 9

func f(x int, s string) bool {
	if x < limit && s == "no" {
		return true
	}
	return x+1 >= limit
}
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := edits(filepath.Join(dir, "a.go"), "a.go")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		m, err := e.mutant(dir, "random-1")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.name+": "+m.new)
	}
	want := []string{
		"random-1/number-a.go:5: const limit = 10",
		"random-1/negation-a.go:8: \tif !(x < limit && s == \"no\") {",
		"random-1/operator-a.go:8: \tif x < limit || s == \"no\" {",
		"random-1/operator-a.go:8: \tif x <= limit && s == \"no\" {",
		"random-1/constant-a.go:9: \t\treturn false",
		"random-1/operator-a.go:11: \treturn x+1 > limit",
		"random-1/operator-a.go:11: \treturn x-1 >= limit",
		"random-1/number-a.go:11: \treturn x+2 >= limit",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
