// Package measure turns a result file into facts: the numbers of a run. It does not judge them: package judge does,
// from the facts.
//
// The package is pure and deterministic. No check of package judge can read the result of a client: the fields and
// methods of Facts hold everything that it needs. What the result lacks is nil in the facts, which never means zero.
// Histograms are not exported, so an encoded Summary does not contain them.
package measure
