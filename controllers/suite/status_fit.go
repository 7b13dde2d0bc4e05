package suite

import (
	"encoding/json"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

// maxStatusBytes is what a status may take as JSON. Everybody who watches suites
// carries it; the record has all.
const maxStatusBytes = 30 << 10

// fit shortens the longest list of a status until all of it fits. Lists have what
// matters most at their head; left counts the lines of the table that went.
func fit(st *v1alpha1.NFSBenchmarkSuiteStatus) {
	for sizeOf(st) > maxStatusBytes {
		cuts := []cut{
			{sizeOf(st.Cells), func() { st.Cells = shorterLines(st, st.Cells) }},
			{sizeOf(st.Comparisons), func() { st.Comparisons = shorterLines(st, st.Comparisons) }},
			{sizeOf(st.Findings), func() { st.Findings = shorter(st.Findings) }},
			{sizeOf(st.History), func() { st.History = shorter(st.History) }},
		}
		if g := st.Regression; g != nil {
			cuts = append(cuts, cut{sizeOf(g.Changes), func() { g.Changes = shorter(g.Changes) }})
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

func shorterLines[T any](st *v1alpha1.NFSBenchmarkSuiteStatus, list []T) []T {
	rest := shorter(list)
	addLeft(st, len(list)-len(rest))
	return rest
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
