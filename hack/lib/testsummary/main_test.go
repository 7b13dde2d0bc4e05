package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const stream = `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:1: needs a cluster\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"skip","Package":"p","Test":"TestB"}
{"Action":"pass","Package":"p","Test":"TestC"}
{"Action":"pass","Package":"p"}
not json
{"Action":"pass","Package":"p","Test":"TestB"}
`

func TestATestCountsOnceAndPassesIfItPassedInAnyRun(t *testing.T) {
	all := tests{}
	if err := all.read(strings.NewReader(stream)); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	ok := all.report(&out, false)
	want := "not run: p TestA: a_test.go:1: needs a cluster\n2 passed, 0 failed, 1 skipped\n"
	if diff := cmp.Diff(want, out.String()); diff != "" || !ok {
		t.Errorf("ok = %v, report (-want +got):\n%s", ok, diff)
	}
	if all.report(&out, true) {
		t.Error("a skip must fail where skips are forbidden")
	}
}

func TestAPackageThatDoesNotBuildIsAFailure(t *testing.T) {
	all := tests{}
	if err := all.read(strings.NewReader(`{"Action":"fail","Package":"p"}`)); err != nil {
		t.Fatal(err)
	}
	if all.report(&strings.Builder{}, false) {
		t.Error("a package that failed without a test must count")
	}
}
