package loadgen

import "time"

const (
	// leastGrowth of what two doublings give together says that more reads
	// outstanding only wait longer.
	leastGrowth = 1.02
	// refinements is how many levels are tried between the last within the limit
	// and the first beyond it: an eighth of a doubling.
	refinements = 3
	// implausible is how much longer than at half the load the mean may take. A
	// closed loop that is saturated takes twice as long; more is a hiccup.
	implausible = 3
)

// outcome is what one level of load gave.
type outcome struct {
	perSecond float64       // operations or bytes, whichever is to grow
	mean      time.Duration // latency; 0 when nothing was counted
}

// ladder finds how much load storage carries within a latency. It doubles the
// reads outstanding until their mean latency passes the limit, or until they
// bring no more; then it narrows down where the limit was passed. It is used
// from next to note and so on; it does no I/O and knows no clock.
type ladder struct {
	limit   time.Duration // of the mean; 0 = none
	ceiling int32         // reads outstanding at most; at least 1

	want    int32     // the present level; 0 before the first
	over    bool      // there are no more
	climbed []outcome // of the doublings
	within  int32     // the highest level within the limit, 0 = none
	beyond  int32     // the lowest one beyond it, 0 = none
	refined int
	doubted bool // the present level was implausible, and is tried again
}

// next gives the number of reads to keep outstanding, or false.
func (l *ladder) next() (reads int32, more bool) {
	if l.want == 0 {
		l.want = 1
	}
	return l.want, !l.over
}

// left is how many levels may still come after the present one.
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

// note takes the outcome of the present level, and chooses the one after it.
func (l *ladder) note(o outcome) {
	slow := l.limit > 0 && o.mean > l.limit
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

// unlikely says whether a level is to be measured once more before it is
// believed.
func (l *ladder) unlikely(o outcome) bool {
	return !l.doubted && len(l.climbed) > 0 && o.mean > implausible*l.climbed[len(l.climbed)-1].mean
}

// climb goes on to twice the reads while that helps.
func (l *ladder) climb(o outcome) {
	l.within, l.doubted = l.want, false
	l.climbed = append(l.climbed, o)
	if l.want >= l.ceiling || l.flat() {
		l.over = true
		return
	}
	l.want = min(2*l.want, l.ceiling)
}

// flat says that neither of the last two doublings brought more than leastGrowth
// over what there was before them: one that fell short alone may be noise.
func (l *ladder) flat() bool {
	n := len(l.climbed)
	if n < 3 {
		return false
	}
	enough := leastGrowth * l.climbed[n-3].perSecond
	return l.climbed[n-2].perSecond < enough && l.climbed[n-1].perSecond < enough
}

// refine halves the distance between the last level within the limit and the
// first beyond it, until that is an eighth of a doubling.
func (l *ladder) refine() {
	apart := l.beyond - l.within
	if l.within == 0 || apart <= 1 || l.refined == refinements {
		l.over = true
		return
	}
	l.refined++
	l.want = l.within + apart/2
}
