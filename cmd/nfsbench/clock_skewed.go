//go:build clockskew

package main

import (
	"os"
	"time"
)

// clock is that of this machine for all clients of a run but the second, which
// is a minute ahead. Only the image of a test in test/e2e is built with it: one
// machine has one clock.
func clock() func() time.Time {
	if os.Getenv(envIndex) != "1" {
		return time.Now
	}
	return func() time.Time { return time.Now().Add(time.Minute) }
}
