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
	if reason := c.limitedBy(LimitClientCPU); reason != "" {
		found.warn(ClientCPUBound, "%s The client and not the storage may limit the capacity: give it more CPU, or use "+
			"more clients.", reason)
		return
	}
	seen := c.busyClient(c.overall.ClientCPU)
	switch {
	case len(seen) == 0:
	case atLeastPermille(c.overall.WirePermille, wireSaturated):
		// The line is full, so the CPU did not limit the load.
		found.info(ClientCPUBound, "The line is full, but the client is almost at its limit: %s.", strings.Join(seen, ", "))
	default:
		found.warn(ClientCPUBound, "The client and not the storage may be the limit: %s. Give it more CPU, or use more "+
			"clients.", strings.Join(seen, ", "))
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
			strconv.FormatFloat(c.cores, 'f', -1, 64)+" cores that it can use at most")
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
	read := bench.OrZero(c.overall.Read).Bytes
	if c.overall.mount.known {
		checkPageCache(c.overall, found, int64(float64(read)*c.overall.mount.least))
		return // the counters prove it, in one way or the other
	}
	if c.Plan.Database != nil {
		return // the loader does not know what a database does with its mount
	}
	for _, cl := range c.Clients {
		set := c.workingSet() / int64(len(c.Clients))
		if mt := cl.Load.Mount; mt != nil && !mt.DirectIO && read > 0 && set < cl.Host.MemoryBytes {
			found.warn(CacheSuspected, "Client %d reads %s through its page cache of up to %s. Use direct I/O, or files "+
				"larger than its memory.", cl.Index, human.Bytes(set), human.Bytes(cl.Host.MemoryBytes))
			return
		}
	}
}

