// Package crdcheck holds benchmarks against their CRD as the API server does, with
// its own code: defaults, structural schema and CEL rules.
//
// A spec goes through the steps of a creation, in their order: defaults are
// set, unknown fields are looked for, nulls without a default are dropped, then
// types, bounds and enums, lists that are sets or maps, and the CEL rules with the
// cost limits of the API server. Rules about changes (with oldSelf) do not apply,
// as they do not when an object is created.
package crdcheck

import (
	"fmt"

	crd "github.com/nfsbench/nfsbench/config/crd"
)

// Checker checks specs. It is safe for concurrent use.
type Checker struct{ *Schema }

// New compiles the schema of benchmarks and its rules, once.
func New() (*Checker, error) {
	s, err := compile(crd.NFSBenchmark)
	if err != nil {
		return nil, fmt.Errorf("compile the CRD of NFSBenchmark: %w", err)
	}
	return &Checker{s}, nil
}

// NewSuite compiles the schema of suites: for those that no API server has seen.
func NewSuite() (*Schema, error) {
	s, err := compile(crd.NFSBenchmarkSuite)
	if err != nil {
		return nil, fmt.Errorf("compile the CRD of NFSBenchmarkSuite: %w", err)
	}
	return s, nil
}
