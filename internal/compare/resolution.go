package compare

import "github.com/nfsbench/nfsbench/internal/stats"

// Resolution is what a table of an A/A suite tells, whose cells differ in nothing:
// the largest shift, as a share, that any of its comparisons cannot rule out.
// Differences up to it are seen where nothing was changed, so that a suite of this
// kind should not be asked for less. It is not known (false) where no comparison
// has enough values. Of a table whose cells do differ it says nothing.
func (t Table) Resolution() (float64, bool) {
	largest, known := 0.0, false
	for _, l := range t.Comparisons {
		if v, ok := stats.DetectableByAA(l.Base, l.Candidate, l.Confidence); ok {
			largest, known = max(largest, v), true
		}
	}
	return largest, known
}