// checkPageCache compares the mount's counters with the load of the same time.
func checkPageCache(s *repetition, found *findings, read int64) {
	buffered := s.mount.NormalReadBytes + s.mount.NormalWriteBytes
	switch {
	case float64(s.mount.ServerReadBytes)*1000 < float64(read)*s.leastMoved():
		found.warn(CacheSuspected, "The load read %s and the server sent %s: the rest came from the client's page cache. "+
			"Use direct I/O, or files larger than the client's memory.", human.Bytes(read), human.Bytes(s.mount.ServerReadBytes))
	case float64(buffered)*1000 > float64(s.Total.Bytes)*(1000-clientCacheShare):
		found.warn(CacheSuspected, "%s of %s went through the client's page cache instead of direct I/O. Oracle does "+
			"direct I/O (filesystemio_options=setall); so must the benchmark.", human.Bytes(buffered),
			human.Bytes(s.Total.Bytes))
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
	set, read := c.workingSet(), c.everRead()
	reread := set > 0 && set <= smallWorkingSetBytes && read >= rereadFactor*set
	times := float64(read) / float64(set)
	p50 := s.Read.Latency.P50Microseconds
	switch {
	case reread && p50 < implausibleP50Micros:
		found.warn(CacheSuspected, "Half of the reads took less than %s and the files (%s) were read %.1f times over: "+
			"the storage's cache probably answered them. Use files larger than its cache.", human.Latency(p50+1),
			human.Bytes(set), times)
	case reread:
		found.info(CacheSuspected, "The files (%s) are small enough for the storage's cache and were read %.1f times "+
			"over. That is fine for measuring the network path; for its disks use files larger than its cache.",
			human.Bytes(set), times)
	}
}

// everRead is all that was read in the measured windows.
func (c *facts) everRead() (sum int64) {
	for _, s := range c.repetitions {
		sum += bench.OrZero(s.Read).Bytes
	}
	return sum
}

func checkTime(c *facts, found *findings) {
	seconds := float64(c.overall.DurationMilliseconds) / 1000
	if c.capacity != nil {
		seconds = c.searchSeconds() // a search keeps its levels as short as their percentiles allow
	}
	switch {
	case c.overall.isOf(runfile.StepCalibrate): // takes as long as Oracle wants
	case seconds < tooShortWarnSeconds:
		found.warn(TooShort, "Only %.0f s were measured. Bursts, caches and credits of the storage can falsify windows "+
			"below %d s. Use 60 s or more, 300 s for writes.", seconds, tooShortWarnSeconds)
	case seconds < tooShortInfoSeconds:
		found.info(TooShort, "%.0f s were measured. Use 60 s or more for numbers to compare, 300 s for writes.", seconds)
	}
	for _, s := range c.repetitions {
		// A calibration cannot be steady: it has loads of two kinds. Nor can a level above the capacity;
		// checkCapacity checks the levels below.
		if f := s.Steadiness; f.Known && !f.Steady && !s.isOf(runfile.StepCalibrate) && !s.isOf(runfile.StepRate) {
			found.warn(NotSteady, "Repetition %s was not steady: throughput deviated by %s from its mean and drifted by "+
				"%s%s; latency deviated by %s and drifted by %s%s. Use a longer warm-up, and look for what changed.", s.name(),
				permilleText(&f.DeviationPermille), permilleText(&f.DriftPermille), stepText(f.StepPermille),
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
	for _, cl := range c.Clients {
		for _, rep := range cl.Load.Repetitions {
			late += rep.LateOps
			dropped += rep.DroppedOps
			ops += bench.OrZero(rep.Read).Count + bench.OrZero(rep.Write).Count
		}
	}
	switch {
	case dropped > 0:
		found.fail(LateOperations, "%d operations were due and never started, %d started late, of %d: the storage or the "+
			"client cannot keep the pace. Lower operationsPerSecond, or raise depth and jobs.", dropped, late, ops+dropped)
	case late*1000 > ops*lateShare:
		found.warn(LateOperations, "%d of %d operations started after they were due. Latency includes the time that they "+
			"waited. Raise depth and jobs to keep the pace.", late, ops)
	}
}

// checkForeignLoad looks for others in the idle baseline before a repetition.
// Under load, what the storage moved beyond the clients is ArrayDisagrees.
func checkForeignLoad(c *facts, found *findings) {
	for _, s := range c.repetitions {
		var seen []string
		for _, cl := range c.Clients {
			seen = append(seen, c.foreignOnClient(cl, s)...)
		}
		if len(seen) > 0 {
			found.warn(ForeignLoad, "Repetition %s was not alone: %s. Run again when the machines are quiet.", s.name(),
				strings.Join(seen, ", "))
		}
	}
}

// checkForeignMount looks for more bytes on the kernel's mount than the load moved: other processes
// and pods of the machine share it. It compares direct I/O only, because a page cache reads ahead,
// and only our own loads, because a database has other files.
func checkForeignMount(c *facts, found *findings) {
	buffered := func(cl runfile.ClientResult) bool { return cl.Load.Mount == nil || !cl.Load.Mount.DirectIO }
	if !c.kernel() || c.Plan.Database != nil || slices.ContainsFunc(c.Clients, buffered) {
		return
	}
	for _, s := range c.repetitions {
		moved, load := s.mount.ServerReadBytes+s.mount.ServerWriteBytes, float64(s.Total.Bytes)
		// Within the time of the counters the load may have moved all of its bytes.
		tolerated := max(load*(mountForeign+s.edgePermille()), foreignBytesPerSecond*float64(s.DurationMilliseconds)) / 1000
		if !s.mount.known || float64(moved) <= load+tolerated {
			continue
		}
		found.warn(ForeignLoad, "In repetition %s the mount moved %s and the load only %s of that: something else on the "+
			"machine uses the same mount. Run again when nothing else does.", s.name(), human.Bytes(moved),
			human.Bytes(load*s.mount.most))
		return
	}
}

func (c *facts) foreignOnClient(cl runfile.ClientResult, s repetition) []string {
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
	if cl.Index != c.Clients[0].Index {
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
	calibrate := c.Plan.Workload.Calibrate != nil
	if c.overall.Step == nil || calibrate || c.capacity != nil {
		what, n := "The throughput of %d repetitions varies by %s ", len(c.headline)
		switch {
		case calibrate:
			what = "The results of %d calibrations vary by %s "
		case c.capacity != nil:
			what, n = "The capacities of %d searches vary by %s ", len(rates(c.searches, 0))
		}
		if high(c.variation) {
			found.warn(VariationHigh, what+todo, n, permilleText(c.variation))
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
		found.warn(VariationHigh, "The throughput varies between rounds: %s "+todo, listed(varying))
	}
}

// databaseCores are the cores that the database can use at most; 0 = not known, or all of its
// machine. The editions with a limit use two (Oracle Database Licensing Information).
func (c *facts) databaseCores() float64 {
	if c.Plan.Database == nil {
		return 0
	}
	if m := c.Plan.Database.CPUMillis; m > 0 {
		return float64(m) / 1000
	}
	limited := regexp.MustCompile(`(?i)\bfree\b|express edition`)
	if slices.ContainsFunc(c.oracles, func(o runfile.Oracle) bool { return limited.MatchString(o.Banner) }) {
		return 2
	}
	return 0
}

func (c *facts) clientCPU(s repetition) ClientCPU {
	var cpu ClientCPU
	for _, p := range s.parts {
		loader, database, w := p.rep.CPUMicroseconds, databaseCPU(p), bench.OrZero(p.window)
		// The kernel's client works outside of the loader process, but inside
		// its cgroup for what it does in system calls: the larger is nearer.
		loader = max(loader, bench.OrZero(w.CgroupCPUMicroseconds))
		cpu.Millicores += int64(float64(loader+database) / p.seconds / 1000)
		if limit := bench.OrZero(p.client.Host.CPULimit); limit > 0 {
			cpu.BusiestLimitPermille = larger(cpu.BusiestLimitPermille, permille(float64(loader)/1e6/p.seconds/limit))
		}
		if database > 0 && c.cores > 0 {
			cpu.DatabaseLimitPermille = larger(cpu.DatabaseLimitPermille, permille(float64(database)/1e6/p.seconds/c.cores))
		}
		cpu.BusiestNodePermille = larger(larger(cpu.BusiestNodePermille, hostBusy(p)), w.NodeCPUPermille)
		if t := w.CgroupThrottledMicros; t != nil {
			cpu.WorstThrottlePermille = larger(cpu.WorstThrottlePermille, permille(float64(*t)/1e6/p.seconds))
		}
	}
	cpu.CeilingPerSecond = ceilingOf(s.parts)
	used, above := c.machineCPU(s.parts)
	cpu.AboveIdlePermille = above
	if used > 0 && s.Total.Bytes > 0 {
		cpu.MicrosecondsPerMiB = rounded(used / (float64(s.Total.Bytes) / mebibyte))
	}
	return cpu
}

// ceilingOf is nil unless all clients know what they can do.
func ceilingOf(parts []clientRep) *int64 {
	sum := int64(0)
	for _, p := range parts {
		most := p.client.Load.CeilingPerSecond
		if most == nil {
			return nil
		}
		sum += *most
	}
	return &sum
}

// machineCPU is the CPU time, in microseconds, of the clients' machines above what they use while idle, and the largest
// share of a machine above that of its idle baseline. Only the machine compares clients: with Direct NFS the process
// itself does RPC and TCP, with the kernel's client kernel threads do, which belong to no process and no container.
// Neither is known (0 and nil) for machines that somebody else uses, or that run an external database.
func (c *facts) machineCPU(parts []clientRep) (microseconds float64, busiest *int32) {
	if c.external() {
		return 0, nil
	}
	seen := map[string]bool{}
	for _, p := range parts {
		under, idle := bench.OrZero(p.window), bench.OrZero(baselineOf(p.client, p.rep))
		if under.NodeCPUPermille == nil || idle.NodeCPUPermille == nil || atLeastPermille(idle.NodeCPUPermille, foreignCPU) {
			return 0, nil
		}
		if node := nodeOf(p.client); !seen[node] {
			seen[node] = true
			microseconds += max(0, busyCPUs(under)-busyCPUs(idle)) * p.seconds * 1e6
			busiest = larger(busiest, new(max(0, *under.NodeCPUPermille-*idle.NodeCPUPermille)))
		}
	}
	return microseconds, busiest
}

// busyCPUs is how many CPUs of a machine were busy on average. A share of all in permille would be too coarse for a
// machine with many.
func busyCPUs(w runfile.ObservedWindow) float64 {
	return float64(bench.OrZero(w.NodeBusyMicroseconds)) / 1e6 / max(w.End.Sub(w.Start).Seconds(), 1e-3)
}

// databaseCPU returns the CPU time of the database processes in microseconds. It belongs to the
// load, like that of the loader.
func databaseCPU(p clientRep) int64 {
	statistics := bench.OrZero(p.rep.Oracle).Statistics
	return statistics[statForegroundCPU] + statistics[statBackgroundCPU]
}

// hostBusy is how busy the machines of the database were, as it says itself.
func hostBusy(p clientRep) *int32 {
	o := bench.OrZero(p.rep.Oracle)
	return busyShare(o.BusyCentiseconds, o.IdleCentiseconds)
}

// busyShare is nil for times that are not known.
func busyShare(busyCentiseconds, idleCentiseconds *int64) *int32 {
	if busyCentiseconds == nil || idleCentiseconds == nil {
		return nil
	}
	busy, idle := float64(*busyCentiseconds), float64(*idleCentiseconds)
	if busy < 0 || idle < 0 || busy+idle == 0 {
		return nil
	}
	return permille(busy / (busy + idle))
}
