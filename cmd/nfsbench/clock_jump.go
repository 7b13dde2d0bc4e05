//go:build clockjump

package main

import (
	"os"
	"strings"
	"time"
	"unsafe"
)

// clock is that of this machine until it jumps: by 5 s, 20 s after its start, with
// NFSBENCH_CLOCK_JUMP=+5s@20s. As with a real jump, the monotonic clock goes on evenly. Only
// test/believe builds it: the clock of a machine cannot be changed for one process.
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
		// A Time with a monotonic reading has the seconds above 30 bits of nanoseconds in its
		// first word; Add would change the monotonic reading, too.
		*(*uint64)(unsafe.Pointer(&t)) += uint64(int64(jump/time.Second)) << 30
		return t
	}
}
