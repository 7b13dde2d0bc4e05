package stream

// queue is a first-in, first-out list of fragments that keeps its memory.
type queue struct {
	items []*fragment
	head  int
}

func (q *queue) push(f *fragment) {
	if q.head == len(q.items) {
		q.reset()
	}
	q.items = append(q.items, f)
}

// pop returns the next fragment that is still to be sent, or nil.
func (q *queue) pop() *fragment {
	for q.head < len(q.items) {
		f := q.items[q.head]
		q.head++
		if f.state == fragmentQueued {
			return f
		}
	}
	return nil
}

func (q *queue) reset() { q.items, q.head = q.items[:0], 0 }
