package suite

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nfsbench/nfsbench/internal/compare"
	"github.com/nfsbench/nfsbench/internal/matrix"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// remembered is how many suites the reconciler remembers something of. A record
// takes megabytes, so it is what few runs at a time need.
const remembered = 16

// memory caches what is expensive to compute and does not change: matrices,
// records that were read, regressions. A manager that has forgotten it computes it
// again.
type memory struct {
	mu     sync.Mutex
	suites map[types.UID]*recollection
	order  []types.UID // least recently used first
}

// recollection belongs to one suite. Only the pass over that suite uses it.
type recollection struct {
	generation int64
	matrix     *matrix.Matrix
	invalid    error
	compiled   string // hash of the CronWorkflow; "" = not compiled

	recordVersion string // resourceVersion of record
	record        runfile.SuiteRun

	comparedWhat string // the records that regression was made of
	regression   *compare.Regression
}

func newMemory() *memory { return &memory{suites: map[types.UID]*recollection{}} }

// of gives what is remembered of a suite in this generation.
func (m *memory) of(uid types.UID, generation int64) *recollection {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := slices.Index(m.order, uid); i >= 0 {
		m.order = slices.Delete(m.order, i, i+1)
	}
	m.order = append(m.order, uid)
	if len(m.order) > remembered {
		delete(m.suites, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
	c := m.suites[uid]
	if c == nil || c.generation != generation {
		old := c
		c = &recollection{generation: generation}
		if old != nil { // what does not depend on the spec
			c.recordVersion, c.record = old.recordVersion, old.record
		}
		m.suites[uid] = c
	}
	return c
}
