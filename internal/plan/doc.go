// Package plan turns a benchmark and the target it resolved to into the plan
// file of the run.
//
// It is pure: the same spec and target give the same plan, byte for byte, so a
// manager that starts again in the middle of a run comes to the same one.
package plan
