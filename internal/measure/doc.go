// Package measure turns a result file into facts: the numbers of a run. It does not judge them: package judge does,
// from the facts.
//
// The package is pure and deterministic. No other package reads the result of a client: the fields and methods of
// Facts hold everything that judgements, statuses and reports need. What the result lacks is nil in the facts, which
// never means zero. Histograms are not exported, so an encoded Summary does not contain them.
package measure
