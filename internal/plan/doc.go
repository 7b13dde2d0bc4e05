// Package plan turns a benchmark and its resolved target into the plan file of the run.
//
// It is pure: the same spec and target give the same plan, byte for byte, so a manager that restarts during a run
// computes the same plan.
package plan
