// Package measure turns a result file into facts: all that can be said of a run in numbers. It says nothing of what
// they mean and whether they are good: package judge reads the facts and does that.
//
// It is pure and deterministic. Nobody but this package reads the result of a client: what a check, a status or a
// report needs of it is a field or a method of Facts. What is missing in the result is nil in the facts, which is never
// the same as zero. Histograms stay in here, so whoever keeps a Summary does not keep them.
package measure
