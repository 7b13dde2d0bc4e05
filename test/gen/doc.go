// Package gen builds benchmarks and results for tests: a good one, changed by
// modifiers that say what matters to the test.
package gen
