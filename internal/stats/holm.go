package stats

import (
	"cmp"
	"slices"
)

// Holm corrects p of several tests for their number, by the method of Holm
// (1979): the smallest is multiplied by the number of tests, the next by one
// less, and so on; none is below the one before, and none is above 1. What is
// then below alpha was found with a rate of false alarms of alpha for all tests
// together, whether they depend on each other or not. The answer is in the order
// of the argument, which is not changed.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	adjusted, floor := make([]float64, len(p)), 0.0
	for i, at := range order {
		floor = max(floor, min(1, p[at]*float64(len(p)-i)))
		adjusted[at] = floor
	}
	return adjusted
}
