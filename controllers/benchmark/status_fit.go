package benchmark

import (
	"encoding/json"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// maxStatusBytes is what a status may take as JSON. Everybody who watches
// benchmarks carries it; the result object has all.
const maxStatusBytes = 30 << 10

// fit shortens the longest list of a status until all of it fits. Lists have
// what matters most at their head.
func fit(st *v1alpha1.NFSBenchmarkStatus) {
	for sizeOf(st) > maxStatusBytes {
		cuts := []cut{
			{sizeOf(st.Paths), func() { st.Paths = shorter(st.Paths) }},
			{sizeOf(st.Findings), func() { st.Findings = shorter(st.Findings) }},
			{sizeOf(st.Repetitions), func() { st.Repetitions = shorter(st.Repetitions) }},
			{sizeOf(st.StoragePaths), func() { st.StoragePaths = shorter(st.StoragePaths) }},
			{sizeOf(st.StorageNodes), func() { st.StorageNodes = shorter(st.StorageNodes) }},
			{sizeOf(st.Steps), func() { st.Steps = thinner(st.Steps) }},
		}
		if d := st.Database; d != nil {
			cuts = append(cuts, databaseCuts(d)...)
		}
		longest := cuts[0]
		for _, c := range cuts[1:] {
			if c.bytes > longest.bytes {
				longest = c
			}
		}
		if longest.bytes <= len("null") {
			return // nothing left that may go
		}
		longest.cut()
	}
}

// cut makes one list shorter.
type cut struct {
	bytes int
	cut   func()
}

func databaseCuts(d *v1alpha1.DatabaseStatus) []cut {
	return []cut{
		{sizeOf(d.Files), func() { d.Files = shorter(d.Files) }},
		{sizeOf(d.Parameters), func() { d.Parameters = shorter(d.Parameters) }},
		{sizeOf(d.Channels), func() { d.Channels = shorter(d.Channels) }},
		{sizeOf(d.Servers), func() { d.Servers = shorter(d.Servers) }},
		{sizeOf(d.Calibrations), func() { d.Calibrations = shorter(d.Calibrations) }},
	}
}

// shorter drops the last eighth, or the last one.
func shorter[T any](list []T) []T {
	rest := list[:len(list)-max(len(list)/8, 1)]
	if len(rest) == 0 {
		return nil
	}
	return rest
}

func sizeOf(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0 // these types always have JSON
	}
	return len(raw)
}
