// Package matrix turns a suite into its cells and their order. It is pure.
package matrix

import "github.com/nfsbench/nfsbench/api/v1alpha1"

// Matrix is what a suite runs.
type Matrix struct {
	Cells []Cell
	// Sequence is the order of a run: each cell and repetition once.
	Sequence []Slot
	Seed     int64
	// Comparisons is how many lines Compare will have (steps not counted).
	Comparisons int
}

// Cell is one benchmark of the matrix.
type Cell struct {
	Name     string // fit for a label, unique
	Values   []Value
	Baseline string // name of the cell that it is compared with; empty = none, or it is one
	Spec     v1alpha1.NFSBenchmarkSpec
}

// Value is the value of an axis.
type Value struct{ Axis, Value string }

// Slot is one benchmark of a run.
type Slot struct {
	Cell       int   // index into Cells
	Repetition int32 // from 1
}

// Limits of a matrix.
const (
	MaxCells      = 256
	MaxBenchmarks = 2048
)

// Expand makes the matrix of a suite: it applies the patches, strictly, and orders
// the benchmarks. It does not hold the cells against the schema: see Check.
// Errors name the field and what to change; several are joined.
func Expand(s *v1alpha1.NFSBenchmarkSuite) (Matrix, error) { return Matrix{}, nil }

// Checker holds a spec against the schema of NFSBenchmark: types, bounds, enums
// and the CEL rules. internal/crdcheck is one.
type Checker interface {
	Check(spec v1alpha1.NFSBenchmarkSpec) error
}

// Check holds every cell against the schema, and the repetitions against what the
// comparison claims. Errors name the cell and its values.
func Check(m Matrix, s *v1alpha1.NFSBenchmarkSuite, c Checker) error { return nil }

// EstimatedSeconds is what one run takes at least, by what its benchmarks declare.
func EstimatedSeconds(m Matrix) int64 { return 0 }
