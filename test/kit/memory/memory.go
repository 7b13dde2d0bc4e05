// Package memory bounds what foreign bytes may make a parser allocate.
package memory

import (
	"runtime/metrics"
	"testing"
)

// Slack is what Bound adds to every limit: the runtime counts small objects only
// when their span is full, and other goroutines allocate a little meanwhile.
const Slack = 4 << 20

// Bound fails the test when f, and whatever else runs meanwhile, allocates more than
// limit bytes and Slack in all, freed or not. Its tests must not run in parallel.
func Bound(t testing.TB, limit int, f func()) {
	t.Helper()
	if n := Allocated(f); n > uint64(limit)+Slack {
		t.Fatalf("%d bytes were allocated, more than %d and some slack", n, limit)
	}
}

// Allocated returns how many bytes the program allocated while f ran.
func Allocated(f func()) uint64 {
	before := total()
	f()
	return total() - before
}

func total() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
