package nfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/nfsbench/nfsbench/internal/nfs/stream"
)

// ErrLostWrites says that the server restarted and lost unstable data, and that
// the File has no source to write them again from.
var ErrLostWrites = errors.New("the server restarted and lost uncommitted data")

// unstable are data that a server holds under one verifier.
type unstable struct {
	v    stream.Verifier
	data spanSet
}

// SetSource says where Commit gets data that the server lost in a restart.
// src.ReadAt must give for each range what was written there last, and may be
// called from any goroutine that calls Commit. Ranges that Commit is
// writing again must not be written by others at the same time.
func (f *File) SetSource(src io.ReaderAt) {
	f.mu.Lock()
	f.source = src
	f.mu.Unlock()
}

// ResentBytes returns how many bytes were written again after restarts.
func (f *File) ResentBytes() int64 { return f.resent.Load() }

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

// Commit makes all unstable data written before the call stable. When the server
// restarted meanwhile, what it lost is written again from the source; without a
// source the error is ErrLostWrites. After an error the data count as uncommitted
// still.
func (f *File) Commit(ctx context.Context) error {
	select {
	case f.commitTurn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-f.commitTurn }()
	return f.commitDirty(ctx)
}

func (f *File) commitDirty(ctx context.Context) error {
	f.mu.Lock()
	taken, source := f.dirty, f.source
	f.dirty = nil
	f.mu.Unlock()
	for i := range taken {
		v, err := f.c.proto.commit(ctx, f, taken[i].v.Server)
		if err == nil && v != taken[i].v {
			err = f.resend(ctx, &taken[i].data, source)
		}
		if err != nil {
			f.putBack(taken[i:])
			return fmt.Errorf("commit: %w", err)
		}
	}
	return nil
}

func (f *File) putBack(taken []unstable) {
	for i := range taken {
		for _, s := range taken[i].data.spans {
			f.remember(taken[i].v, s.from, s.to)
		}
	}
}

// resend writes lost data again, stable at once so that nothing can be lost twice.
// One buffer is enough for any amount.
func (f *File) resend(ctx context.Context, lost *spanSet, source io.ReaderAt) error {
	if source == nil {
		return fmt.Errorf("%w: %d bytes", ErrLostWrites, lost.bytes())
	}
	f.c.cfg.Logger.Warn("Server restarted, writing lost data again", "bytes", lost.bytes())
	buf := make([]byte, min(lost.bytes(), int64(f.c.info.TransferWriteBytes)))
	for _, s := range lost.spans {
		for at := s.from; at < s.to; {
			p := buf[:min(int64(len(buf)), s.to-at)]
			if n, err := source.ReadAt(p, at); n < len(p) {
				return fmt.Errorf("get lost data at offset %d from the source: %w", at, err)
			}
			n, err := f.WriteAt(ctx, p, at, FileSync)
			f.resent.Add(int64(n))
			if err != nil {
				return fmt.Errorf("write lost data again: %w", err)
			}
			at += int64(n)
		}
	}
	return nil
}

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
	first, _ := slices.BinarySearchFunc(s.spans, from, func(x span, v int64) int { return cmp.Compare(x.to, v) })
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

// bytes returns the size of the set.
func (s *spanSet) bytes() int64 {
	n := int64(0)
	for _, x := range s.spans {
		n += x.to - x.from
	}
	return n
}
