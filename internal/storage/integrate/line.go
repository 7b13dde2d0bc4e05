package integrate

import (
	"math"
	"time"

	"github.com/nfsbench/nfsbench/internal/storage"
)

// maxRate is beyond every storage: 10^15 bytes or operations a second.
const maxRate = 1e15

// line is the integral of one rate.
type line struct {
	sum  float64
	last time.Time // up to where; zero = nothing is known yet
	lost bool      // a gap was longer than can be bridged
}

func (l *line) add(at time.Time, rate *float64, bridge time.Duration) {
	if l.lost || rate == nil || !(*rate >= 0 && *rate <= maxRate) {
		return
	}
	switch gap := at.Sub(l.last); {
	case l.last.IsZero():
		l.last = at
	case gap <= 0: // integrated before
	case gap > bridge:
		l.lost = true
	default:
		l.sum += *rate * gap.Seconds()
		l.last = at
	}
}

// known reports whether the integral holds at now, or nearly.
func (l *line) known(now time.Time, bridge time.Duration) bool {
	return !l.lost && !l.last.IsZero() && now.Sub(l.last) <= bridge
}

func (l *line) seconds(now time.Time, bridge time.Duration) *float64 {
	if !l.known(now, bridge) {
		return nil
	}
	return new(l.sum)
}

func (l *line) count(now time.Time, bridge time.Duration) *uint64 {
	if !l.known(now, bridge) || l.sum >= math.MaxInt64 {
		return nil
	}
	return new(uint64(l.sum))
}

// lines are the integrals of everything that Rates tell.
type lines struct {
	readOps, writeOps, otherOps   line
	readBytes, writtenBytes       line
	readMicroseconds, writeMicros line
}

func (s *lines) add(r Rates, bridge time.Duration) {
	s.readOps.add(r.Time, r.ReadOps, bridge)
	s.writeOps.add(r.Time, r.WriteOps, bridge)
	s.otherOps.add(r.Time, r.OtherOps, bridge)
	s.readBytes.add(r.Time, r.ReadBytes, bridge)
	s.writtenBytes.add(r.Time, r.WrittenBytes, bridge)
	s.readMicroseconds.add(r.Time, waited(r.ReadOps, r.ReadLatency), bridge)
	s.writeMicros.add(r.Time, waited(r.WriteOps, r.WriteLatency), bridge)
}

// waited is the latency that operations add up to in a second, in microseconds.
func waited(ops, latency *float64) *float64 {
	switch {
	case ops == nil:
		return nil
	case *ops == 0:
		return new(0.0)
	case latency == nil || *ops < 0 || *latency < 0:
		return nil
	}
	return new(*ops * *latency)
}

func (s *lines) counters(now time.Time, bridge time.Duration) storage.Counters {
	return storage.Counters{
		ReadOps: s.readOps.count(now, bridge), WriteOps: s.writeOps.count(now,
			bridge), OtherOps: s.otherOps.count(now, bridge),
		ReadBytes: s.readBytes.count(now, bridge), WrittenBytes: s.writtenBytes.count(now, bridge),
		ReadMicroseconds:  s.readMicroseconds.count(now, bridge),
		WriteMicroseconds: s.writeMicros.count(now, bridge),
	}
}
