package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/nfsbench/nfsbench/test/lab/array/control"
)

// limit sets the speed of a volume. Each read and write takes the next slot of a clock that all
// nodes share, and waits for it.
type limit struct {
	every          int64 // nanoseconds from slot to slot; 0 = no limit
	cachedPermille int
	next           *atomic.Int64 // the clock: the first free slot, in Unix nanoseconds
}

// burst is how far in the past a slot may lie: a caller that the machine delayed, not the limit, may catch up.
const burst = 50 * time.Millisecond

func newLimit(o control.Limits) (*limit, error) {
	l := &limit{cachedPermille: o.CachedPermille}
	if o.OpsPerSecond <= 0 {
		return l, nil
	}
	l.every = int64(time.Second) / o.OpsPerSecond
	f, err := os.OpenFile(o.Clock, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	page, err := unix.Mmap(int(f.Fd()), 0, control.ClockBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", o.Clock, err)
	}
	// The page stays mapped: calls may still wait on it after the limit has changed.
	l.next = (*atomic.Int64)(unsafe.Pointer(&page[0]))
	return l, nil
}

// pass returns when a call may proceed, or reports that a cache answers it. A nil limit delays nothing.
func (l *limit) pass(k kind, flush func() error) (cached bool, err error) {
	switch {
	case l == nil || k != kindRead && k != kindWrite:
		return false, nil
	case k == kindRead && rand.IntN(1000) < l.cachedPermille:
		return true, nil
	}
	return false, l.wait(flush)
}

// wait takes a slot and returns when it is due. First it sends what the pump holds.
func (l *limit) wait(flush func() error) error {
	if l.every == 0 {
		return nil
	}
	for {
		now := time.Now().UnixNano()
		next := l.next.Load()
		slot := max(next, now-int64(burst))
		if !l.next.CompareAndSwap(next, slot+l.every) {
			continue
		}
		if slot <= now {
			return nil
		}
		if err := flush(); err != nil {
			return err
		}
		time.Sleep(time.Duration(slot - now))
		return nil
	}
}
