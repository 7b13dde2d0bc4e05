// Package matrix turns a suite into its cells and their order. It is pure.
//
// The cells are all combinations of the axes' values, in the order of the axes with the last one fastest, without
// those that exclude selects, plus those of include. Each cell is the template with the patches of its values, in the
// order of the axes, and then the patch of an include. Check checks each patch against the schema before it checks
// the cells, so that a misspelt field is an error of the patch.
//
// The orders of a run:
//
//	Interleaved  each cell once, then each a second time, and so on: rounds.
//	  Randomized   each round is a shuffle of its own.
//	  ABBA         forth, back, forth: each cell beside its baseline.
//	Sequential   all repetitions of the first cell, then those of the second.
//	Random       one shuffle of all.
//
// A shuffle depends only on the seed: see shuffler.
package matrix

import (
	"encoding/json"
	"errors"
	"hash/fnv"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Matrix holds the benchmarks that a suite runs.
type Matrix struct {
	Cells []Cell
	// Sequence is the order of a run: each cell and repetition once.
	Sequence []Slot
	Seed     int64
}

// Cell is one benchmark of the matrix. Its name is unique and fit for a label.
type Cell struct {
	runfile.SuiteCell

	Baseline string // name of the baseline cell; empty if the cell has none, or is one
	// Spec is decoded from Written by Check, not before: a few bytes of a wrong patch can make a large struct.
	Spec v1alpha1.NFSBenchmarkSpec
	// Written is the template with the patches applied, as JSON, from which the benchmark is created. A patch that adds
	// an object, for example workload.slob, omits its defaults: Check sets them. The types cannot distinguish an omitted
	// quantity from zero.
	Written []byte
}

// Value is the value of an axis.
type Value = runfile.SuiteAxis

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

// templateCell names the one cell of a suite without axes.
const templateCell = "template"

// Expand makes the matrix of a suite: it applies the patches, and orders the benchmarks. It does not check the cells
// against the schema: see Check. Errors name the field and what to change; several are joined.
func Expand(s *v1alpha1.NFSBenchmarkSuite) (Matrix, error) {
	if err := errors.Join(checkShape(s), checkMetadata(s), checkSelectors(s)); err != nil {
		return Matrix{}, err
	}
	combos, err := combinations(s)
	if err != nil {
		return Matrix{}, err
	}
	m := Matrix{Seed: seed(s)}
	if m.Cells, err = cells(s, combos); err != nil {
		return Matrix{}, err
	}
	if err := pair(s, m.Cells); err != nil {
		return Matrix{}, err
	}
	m.Sequence = sequence(s, m)
	return m, nil
}

// seed returns the user's seed, or else a hash of the experiment and its name. Suspend and similar fields do not
// change it.
func seed(s *v1alpha1.NFSBenchmarkSuite) int64 {
	if s.Spec.Seed != nil {
		return *s.Spec.Seed
	}
	h := fnv.New64a()
	// Neither call fails: the types marshal, and a hash accepts everything.
	data, _ := json.Marshal([]any{
		s.Namespace, s.Name, s.Spec.Template, s.Spec.Axes, s.Spec.Exclude, s.Spec.Include,
		s.Spec.Repetitions, s.Spec.Order, s.Spec.Blocks,
	})
	_, _ = h.Write(data)
	return int64(h.Sum64() >> 1) //nolint:gosec // 63 bits
}
