// Package runfile is the versioned contract between the operator, the loader and the collector: the plan file
// is their input, the result file their output.
//
// Both are JSON and public: `nfsbench load --plan plan.json` runs the same load on a laptop, and a result
// file can be kept, compared and judged again years later. Therefore
//
//   - every machine field is an integer or a string, with its unit in its name;
//   - what is not known is absent, never zero;
//   - raw counters and histograms stand beside what was derived from them;
//   - a result carries the plan that it was made from.
//
// The JSON Schemas in docs/schema are generated from these types and a test
// fails when they differ.
package runfile
