package loadgen

import (
	"math"
	"time"
)

// progress estimates how much of a run is done. What the schedule says is
// known, and bounded where levels of load depend on what others gave; how long
// filling takes is known when some of it is done.
type progress struct {
	fillStart time.Time
	fillBytes int64         // in all
	filled    int64         // so far
	planned   time.Duration // of schedule that lies ahead
	spent     time.Duration // of everything, so far
	percent   int32
}

// estimate returns the percentage, which never goes back and is 100 only at the
// end, and the time left where it can be known.
func (p *progress) estimate(now time.Time) (percent int32, left *int64) {
	rest, known := p.planned, true
	if todo := p.fillBytes - p.filled; todo > 0 {
		took := now.Sub(p.fillStart)
		if known = p.filled > 0 && took > 0; known {
			rest += time.Duration(float64(took) / float64(p.filled) * float64(todo))
		}
	}
	if !known {
		return p.percent, nil
	}
	if whole := p.spent + rest; whole > 0 {
		p.percent = max(p.percent, min(99, int32(100*p.spent/whole)))
	}
	seconds := int64(math.Ceil(rest.Seconds()))
	return p.percent, &seconds
}
