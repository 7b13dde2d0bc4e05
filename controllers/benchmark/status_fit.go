package benchmark

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// fit shortens the longest list of a status until all of it fits. The result object
// has all.
func fit(st *v1alpha1.NFSBenchmarkStatus) {
	statussize.Fit(st, func() []statussize.Cut {
		return []statussize.Cut{
			{Bytes: statussize.Of(st.Paths), Cut: func() { st.Paths = statussize.Shorter(st.Paths) }},
			{Bytes: statussize.Of(st.Findings), Cut: func() { st.Findings = statussize.Shorter(st.Findings) }},
			{Bytes: statussize.Of(st.StorageNodes), Cut: func() { st.StorageNodes = statussize.Shorter(st.StorageNodes) }},
			{Bytes: statussize.Of(st.Steps), Cut: func() { st.Steps = thinner(st.Steps) }},
		}
	})
}
