// Package report writes a judged result for people: the last screen of
// `nfsbench load` and of the demo.
//
// It is pure: a result and its judgement go in, text goes out. Nothing is
// computed here that is not in the judgement.
package report
