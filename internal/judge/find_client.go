package judge

import (
	"fmt"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

func (c *judging) checkClientCPU() {
	cpu := c.overall.ClientCPU
	var seen []string
	if atLeastPermille(cpu.BusiestNodePermille, cpuBusy) {
		seen = append(seen, "the CPUs of a client machine were "+permilleText(cpu.BusiestNodePermille)+" busy")
	}
	if atLeastPermille(cpu.BusiestLimitPermille, cpuBusy) {
		seen = append(seen, "a loader used "+permilleText(cpu.BusiestLimitPermille)+" of its CPU limit")
	}
	if atLeastPermille(cpu.WorstThrottlePermille, throttled) {
		seen = append(seen, "a loader was throttled for "+permilleText(cpu.WorstThrottlePermille)+" of the time")
	}
	switch {
	case len(seen) == 0:
	case atLeastPermille(c.overall.WirePermille, wireSaturated):
		// The line was filled all the same: nothing was held back.
		c.add(ClientCPUBound, Info, "The line is full, but the client has little to spare: %s.", strings.Join(seen, ", "))
	default:
		c.add(ClientCPUBound, Warning, "The client and not the storage may be the limit: %s. Give it more CPU, or use more clients.", strings.Join(seen, ", "))
	}
}

// checkClientCache looks for reads that never left the client.
func (c *judging) checkClientCache() {
	if !c.kernel() {
		return // the user-space client has no cache
	}
	read := opsOrZero(c.overall.Read)
	if m, coverage, known := mountCounters(c.result, c.overall.Repetition); known {
		c.checkPageCache(m, coverage, int64(float64(read)*coverage))
		return // the counters prove it, in one way or the other
	}
	if c.result.Plan.Database != nil {
		return // what a database does with its mount is not the loader's to tell
	}
	for _, cl := range c.result.Clients {
		set := c.workingSet() / int64(max(len(c.result.Clients), 1))
		if mt := cl.Load.Mount; mt != nil && !mt.DirectIO && read > 0 && set < cl.Host.MemoryBytes {
			c.add(CacheSuspected, Warning, "Client %d reads %s through its page cache of up to %s. Use direct I/O, or files larger than its memory.", cl.Index, bytesText(set), bytesText(cl.Host.MemoryBytes))
			return
		}
	}
}

// checkPageCache compares the mount's counters with the load of the same time.
func (c *judging) checkPageCache(m runfile.MountCounters, coverage float64, read int64) {
	buffered := m.NormalReadBytes + m.NormalWriteBytes
	switch {
	case float64(m.ServerReadBytes)*1000 < float64(read)*leastMoved(c.overall, coverage):
		c.add(CacheSuspected, Warning, "The load read %s and the server sent %s: the rest came from the client's page cache. Use direct I/O, or files larger than the client's memory.", bytesText(read), bytesText(m.ServerReadBytes))
	case float64(buffered)*1000 > float64(c.overall.Total.Bytes)*(1000-clientCacheShare):
		c.add(CacheSuspected, Warning, "%s of %s went through the client's page cache instead of direct I/O. Oracle does direct I/O (filesystemio_options=setall); so must the benchmark.", bytesText(buffered), bytesText(c.overall.Total.Bytes))
	}
}

// checkServerCache: a cache of the storage cannot be seen from here, only
// suspected. A working set that is small and was read again says that a cache
// could have served it; a latency that no disk has says that it did.
func (c *judging) checkServerCache() {
	s := c.overall
	if s.Read == nil || s.Read.Latency == nil || s.Read.Latency.MeanOnly {
		return
	}
	set := c.workingSet()
	reread := set > 0 && set <= smallWorkingSetBytes && c.everRead() >= rereadFactor*set
	p50 := s.Read.Latency.P50Microseconds
	switch {
	case reread && p50 < implausibleP50Micros:
		c.add(CacheSuspected, Warning, "Half of the reads took less than %d µs and the files (%s) were read %.1f times over: this is the storage's cache. Use files larger than its cache.", p50+1, bytesText(set), float64(c.everRead())/float64(set))
	case reread:
		c.add(CacheSuspected, Info, "The files (%s) are small enough for the storage's cache and were read %.1f times over. That is fine for measuring the network path; for its disks use files larger than its cache.", bytesText(set), float64(c.everRead())/float64(set))
	}
}

// everRead is all that was read in the measured windows.
func (c *judging) everRead() int64 {
	sum := int64(0)
	for _, s := range c.repetitions {
		sum += opsOrZero(s.Read)
	}
	return sum
}

func opsOrZero(d *Direction) int64 {
	if d == nil {
		return 0
	}
	return d.Bytes
}

func (c *judging) checkTime() {
	seconds := float64(c.overall.DurationMilliseconds) / 1000
	switch {
	case c.overall.isOf(runfile.StepCalibrate): // takes as long as Oracle wants
	case seconds < tooShortWarnSeconds:
		c.add(TooShort, Warning, "Only %.0f s were measured. Bursts, caches and credits of the storage hide behind less than %d s; use 60 s or more, 300 s for writes.", seconds, tooShortWarnSeconds)
	case seconds < tooShortInfoSeconds:
		c.add(TooShort, Info, "%.0f s were measured. Use 60 s or more for a number to compare, 300 s for writes.", seconds)
	}
	for _, s := range c.repetitions {
		// A calibration goes through loads of two kinds: it cannot be steady.
		if f := s.Steadiness; f.Known && !f.Steady && !s.isOf(runfile.StepCalibrate) {
			c.add(NotSteady, Warning, "Repetition %s was not steady: throughput strayed %s from its mean and drifted %s; latency strayed %s and drifted %s. Use a longer warm-up, and look for what changed.",
				s.name(), permilleText(&f.DeviationPermille), permilleText(&f.DriftPermille), permilleText(&f.LatencyDeviationPermille), permilleText(&f.LatencyDriftPermille))
		}
	}
	c.checkVariation()
}

// checkTogether: rates of clients that did not run at the same time must not
// be added.
func (c *judging) checkTogether() {
	for _, s := range c.repetitions {
		if share := together(c.parts(s.Repetition)); share*1000 < overlapGood {
			c.add(ClientsNotTogether, Warning, "In repetition %s the clients ran together for only %.0f %% of the time, so their sum is too high. Check the clocks of their machines.", s.name(), share*100)
		}
	}
}

// together is the share of the shortest window in which all clients ran.
func together(parts []clientRep) float64 {
	if len(parts) < 2 {
		return 1
	}
	offsets := clockOffsets(parts)
	start, end := parts[0].rep.Start.Add(offsets[0]), parts[0].rep.End.Add(offsets[0])
	shortest := end.Sub(start)
	for i, p := range parts[1:] {
		ahead := offsets[i+1]
		start, end = later(start, p.rep.Start.Add(ahead)), earlier(end, p.rep.End.Add(ahead))
		shortest = min(shortest, p.rep.End.Sub(p.rep.Start))
	}
	return float64(max(end.Sub(start), 0)) / float64(shortest)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func (c *judging) checkPace() {
	late, dropped, ops := int64(0), int64(0), int64(0)
	for _, cl := range c.result.Clients {
		for _, rep := range cl.Load.Repetitions {
			late += rep.LateOps
			dropped += rep.DroppedOps
			ops += opsCount(rep.Read) + opsCount(rep.Write)
		}
	}
	switch {
	case dropped > 0:
		c.add(LateOperations, Error, "%d operations were due and never started, %d started late, of %d: the storage or the client cannot keep the pace. Lower operationsPerSecond, or raise depth and jobs.", dropped, late, ops+dropped)
	case late*1000 > ops*lateShare:
		c.add(LateOperations, Warning, "%d of %d operations started after they were due. Latency counts the waiting; raise depth and jobs if the client is to keep the pace.", late, ops)
	}
}

func bytesText(b int64) string { return fmt.Sprintf("%.1f GiB", float64(b)/(1<<30)) }
