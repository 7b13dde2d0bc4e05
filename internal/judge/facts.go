package judge

import (
	"github.com/nfsbench/nfsbench/internal/measure"
)

// facts holds the facts that the checks share: measure.Facts, and what judging adds. Nothing changes it after
// newFacts returns.
type facts struct {
	*measure.Facts

	engine   engine
	limited  *measure.Capacity // the capacity with its limits; nil: no search
	protocol Evidence
}
