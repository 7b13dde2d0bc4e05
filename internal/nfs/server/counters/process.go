package counters

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// processCPUSeconds is user plus system time of this process; nil = unknown.
func processCPUSeconds() *float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	const nano = 1e9
	s := (float64(u.Utime.Nano()) + float64(u.Stime.Nano())) / nano
	return &s
}

// processResidentBytes reads the second number of /proc/self/statm; nil = unknown.
func processResidentBytes() *uint64 {
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return nil
	}
	fields := bytes.Fields(b)
	if len(fields) < 2 {
		return nil
	}
	pages, err := strconv.ParseUint(string(fields[1]), 10, 64)
	if err != nil {
		return nil
	}
	n := pages * uint64(os.Getpagesize())
	return &n
}
