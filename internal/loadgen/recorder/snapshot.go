package recorder

import (
	"fmt"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Snapshot is what was counted of one direction until some moment. The zero
// value is empty.
type Snapshot struct {
	Count       int64
	Bytes       int64
	Errors      int64
	nanoseconds int64
	buckets     []uint64
}

// Read adds up the shards of direction d over the given phases into s, whose
// memory it uses again.
func (r *Recorder) Read(s *Snapshot, d Direction, of ...Phase) {
	if s.buckets == nil {
		s.buckets = make([]uint64, buckets)
	}
	clear(s.buckets)
	s.Count, s.Bytes, s.Errors, s.nanoseconds = 0, 0, 0, 0
	for _, shard := range r.shards {
		for _, p := range of {
			s.add(shard.counters[p][d])
		}
	}
}

func (s *Snapshot) add(c *counters) {
	bytes := int64(c.bytes.Load())
	s.Bytes += bytes
	s.Errors += int64(c.errors.Load())
	if bytes == 0 {
		return // most combinations of phase and direction are never used
	}
	s.nanoseconds += int64(c.nanoseconds.Load())
	for i := range c.buckets {
		n := c.buckets[i].Load()
		s.buckets[i] += n
		s.Count += int64(n)
	}
}

// Mean gives the mean latency, or 0 when nothing was counted.
func (s *Snapshot) Mean() time.Duration {
	if s.Count == 0 {
		return 0
	}
	return time.Duration(s.nanoseconds / s.Count)
}

// Ops gives the form of the result file, or nil when nothing was counted.
func (s *Snapshot) Ops() (*runfile.Ops, error) {
	if s.Count == 0 && s.Errors == 0 {
		return nil, nil //nolint:nilnil // nothing counted is no failure, and absent in the file
	}
	h := hdr.New(lowestMicroseconds, highestMicroseconds, significantDigits)
	for i, n := range s.buckets {
		if n == 0 {
			continue
		}
		if err := h.RecordValues(valueOf(i), int64(n)); err != nil {
			return nil, fmt.Errorf("export %d latencies of %d us: %w", n, valueOf(i), err)
		}
	}
	text, err := h.EncodeV2()
	if err != nil {
		return nil, fmt.Errorf("encode histogram: %w", err)
	}
	return &runfile.Ops{Count: s.Count, Bytes: s.Bytes, Errors: s.Errors, Histogram: string(text)}, nil
}

// Since gives what was counted between before and s, or nil when that is
// nothing. Both are of the same recorder and direction, before the earlier.
func (s *Snapshot) Since(before *Snapshot) *runfile.SampleOps {
	out := runfile.SampleOps{
		Count:  s.Count - before.Count,
		Bytes:  s.Bytes - before.Bytes,
		Errors: s.Errors - before.Errors,
	}
	if out.Count <= 0 {
		if out.Errors == 0 {
			return nil
		}
		return &out
	}
	out.MeanMicroseconds = (s.nanoseconds - before.nanoseconds) / out.Count / 1000
	half, most := (out.Count+1)/2, out.Count-out.Count/100
	var seen int64
	for i, n := range s.buckets {
		if before.buckets != nil {
			n -= before.buckets[i]
		}
		if n == 0 {
			continue
		}
		if seen < half && seen+int64(n) >= half {
			out.P50Microseconds = highestIn(i)
		}
		if seen < most && seen+int64(n) >= most {
			out.P99Microseconds = highestIn(i)
		}
		out.MaxMicroseconds = highestIn(i)
		seen += int64(n)
	}
	return &out
}
