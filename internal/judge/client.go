package judge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

func checkClientCPU(c *facts, found *findings) {
	if reason := c.limitedBy(measure.LimitClientCPU); reason != "" {
		found.warn(ClientCPUBound, "%s The client and not the storage may limit the capacity: give it more CPU, or use "+
			"more clients.", reason)
		return
	}
	seen := c.busyClient(c.Overall.ClientCPU)
	switch {
	case len(seen) == 0:
	case c.lineFull():
		// The line is full, so the CPU did not limit the load.
		found.info(ClientCPUBound, "The line is full, but the client is almost at its limit: %s.", strings.Join(seen, ", "))
	default:
		found.warn(ClientCPUBound, "The client and not the storage may be the limit: %s. Give it more CPU, or use more "+
			"clients.", strings.Join(seen, ", "))
	}
}

// busyClient returns the client CPUs that are used up.
func (c *facts) busyClient(cpu measure.ClientCPU) []string {
	var seen []string
	if measure.AtLeastPermille(cpu.BusiestNodePermille, cpuBusy) {
		seen = append(seen, "the CPUs of a client machine were "+permilleText(cpu.BusiestNodePermille)+" busy")
	}
	if measure.AtLeastPermille(cpu.BusiestLimitPermille, cpuBusy) {
		seen = append(seen, "a loader used "+permilleText(cpu.BusiestLimitPermille)+" of its CPU limit")
	}
	if measure.AtLeastPermille(cpu.DatabaseLimitPermille, cpuBusy) {
		seen = append(seen, "the database used "+permilleText(cpu.DatabaseLimitPermille)+" of the "+
			strconv.FormatFloat(c.Cores, 'f', -1, 64)+" cores that it can use at most")
	}
	if measure.AtLeastPermille(cpu.WorstThrottlePermille, throttled) {
		seen = append(seen, "a loader was throttled for "+permilleText(cpu.WorstThrottlePermille)+" of the time")
	}
	return seen
}

// checkClientCache looks for reads that the client's cache answered.
func checkClientCache(c *facts, found *findings) {
	if !c.Kernel() {
		return // the user-space client has no cache
	}
	read := bench.OrZero(c.Overall.Read).Bytes
	if c.Overall.Mount.Known {
		checkPageCache(c.Overall, found, int64(float64(read)*c.Overall.Mount.Least))
		return // the counters decide
	}
	if c.engine.database {
		return // the loader does not know what a database does with its mount
	}
	for _, cl := range c.Clients {
		set := c.WorkingSet() / int64(len(c.Clients))
		if mt := cl.Mount; mt != nil && !mt.DirectIO && read > 0 && set < cl.Host.MemoryBytes {
			found.warn(CacheSuspected, "Client %d reads %s through its page cache of up to %s. Use direct I/O, or files "+
				"larger than its memory.", cl.Index, human.Bytes(set), human.Bytes(cl.Host.MemoryBytes))
			return
		}
	}
}

// checkPageCache compares the mount's counters with the load of the same time.
func checkPageCache(s *measure.RepetitionFacts, found *findings, read int64) {
	buffered := s.Mount.NormalReadBytes + s.Mount.NormalWriteBytes
	switch {
	case float64(s.Mount.ServerReadBytes)*1000 < float64(read)*leastMoved(*s):
		found.warn(CacheSuspected, "The load read %s and the server sent %s: the rest came from the client's page cache. "+
			"Use direct I/O, or files larger than the client's memory.", human.Bytes(read), human.Bytes(s.Mount.ServerReadBytes))
	case float64(buffered)*1000 > float64(s.Total.Bytes)*(1000-clientCacheShare):
		found.warn(CacheSuspected, "%s of %s went through the client's page cache instead of direct I/O. Oracle does "+
			"direct I/O (filesystemio_options=setall); so must the benchmark.", human.Bytes(buffered),
			human.Bytes(s.Total.Bytes))
	}
}

