package nfs

import "slices"

// span is a range of bytes of a file: [from, to).
type span struct{ from, to int64 }

// spanSet is a set of bytes, kept as sorted spans that neither touch nor overlap.
// The zero spanSet is empty.
type spanSet struct{ spans []span }

// add puts [from, to) into the set, joining what it touches. Without growth of
// the number of spans it does not allocate.
func (s *spanSet) add(from, to int64) {
	if to <= from {
		return
	}
	// first is the first span that ends at or after from, last the first that
	// begins after to: everything between is swallowed.
	first, _ := slices.BinarySearchFunc(s.spans, from, func(x span, v int64) int { return compare(x.to, v) })
	last := first
	for last < len(s.spans) && s.spans[last].from <= to {
		last++
	}
	if first == last {
		s.spans = slices.Insert(s.spans, first, span{from, to})
		return
	}
	s.spans[first] = span{min(from, s.spans[first].from), max(to, s.spans[last-1].to)}
	s.spans = slices.Delete(s.spans, first+1, last)
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// bytes returns the size of the set.
func (s *spanSet) bytes() int64 {
	n := int64(0)
	for _, x := range s.spans {
		n += x.to - x.from
	}
	return n
}
