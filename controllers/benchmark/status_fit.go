package benchmark

import (
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/statussize"
)

// fit shortens the longest list of a status until all of it fits. The result object
// has all.
func fit(st *v1alpha1.NFSBenchmarkStatus) {
	statussize.Fit(st, func() []statussize.Cut {
		cuts := []statussize.Cut{
			{Bytes: statussize.Of(st.Paths), Cut: func() { st.Paths = statussize.Shorter(st.Paths) }},
			{Bytes: statussize.Of(st.Findings), Cut: func() { st.Findings = statussize.Shorter(st.Findings) }},
			{Bytes: statussize.Of(st.Repetitions), Cut: func() { st.Repetitions = statussize.Shorter(st.Repetitions) }},
			{Bytes: statussize.Of(st.StoragePaths), Cut: func() { st.StoragePaths = statussize.Shorter(st.StoragePaths) }},
			{Bytes: statussize.Of(st.StorageNodes), Cut: func() { st.StorageNodes = statussize.Shorter(st.StorageNodes) }},
			{Bytes: statussize.Of(st.Steps), Cut: func() { st.Steps = thinner(st.Steps) }},
		}
		if d := st.Database; d != nil {
			cuts = append(cuts, databaseCuts(d)...)
		}
		return cuts
	})
}

func databaseCuts(d *v1alpha1.DatabaseStatus) []statussize.Cut {
	return []statussize.Cut{
		{Bytes: statussize.Of(d.Files), Cut: func() { d.Files = statussize.Shorter(d.Files) }},
		{Bytes: statussize.Of(d.Parameters), Cut: func() { d.Parameters = statussize.Shorter(d.Parameters) }},
		{Bytes: statussize.Of(d.Channels), Cut: func() { d.Channels = statussize.Shorter(d.Channels) }},
		{Bytes: statussize.Of(d.Servers), Cut: func() { d.Servers = statussize.Shorter(d.Servers) }},
		{Bytes: statussize.Of(d.Calibrations), Cut: func() { d.Calibrations = statussize.Shorter(d.Calibrations) }},
	}
}
