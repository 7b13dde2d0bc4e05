package loadgen

import "time"

// progress estimates how long a run still takes. What the schedule says is
// known, and bounded where levels of load depend on what others gave; how long
// filling takes is known when some of it is done.
type progress struct {
	fillStart time.Time
	fillBytes int64         // in all
	filled    int64         // so far
	planned   time.Duration // of schedule that lies ahead
}

// left returns the time left, where it can be known.
func (p *progress) left(now time.Time) (left time.Duration, known bool) {
	todo := p.fillBytes - p.filled
	if todo <= 0 {
		return p.planned, true
	}
	took := now.Sub(p.fillStart)
	if p.filled <= 0 || took <= 0 {
		return 0, false
	}
	return p.planned + time.Duration(float64(took)/float64(p.filled)*float64(todo)), true
}
