package main

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// byteSize is a flag that holds bytes: a number with the suffix that Kubernetes gives to
// quantities, Ki Mi Gi Ti for powers of 1024 and k M G T for powers of 1000.
type byteSize int64

// Set parses s; it is not changed when s is wrong.
func (b *byteSize) Set(s string) error {
	number, unit := s, int64(1)
	for suffix, size := range map[string]int64{
		"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
		"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
	} {
		if n, ok := strings.CutSuffix(s, suffix); ok {
			number, unit = n, size
		}
	}
	// Only digits and one point: big.Rat would take fractions and exponents too.
	if number == "" || strings.Trim(number, "0123456789.") != "" || len(number) > 30 {
		return fmt.Errorf("%q is no size; write 512Mi or 10Gi", s)
	}
	r, ok := new(big.Rat).SetString(number)
	if !ok {
		return fmt.Errorf("%q is no size; write 512Mi or 10Gi", s)
	}
	r.Mul(r, new(big.Rat).SetInt64(unit))
	if !r.IsInt() || r.Cmp(new(big.Rat).SetInt64(math.MaxInt64)) > 0 {
		return fmt.Errorf("%q is no whole number of bytes below 8Ei", s)
	}
	*b = byteSize(r.Num().Int64())
	return nil
}

// String writes the size with the largest power of 1024 that divides it.
func (b *byteSize) String() string {
	n, suffix := int64(*b), ""
	for _, s := range []string{"Ki", "Mi", "Gi", "Ti"} {
		if n == 0 || n%1024 != 0 {
			break
		}
		n, suffix = n/1024, s
	}
	return strconv.FormatInt(n, 10) + suffix
}

// Type is what the help calls the value.
func (b *byteSize) Type() string { return "size" }
