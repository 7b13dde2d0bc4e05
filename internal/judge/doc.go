// Package judge turns a result file into a judgement: how fast, how near to the
// wire, over which protocol, may the number be believed, and is it good enough.
//
// It is pure and deterministic: the same result file gives the same judgement
// on a laptop, in the operator, and years later. It knows nothing that is not
// in the file. The order of work is
//
//	summaries -> wire limit -> evidence of the protocol -> findings -> validity -> verdict
//
// Every threshold is a constant in thresholds.go and stands in docs/findings.md.
package judge