// checkServerCache looks for signs of a storage cache, which cannot be observed
// from here. A small working set that was read repeatedly could have been
// served by a cache; a latency below that of any disk shows that it was.
func checkServerCache(c *facts, found *findings) {
	s := c.Overall
	if s.Read == nil || s.Read.Latency == nil || s.Read.Latency.MeanOnly {
		return
	}
	set, read := c.WorkingSet(), c.EverRead()
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

func checkTime(c *facts, found *findings) {
	seconds := float64(c.Overall.DurationMilliseconds) / 1000
	if c.Capacity != nil {
		seconds = c.SearchSeconds() // a search limits its levels to the length that their percentiles need
	}
	switch {
	case c.Overall.IsOf(runfile.StepCalibrate): // Oracle determines its duration
	case seconds < tooShortWarnSeconds:
		found.warn(TooShort, "Only %.0f s were measured. Bursts, caches and credits of the storage can falsify windows "+
			"below %d s. Use 60 s or more, 300 s for writes.", seconds, tooShortWarnSeconds)
	case seconds < tooShortInfoSeconds:
		found.info(TooShort, "%.0f s were measured. Use 60 s or more for numbers to compare, 300 s for writes.", seconds)
	}
	for _, s := range c.Repetitions {
		// A calibration cannot be steady: it has loads of two kinds. A level above the capacity cannot be steady either;
		// checkCapacity checks the levels below.
		if f := s.Steadiness; f.Known && !f.Steady && !s.IsOf(runfile.StepCalibrate) && !s.IsOf(runfile.StepRate) {
			found.warn(NotSteady, "Repetition %s was not steady: throughput deviated by %s from its mean and drifted by "+
				"%s%s; latency deviated by %s and drifted by %s%s. Use a longer warm-up, and look for what changed.",
				repetitionName(s.Summary), permilleText(&f.DeviationPermille), permilleText(&f.DriftPermille),
				stepText(f.StepPermille),
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
	if c.Capacity != nil {
		return // a search exceeds the possible rate on purpose
	}
	switch ops, late, dropped := c.Pace(); {
	case dropped > 0:
		found.fail(LateOperations, "%d operations were due and never started, %d started late, of %d: the storage or the "+
			"client cannot keep the pace. Lower operationsPerSecond, or raise depth and jobs.", dropped, late, ops+dropped)
	case late*1000 > ops*lateShare:
		found.warn(LateOperations, "%d of %d operations started after they were due. Latency includes the time that they "+
			"waited. Raise depth and jobs to keep the pace.", late, ops)
	}
}

// checkForeignLoad looks for other load in the idle baseline before a
// repetition, or, without one, for CPU that the load did not use. Under load, ArrayDisagrees reports what the storage
// moved beyond the clients.
func checkForeignLoad(c *facts, found *findings) {
	if c.Capacity == nil && !c.lineFull() && c.busyBesideLoad() && c.idleIsUnknown() { // a search says what limits it
		cpu := c.Overall.ClientCPU
		found.warn(ForeignLoad, "The CPUs of a client machine were %s busy, and the load used %.2f cores: something else "+
			"used the others, such as a server on the same machine. Run again when it is quiet, or with an idle baseline "+
			"(run.baselineSeconds; --baseline), which shows it.", permilleText(cpu.BusiestNodePermille),
			float64(cpu.Millicores)/1000)
	}
	for _, s := range c.Repetitions {
		var seen []string
		for _, idle := range c.IdleBefore(s.Repetition) {
			seen = append(seen, foreignIn(idle, s.Total)...)
		}
		if len(seen) > 0 {
			found.warn(ForeignLoad, "Repetition %s was not alone: %s. Run again when the machines are quiet.",
				repetitionName(s.Summary), strings.Join(seen, ", "))
		}
	}
}

// checkForeignMount looks for more bytes on the kernel's mount than the load moved: other processes
// and pods of the machine share it. It compares direct I/O only, because a page cache reads ahead,
// and only our own loads, because a database has other files.
func checkForeignMount(c *facts, found *findings) {
	buffered := func(cl measure.Client) bool { return cl.Mount == nil || !cl.Mount.DirectIO }
	if !c.Kernel() || c.engine.database || slices.ContainsFunc(c.Clients, buffered) {
		return
	}
	for _, s := range c.Repetitions {
		moved, load := s.Mount.ServerReadBytes+s.Mount.ServerWriteBytes, float64(s.Total.Bytes)
		// Within the time of the counters the load may have moved all of its bytes.
		tolerated := max(load*(mountForeign+edgePermille(s.Summary)),
			foreignBytesPerSecond*float64(s.DurationMilliseconds)) / 1000
		if !s.Mount.Known || float64(moved) <= load+tolerated {
			continue
		}
		found.warn(ForeignLoad, "In repetition %s the mount moved %s and the load only %s of that: something else on the "+
			"machine uses the same mount. Run again when nothing else does.", repetitionName(s.Summary), human.Bytes(moved),
			human.Bytes(load*s.Mount.Most))
		return
	}
}

// foreignIn returns the values of an idle baseline that are large compared with the load.
func foreignIn(w measure.Idle, load measure.Direction) (seen []string) {
	limit := max(foreignBytesPerSecond, load.ByteRate*foreignShare/1000)
	for _, i := range w.Interfaces {
		if rate := float64(i.ReceivedBytes+i.SentBytes) / w.Seconds; i.Name != "lo" && rate > limit {
			seen = append(seen, fmt.Sprintf("%s of client %d carried %s while idle", i.Name, w.Client, human.Throughput(rate)))
		}
	}
	if measure.AtLeastPermille(w.NodeCPUPermille, measure.ForeignCPU) {
		seen = append(seen, fmt.Sprintf("the machine of client %d was %s busy while idle", w.Client,
			permilleText(w.NodeCPUPermille)))
	}
	for _, st := range w.Storage {
		rate, known := measure.OpsRate(st)
		if known && rate > max(foreignOpsPerSecond, load.OperationRate*foreignShare/1000) {
			seen = append(seen, fmt.Sprintf("storage %s did %.0f operations/s while idle", st.Source, rate))
		}
	}
	return seen
}

// checkVariation compares the repetitions.
func checkVariation(c *facts, found *findings) {
	high := func(v *int32) bool { return v != nil && *v > variationHigh }
	const todo = "(coefficient of variation). Find what differs between them before you compare the numbers with " +
		"others."
	calibrate := c.Plan.Workload.Calibrate != nil
	if c.Overall.Step == nil || calibrate || c.Capacity != nil {
		what, n := "The throughput of %d repetitions varies by %s ", len(c.Headline)
		switch {
		case calibrate:
			what = "The results of %d calibrations vary by %s "
		case c.Capacity != nil:
			what, n = "The capacities of %d searches vary by %s ", len(measure.RatesReached(c.Searches, 0))
		}
		if high(c.Variation) {
			found.warn(VariationHigh, what+todo, n, permilleText(c.Variation))
		}
		return
	}
	var varying []string
	for _, s := range c.Steps {
		if v := measure.VariationOf(c.RoundsOf(s.Kind, s.Users)); high(v) {
			varying = append(varying, level(s.Kind, s.Users)+" by "+permilleText(v))
		}
	}
	if len(varying) > 0 {
		found.warn(VariationHigh, "The throughput varies between rounds: %s "+todo, listed(varying))
	}
}
