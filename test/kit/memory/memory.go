// Package memory bounds what foreign bytes may make a parser allocate, and counts what operations do.
package memory

import (
	"math"
	"runtime"
	"testing"
)

// Slack is what Bound adds to every limit: other goroutines of a test allocate a little
// meanwhile.
const Slack = 64 << 10

// Bound fails the test when f, and whatever else runs meanwhile, allocates more than
// limit bytes (times Factor) and Slack in all, freed or not. Where it does, f runs again, and the second
// run decides: the first one also fills what is made once for a program, such as tables
// of types. Its tests must not run in parallel.
func Bound(t testing.TB, limit int, f func()) {
	t.Helper()
	most := Factor*uint64(limit) + Slack
	n := Allocated(f)
	if n > most {
		n = Allocated(f)
	}
	if n > most {
		t.Fatalf("%d bytes were allocated, more than %d and some slack", n, limit)
	}
}

// PerOperation returns how many allocations run makes for each further operation: what it makes
// once does not count. The least of some attempts does, because whatever else the program does
// allocates, too.
func PerOperation(few, many int, run func(operations int)) float64 {
	least := math.Inf(1)
	for range 5 {
		once := testing.AllocsPerRun(1, func() { run(few) })
		least = min(least, (testing.AllocsPerRun(1, func() { run(many) })-once)/float64(many-few))
	}
	return least
}

// Allocated returns how many bytes the program allocated while f ran.
func Allocated(f func()) uint64 {
	before := total()
	f()
	return total() - before
}

// total is exact, and stops the program for some 20 microseconds. The sample
// /gc/heap/allocs:bytes is cheaper, and late by as much as all spans of the caches hold:
// some MiB, which is more than a thousand times the size of an ordinary input.
func total() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
