package collect

import (
	"slices"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// problems counts what went wrong, once for each source. It is safe for
// several goroutines.
type problems struct {
	mu   sync.Mutex
	list []runfile.CollectionError
}

// add keeps the time of the first failure and the message of the last.
// It returns what is known of this source now, and whether it is its first.
func (p *problems) add(source string, err error, at time.Time) (now runfile.CollectionError, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(source)
	if i < 0 {
		now = runfile.CollectionError{Source: source, Message: err.Error(), Since: at, Count: 1}
		p.list = append(p.list, now)
		return now, true
	}
	p.list[i].Message = err.Error()
	p.list[i].Count++
	return p.list[i], false
}

// restore sets what an earlier collector knew of a source.
func (p *problems) restore(e runfile.CollectionError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := p.find(e.Source); i >= 0 {
		p.list[i] = e
		return
	}
	p.list = append(p.list, e)
}

func (p *problems) find(source string) int {
	return slices.IndexFunc(p.list, func(e runfile.CollectionError) bool { return e.Source == source })
}

func (p *problems) snapshot() []runfile.CollectionError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}
