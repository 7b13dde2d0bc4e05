// Package recorder counts operations and their latencies while load runs. It uses no lock, no channel and no
// allocation, because every operation pays for it.
//
// A thread of a stream records for many workers. Each of the first 32 threads has its own shard, and further
// threads share them: the counters of a shard cost memory, and two threads seldom count at the same moment. Each
// shard has one array of atomic buckets for each direction and phase, with the geometry of the HdrHistogram
// in the result file, so that the conversion loses nothing. An array costs 0.17 MB whatever the number of
// workers: a thousand workers with their own histograms would cost some hundred MB.
package recorder

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/stats"
)

// Direction distinguishes reads from writes.
type Direction int

// The directions.
const (
	Read Direction = iota
	Write
	directions
)

// Phase distinguishes measured operations from others.
type Phase int

// The phases. An operation belongs to the phase in which it ended. Unended has operations without an answer
// at the end of the window, with the time that they had waited until then; in an open loop, only operations
// that were due in the window. Failed has the failed operations of all shards together.
const (
	Warmup Phase = iota
	Measure
	Unended
	Failed
	phases
)

// The buckets are those of a stats.Histogram; a test compares the two.
const (
	subBits     = 11 // 2048 sub-buckets: 3 significant digits
	halfBits    = subBits - 1
	halfBuckets = 1 << halfBits
	subBuckets  = 1 << subBits
	// 2048 us << 19 is the first power above ten minutes.
	buckets    = (19 + 2) * halfBuckets
	maxShards  = 32
	cacheLines = 128 // bytes; two, because they are fetched in pairs
)

// Recorder holds all shards of one client. It is safe for concurrent recording and reading: a reader gets
// recent values, never torn ones.
type Recorder struct{ shards []*Shard }

// Shard holds the counters of a thread.
type Shard struct {
	counters [phases][directions]*counters
}

type counters struct {
	bytes       atomic.Uint64
	nanoseconds atomic.Uint64 // sum of latencies
	errors      atomic.Uint64
	_           [cacheLines - 24]byte
	buckets     [buckets]atomic.Uint64
}

// New returns a recorder for this many threads. Counters that are never used are never touched in memory.
func New(threads int) *Recorder {
	r := &Recorder{shards: make([]*Shard, min(max(threads, 1), maxShards))}
	for i := range r.shards {
		s := &Shard{}
		for p := range s.counters {
			for d := range s.counters[p] {
				if s.counters[p][d] = (&counters{}); p == int(Failed) && i > 0 {
					s.counters[p][d] = r.shards[0].counters[p][d]
				}
			}
		}
		r.shards[i] = s
	}
	return r
}

// Shard returns the shard of thread i.
func (r *Recorder) Shard(i int) *Shard { return r.shards[i%len(r.shards)] }

// Record counts one successful operation.
func (s *Shard) Record(p Phase, d Direction, latency time.Duration, bytes int) {
	c := s.counters[p][d]
	c.buckets[indexOf(microseconds(latency))].Add(1)
	c.bytes.Add(uint64(bytes))
	c.nanoseconds.Add(uint64(max(latency, 0)))
}

// RecordError counts one failed operation. Its waiting time is a latency, too: otherwise a load that gives up
// looks faster than a load that waits.
func (s *Shard) RecordError(d Direction, latency time.Duration) {
	s.Record(Failed, d, latency, 0)
	s.counters[Failed][d].errors.Add(1)
}

// Reset clears all counters. No worker may be recording.
func (r *Recorder) Reset() {
	for _, s := range r.shards {
		for p := range s.counters {
			for _, c := range s.counters[p] {
				c.reset()
			}
		}
	}
}

func (c *counters) reset() {
	if c.bytes.Load() == 0 && c.errors.Load() == 0 {
		return
	}
	c.bytes.Store(0)
	c.nanoseconds.Store(0)
	c.errors.Store(0)
	for i := range c.buckets {
		if c.buckets[i].Load() != 0 { // writing every bucket would touch all of the memory
			c.buckets[i].Store(0)
		}
	}
}

// microseconds rounds to the nearest microsecond, within the range of the geometry.
func microseconds(d time.Duration) int64 {
	us := (int64(d) + 500) / 1000
	return min(max(us, 0), stats.HighestMicroseconds)
}

// indexOf returns the bucket of a value: linear up to 2048, then 1024 buckets for each doubling.
func indexOf(us int64) int {
	shift := bits.Len64(uint64(us)|(subBuckets-1)) - subBits
	return shift<<halfBits + int(us>>shift)
}

// valueOf returns the lowest value of bucket i.
func valueOf(i int) int64 {
	shift := max(i>>halfBits-1, 0)
	return int64(i-shift<<halfBits) << shift
}

// highestIn returns the highest value of bucket i.
func highestIn(i int) int64 { return valueOf(i+1) - 1 }

// Snapshot holds the counts of one direction up to some moment. The zero value is empty.
type Snapshot struct {
	Count       int64 // that succeeded
	Bytes       int64
	Errors      int64
	nanoseconds int64
	buckets     []uint64
}

