package measure

import (
	"math"
	"slices"
	"time"
)

// PermilleOf converts a share to permille. It rounds down, so that a value below a threshold never reaches it.
func PermilleOf(share float64) *int32 {
	return new(int32(min(max(math.Floor(share*1000+1e-9), math.MinInt32), math.MaxInt32)))
}

// larger returns the larger of two shares; nil is unknown and loses.
func larger(a, b *int32) *int32 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Filtered returns the wanted elements.
func Filtered[T any](all []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range all {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// Distinct returns the texts that of returns for the elements, each text once, without empty ones.
func Distinct[T any](all []T, of func(T) string) (texts []string) {
	for _, v := range all {
		if text := of(v); text != "" {
			texts = WithNew(texts, text)
		}
	}
	return texts
}

// WithNew appends v unless it is there.
func WithNew[T comparable](all []T, v T) []T {
	if slices.Contains(all, v) {
		return all
	}
	return append(all, v)
}

// AtLeastPermille reports whether a share is known and reaches a limit.
func AtLeastPermille[T ~int32](v *T, limit T) bool { return v != nil && *v >= limit }

// rounded returns the nearest count; nil for a negative, infinite or undefined value.
func rounded(v float64) *int64 {
	if !(v >= 0 && v < math.MaxInt64) {
		return nil
	}
	return new(int64(math.Round(v)))
}

// Known returns v, or nil if it is unknown.
func Known(ok bool, v int64) *int64 {
	if !ok {
		return nil
	}
	return &v
}

// Duration converts a number of milliseconds; nil = unknown.
func Duration(milliseconds *int64) *time.Duration {
	if milliseconds == nil {
		return nil
	}
	return new(time.Duration(*milliseconds) * time.Millisecond)
}
