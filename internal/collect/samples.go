package collect

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// sampler calls take at each interval and at each mark, one call at a time. A call that lasts longer than the
// interval skips samples; they are not queued.
type sampler struct {
	take     func(ctx context.Context, mark bool)
	interval time.Duration
	marks    chan struct{}
}

func newSampler(interval time.Duration, take func(ctx context.Context, mark bool)) *sampler {
	return &sampler{take: take, interval: interval, marks: make(chan struct{}, 1)}
}

// mark requests a sample now. Requests that are pending at the same time give one sample.
func (s *sampler) mark() {
	select {
	case s.marks <- struct{}{}:
	default:
	}
}

func (s *sampler) run(ctx context.Context) {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	for mark := false; ; {
		s.take(ctx, mark)
		select {
		case <-ctx.Done():
			return
		case <-s.marks:
			mark = true
		case <-ticker.C:
			mark = false
		}
	}
}

const (
	// maxSamples bounds a series: two hours at one sample a second, some MiB.
	maxSamples = 7200
	// maxReadingBytes bounds a reading. An array may tell of hundreds of addresses and thousands of clients, and lists
	// more in what it answers at once.
	maxReadingBytes = 1 << 20
	// maxReadings bounds the bytes of all readings of a source.
	maxReadings = 64 << 20
)

// bytes returns about the memory of a reading.
func (r Reading) bytes() int {
	const one = 96 // of a list, without its texts
	s := r.Sample
	n := 512 + len(r.Epoch) + len(s.VolumeNode) + one*(len(s.Nodes)+len(s.Paths)+len(s.Clients))
	for _, v := range s.Nodes {
		n += len(v.Name)
	}
	for _, v := range s.Paths {
		n += len(v.Address) + len(v.Name) + len(v.Node)
	}
	for _, v := range s.Clients {
		n += len(v.Address) + len(v.Server) + len(v.Protocol)
	}
	return n
}

// series keeps samples in the order in which they were taken: at most limit of them and, with a weight, no more bytes
// than most. When there are more, it drops every second one, except samples next to a mark, because windows begin and
// end there.
type series[T any] struct {
	limit   int
	weight  func(T) int // bytes of a sample; nil: they have about the same
	most    int
	bytes   int // of all samples
	items   []item[T]
	thinned int // times
}

type item[T any] struct {
	value T
	edge  bool
}

func newReadings() series[Reading] {
	return series[Reading]{limit: maxSamples, weight: Reading.bytes, most: maxReadings}
}

// add appends a sample. At a mark, the sample and the one before it become edges: the last sample of the old
// window and the first of the new one. It reports whether it dropped other samples.
func (s *series[T]) add(value T, mark bool) (thinned bool) {
	if mark && len(s.items) > 0 {
		s.items[len(s.items)-1].edge = true
	}
	s.items = append(s.items, item[T]{value: value, edge: mark})
	if s.weight != nil {
		s.bytes += s.weight(value)
	}
	if len(s.items) <= s.limit && s.bytes <= s.most {
		return false
	}
	// If edges fill the series, it drops edges, too.
	before := len(s.items)
	s.drop(func(i item[T]) bool { return i.edge })
	if len(s.items) > before*3/4 {
		s.drop(func(item[T]) bool { return false })
	}
	s.thinned++
	return true
}

// drop removes every second item that is not protected.
func (s *series[T]) drop(protected func(item[T]) bool) {
	kept := make([]item[T], 0, len(s.items))
	for n, i := range s.items {
		if n%2 == 0 || protected(i) {
			kept = append(kept, i)
		} else if s.weight != nil {
			s.bytes -= s.weight(i.value)
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

func (s *series[T]) values() []T { return s.latest(len(s.items)) }

// maxProblemBytes bounds a message, which may have words of an array: it is in the result and in the journal.
const maxProblemBytes = 2000

// problems counts failures by source. It is safe for concurrent use.
type problems struct {
	mu   sync.Mutex
	list []runfile.CollectionError
}

// add keeps the time of the first failure and the message of the last one. It returns the record of the
// source, and whether this is its first failure.
func (p *problems) add(source string, err error, at time.Time) (now runfile.CollectionError, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := p.find(source)
	if first = p.list[i].Count == 0; first {
		p.list[i].Since = at
	}
	message := err.Error()
	if len(message) > maxProblemBytes {
		message = strings.ToValidUTF8(message[:maxProblemBytes], "") + "…"
	}
	p.list[i].Message = message
	p.list[i].Count++
	return p.list[i], first
}

// restore takes over what an earlier collector recorded about a source.
func (p *problems) restore(e runfile.CollectionError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list[p.find(e.Source)] = e
}

// find returns the index of a source, which it adds if the source is new; p.mu is held.
func (p *problems) find(source string) int {
	i := slices.IndexFunc(p.list, func(e runfile.CollectionError) bool { return e.Source == source })
	if i < 0 {
		i = len(p.list)
		p.list = append(p.list, runfile.CollectionError{Source: source})
	}
	return i
}

func (p *problems) snapshot() []runfile.CollectionError {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}
