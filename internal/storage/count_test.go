package storage_test

import (
	"math"
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// What is no counter, or does not fit into a result, is unknown, and not zero.
func TestACounterThatDoesNotFitIsUnknown(t *testing.T) {
	for _, n := range []float64{-1, math.NaN(), math.Inf(1), 1 << 63} {
		if c := storage.Count(n); c != nil {
			t.Errorf("%v became %d", n, *c)
		}
	}
	if c := storage.Count(uint64(1 << 63)); c != nil {
		t.Errorf("2^63 became %d", *c)
	}
	for want, c := range map[int64]*int64{0: storage.Count(uint64(0)), 5: storage.Count(uint64(5)), 1_500_000: storage.Count(1.5 * 1e6)} {
		if c == nil || *c != want {
			t.Errorf("got %v, want %d", c, want)
		}
	}
}
