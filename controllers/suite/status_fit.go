package suite

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// fit shortens the longest list of a status until all of it fits. The record has all;
// left counts the lines of the table that went.
func fit(st *v1alpha1.NFSBenchmarkSuiteStatus) {
	statussize.Fit(st, func() []statussize.Cut {
		cuts := []statussize.Cut{
			{Bytes: statussize.Of(st.Cells), Cut: func() { st.Cells = shorterLines(st, st.Cells) }},
			{Bytes: statussize.Of(st.Comparisons), Cut: func() { st.Comparisons = shorterLines(st, st.Comparisons) }},
			{Bytes: statussize.Of(st.Findings), Cut: func() { st.Findings = statussize.Shorter(st.Findings) }},
			{Bytes: statussize.Of(st.History), Cut: func() { st.History = statussize.Shorter(st.History) }},
		}
		if g := st.Regression; g != nil {
			cuts = append(cuts, statussize.Cut{Bytes: statussize.Of(g.Changes), Cut: func() { g.Changes = statussize.Shorter(g.Changes) }})
		}
		return cuts
	})
}

func shorterLines[T any](st *v1alpha1.NFSBenchmarkSuiteStatus, list []T) []T {
	rest := statussize.Shorter(list)
	addLeft(st, len(list)-len(rest))
	return rest
}
