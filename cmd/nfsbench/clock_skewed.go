//go:build clockskew

package main

import (
	"os"
	"strings"
	"time"
)

// clock returns the clock of this machine. For the second client of the benchmark "skewed" the clock is a minute
// ahead. Only the tools of the stand-in for Oracle are built with it, for a test in test/lab/e2e: one machine has one
// clock.
func clock() func() time.Time {
	pod, err := os.Hostname()
	if err != nil || os.Getenv(envIndex) != "1" || !strings.HasPrefix(pod, "nfsb-skewed-") {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(time.Minute) }
}
