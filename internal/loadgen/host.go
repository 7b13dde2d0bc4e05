package loadgen

import (
	"runtime"
	"syscall"
	"time"
)

// maxProcessors bounds what setProcessors asks for; each costs some memory.
const maxProcessors = 512

// setProcessors lets this many more goroutines run, or block in system calls,
// at once.
func setProcessors(more int) (restore func()) {
	before := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(min(before+more, max(maxProcessors, before)))
	return func() { runtime.GOMAXPROCS(before) }
}

// ProcessUsage is Options.Usage for this process, from getrusage(2): user and
// system time, and the largest resident set it ever had.
func ProcessUsage() (cpu time.Duration, peakBytes int64) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), u.Maxrss * 1024
}
