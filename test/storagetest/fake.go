package storagetest

import (
	"context"
	"sync"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// Fake is a source that says what it was told to. The zero Fake is ready for use; its
// methods may be called at once.
type Fake struct {
	mu   sync.Mutex
	next storage.Snapshot
	err  error
}

// Set makes later samples return s.
func (f *Fake) Set(s storage.Snapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next = s
}

// Fail makes later samples return err; nil ends it.
func (f *Fake) Fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// Name returns "fake".
func (f *Fake) Name() string { return "fake" }

// Sample returns a copy of what was set.
func (f *Fake) Sample(ctx context.Context) (storage.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return storage.Snapshot{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return storage.Snapshot{}, f.err
	}
	return clone(f.next), nil
}

func clone(s storage.Snapshot) storage.Snapshot {
	c := s
	c.Total = cloneCounters(s.Total)
	c.Nodes, c.Paths = nil, nil
	for _, n := range s.Nodes {
		n.CPUSeconds, n.BaseSeconds, n.Cores = copyOf(n.CPUSeconds), copyOf(n.BaseSeconds), copyOf(n.Cores)
		c.Nodes = append(c.Nodes, n)
	}
	for _, p := range s.Paths {
		p.Counters = cloneCounters(p.Counters)
		c.Paths = append(c.Paths, p)
	}
	return c
}

func cloneCounters(c storage.Counters) storage.Counters {
	return storage.Counters{
		ReadOps: copyOf(c.ReadOps), WriteOps: copyOf(c.WriteOps), OtherOps: copyOf(c.OtherOps),
		ReadBytes: copyOf(c.ReadBytes), WrittenBytes: copyOf(c.WrittenBytes),
		ReadMicroseconds: copyOf(c.ReadMicroseconds), WriteMicroseconds: copyOf(c.WriteMicroseconds),
	}
}

func copyOf[T any](p *T) *T {
	if p == nil {
		return nil
	}
	v := *p
	return &v
}
