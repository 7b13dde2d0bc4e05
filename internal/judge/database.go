package judge

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkDirectNFS reports why Direct NFS did not carry the load: Oracle fell
// back to the kernel without a message, or the loader found the reason before.
func checkDirectNFS(c *facts, found *findings) {
	if !bench.OrZero(c.Plan.Database).DirectNFS {
		return
	}
	codes := []string{runfile.FailureDirectNFSInactive, runfile.FailureDirectNFSMissing, runfile.FailureOradism}
	for _, cl := range c.Clients {
		if f := cl.Failure; f != nil && slices.Contains(codes, f.Code) {
			found.fail(DNFSNotActive, "%s", f.Message)
			return
		}
	}
	if share, known := c.AccessShare(measure.MethodDirectNFS); known && share < protocolShare {
		found.fail(DNFSNotActive, "Direct NFS is declared, and %s of the reads of data files used %s: Oracle fell back "+
			"without a message. %s", human.Share(1000-share), c.OtherMethods(measure.MethodDirectNFS), c.whyInactive())
	}
}

// whyInactive returns the likely reasons, from the container of the database.
func (c *facts) whyInactive() string {
	var why []string
	for _, o := range c.Oracles {
		l := o.Library
		if l == nil {
			continue
		}
		if l.Path == "" {
			why = append(why, "libnfsodm is not in rdbms/lib/odm")
		}
		if l.OradismMode != "" && !strings.Contains(l.OradismMode, "s") {
			why = append(why, "bin/oradism is not setuid ("+l.OradismMode+")")
		}
		if l.OradismOwner != nil && *l.OradismOwner != 0 {
			why = append(why, fmt.Sprintf("bin/oradism belongs to user %d and not to root", *l.OradismOwner))
		}
		for _, w := range l.Warnings {
			why = append(why, "the alert log says: "+w)
		}
	}
	if len(why) == 0 {
		return "Look for Direct NFS in the alert log, and compare export and mount in the oranfstab with the mount of the " +
			"kernel."
	}
	return "Most likely: " + listed(why) + "."
}

// checkOranfstab reports an oranfstab that Oracle did not use. Without one Oracle finds mounts by itself, with one
// path and NFSv3.
func checkOranfstab(c *facts, found *findings) {
	label := c.Plan.Engine.Server
	if !c.Plan.Database.DirectNFS || label == "" || len(c.Database.Servers) == 0 {
		return
	}
	byInstance := map[int32][]string{}
	for _, row := range c.Database.Servers {
		byInstance[row.Instance] = measure.WithNew(byInstance[row.Instance], row.Server)
	}
	var other []string
	for _, instance := range slices.Sorted(maps.Keys(byInstance)) {
		names := byInstance[instance]
		switch {
		case slices.Contains(names, label):
		case len(byInstance) > 1:
			other = append(other, fmt.Sprintf("%s (instance %d)", listed(names), instance))
		default:
			other = append(other, listed(names))
		}
	}
	if len(other) == 0 {
		return
	}
	found.warn(OranfstabNotUsed, "The oranfstab calls the server %s and V$DNFS_SERVERS %s: Oracle did not use it, and "+
		"found the mount by itself, with one path. Check the file's syntax and place (/etc/oranfstab), and that its "+
		"export and mount are those of the kernel; then restart the instance.", label, listed(other))
}

// checkTrunking reports several paths with NFSv4. According to NetApp, Oracle's client uses one path per
// export with NFSv4.1, because the server does not trunk.
func checkTrunking(c *facts, found *findings) {
	version := c.Plan.Engine.NFSVersion
	if n := len(c.Declared); c.Plan.Database.DirectNFS && n > 1 && version != bench.NFSv3 && version != "" {
		found.warn(MultiplePathsOnNFSv4, "The oranfstab has %d paths with %s, and Oracle's client spreads over several "+
			"with NFSv3 only (NetApp: no client ID trunking). Use NFSv3, or one path.", n, version)
	}
}

// checkTimeUnit reports service times that cannot be used.
func checkTimeUnit(c *facts, found *findings) {
	for _, w := range c.Overall.Databases {
		if w.ServiceTimeUnit == "" && len(measure.DataFiles(w)) > 0 {
			found.info(NotCollected, "The unit of the times in V$IOSTAT_FILE is unknown, so they are omitted.")
		}
	}
}

