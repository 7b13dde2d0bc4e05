package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func checkClientCPU(c *facts, found *findings) {
	if c.limitedBy(LimitClientCPU, ClientCPUBound, found) {
		return
	}
	seen := c.busyClient(c.overall.ClientCPU)
	switch {
	case len(seen) == 0:
	case atLeastPermille(c.overall.WirePermille, wireSaturated):
		// The line is full, so the CPU did not limit the load.
		found.add(ClientCPUBound, bench.SeverityInfo, "The line is full, but the client is almost at its limit: %s.",
			strings.Join(seen, ", "))
	default:
		found.add(ClientCPUBound, bench.SeverityWarning,
			"The client and not the storage may be the limit: %s. Give it more CPU, or use "+
				"more clients.", strings.Join(seen, ", "))
	}
}

// busyClient returns the client CPUs that are used up.
func (c *facts) busyClient(cpu ClientCPU) []string {
	var seen []string
	if atLeastPermille(cpu.BusiestNodePermille, cpuBusy) {
		seen = append(seen, "the CPUs of a client machine were "+permilleText(cpu.BusiestNodePermille)+" busy")
	}
	if atLeastPermille(cpu.BusiestLimitPermille, cpuBusy) {
		seen = append(seen, "a loader used "+permilleText(cpu.BusiestLimitPermille)+" of its CPU limit")
	}
	if atLeastPermille(cpu.DatabaseLimitPermille, cpuBusy) {
		seen = append(seen, "the database used "+permilleText(cpu.DatabaseLimitPermille)+" of the "+
			coresText(databaseCores(c.result))+" that it can use at most")
	}
	if atLeastPermille(cpu.WorstThrottlePermille, throttled) {
		seen = append(seen, "a loader was throttled for "+permilleText(cpu.WorstThrottlePermille)+" of the time")
	}
	return seen
}

// checkClientCache looks for reads that never left the client.
func checkClientCache(c *facts, found *findings) {
	if !c.kernel() {
		return // the user-space client has no cache
	}
	read := opsOrZero(c.overall.Read)
	if m, seen, known := mountCounters(c.result, c.overall.Repetition); known {
		checkPageCache(c, found, m, seen.least, int64(float64(read)*seen.least))
		return // the counters prove it, in one way or the other
	}
	if c.result.Plan.Database != nil {
		return // the loader does not know what a database does with its mount
	}
	for _, cl := range c.result.Clients {
		set := c.workingSet() / int64(max(len(c.result.Clients), 1))
		if mt := cl.Load.Mount; mt != nil && !mt.DirectIO && read > 0 && set < cl.Host.MemoryBytes {
			found.add(CacheSuspected, bench.SeverityWarning,
				"Client %d reads %s through its page cache of up to %s. Use direct I/O, or "+
					"files larger than its memory.", cl.Index, human.Bytes(set), human.Bytes(cl.Host.MemoryBytes))
			return
		}
	}
}

// checkPageCache compares the mount's counters with the load of the same time.
func checkPageCache(c *facts, found *findings, m runfile.MountCounters, coverage float64, read int64) {
	buffered := m.NormalReadBytes + m.NormalWriteBytes
	switch {
	case float64(m.ServerReadBytes)*1000 < float64(read)*leastMoved(c.overall, coverage):
		found.add(CacheSuspected, bench.SeverityWarning,
			"The load read %s and the server sent %s: the rest came from the client's page cache. Use direct I/O, or files "+
				"larger than the client's memory.", human.Bytes(read), human.Bytes(m.ServerReadBytes))
	case float64(buffered)*1000 > float64(c.overall.Total.Bytes)*(1000-clientCacheShare):
		found.add(CacheSuspected, bench.SeverityWarning,
			"%s of %s went through the client's page cache instead of direct I/O. Oracle does direct I/O "+
				"(filesystemio_options=setall); so must the benchmark.", human.Bytes(buffered), human.Bytes(c.overall.Total.Bytes))
	}
}

