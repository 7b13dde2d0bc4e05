package matrix_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/test/kit/memory"
)

// many is a suite of 256 cells, which share a patch.
func many(t testing.TB, patch string) *v1alpha1.NFSBenchmarkSuite {
	t.Helper()
	axes := "\n  repetitions: 1\n  axes:\n  - {name: one, values: [{name: all, patch: {}}]}"
	for i := range 4 {
		axes += fmt.Sprintf("\n  - {name: a%d, values: [{name: a, patch: {}}, {name: b}, {name: c}, {name: d}]}", i)
	}
	s := suite(t, templateOf+axes)
	s.Spec.Axes[0].Values[0].Patch.Raw = []byte(patch)
	return s
}

// nested is a value below so many keys.
func nested(levels int, key, value string) string {
	return strings.Repeat(`{"`+key+`":`, levels) + value + strings.Repeat("}", levels)
}

// list is a list with so many of a value.
func list(n int, value string) string { return "[" + strings.Repeat(value+",", n-1) + value + "]" }

// The patches are as large as a spec may be, or as small as they can be for what they do. Of what is refused no more
// stays than a few lines, and no cell is made.
func TestAPatchThatIsLargerThanASpecIsRefusedWithAFewLines(t *testing.T) {
	for name, tc := range map[string]struct{ patch, says string }{
		"deep":         {nested(6400, "aaaaa", "1"), "more than 64 levels deep"},
		"deep lists":   {`{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}", "more than 64 levels deep"},
		"long key":     {nested(1, strings.Repeat("k", 32_000), list(861, `"{{"`)), "more than 317 bytes"},
		"long path":    {nested(60, strings.Repeat("k", 317), list(5000, `"{{"`)), "which Argo Workflows would replace"},
		"long strings": {nested(1, "a", list(2, `"{{`+strings.Repeat("x", 30_000)+`"`)), "which Argo Workflows would replace"},
	} {
		s := many(t, tc.patch)
		var err error
		most := 8<<20 + 64*len(tc.patch)
		if n := memory.Allocated(func() { _, err = matrix.Expand(s) }); n > uint64(most) {
			t.Errorf("%s: %d bytes were allocated, more than %d", name, n, most)
		}
		if err == nil || !strings.Contains(err.Error(), tc.says) || len(err.Error()) > 8<<10 {
			t.Errorf("%s: got %.300v", name, err)
		}
	}
}

// TestTheCellsOfAWrongPatchAreSmall: two bytes of JSON can make a struct of 112 bytes, in each of 256 cells.
func TestTheCellsOfAWrongPatchAreSmall(t *testing.T) {
	const terms = `{"pods":{"affinity":{"podAffinity":{"preferredDuringSchedulingIgnoredDuringExecution":`
	s := many(t, terms+list(1601, "{}")+"}}}}")
	var m matrix.Matrix
	held := func() uint64 {
		var now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&now)
		return now.HeapAlloc
	}
	before := held()
	m = expanded(t, s)
	after := held()
	if after > before+4<<20 {
		t.Errorf("256 cells hold %d bytes", after-before)
	}
	if err := check(t, m, s); err == nil || !strings.Contains(err.Error(), "must have at most 4 items") {
		t.Errorf("got %v", err)
	}
}

func TestTheCellsOfASuiteHaveABound(t *testing.T) {
	s := many(t, `{"image":"`+strings.Repeat("x", 8_000)+`"}`)
	if _, err := matrix.Expand(s); err == nil || !strings.Contains(err.Error(), "the specs of the 256 cells come to more than 2097 kB") {
		t.Errorf("got %v", err)
	}
}