// checkServiceTime looks for impossible service times: pNFS of Oracle 12.2
// reports 19 µs for reads that take 350.
func checkServiceTime(c *facts, found *findings) {
	for _, w := range c.Overall.Databases {
		count, micros := measure.SmallReads(w)
		if count < latencyWaits {
			continue
		}
		mean := micros / float64(count)
		if why := c.implausible(w, mean); why != "" {
			hint := "Do not use it; use the latency that the array reports."
			if c.IsPNFS() {
				hint = "Oracle 12.2 is known to count wrongly with pNFS: its number of reads is right, but use the latency " +
					"that the array reports."
			}
			found.warn(SuspectLatency, "V$IOSTAT_FILE says %s for a single-block read, but %s. %s", human.Latency(mean),
				why, hint)
			return
		}
	}
}

// implausible returns why a mean in microseconds cannot be right; empty if it can.
func (c *facts) implausible(w runfile.OracleWindow, mean float64) string {
	below := func(other float64) bool { return mean*1000 < other*latencyAgrees }
	waits, us := measure.EventOf(w, measure.EventSequentialRead)
	if took := float64(us) / float64(waits); waits >= latencyWaits && below(took) {
		return fmt.Sprintf("%s took %s in V$SYSTEM_EVENT", measure.EventSequentialRead, human.Latency(took))
	}
	// The storage's mean covers all reads, so it is comparable only if all reads are small.
	if array := c.Overall.Storage.MeanLatencyMicroseconds; array != nil && c.RandomReads() && below(float64(*array)) {
		return "the storage itself took " + human.Latency(*array)
	}
	if o := w.Calibration; o != nil && o.MaxIOPS > 0 && float64(o.MaxIOPS)*mean < 1e6 {
		return fmt.Sprintf("with %d IOPS that is only %.1f reads at a time, and CALIBRATE_IO always has one", o.MaxIOPS,
			float64(o.MaxIOPS)*mean/1e6)
	}
	if mean < roundTripMicros {
		return "no read over a network takes so little"
	}
	return ""
}

// checkBatches reports random reads in batches: a wait for a batch is not the latency of a read, and the reads
// outside of batches are only a part of the load.
//
// Oracle does not count the blocks of batches. The estimate is the number of blocks that were read into the buffer
// cache without a wait of their own, limited by the capacity of the batches. Without waits for batches it is zero.
func checkBatches(c *facts, found *findings) {
	if !c.RandomReads() {
		return
	}
	for _, rep := range c.Repetitions {
		for _, w := range rep.Databases {
			single, _ := measure.EventOf(w, measure.EventSequentialRead)
			batches, _ := measure.EventOf(w, measure.EventParallelRead)
			blocks := min(max(w.Statistics[measure.StatReadsCache]-single, batches*leastBatch), batches*mostBatch)
			if float64(blocks)*1000 <= float64(single+blocks)*batchedShare {
				continue
			}
			hint := "Leave _db_block_prefetch_limit, _db_block_prefetch_quota and _db_file_noncontig_mblock_read_count at 0 " +
				"in database.container.parameters."
			if c.Plan.Database.Kind == runfile.DatabaseExternal {
				hint = "Set _db_block_prefetch_limit, _db_block_prefetch_quota and _db_file_noncontig_mblock_read_count to 0 in " +
					"this database while it is measured, as SLOB's documents do, or use the latency that the array reports."
			}
			if names := c.refusedDefaults(); len(names) > 0 {
				hint = fmt.Sprintf("This release does not take %s = 0: use the latency that the array reports.", listed(names))
			}
			found.warn(BatchedReads, "In repetition %s about %.1f %% of the blocks were read in batches (%d waits for %s, "+
				"%d for %s): the latency is that of the other blocks only. %s", repetitionName(rep.Summary),
				float64(blocks)/float64(single+blocks)*100, batches, measure.EventParallelRead, single,
				measure.EventSequentialRead, hint)
			return
		}
	}
}

// refusedDefaults returns the refused parameters that would have prevented batches.
func (c *facts) refusedDefaults() (names []string) {
	for _, o := range c.Oracles {
		for _, p := range o.Parameters {
			if p.IsRefusedDefault() {
				names = measure.WithNew(names, p.Name)
			}
		}
	}
	return names
}

// checkScan reports scans through the buffer cache, which read less, and in smaller pieces.
func checkScan(c *facts, found *findings) {
	if bench.OrZero(c.Plan.Workload.SLOB).Access != bench.SLOBFullTableScan {
		return
	}
	for _, rep := range c.Repetitions {
		for _, w := range rep.Databases {
			all, direct := w.Statistics[measure.StatReads], w.Statistics[measure.StatReadsDirect]
			if all <= 0 || float64(direct)*1000 >= float64(all)*directShare {
				continue
			}
			scattered, _ := measure.EventOf(w, measure.EventScatteredRead)
			past, _ := measure.EventOf(w, measure.EventDirectRead)
			found.warn(BufferedScan, "In repetition %s %.1f %% of the blocks were read past the buffer cache (%s), so this "+
				"is not a full scan of the storage; waits: %s %d, %s %d. Make scanTableSize larger than the buffer cache, or "+
				"the cache smaller (db_cache_size).", repetitionName(rep.Summary), float64(direct)/float64(all)*100,
				measure.StatReadsDirect, measure.EventDirectRead, past, measure.EventScatteredRead, scattered)
			return
		}
	}
}

