package main

import "time"

// turn is one measurement.
type turn struct {
	Row, Entry int // indexes
	Repeat     int // from 1
}

// turnsOf orders the measurements: row by row, in each row repeat by repeat, and
// in each repeat all contenders, every other time backwards, so that nobody
// always comes after the same other.
func turnsOf(rows []row, repeats int) []turn {
	var turns []turn
	for i, r := range rows {
		for repeat := 1; repeat <= repeats; repeat++ {
			for k := range r.Entries {
				e := k
				if repeat%2 == 0 {
					e = len(r.Entries) - 1 - k
				}
				turns = append(turns, turn{i, e, repeat})
			}
		}
	}
	return turns
}

// window is how long an entry of a row is measured.
func (r row) window(seconds int) int { return seconds * max(1, r.Stretch) }

// lasts is about how long a measurement takes, start and end included.
func (r row) lasts(e entry, seconds int) time.Duration {
	const around = 500 * time.Millisecond
	return time.Duration(r.Warmup+r.window(seconds))*time.Second + around + e.verification()
}

// patience is when a measurement that has not ended never will.
func (r row) patience(e entry, seconds int) time.Duration {
	return r.lasts(e, seconds) + 2*e.verification() + 10*time.Second
}

// verification is how long the links carry the blocks that nfsbench reads back
// after the window: 64 of each file.
func (e entry) verification() time.Duration {
	if len(e.Links) == 0 || (e.Tool != toolOurs && e.Tool != toolOther) {
		return 0
	}
	const blocks, gigabitBytes, slowBytes = 64, 116e6, 23e6
	rate := gigabitBytes
	if e.Links[0] >= slowOne {
		rate = slowBytes * float64(len(e.Links))
	}
	return time.Duration(float64(blocks*int64(e.Work.Jobs)*e.Work.Block) / rate * float64(time.Second))
}

// remaining estimates the time for the turns that are left. Pace is how much
// longer than expected the turns took that are over.
func remaining(rows []row, left []turn, seconds int, pace float64) time.Duration {
	var sum time.Duration
	for _, t := range left {
		sum += rows[t.Row].lasts(rows[t.Row].Entries[t.Entry], seconds)
	}
	return time.Duration(float64(sum) * pace).Round(time.Second)
}
