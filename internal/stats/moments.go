package stats

import (
	"cmp"
	"math"
	"slices"
)

// Mean is the arithmetic mean; 0 of nothing.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Median is the middle value, or the mean of the two middle ones; 0 of
// nothing. It does not change its argument.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	mid := len(s) / 2
	if len(s)%2 == 1 {
		return s[mid]
	}
	return s[mid-1] + (s[mid]-s[mid-1])/2
}

// MedianIndex is the index of the lower median: a value that was really
// measured, so that everything else of that repetition can stand beside it.
// It is -1 of nothing.
func MedianIndex(values []float64) int {
	if len(values) == 0 {
		return -1
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	return order[(len(order)-1)/2]
}

// CoefficientOfVariation is the sample standard deviation over the mean. It is
// not known (false) of fewer than two values or of a mean of zero.
func CoefficientOfVariation(values []float64) (float64, bool) {
	m := Mean(values)
	if len(values) < 2 || m == 0 {
		return 0, false
	}
	ss := 0.0
	for _, v := range values {
		ss += (v - m) * (v - m)
	}
	return math.Sqrt(ss/float64(len(values)-1)) / math.Abs(m), true
}

// Slope is that of the least-squares line through the values at 0, 1, 2, ...
func Slope(values []float64) float64 {
	n := float64(len(values))
	if n < 2 {
		return 0
	}
	mx, my := (n-1)/2, Mean(values)
	num, den := 0.0, 0.0
	for i, v := range values {
		dx := float64(i) - mx
		num += dx * (v - my)
		den += dx * dx
	}
	return num / den
}
