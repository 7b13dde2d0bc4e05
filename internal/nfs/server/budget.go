package server

import (
	"context"
	"sync"
)

// smallBytes is the largest record and the largest reply that are not budgeted: all calls
// but a big WRITE, all replies but a big READ.
const smallBytes = 16 << 10

// budget lends a limited number of buffers of one size, the last one returned first: what
// was used last is still in the processor's cache. Buffers are made when first needed.
type budget struct {
	size   int
	tokens chan struct{} // one for each buffer that may still be lent

	mu   sync.Mutex
	free [][]byte
}

func newBudget(count, size int) *budget {
	b := &budget{size: size, tokens: make(chan struct{}, count)}
	for range count {
		b.tokens <- struct{}{}
	}
	return b
}

// take waits for a buffer of length 0 until the context ends.
func (b *budget) take(ctx context.Context) ([]byte, error) {
	select {
	case <-b.tokens:
		return b.pop(), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wait is take for who may be waited for: a worker, because sockets have a deadline.
func (b *budget) wait() []byte {
	<-b.tokens
	return b.pop()
}

func (b *budget) pop() []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	last := len(b.free) - 1
	if last < 0 {
		return make([]byte, 0, b.size)
	}
	buf := b.free[last]
	b.free = b.free[:last]
	return buf[:0]
}

// give returns a buffer that take or wait lent.
func (b *budget) give(buf []byte) {
	b.mu.Lock()
	b.free = append(b.free, buf)
	b.mu.Unlock()
	b.tokens <- struct{}{}
}
