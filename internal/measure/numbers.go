package measure

import (
	"math"
	"slices"
	"time"
)

// PermilleOf rounds down, so that a threshold is reached only when it is.
func PermilleOf(share float64) *int32 {
	return new(int32(min(max(math.Floor(share*1000+1e-9), math.MinInt32), math.MaxInt32)))
}

// larger is the larger of two shares that are known.
func larger(a, b *int32) *int32 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// Filtered returns the elements that are wanted.
func Filtered[T any](all []T, wanted func(T) bool) []T {
	var out []T
	for _, v := range all {
		if wanted(v) {
			out = append(out, v)
		}
	}
	return out
}

// Distinct returns the texts that of gives for the elements, each text once and none empty.
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

// rounded is nil for what is no count of anything.
func rounded(v float64) *int64 {
	if !(v >= 0 && v < math.MaxInt64) {
		return nil
	}
	return new(int64(math.Round(v)))
}

// Known is v, or nil if it is not known.
func Known(ok bool, v int64) *int64 {
	if !ok {
		return nil
	}
	return &v
}

// Duration converts a number of milliseconds; nil is not known.
func Duration(milliseconds *int64) *time.Duration {
	if milliseconds == nil {
		return nil
	}
	return new(time.Duration(*milliseconds) * time.Millisecond)
}
