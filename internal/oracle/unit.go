package oracle

import "github.com/nfsbench/nfsbench/internal/runfile"

// serviceTimeUnit tells the unit of the times in V$IOSTAT_FILE. Oracle's
// reference says milliseconds for every release; 12.2 was seen to have
// microseconds. So it is derived, by holding the mean time of a read in that view
// against the mean wait for such reads in V$SYSTEM_EVENT, which is in
// microseconds, over the same interval:
//
//	q = (time / reads) / (TIME_WAITED_MICRO / TOTAL_WAITS)
//
// q is about 1 if the times are microseconds, and about 1/1000 if they are
// milliseconds. The two views do not count the very same reads, some releases
// count wrongly (pNFS on 12.2: q = 0.05), and whole milliseconds round a read of
// 0.1 ms up to ten times its time, or down to nothing. So
//
//	1/50 <= q <= 50      Microseconds
//	1/50000 <= q <= 1/80 Milliseconds
//
// and what lies elsewhere, or rests on fewer than 10 reads or waits, is not
// told. The closest pair that can tell decides: synchronous single-block reads
// are what db file sequential read waits for; all single-block reads, by
// db file sequential read and db file parallel read; multiblock reads, by db file
// scattered read. direct path read is no measure: its waits are shorter than
// its reads, which have begun before.
func serviceTimeUnit(files []runfile.OracleFile, events []runfile.OracleEvent) string {
	var sync, small, large mean
	for _, f := range files {
		if isData(f) {
			sync.add(f.SmallSyncReads, f.SmallSyncReadTime)
			small.add(f.SmallReads, f.SmallReadTime)
			large.add(f.LargeReads, f.LargeReadTime)
		}
	}
	waits := map[string]mean{}
	for _, e := range events {
		waits[e.Name] = mean{e.Waits, float64(e.Microseconds)}
	}
	for _, pair := range []struct {
		reads mean
		event string
	}{
		{sync, "db file sequential read"},
		{small, "db file sequential read"},
		{small, "db file parallel read"},
		{large, "db file scattered read"},
	} {
		if unit := compare(pair.reads, waits[pair.event]); unit != "" {
			return unit
		}
	}
	return ""
}

// mean is a sum of times with their number.
type mean struct {
	n   int64
	sum float64
}

func (m *mean) add(n int64, sum float64) {
	m.n += n
	m.sum += sum
}

// compare tells the unit of reads by waits for them, or says nothing.
func compare(reads, waits mean) string {
	const enough = 10
	if reads.n < enough || waits.n < enough || waits.sum <= 0 {
		return ""
	}
	q := reads.sum / float64(reads.n) / (waits.sum / float64(waits.n))
	switch {
	case 1.0/50 <= q && q <= 50:
		return runfile.UnitMicroseconds
	case 1.0/50000 <= q && q <= 1.0/80:
		return runfile.UnitMilliseconds
	default:
		return ""
	}
}