// checkServerCache: a cache of the storage cannot be seen from here, only
// suspected. A working set that is small and was read again says that a cache
// could have served it; a latency that no disk has says that it did.
func checkServerCache(c *facts, found *findings) {
	s := c.overall
	if s.Read == nil || s.Read.Latency == nil || s.Read.Latency.MeanOnly {
		return
	}
	set := c.workingSet()
	reread := set > 0 && set <= smallWorkingSetBytes && c.everRead() >= rereadFactor*set
	p50 := s.Read.Latency.P50Microseconds
	switch {
	case reread && p50 < implausibleP50Micros:
		found.add(CacheSuspected, bench.SeverityWarning,
			"Half of the reads took less than %s and the files (%s) were read %.1f times over: the storage's cache "+
				"probably answered them. Use files larger than its cache.", human.Latency(p50+1), human.Bytes(set),
			float64(c.everRead())/float64(set))
	case reread:
		found.add(CacheSuspected, bench.SeverityInfo,
			"The files (%s) are small enough for the storage's cache and were read %.1f times over. That is fine for "+
				"measuring the network path; for its disks use files larger than its cache.", human.Bytes(set),
			float64(c.everRead())/float64(set))
	}
}

// everRead is all that was read in the measured windows.
func (c *facts) everRead() int64 {
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

func checkTime(c *facts, found *findings) {
	seconds := float64(c.overall.DurationMilliseconds) / 1000
	if c.capacity != nil {
		seconds = c.searchSeconds() // a search keeps its levels as short as their percentiles allow
	}
	switch {
	case c.overall.isOf(runfile.StepCalibrate): // takes as long as Oracle wants
	case seconds < tooShortWarnSeconds:
		found.add(TooShort, bench.SeverityWarning,
			"Only %.0f s were measured. Bursts, caches and credits of the storage can falsify "+
				"windows below %d s. Use 60 s or more, 300 s for writes.", seconds, tooShortWarnSeconds)
	case seconds < tooShortInfoSeconds:
		found.add(TooShort, bench.SeverityInfo,
			"%.0f s were measured. Use 60 s or more for numbers to compare, 300 s for writes.",
			seconds)
	}
	for _, s := range c.repetitions {
		// A calibration cannot be steady: it has loads of two kinds. Nor can a level above the capacity;
		// checkCapacity checks the levels below.
		if f := s.Steadiness; f.Known && !f.Steady && !s.isOf(runfile.StepCalibrate) && !s.isOf(runfile.StepRate) {
			found.add(NotSteady, bench.SeverityWarning,
				"Repetition %s was not steady: throughput deviated by %s from its mean and "+
					"drifted by %s%s; latency deviated by %s and drifted by %s%s. Use a longer warm-up, and look for what changed.",
				s.name(), permilleText(&f.DeviationPermille), permilleText(&f.DriftPermille), stepText(f.StepPermille),
				permilleText(&f.LatencyDeviationPermille), permilleText(&f.LatencyDriftPermille), stepText(f.LatencyStepPermille))
		}
	}
}

func stepText(permille int32) string {
	if permille == 0 {
		return ""
	}
	return ", with a step of " + permilleText(&permille)
}

func checkPace(c *facts, found *findings) {
	if c.capacity != nil {
		return // a search exceeds the possible pace on purpose
	}
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
		found.add(LateOperations, bench.SeverityError,
			"%d operations were due and never started, %d started late, of %d: the storage or the client cannot keep the "+
				"pace. Lower operationsPerSecond, or raise depth and jobs.", dropped, late, ops+dropped)
	case late*1000 > ops*lateShare:
		found.add(LateOperations, bench.SeverityWarning,
			"%d of %d operations started after they were due. Latency includes the time that they waited. Raise depth and "+
				"jobs to keep the pace.", late, ops)
	}
}

// checkForeignLoad looks for others in the idle baseline before a repetition.
// Under load, what the storage moved beyond the clients is ArrayDisagrees.
func checkForeignLoad(c *facts, found *findings) {
	for _, s := range c.repetitions {
		var seen []string
		for _, cl := range c.result.Clients {
			seen = append(seen, c.foreignOnClient(cl, s)...)
		}
		if len(seen) > 0 {
			found.add(ForeignLoad, bench.SeverityWarning,
				"Repetition %s was not alone: %s. Run again when the machines are quiet.", s.name(),
				strings.Join(seen, ", "))
		}
	}
}

