package collect

// maxSamples bounds a series: two hours at one sample a second, some MiB.
const maxSamples = 7200

// series keeps samples in the order in which they were taken, at most limit
// of them: when there are more, every second one goes. Samples next to a mark
// stay, because windows begin and end there.
type series[T any] struct {
	limit   int
	items   []item[T]
	thinned int // times
}

type item[T any] struct {
	value T
	edge  bool
}

// add appends a sample. At a mark, it and the one before it become edges: the
// first of what begins and the last of what ended. It reports whether others
// had to go.
func (s *series[T]) add(value T, mark bool) (thinned bool) {
	if mark && len(s.items) > 0 {
		s.items[len(s.items)-1].edge = true
	}
	s.items = append(s.items, item[T]{value: value, edge: mark})
	if len(s.items) <= s.limit {
		return false
	}
	s.thin()
	return true
}

// thin makes room. When it is edges that fill the series, they go too.
func (s *series[T]) thin() {
	before := len(s.items)
	s.drop(func(i item[T]) bool { return i.edge })
	if len(s.items) > before*3/4 {
		s.drop(func(item[T]) bool { return false })
	}
	s.thinned++
}

// drop leaves out every second item that is not protected.
func (s *series[T]) drop(protected func(item[T]) bool) {
	kept := make([]item[T], 0, len(s.items))
	for n, i := range s.items {
		if n%2 == 0 || protected(i) {
			kept = append(kept, i)
		}
	}
	s.items = kept
}

// latest returns the last n samples, or as many as there are.
func (s *series[T]) latest(n int) []T {
	items := s.items[max(0, len(s.items)-n):]
	out := make([]T, 0, len(items))
	for _, i := range items {
		out = append(out, i.value)
	}
	return out
}

func (s *series[T]) values() []T {
	out := make([]T, 0, len(s.items))
	for _, i := range s.items {
		out = append(out, i.value)
	}
	return out
}
