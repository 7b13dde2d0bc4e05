// Package crd holds the CRDs as they are installed.
package crd

import _ "embed"

// NFSBenchmark is the CRD of benchmarks, as YAML.
//
//go:embed bases/nfsbench.io_nfsbenchmarks.yaml
var NFSBenchmark []byte

// NFSBenchmarkSuite is the CRD of suites, as YAML.
//
//go:embed bases/nfsbench.io_nfsbenchmarksuites.yaml
var NFSBenchmarkSuite []byte
