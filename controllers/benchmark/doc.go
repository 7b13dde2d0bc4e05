// Package benchmark reconciles NFSBenchmark: it walks one run from its spec to
// its verdict.
//
// A pass computes where the run stands from what exists in the cluster, never
// from a stored phase: the plan ConfigMap, the load Job, what the collectors
// wrote. Phases record facts in a scope; status.go alone turns them into the
// status, which is written once. A manager that is killed between any two
// calls therefore loses nothing: its successor finds the same facts.
//
//	runs: checkSuspend → checkPolicy → resolve → freeClaim → enqueue → provision → survey → mountExport →
//	      configure → runLoad → collect
//	finished: retain → stopLoad → cleanFiles → reportMove → remove → removeClassVolume → removeTrident → release
//	deleted: stopLoad → cleanFiles → reportMove → remove → removeClassVolume → removeTrident → removeResult → release
//
// The phases are grouped by concern, and files begin with its name: storage_*.go finds,
// locks, provisions and asks the storage (checkSuspend to mountExport), load_*.go writes the plan and
// follows the load to its results (configure to collect), cleanup*.go stops, cleans and
// removes (finished and deleted). All conditions are in one table, conditions in status.go.
package benchmark
