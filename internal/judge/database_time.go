package judge

import (
	"slices"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// sessionTime shows how much of the users' time in a SLOB load is accounted for: no user waits for
// two things at once, and none is idle.
type sessionTime struct {
	all     time.Duration // all users together
	waited  time.Duration // all foreground sessions, also those of other users
	working time.Duration // CPU time of foreground sessions
	// A wait counts when it ends, the second reading of the views is late under load, and foreground
	// sessions include the one that reads them and those of jobs.
	slack time.Duration
}

// sessionTimeOf is known if users work for the whole window.
func (c *facts) sessionTimeOf(s repetition) (t sessionTime, known bool) {
	slob := c.Plan.Workload.SLOB
	if slob == nil || s.Step == nil || s.Step.Users <= 0 {
		return t, false
	}
	for _, p := range s.parts {
		w := p.rep.Oracle
		if w == nil || w.ForegroundWaitMicroseconds == nil {
			return t, false
		}
		length := p.rep.End.Sub(p.rep.Start)
		t.all += time.Duration(s.Step.Users) * length
		t.slack += length/othersWait + time.Duration(s.Step.Users)*edgeMilliseconds*time.Millisecond
		t.waited += time.Duration(*w.ForegroundWaitMicroseconds) * time.Microsecond
		t.working += time.Duration(w.Statistics[statForegroundCPU]) * time.Microsecond
	}
	return t, t.all > 0
}

// checkForeignReads holds what the sessions of the load read against what the database did.
func checkForeignReads(c *facts, found *findings) {
	// In a container, only the run uses the database. CALIBRATE_IO reports its own reads.
	if c.external() && c.Plan.Workload.SLOB != nil && slices.ContainsFunc(c.databases, func(w runfile.OracleWindow) bool {
		return w.OwnReadBytes == nil
	}) {
		found.info(NotCollected, "GV$SESSTAT does not say what the sessions of the load read; those of a SLOB kit have "+
			"ended when it is looked at. So throughput and IOPS are those of all sessions of the database. Let nobody "+
			"else use it.")
	}
	for _, s := range c.repetitions {
		for _, w := range s.databases {
			all, known := w.Statistics[statReadBytes]
			if !known || w.OwnReadBytes == nil {
				continue
			}
			others := float64(all - *w.OwnReadBytes)
			rate := others * 1000 / float64(max(s.DurationMilliseconds, 1))
			if others*1000 > float64(all)*othersRead && rate > foreignBytesPerSecond {
				found.warn(ForeignLoad, "In repetition %s the sessions of the load read %.1f %% of the bytes that the database "+
					"read. Others read %s, which are not counted as load. Look for jobs, backups and other sessions (V$SESSION), "+
					"and run again when nobody else uses it.", s.name(), float64(*w.OwnReadBytes)/float64(all)*100,
					human.Throughput(rate))
				return
			}
		}
	}
}

// checkForeignSessions looks for more wait time than the users of the load can have.
func checkForeignSessions(c *facts, found *findings) {
	for _, s := range c.repetitions {
		t, known := c.sessionTimeOf(s)
		if !known || (t.waited-t.slack).Seconds()*1000 <= t.all.Seconds()*usersWait {
			continue
		}
		found.warn(ForeignLoad, "In repetition %s the sessions of the database waited for %.1f s, and %d users have only "+
			"%.1f s in that time: others use the database. Look for jobs and other sessions (V$SESSION), and run again when "+
			"nobody else uses it.", s.name(), t.waited.Seconds(), s.Step.Users, t.all.Seconds())
		return
	}
}

// checkUserTime looks for waits that are too short for the number of users and reads.
func checkUserTime(c *facts, found *findings) {
	slob := bench.OrZero(c.Plan.Workload.SLOB)
	if !c.randomReads() || slob.Kit != nil || slob.WorkLoop > 0 || slob.Think != nil {
		return // users may be idle, or wait for reads that began earlier
	}
	if len(c.busyClient(c.overall.ClientCPU)) > 0 || c.severalInstances() || c.overall.Read == nil || c.waitsAsStorage() {
		return // users may wait for a processor, also of one of several instances, which no view counts
	}
	t, known := c.sessionTimeOf(*c.overall)
	accounted := (t.waited + t.working).Seconds()
	if !known || c.overall.Read.Ops < latencyWaits || accounted*1000 >= t.all.Seconds()*latencyAgrees {
		return
	}
	found.warn(SuspectLatency, "Of the time of %d users the views have only %.1f %% as waits or CPU time: a read took "+
		"%s by the number of users and of reads. Either the views count too little, or the users were idle because "+
		"the loader or its network was slow. Use the latency that the array reports.", c.overall.Step.Users,
		accounted/t.all.Seconds()*100, human.Latency(float64(t.all.Microseconds())/float64(c.overall.Read.Ops)))
}

func (c *facts) severalInstances() bool {
	return slices.ContainsFunc(c.overall.databases, func(w runfile.OracleWindow) bool {
		return len(w.InstanceBytes) > 1
	})
}

// waitsAsStorage reports whether the waits for reads are as long as the reads of the storage: then
// the views do not count too little.
func (c *facts) waitsAsStorage() bool {
	array := c.overall.Storage.MeanLatencyMicroseconds
	if array == nil {
		return false
	}
	return slices.ContainsFunc(c.overall.databases, func(w runfile.OracleWindow) bool {
		waits, micros := eventOf(w, eventSequentialRead)
		return waits >= latencyWaits && float64(micros)/float64(waits)*1000 >= float64(*array)*latencyAgrees
	})
}