// Read adds up the shards of direction d over the given phases into s. It reuses the memory of s.
func (r *Recorder) Read(s *Snapshot, d Direction, of ...Phase) {
	if s.buckets == nil {
		s.buckets = make([]uint64, buckets)
	}
	clear(s.buckets)
	s.Count, s.Bytes, s.Errors, s.nanoseconds = 0, 0, 0, 0
	for i, shard := range r.shards {
		for _, p := range of {
			if p != Failed || i == 0 {
				s.add(shard.counters[p][d], p != Failed)
			}
		}
	}
}

// ReadWindow reads the whole window into s. It includes the latencies of operations without an answer at the
// end of the window, because otherwise a standstill there would be missing. In an open loop it includes all
// that were due. In a closed loop it includes those that had waited longer than the longest measured latency:
// the operations that end in a window already represent the lengths of all others.
func (r *Recorder) ReadWindow(s *Snapshot, d Direction, openLoop bool) {
	r.Read(s, d, Measure)
	longest := buckets - 1
	for longest >= 0 && (openLoop || s.buckets[longest] == 0) {
		longest--
	}
	s.add(r.shards[0].counters[Failed][d], false)
	for _, shard := range r.shards {
		for i := longest + 1; i < buckets; i++ {
			s.buckets[i] += shard.counters[Unended][d].buckets[i].Load()
		}
	}
}

func (s *Snapshot) add(c *counters, succeeded bool) {
	bytes, errors := int64(c.bytes.Load()), int64(c.errors.Load())
	s.Bytes += bytes
	s.Errors += errors
	if bytes == 0 && errors == 0 {
		return // most combinations of phase and direction are never used
	}
	s.nanoseconds += int64(c.nanoseconds.Load())
	for i := range c.buckets {
		n := c.buckets[i].Load()
		s.buckets[i] += n
		if succeeded {
			s.Count += int64(n)
		}
	}
}

// Mean returns the mean latency, or 0 if nothing was counted.
func (s *Snapshot) Mean() time.Duration {
	if s.Count+s.Errors == 0 {
		return 0
	}
	return time.Duration(s.nanoseconds / (s.Count + s.Errors))
}

// SlowerThan counts the operations that took longer than d, within the precision of the histogram.
func (s *Snapshot) SlowerThan(d time.Duration) (n int64) {
	for _, count := range s.buckets[indexOf(microseconds(d))+1:] {
		n += int64(count)
	}
	return n
}

// Ops returns the form for the result file, or nil if nothing was counted.
func (s *Snapshot) Ops() (*runfile.Ops, error) {
	if !slices.ContainsFunc(s.buckets, func(n uint64) bool { return n > 0 }) {
		return nil, nil //nolint:nilnil // nothing counted is no failure, and absent in the file
	}
	h := stats.NewHistogram()
	for i, n := range s.buckets {
		if n > 0 {
			h.Record(valueOf(i), int64(n))
		}
	}
	text, err := h.Encode()
	if err != nil {
		return nil, err
	}
	return &runfile.Ops{Count: s.Count, Bytes: s.Bytes, Errors: s.Errors, Histogram: text}, nil
}

// Since returns the counts between before and s, or nil if there are none. Both must come from the same
// recorder and direction, before being the earlier one.
func (s *Snapshot) Since(before *Snapshot) *runfile.SampleOps {
	out := runfile.SampleOps{
		Count:  s.Count - before.Count,
		Bytes:  s.Bytes - before.Bytes,
		Errors: s.Errors - before.Errors,
	}
	all := out.Count + out.Errors
	if all <= 0 {
		return nil
	}
	out.MeanMicroseconds = (s.nanoseconds - before.nanoseconds) / all / 1000
	half, most := (all+1)/2, all-all/100
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

// Batches divide a window into at most runfile.MaxBatches parts of equal length; the last may be
// shorter. The zero value is empty. When all parts are in use, neighbours are merged, so memory
// does not depend on the length of the window.
type Batches struct {
	parts  []part
	within int // differences per part
}

// part holds the counts of one part of Batches.
type part struct {
	differences int
	duration    time.Duration
	counts      [runfile.MaxBatchBucket + 1]int64
}

// Add appends the counts between before and s. took is the time between them, the same for all calls.
func (b *Batches) Add(s, before *Snapshot, took time.Duration) {
	if n := len(b.parts); n == 0 || b.parts[n-1].differences == b.within {
		if n == runfile.MaxBatches {
			b.halve()
		}
		b.within = max(b.within, 1)
		b.parts = append(b.parts, part{})
	}
	p := &b.parts[len(b.parts)-1]
	p.differences++
	p.duration += took
	for i, n := range s.buckets {
		if before.buckets != nil {
			n -= before.buckets[i]
		}
		if n > 0 {
			p.counts[runfile.BatchBucket(highestIn(i))] += int64(n)
		}
	}
}

func (b *Batches) halve() {
	for i := range len(b.parts) / 2 {
		p, q := b.parts[2*i], &b.parts[2*i+1]
		p.differences += q.differences
		p.duration += q.duration
		for bucket, n := range q.counts {
			p.counts[bucket] += n
		}
		b.parts[i] = p
	}
	b.parts = b.parts[:len(b.parts)/2]
	b.within *= 2
}

// Ops returns the form for the result file.
func (b *Batches) Ops() []runfile.Batch {
	var out []runfile.Batch
	for i := range b.parts {
		out = append(out, runfile.NewBatch(b.parts[i].duration.Milliseconds(), b.parts[i].counts[:]))
	}
	return out
}