// fewScans is the number of scans per session from which the scans at the ends of a window hardly matter.
const fewScans = 10

// checkStatements reports a window in which each session ended few scans: statistics that Oracle counts at the end of
// a call then belong to other times.
func checkStatements(c *facts, found *findings) {
	s := c.Plan.Workload.SLOB
	if s == nil || s.Access != bench.SLOBFullTableScan || s.Kit != nil || s.TableBytes() <= 0 {
		return
	}
	users, _ := c.Outstanding()
	scans := float64(c.Overall.Total.Bytes) / float64(s.TableBytes()) / float64(max(users, 1))
	if scans >= fewScans {
		return
	}
	found.info(FewStatements,
		"Each session read its table %.1f times in the window. Oracle counts some statistics when a call ends (CPU used by "+
			"this session, and the times of a statement in AWR), so much of them belongs to scans that began before the window "+
			"or ended after it. The numbers here are counted while a call runs. Before you compare them with such statistics, "+
			"make run.durationSeconds larger or scanTableSize smaller.", scans)
}

// checkBufferCache reports random reads that the buffer cache answered: a table
// that fits the cache hardly loads the storage. An update also reads a block
// more than once, and reads undo.
func checkBufferCache(c *facts, found *findings) {
	if !c.RandomReads() {
		return
	}
	s, limit := c.Plan.Workload.SLOB, float64(storageReadShare)
	if s.UpdatePercent > 0 {
		limit = storageUpdateShare
	}
	rows := float64(max(s.WorkUnit, 1))
	limit *= rows / (rows + indexBlocks)
	for _, rep := range c.Repetitions {
		for _, w := range rep.Databases {
			logical, known := w.Statistics[measure.StatLogicalReads]
			physical, counted := w.Statistics[measure.StatReads]
			if !known || !counted || logical <= 0 || float64(physical)*1000 >= float64(logical)*limit {
				continue
			}
			found.warn(CacheSuspected, "In repetition %s only %.1f %% of the blocks that sessions read came from storage "+
				"(%s %d of %s %d): the rest came from the buffer cache. Make scale larger than the buffer cache, or the cache "+
				"smaller (db_cache_size, with an sga_target that leaves no room for more).", repetitionName(rep.Summary),
				float64(physical)/float64(logical)*100, measure.StatReads, physical, measure.StatLogicalReads, logical)
			return
		}
	}
}

// checkParameters compares init parameters with the requested values.
func checkParameters(c *facts, found *findings) {
	var differ []string
	for _, o := range c.Oracles {
		for _, p := range o.Parameters {
			if p.Requested != "" && !p.AsRequested() && !p.IsRefusedDefault() {
				differ = append(differ, fmt.Sprintf("%s is %s (asked for: %s)", p.Name, cmp.Or(p.Value, "empty"), p.Requested))
			}
		}
	}
	if len(differ) > 0 {
		found.warn(ParameterDiffers, "Init parameters are not as declared: %s. Oracle rounds some values, and limits "+
			"others by edition and memory. Declare values that it supports.", listed(differ))
	}
}

// checkInstances compares the bytes that the instances of a RAC read.
func checkInstances(c *facts, found *findings) {
	sums, total := map[string]float64{}, 0.0
	for _, o := range c.Oracles {
		for _, i := range o.Instances {
			sums[i.Name] = 0
		}
	}
	for _, w := range c.Databases {
		for name, bytes := range w.InstanceBytes {
			sums[name] += float64(bytes)
			total += float64(bytes)
		}
	}
	if len(sums) < 2 || total <= 0 {
		return
	}
	equal, uneven, lines := total/float64(len(sums)), false, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		uneven = uneven || math.Abs(sums[name]-equal)*1000 > equal*instanceUneven
		lines = append(lines, fmt.Sprintf("%s %.1f %%", name, sums[name]/total*100))
	}
	if uneven {
		found.warn(RACImbalance, "The instances did not read alike: %s. Use one service for each instance "+
			"(database.external.services), and a number of schemas that is a multiple of theirs.", strings.Join(lines, ", "))
	}
}
