package judge

import (
	"github.com/nfsbench/nfsbench/internal/measure"
)

// facts are what the checks share: what was measured, and what judging needs beside it. Nothing writes to them after
// newFacts.
type facts struct {
	*measure.Facts

	limited  *measure.Capacity // the capacity, with what limits it; nil: no search
	protocol Evidence
}