// checkForeignMount looks for more bytes on the kernel's mount than the load moved: other processes
// and pods of the machine share it. It compares direct I/O only, because a page cache reads ahead,
// and only our own loads, because a database has other files.
func checkForeignMount(c *facts, found *findings) {
	buffered := func(cl runfile.ClientResult) bool { return cl.Load.Mount == nil || !cl.Load.Mount.DirectIO }
	if !c.kernel() || c.result.Plan.Database != nil || slices.ContainsFunc(c.result.Clients, buffered) {
		return
	}
	for _, s := range c.repetitions {
		m, seen, known := mountCounters(c.result, s.Repetition)
		moved, load := m.ServerReadBytes+m.ServerWriteBytes, float64(s.Total.Bytes)
		// Within the time of the counters the load may have moved all of its bytes.
		tolerated := max(load*(mountForeign+edgePermille(&s)), foreignBytesPerSecond*float64(s.DurationMilliseconds)) / 1000
		if !known || float64(moved) <= load+tolerated {
			continue
		}
		found.add(ForeignLoad, bench.SeverityWarning,
			"In repetition %s the mount moved %s and the load only %s of that: something else on the machine uses the same "+
				"mount. Run again when nothing else does.", s.name(), human.Bytes(moved), human.Bytes(load*seen.most))
		return
	}
}

func (c *facts) foreignOnClient(cl runfile.ClientResult, s Summary) []string {
	w := windowOf(cl, windowBaseline, s.Repetition)
	if w == nil {
		return nil
	}
	seconds := w.End.Sub(w.Start).Seconds()
	if seconds <= 0 {
		return nil
	}
	var seen []string
	limit := max(foreignBytesPerSecond, s.Total.bytesPerSec*foreignShare/1000)
	for _, i := range w.Interfaces {
		if rate := float64(i.ReceivedBytes+i.SentBytes) / seconds; i.Name != "lo" && rate > limit {
			seen = append(seen, fmt.Sprintf("%s of client %d carried %s while idle", i.Name, cl.Index, human.Throughput(rate)))
		}
	}
	if atLeastPermille(w.NodeCPUPermille, foreignCPU) {
		seen = append(seen, fmt.Sprintf("the machine of client %d was %s busy while idle", cl.Index,
			permilleText(w.NodeCPUPermille)))
	}
	if cl.Index != c.result.Clients[0].Index {
		return seen // the storage's counters are the same for all clients
	}
	for _, st := range w.Storage {
		if rate, known := opsRate(st); known && rate > max(foreignOpsPerSecond, s.Total.iopsSec*foreignShare/1000) {
			seen = append(seen, fmt.Sprintf("storage %s did %.0f operations/s while idle", st.Source, rate))
		}
	}
	return seen
}

func opsRate(w runfile.StorageWindow) (float64, bool) {
	if w.Reset || w.Seconds <= 0 || w.ReadOps == nil || w.WriteOps == nil {
		return 0, false
	}
	return float64(*w.ReadOps+*w.WriteOps) / w.Seconds, true
}

func bytesRate(w runfile.StorageWindow) (float64, bool) {
	if w.ReadBytes == nil || w.WriteBytes == nil {
		return 0, false
	}
	return float64(*w.ReadBytes+*w.WriteBytes) / w.Seconds, true
}

// checkVariation compares what was repeated.
func checkVariation(c *facts, found *findings) {
	high := func(v *int32) bool { return v != nil && *v > variationHigh }
	const todo = "(coefficient of variation). Find what differs between them before you compare the numbers with " +
		"others."
	calibrate := c.result.Plan.Workload.Calibrate != nil
	if c.overall.Step == nil || calibrate || c.capacity != nil {
		what, n := "The throughput of %d repetitions varies by %s ", len(c.headline)
		switch {
		case calibrate:
			what = "The results of %d calibrations vary by %s "
		case c.capacity != nil:
			what, n = "The capacities of %d searches vary by %s ", len(rates(c.searches, 0))
		}
		if high(c.variation) {
			found.add(VariationHigh, bench.SeverityWarning, what+todo, n, permilleText(c.variation))
		}
		return
	}
	var varying []string
	for _, s := range c.steps {
		if v := variationOf(c.roundsOf(s.Kind, s.Users)); high(v) {
			varying = append(varying, level(s.Kind, s.Users)+" by "+permilleText(v))
		}
	}
	if len(varying) > 0 {
		found.add(VariationHigh, bench.SeverityWarning, "The throughput varies between rounds: %s "+todo, listed(varying))
	}
}

