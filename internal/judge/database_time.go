package judge

import (
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// uncounted returns how much of the users' time in a window the views may miss or add: a wait counts when it ends,
// the second reading of the views is late under load, and foreground sessions include the session that reads them and
// those of jobs.
func uncounted(t measure.SessionTime, s measure.Summary) time.Duration {
	return t.Length/othersWait + time.Duration(s.Clients)*time.Duration(s.Step.Users)*edgeMilliseconds*time.Millisecond
}

// checkForeignReads compares the bytes that the sessions of the load read with those of the whole database.
func checkForeignReads(c *facts, found *findings) {
	// In a container only the run uses the database. CALIBRATE_IO reports its own reads.
	if c.External() && c.Plan.Workload.SLOB != nil && slices.ContainsFunc(c.Databases, func(w runfile.OracleWindow) bool {
		return w.OwnReadBytes == nil
	}) {
		found.info(NotCollected, "GV$SESSTAT does not say what the sessions of the load read; those of a SLOB kit have "+
			"ended when it is looked at. So throughput and IOPS are those of all sessions of the database. Let nobody "+
			"else use it.")
	}
	for _, s := range c.Repetitions {
		for _, w := range s.Databases {
			all, known := w.Statistics[measure.StatReadBytes]
			if !known || w.OwnReadBytes == nil {
				continue
			}
			others := float64(all - *w.OwnReadBytes)
			rate := others * 1000 / float64(max(s.DurationMilliseconds, 1))
			if others*1000 > float64(all)*othersRead && rate > foreignBytesPerSecond {
				found.warn(ForeignLoad, "In repetition %s the sessions of the load read %.1f %% of the bytes that the database "+
					"read. Others read %s, which are not counted as load. Look for jobs, backups and other sessions (V$SESSION), "+
					"and run again when nobody else uses it.", repetitionName(s.Summary), float64(*w.OwnReadBytes)/float64(all)*100,
					human.Throughput(rate))
				return
			}
		}
	}
}

// checkForeignSessions looks for more wait time than the users of the load can have.
func checkForeignSessions(c *facts, found *findings) {
	for _, s := range c.Repetitions {
		t, known := c.SessionTimeOf(s)
		if !known || (t.Waited-uncounted(t, s.Summary)).Seconds()*1000 <= t.All.Seconds()*usersWait {
			continue
		}
		found.warn(ForeignLoad, "In repetition %s the sessions of the database waited for %.1f s, and %d users have only "+
			"%.1f s in that time: others use the database. Look for jobs and other sessions (V$SESSION), and run again when "+
			"nobody else uses it.", repetitionName(s.Summary), t.Waited.Seconds(), s.Step.Users, t.All.Seconds())
		return
	}
}

// checkUserTime looks for waits that are too short for the number of users and reads.
func checkUserTime(c *facts, found *findings) {
	slob := bench.OrZero(c.Plan.Workload.SLOB)
	if !c.RandomReads() || slob.Kit != nil || slob.WorkLoop > 0 || slob.Think != nil {
		return // users may be idle, or wait for reads that began earlier
	}
	if len(c.busyClient(c.Overall.ClientCPU)) > 0 || c.SeveralInstances() || c.Overall.Read == nil || c.waitsAsStorage() {
		return // users may also wait for a processor of one of several instances, which no view counts
	}
	t, known := c.SessionTimeOf(*c.Overall)
	accounted := (t.Waited + t.Working).Seconds()
	if !known || c.Overall.Read.Ops < latencyWaits || accounted*1000 >= t.All.Seconds()*latencyAgrees {
		return
	}
	found.warn(SuspectLatency, "Of the time of %d users the views have only %.1f %% as waits or CPU time: a read took "+
		"%s by the number of users and of reads. Either the views count too little, or the users were idle because "+
		"the loader or its network was slow. Use the latency that the array reports.", c.Overall.Step.Users,
		accounted/t.All.Seconds()*100, human.Latency(float64(t.All.Microseconds())/float64(c.Overall.Read.Ops)))
}

// waitsAsStorage reports whether waits for reads are as long as the reads of the storage. If they are, the views do
// not count too little.
func (c *facts) waitsAsStorage() bool {
	array := c.Overall.Storage.MeanLatencyMicroseconds
	if array == nil {
		return false
	}
	return slices.ContainsFunc(c.Overall.Databases, func(w runfile.OracleWindow) bool {
		waits, micros := measure.EventOf(w, measure.EventSequentialRead)
		return waits >= latencyWaits && float64(micros)/float64(waits)*1000 >= float64(*array)*latencyAgrees
	})
}
