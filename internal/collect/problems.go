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
// It reports whether it is the first of this source.
func (p *problems) add(source string, err error, at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.list, func(e runfile.CollectionError) bool { return e.Source == source })
	if i < 0 {
		p.list = append(p.list, runfile.CollectionError{Source: source, Message: err.Error(), Since: at, Count: 1})
		return true
	}
	p.list[i].Message = err.Error()
	p.list[i].Count++
	return false
}

func (p *problems) snapshot() []runfile.CollectionError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}