// databaseCores are the cores that the database can use at most; 0 = not known, or all of its
// machine. The editions with a limit use two (Oracle Database Licensing Information).
func databaseCores(r runfile.Result) float64 {
	if r.Plan.Database == nil {
		return 0
	}
	if m := r.Plan.Database.CPUMillis; m > 0 {
		return float64(m) / 1000
	}
	limited := regexp.MustCompile(`(?i)\bfree\b|express edition`)
	for _, cl := range r.Clients {
		if o := cl.Load.Oracle; o != nil && limited.MatchString(o.Banner) {
			return 2
		}
	}
	return 0
}

// databaseShare is how much of the cores that it can use a database used; nil = not known.
func databaseShare(p clientRep, cores float64) *int32 {
	used := databaseCPU(p)
	if used <= 0 || cores <= 0 {
		return nil
	}
	return permille(float64(used) / 1e6 / p.seconds / cores)
}

func coresText(cores float64) string {
	return strconv.FormatFloat(cores, 'f', -1, 64) + " cores"
}

func clientCPU(parts []clientRep, databaseCores float64) ClientCPU {
	var cpu ClientCPU
	for _, p := range parts {
		used := p.rep.CPUMicroseconds
		// The kernel's client works outside of the loader process, but inside
		// its cgroup for what it does in system calls: the larger is nearer.
		if p.window != nil && p.window.CgroupCPUMicroseconds != nil {
			used = max(used, *p.window.CgroupCPUMicroseconds)
		}
		used += databaseCPU(p)
		cpu.Millicores += int64(float64(used) / p.seconds / 1000)
		if limit := p.client.Host.CPULimit; limit != nil && *limit > 0 {
			own := float64(used-databaseCPU(p)) / 1e6
			cpu.BusiestLimitPermille = larger(cpu.BusiestLimitPermille, permille(own/p.seconds / *limit))
		}
		cpu.DatabaseLimitPermille = larger(cpu.DatabaseLimitPermille, databaseShare(p, databaseCores))
		cpu.BusiestNodePermille = larger(cpu.BusiestNodePermille, hostBusy(p))
		if p.window == nil {
			continue
		}
		cpu.BusiestNodePermille = larger(cpu.BusiestNodePermille, p.window.NodeCPUPermille)
		if t := p.window.CgroupThrottledMicros; t != nil {
			cpu.WorstThrottlePermille = larger(cpu.WorstThrottlePermille, permille(float64(*t)/1e6/p.seconds))
		}
	}
	return cpu
}

// machineCPU is the CPU time of the clients' machines above what they use while idle. Only the machine compares
// clients: with Direct NFS the process itself does RPC and TCP, with the kernel's client kernel threads
// do, which belong to no process and no container. It is not known for machines that somebody else
// uses, or that run an external database.
func (c *facts) machineCPU(parts []clientRep) (microseconds float64, known bool) {
	if d := c.result.Plan.Database; d != nil && d.Kind == runfile.DatabaseExternal {
		return 0, false
	}
	seen := map[string]bool{}
	for _, p := range parts {
		idle := baselineOf(p.client, p.rep)
		if p.window == nil || p.window.NodeCPUPermille == nil || idle == nil || idle.NodeCPUPermille == nil ||
			atLeastPermille(idle.NodeCPUPermille, foreignCPU) {
			return 0, false
		}
		if node := nodeOf(p.client); !seen[node] {
			seen[node] = true
			above := float64(max(0, *p.window.NodeCPUPermille-*idle.NodeCPUPermille)) / 1000
			microseconds += above * float64(p.client.Host.CPUs) * p.seconds * 1e6
		}
	}
	return microseconds, microseconds > 0
}

// databaseCPU returns the CPU time of the database processes in microseconds. It belongs to the
// load, like that of the loader.
func databaseCPU(p clientRep) int64 {
	if p.rep.Oracle == nil {
		return 0
	}
	return p.rep.Oracle.Statistics[statForegroundCPU] + p.rep.Oracle.Statistics[statBackgroundCPU]
}

// hostBusy is how busy the machines of the database were, as it says itself.
func hostBusy(p clientRep) *int32 {
	o := p.rep.Oracle
	if o == nil || o.BusyCentiseconds == nil || o.IdleCentiseconds == nil {
		return nil
	}
	busy, idle := float64(*o.BusyCentiseconds), float64(*o.IdleCentiseconds)
	if busy < 0 || idle < 0 || busy+idle == 0 {
		return nil
	}
	return permille(busy / (busy + idle))
}
