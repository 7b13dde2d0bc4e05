package server

import "context"

// smallBytes is the largest record and the largest reply that are not budgeted: all calls
// but a big WRITE, all replies but a big READ.
const smallBytes = 8 << 10

// budget lends a fixed number of buffers of one size. They are made when first needed.
type budget struct {
	size int
	free chan []byte
}

func newBudget(count, size int) *budget {
	b := &budget{size: size, free: make(chan []byte, count)}
	for range count {
		b.free <- nil
	}
	return b
}

// take waits for a buffer of length 0 until the context ends.
func (b *budget) take(ctx context.Context) ([]byte, error) {
	select {
	case buf := <-b.free:
		return b.made(buf), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wait is take for who may be waited for: a worker, because sockets have a deadline.
func (b *budget) wait() []byte { return b.made(<-b.free) }

func (b *budget) made(buf []byte) []byte {
	if buf == nil {
		return make([]byte, 0, b.size)
	}
	return buf[:0]
}

// give returns a buffer that take lent.
func (b *budget) give(buf []byte) { b.free <- buf }
