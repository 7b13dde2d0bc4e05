package loadgen

import (
	"math/bits"
	"time"
)

// pacer determines when the I/Os of an open loop are due: number k, from 0, is due k/perSecond seconds after
// the start, whatever the storage does. If all workers are busy when an I/O is due, its wait counts as
// latency. Otherwise an overloaded storage would seem fast, because the load would slow down with it.
//
// With gaps the distances are random (Poisson), as from many independent users, with a mean of 1/perSecond:
// see place.
type pacer struct {
	perSecond uint64
	offset    time.Duration // when number 0 is due; not with gaps
	gaps      []uint32
	seed      uint64
}

// newPacer returns the pacer of perSecond I/Os a second, at least 1.
func newPacer(perSecond int64) pacer { return pacer{perSecond: uint64(max(perSecond, 1))} }

// due returns the time from the start at which I/O number k is due.
func (c pacer) due(k uint64) time.Duration {
	if c.gaps != nil {
		return c.grains().due(c.place(k))
	}
	whole, rest := k/c.perSecond, k%c.perSecond
	const maxSeconds = uint64(1<<63-1) / uint64(time.Second)
	if whole+1 >= maxSeconds {
		return 1<<63 - 1
	}
	return c.offset + time.Duration(whole)*time.Second + time.Duration(muldiv(rest, uint64(time.Second), c.perSecond))
}

// countBefore returns how many I/Os are due before at: the smallest k that is not due before at.
func (c pacer) countBefore(at time.Duration) uint64 {
	if at <= c.offset {
		return 0
	}
	if c.gaps != nil {
		return c.randomBefore(at)
	}
	whole, rest := uint64((at-c.offset)/time.Second), uint64((at-c.offset)%time.Second)
	// The division rounds down, so k is never too large; due rounds down as well, so k may be too small.
	k := whole*c.perSecond + muldiv(rest, c.perSecond, uint64(time.Second))
	for c.due(k) < at {
		k++
	}
	return k
}

// muldiv returns a*b/c for a < c, without overflow.
func muldiv(a, b, c uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	if hi >= c {
		return 1<<64 - 1
	}
	q, _ := bits.Div64(hi, lo, c)
	return q
}
