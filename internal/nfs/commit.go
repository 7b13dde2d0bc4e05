package nfs

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// maxVerifiers bounds the verifiers of a file, each of which takes a COMMIT. A server has another one after each
// restart, and has then lost what it had under the last.
const maxVerifiers = 64

// lostData is in the place of a verifier, for data that are lost whatever the server says.
var lostData = stream.Verifier{Server: -1} //nolint:gochecknoglobals // a constant in all but name

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
	f.under(v).add(from, to)
}

// under returns the data under a verifier. With too many verifiers, the data of the oldest count as lost. The caller
// holds mu.
func (f *File) under(v stream.Verifier) *spanSet {
	for i := range f.dirty {
		if f.dirty[i].v == v {
			return &f.dirty[i].data
		}
	}
	if v == lostData { // always the first
		f.dirty = slices.Insert(f.dirty, 0, unstable{v: v})
		return &f.dirty[0].data
	}
	if len(f.dirty) >= maxVerifiers {
		lost := f.under(lostData)
		for _, s := range f.dirty[1].data.spans {
			lost.add(s.From, s.To)
		}
		f.dirty = slices.Delete(f.dirty, 1, 2)
	}
	f.dirty = append(f.dirty, unstable{v: v})
	return &f.dirty[len(f.dirty)-1].data
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
		var v stream.Verifier
		if taken[i].v != lostData {
			if v, err = f.c.proto.commit(ctx, f, taken[i].v.Server); err != nil {
				f.putBack(taken)
				return nil, fmt.Errorf("commit: %w", err)
			}
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
