package loadgen

import (
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// How many reads a calibration keeps outstanding at most. CALIBRATE_IO takes the
// number of disks for that, too: too low a number limits what it finds, and
// above some number more change nothing.
const (
	readsPerDisk      = 16
	largeReadsPerDisk = 4
	mostReads         = 1024
	mostLargeReads    = 128
)

// ceilings gives the largest numbers of single-block and of large reads.
func ceilings(c *runfile.Calibrate) (small, large int32) {
	disks := int64(c.PhysicalDisks)
	return int32(min(mostReads, disks*readsPerDisk)), int32(min(mostLargeReads, disks*largeReadsPerDisk))
}

// calibration is one run of what CALIBRATE_IO does: a ladder of random
// single-block reads, which ends where their mean latency passes what is
// tolerable, and one of random large reads, which ends where they bring no more.
type calibration struct {
	round          runfile.Step
	warmup, window int
	small, large   ladder
	present        string // kind of the present level
}

func newCalibration(c runfile.Calibrate, round runfile.Step, warmup, window int) *calibration {
	small, large := ceilings(&c)
	return &calibration{
		round: round, warmup: warmup, window: window, present: runfile.StepSmallReads,
		small: ladder{limit: time.Duration(c.MaxLatencyMilliseconds) * time.Millisecond, ceiling: small},
		large: ladder{ceiling: large},
	}
}

func (c *calibration) next() (level, bool) {
	step := c.round
	reads, more := c.small.next()
	if !more {
		c.present = runfile.StepLargeReads
		reads, more = c.large.next()
	}
	step.Kind, step.Users = c.present, reads
	return level{step: &step, warmup: c.warmup, window: c.window}, more
}

func (c *calibration) note(o outcome) {
	if c.present == runfile.StepLargeReads {
		c.large.note(o)
		return
	}
	c.small.note(o)
}

// left counts the first large reads too, while the single-block ones last.
func (c *calibration) left() int {
	switch {
	case c.present == runfile.StepLargeReads:
		return c.large.left()
	case c.small.over:
		return 1 + c.large.left()
	default:
		return c.small.left() + 1 + c.large.left()
	}
}
