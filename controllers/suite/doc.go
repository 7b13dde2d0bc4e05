// Package suite reconciles NFSBenchmarkSuite: it hands the matrix to Argo
// Workflows, follows the run, and keeps the numbers.
//
// A pass computes where a suite stands from what exists in the cluster: its
// Workflows, their benchmarks, and the records that it wrote itself, one
// ConfigMap for each run. Phases record facts in a scope; status.go alone turns
// them into the status, which is written once.
//
//	findRuns → validate → checkNeeds → checkArgo → grantRights → start → readResults → control → endRuns →
//	      writeRecords → regress → prune
//
// A run is over when its Workflow is finished or gone and none of its benchmarks is under way. Its record then states
// how it ended, and the status is computed from the record: benchmarks may be deleted, by ttlSecondsAfterFinished or by
// the history limit, but the numbers stay.
//
// runs.go finds the runs and the results of their benchmarks (findRuns, checkArgo, readResults), start.go starts and
// controls runs (validate, start, control), needs.go looks at what the next run needs (checkNeeds), records.go ends,
// keeps and removes them (endRuns, writeRecords, prune). All conditions are in one table, conditions in status.go.
//
// The reconciler caches only values that are expensive to compute and that it can compute again.
package suite
