//go:build clockjump

package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// clock returns a clock that jumps once: NFSBENCH_CLOCK_JUMP=+5s@20s adds 5 s, 20 s after the
// start. As in a real jump, the monotonic clock does not change. Only test/lab/believe builds this: one
// process cannot have its own system clock.
func clock() func() time.Time {
	by, after, _ := strings.Cut(os.Getenv("NFSBENCH_CLOCK_JUMP"), "@")
	jump, _ := time.ParseDuration(by)
	start := time.Now()
	wait, err := time.ParseDuration(after)
	return func() time.Time {
		t := time.Now()
		if err != nil || t.Sub(start) < wait {
			return t
		}
		// A Time with a monotonic reading holds the seconds above 30 bits of nanoseconds in its first
		// word. Add would also change the monotonic reading.
		*(*uint64)(unsafe.Pointer(&t)) += uint64(int64(jump/time.Second)) << 30
		return t
	}
}
