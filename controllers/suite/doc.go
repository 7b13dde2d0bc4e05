// Package suite reconciles NFSBenchmarkSuite: it hands the matrix to Argo
// Workflows, follows the run, and keeps the numbers.
//
// A pass computes where a suite stands from what exists in the cluster: its
// Workflows, their benchmarks, and the records that it wrote itself, one
// ConfigMap for each run. Phases record facts in a scope; status.go alone turns
// them into the status, which is written once.
//
//	recall → validate → checkArgo → grant → start → observe → control → conclude → keep → regress → prune
//
// A run is over when its Workflow is finished or gone and none of its benchmarks
// is under way. Its record then says how it ended, and from there on the status is
// made from the record: benchmarks may go, by ttlSecondsAfterFinished or by the
// history limit, and the numbers stay.
//
// runs.go finds the runs and the results of their benchmarks (recall, checkArgo, observe),
// start.go begins and steers them (validate, start, control), records.go ends, keeps and
// removes them (conclude, keep, prune). All conditions are in one table, conditions in status.go.
//
// The reconciler caches what is expensive to compute, and nothing that it could not
// compute again.
package suite
