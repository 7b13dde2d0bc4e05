//go:build !clockskew && !clockjump

package main

import "time"

// clock returns the clock of this machine.
func clock() func() time.Time { return time.Now }
