package report

import "github.com/nfsbench/nfsbench/internal/judge"

// VerdictMeaning says in words what a verdict means.
func VerdictMeaning(v judge.Verdict) string {
	switch v {
	case judge.Pass:
		return "everything that was expected was met"
	case judge.Fail:
		return "something that was expected was missed"
	case judge.Inconclusive:
		return "this run cannot tell"
	case judge.NotEvaluated:
		return "nothing was expected of this run"
	default:
		return ""
	}
}

// ValidityMeaning says in words what a validity means.
func ValidityMeaning(v judge.Validity) string {
	switch v {
	case judge.Valid:
		return "nothing speaks against the number"
	case judge.Suspect:
		return "read the findings before you build on the number"
	case judge.Invalid:
		return "do not use the number"
	default:
		return ""
	}
}

// The sentences of a page on which a stand-in took part, and of one with numbers
// of Oracle.
const (
	SimulatedDatabaseNote = "The database was a stand-in for Oracle: no number here is one of Oracle."
	SimulatedStorageNote  = "The storage was a stand-in: no number here is one of real storage."
	DisclosureNote        = "This page shows numbers of Oracle software. Oracle's licences have forbidden to publish benchmark results without consent: check your licence, or ask Oracle, before you give this page away."
)
