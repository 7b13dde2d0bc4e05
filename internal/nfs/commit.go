package nfs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// unstable holds the unstable data under one verifier of a server.
type unstable struct {
	v    stream.Verifier
	data spanSet
}

// UncommittedBytes returns how many bytes wait for a Commit.
func (f *File) UncommittedBytes() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := int64(0)
	for i := range f.dirty {
		n += f.dirty[i].data.bytes()
	}
	return n
}

func (f *File) remember(v stream.Verifier, from, to int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.dirty {
		if f.dirty[i].v == v {
			f.dirty[i].data.add(from, to)
			return
		}
	}
	f.dirty = append(f.dirty, unstable{v: v})
	f.dirty[len(f.dirty)-1].data.add(from, to)
}

// Commit makes all unstable data written before the call stable, except for data that a server lost in a restart. It
// returns the ranges of lost data, which the caller must write again. After an error all data still counts as
// uncommitted.
func (f *File) Commit(ctx context.Context) (lost []Span, err error) {
	select {
	case f.commitTurn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-f.commitTurn }()
	f.mu.Lock()
	taken := f.dirty
	f.dirty = nil
	f.mu.Unlock()
	var all spanSet
	for i := range taken {
		v, err := f.c.proto.commit(ctx, f, taken[i].v.Server)
		if err != nil {
			f.putBack(taken)
			return nil, fmt.Errorf("commit: %w", err)
		}
		if v != taken[i].v {
			for _, s := range taken[i].data.spans {
				all.add(s.From, s.To)
			}
		}
	}
	if n := all.bytes(); n > 0 {
		f.c.cfg.Logger.Warn("Server restarted and lost data before they were committed", "bytes", n)
	}
	return all.spans, nil
}

func (f *File) putBack(taken []unstable) {
	for i := range taken {
		for _, s := range taken[i].data.spans {
			f.remember(taken[i].v, s.From, s.To)
		}
	}
}

// Span is a range of bytes of a file: [From, To).
type Span struct{ From, To int64 }

// spanSet is a set of bytes, kept as sorted spans that neither touch nor overlap.
// The zero spanSet is empty.
type spanSet struct{ spans []Span }

// add adds [from, to) to the set and joins it with spans that it touches. It
// allocates only if the number of spans grows.
func (s *spanSet) add(from, to int64) {
	if to <= from {
		return
	}
	// first is the first span that ends at or after from, last the first that
	// begins after to. The new span replaces all spans in between.
	first, _ := slices.BinarySearchFunc(s.spans, from, func(x Span, v int64) int { return cmp.Compare(x.To, v) })
	last := first
	for last < len(s.spans) && s.spans[last].From <= to {
		last++
	}
	if first == last {
		s.spans = slices.Insert(s.spans, first, Span{from, to})
		return
	}
	s.spans[first] = Span{min(from, s.spans[first].From), max(to, s.spans[last-1].To)}
	s.spans = slices.Delete(s.spans, first+1, last)
}

// bytes returns the size of the set.
func (s *spanSet) bytes() int64 {
	n := int64(0)
	for _, x := range s.spans {
		n += x.To - x.From
	}
	return n
}
