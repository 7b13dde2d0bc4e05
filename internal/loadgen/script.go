package loadgen

import (
	"context"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

// newScript returns the rounds and levels of a plan. In a raw load each repetition is a round of one level. A
// SLOB load measures all its numbers of users in each round; a calibration climbs its ladders.
func newScript(p *runfile.Plan) *runloop.Script {
	warmup, window := int(p.Schedule.WarmupSeconds), int(p.Schedule.DurationSeconds)
	s := &runloop.Script{Schedule: p.Schedule, Rounds: int(p.Schedule.Repetitions), Most: 1}
	switch w := p.Workload; {
	case w.Calibrate != nil:
		warmup = int(p.Schedule.LevelWarmupSeconds())
		first := int(bench.OrZero(w.Calibrate.WarmupRuns))
		s.Rounds += first
		climb := func(round int) *calibration {
			return newCalibration(*w.Calibrate, runloop.RoundStep(round, first), warmup, window)
		}
		present := climb(0)
		s.Most += present.left()
		s.Next = func(_ context.Context, round int, last *runloop.Outcome) (runloop.Level, bool, error) {
			if last == nil {
				present = climb(round)
			} else {
				present.note(*last)
			}
			l, more := present.next()
			return l, more, nil
		}
	case w.SLOB != nil:
		s.PauseSeconds, s.Most = p.Schedule.PauseSeconds(), len(w.SLOB.Ramp())
		s.Next = runloop.Fixed(func(round int) (ramp []runloop.Level) {
			for _, n := range w.SLOB.Ramp() {
				step := runloop.RoundStep(round, 0)
				step.Kind, step.Users = runfile.StepUsers, n
				ramp = append(ramp, runloop.Level{Step: &step, Warmup: warmup, Window: window})
			}
			return ramp
		})
	default:
		s.Next = runloop.Fixed(func(int) []runloop.Level { return []runloop.Level{{Warmup: warmup, Window: window}} })
	}
	s.Each = time.Duration(warmup+window) * time.Second
	return s
}

// Bounds of the outstanding reads of a calibration. CALIBRATE_IO uses the number of disks for the same
// purpose: too low a number limits the result, and above some number more reads change nothing.
const (
	readsPerDisk      = 16
	largeReadsPerDisk = 4
	mostReads         = 1024
	mostLargeReads    = 128
)

// ceilings returns the largest numbers of outstanding single-block and large reads.
func ceilings(c *bench.CalibrateWorkload) (small, large int32) {
	disks := int64(c.PhysicalDisks)
	return int32(min(mostReads, disks*readsPerDisk)), int32(min(mostLargeReads, disks*largeReadsPerDisk))
}

// calibration is one run like CALIBRATE_IO: a ladder of random single-block reads, which ends when their mean
// latency exceeds the tolerable one, and a ladder of random large reads, which ends when more reads add no
// throughput.
type calibration struct {
	round          runfile.Step
	warmup, window int
	small, large   ladder
	present        string // kind of the present level
}

func newCalibration(c bench.CalibrateWorkload, round runfile.Step, warmup, window int) *calibration {
	small, large := ceilings(&c)
	return &calibration{
		round: round, warmup: warmup, window: window, present: runfile.StepSmallReads,
		small: ladder{limit: time.Duration(c.MaxLatencyMilliseconds) * time.Millisecond, ceiling: small},
		large: ladder{ceiling: large},
	}
}

// next returns the level to measure, or false at the end of both ladders.
func (c *calibration) next() (runloop.Level, bool) {
	step := c.round
	reads, more := c.small.next()
	if !more {
		c.present = runfile.StepLargeReads
		reads, more = c.large.next()
	}
	step.Kind, step.Users = c.present, reads
	return runloop.Level{Step: &step, Warmup: c.warmup, Window: c.window, Left: c.left()}, more
}

func (c *calibration) note(o runloop.Outcome) {
	if c.present == runfile.StepLargeReads {
		c.large.note(o)
		return
	}
	c.small.note(o)
}

// left returns the number of levels after the current one. While the single-block reads last, it includes the
// large reads.
func (c *calibration) left() int {
	if c.present == runfile.StepLargeReads {
		return c.large.left()
	}
	return c.small.left() + 1 + c.large.left()
}

const (
	// leastGrowth is the least growth of throughput over two doublings. With less, more outstanding reads only
	// wait longer.
	leastGrowth = 1.02
	// refinements is the number of levels between the last one within the limit and the first one beyond it:
	// they narrow the distance to an eighth of a doubling.
	refinements = 3
	// implausible bounds the ratio of the mean latency to the latency at half the load. In a saturated closed
	// loop the latency doubles; more is a disturbance.
	implausible = 3
)

// ladder finds how much load storage carries within a latency limit. It doubles the outstanding reads until
// their mean latency exceeds the limit, or until more reads add no throughput; then it narrows down the level
// at which the latency exceeds the limit. The caller alternates next and note. A ladder does no I/O and uses
// no clock.
type ladder struct {
	limit   time.Duration // of the mean; 0 = none
	ceiling int32         // reads outstanding at most; at least 1

	want    int32             // the current level; 0 before the first
	over    bool              // there are no more levels
	climbed []runloop.Outcome // of the doublings
	within  int32             // the highest level within the limit, 0 = none
	beyond  int32             // the lowest level beyond the limit, 0 = none
	refined int
	doubted bool // the current level was implausible and is measured again
}

// next returns the number of outstanding reads of the current level, or false if there are no more levels.
func (l *ladder) next() (reads int32, more bool) {
	if l.want == 0 {
		l.want = 1
	}
	return l.want, !l.over
}

// left returns the maximum number of levels after the current one.
func (l *ladder) left() (n int) {
	switch {
	case l.over:
		return 0
	case l.beyond > 0:
		return refinements - l.refined
	case l.limit > 0:
		n = refinements
	}
	for at := max(l.want, 1); at < l.ceiling; at *= 2 {
		n++
	}
	return n
}

// note takes the outcome of the current level and chooses the next level.
func (l *ladder) note(o runloop.Outcome) {
	slow := l.limit > 0 && o.Mean > l.limit
	switch {
	case l.beyond > 0 && slow:
		l.beyond = l.want
	case l.beyond > 0:
		l.within = l.want
	case slow && l.unlikely(o):
		l.doubted = true
		return
	case slow:
		l.beyond = l.want
	default:
		l.climb(o)
		return
	}
	l.refine()
}

// unlikely reports whether a level must be measured once more because its latency is implausible.
func (l *ladder) unlikely(o runloop.Outcome) bool {
	return !l.doubted && len(l.climbed) > 0 && o.Mean > implausible*l.climbed[len(l.climbed)-1].Mean
}

// climb doubles the reads while that adds throughput.
func (l *ladder) climb(o runloop.Outcome) {
	l.within, l.doubted = l.want, false
	l.climbed = append(l.climbed, o)
	if l.want >= l.ceiling || l.flat() {
		l.over = true
		return
	}
	l.want = min(2*l.want, l.ceiling)
}

// flat reports whether each of the last two doublings brought less than leastGrowth over the throughput
// before both: one small growth alone may be noise.
func (l *ladder) flat() bool {
	n := len(l.climbed)
	if n < 3 {
		return false
	}
	enough := leastGrowth * l.climbed[n-3].PerSecond
	return l.climbed[n-2].PerSecond < enough && l.climbed[n-1].PerSecond < enough
}

// refine halves the distance between the last level within the limit and the first level beyond it, until it
// is an eighth of a doubling.
func (l *ladder) refine() {
	apart := l.beyond - l.within
	if l.within == 0 || apart <= 1 || l.refined == refinements {
		l.over = true
		return
	}
	l.refined++
	l.want = l.within + apart/2
}
