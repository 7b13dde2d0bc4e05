package oracle

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// CalibrationLook holds the counters of all instances at one time during CALIBRATE_IO.
type CalibrationLook struct {
	At           time.Time
	small, large mean
	busy, idle   int64 // centiseconds of GV$OSSTAT
}

// LookAtCalibration reads the counters that show which reads CALIBRATE_IO makes: It runs two queries, which the
// database answers from memory.
func (a *Admin) LookAtCalibration(ctx context.Context) (CalibrationLook, error) {
	l := CalibrationLook{At: a.now()}
	err := a.each(ctx, "calibrate_sample", func(r *sql.Rows) error {
		var reads [2]sql.NullInt64
		var times [2]sql.NullFloat64
		err := r.Scan(&reads[0], &times[0], &reads[1], &times[1])
		l.small, l.large = mean{reads[0].Int64, times[0].Float64}, mean{reads[1].Int64, times[1].Float64}
		return err
	})
	if err != nil {
		return l, err
	}
	cpu := map[counter]int64{}
	err = a.each(ctx, "osstat", scanCounters(cpu))
	for c, v := range cpu {
		switch c.name {
		case "BUSY_TIME":
			l.busy += v
		case "IDLE_TIME":
			l.idle += v
		}
	}
	return l, err
}

// foreignReads allows for other readers of the datafiles: 1/foreignReads of the reads of each kind may lie in the
// other phase, and the same share of their rate before and after both phases.
const foreignReads = 50

// Phases finds the boundary between the small and the large reads of CALIBRATE_IO: the interval before which there
// were hardly any large reads, and after which there were hardly any small ones. The interval itself belongs to
// neither phase. If the counters show no such boundary, it returns no phases.
func Phases(looks []CalibrationLook) []runfile.OraclePhase {
	if len(looks) < 2 {
		return nil
	}
	first, last := looks[0], looks[len(looks)-1]
	small, large := last.small.since(first.small), last.large.since(first.large)
	if small.n < 1 || large.n < 1 {
		return nil
	}
	best, at := 1.0, 0
	for i, l := range looks[:len(looks)-1] {
		early, late := l.large.since(first.large), last.small.since(looks[i+1].small)
		if early.n < 0 || late.n < 0 {
			return nil // an instance was restarted
		}
		share := max(float64(early.n)/float64(large.n), float64(late.n)/float64(small.n))
		if share < best {
			best, at = share, i
		}
	}
	if at == 0 || at+1 == len(looks)-1 || best*foreignReads > 1 {
		return nil
	}
	before, after := looks[at], looks[at+1]
	start, end := startOf(looks[:at+1]), endOf(looks[at+1:])
	return []runfile.OraclePhase{
		phase(runfile.StepSmallReads, start, before, before.small.since(start.small)),
		phase(runfile.StepLargeReads, after, end, end.large.since(after.large)),
	}
}

// startOf returns the last look before the small reads: the call begins with other work.
func startOf(looks []CalibrationLook) CalibrationLook {
	first, last := looks[0], looks[len(looks)-1]
	start, all := first, last.small.since(first.small).n
	for _, l := range looks[:len(looks)-1] {
		if hardly(l.small.since(first.small).n, l.At.Sub(first.At), all, last.At.Sub(first.At)) {
			start = l
		}
	}
	return start
}

// endOf returns the first look after the large reads.
func endOf(looks []CalibrationLook) CalibrationLook {
	first, last := looks[0], looks[len(looks)-1]
	end, all := last, last.large.since(first.large).n
	for _, l := range slices.Backward(looks[1:]) {
		if hardly(last.large.since(l.large).n, last.At.Sub(l.At), all, last.At.Sub(first.At)) {
			end = l
		}
	}
	return end
}

// hardly reports whether the rate of reads in a part of the time was far below the rate in the whole time.
func hardly(reads int64, part time.Duration, all int64, whole time.Duration) bool {
	return float64(reads)*foreignReads*whole.Seconds() <= float64(all)*part.Seconds()
}

func phase(kind string, from, to CalibrationLook, reads mean) runfile.OraclePhase {
	p := runfile.OraclePhase{Kind: kind, Start: from.At, End: to.At, Reads: reads.n, ReadTime: reads.sum}
	if busy, idle := to.busy-from.busy, to.idle-from.idle; busy >= 0 && idle >= 0 && busy+idle > 0 {
		p.BusyCentiseconds, p.IdleCentiseconds = &busy, &idle
	}
	return p
}

func (m mean) since(before mean) mean { return mean{m.n - before.n, m.sum - before.sum} }
