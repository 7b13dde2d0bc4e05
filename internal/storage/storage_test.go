package storage_test

import (
	"errors"
	"fmt"
	"io"
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
