package storage_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/nfsbench/nfsbench/internal/storage"
)

func TestIsPermanent(t *testing.T) {
	cases := map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"none":       {"no error is not permanent", nil, false},
		"marked nil": {"marking nothing must not make an error", storage.Permanent(nil), false},
		"plain":      {"what nobody marked may pass", io.ErrUnexpectedEOF, false},
		"marked":     {"the mark counts", storage.Permanent(io.EOF), true},
		"wrapped":    {"the mark survives what callers add", fmt.Errorf("sample: %w", storage.Permanent(io.EOF)), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := storage.IsPermanent(tc.err); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
	if err := storage.Permanent(io.EOF); !errors.Is(err, io.EOF) || err.Error() != "EOF" {
		t.Errorf("the cause must stay visible: %v", err)
	}
}

func TestPrefixLengthReadsEveryFormOfANetmask(t *testing.T) {
	cases := map[string]struct {
		bits int
		mask string
		want int32
	}{
		"length":           {32, "24", 24},
		"IPv4 mask":        {32, "255.255.254.0", 23},
		"IPv6 mask":        {128, "ffff:ffff::", 32},
		"longer than that": {32, "64", 0},
		"holes":            {32, "255.0.255.0", 0},
		"negative":         {32, "-1", 0},
		"a word":           {128, "none", 0},
		"empty":            {128, "", 0},
	}
	for name, tc := range cases {
		if got := storage.PrefixLength(tc.bits, tc.mask); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

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
