// Package compare holds the runs of a suite, or any two results, against each
// other: tables of percent impact, tests of significance, regressions. It is pure.
package compare
