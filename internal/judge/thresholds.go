package judge

import (
	"github.com/nfsbench/nfsbench/internal/stats"
)

// The thresholds of all findings. docs/findings.md gives the reason for each.
// Shares are permille unless the name says otherwise.
const (
	wireGood      = 850  // seed of all this: 100 MB/s of GbE's 117.6 is the least that a hasty set-up gives
	wireSaturated = 950  // above, the link and not the storage was measured
	wireExceeded  = 1020 // above, the declared link cannot be right

	pathIdle   = 10  // share of an equal share below which a path counts as unused
	pathUneven = 200 // distance from an equal share, as a share of it
	// A path that was away for less is one that only connected anew.
	channelLostMilliseconds = 100
	channelLostShare        = 10  // of the window: what is lost is as much as two runs differ by
	layoutFallbackShare     = 10  // of the bytes of a repetition, through the metadata server
	cpuBusy                 = 900 // of a machine, of a limit, of a storage node
	throttled               = 50  // of the window
	retransmitRate          = 1   // segments per 1000 segments of payload

	foreignBytesPerSecond = 1_000_000 // in the idle baseline, or 1 % of the load if that is more
	foreignOpsPerSecond   = 20
	foreignShare          = 10 // permille of the load
	foreignCPU            = 250
	// The storage's bytes and the clients' may differ by this much, for their
	// windows do; beyond, others used the volume, or a cache answered.
	arrayTolerance = 100
	cpuRise        = 50  // of a node that only passes on: what idle nodes do by themselves
	lifAll         = 950 // of the bytes of all LIFs, on one
	qosReached     = 950 // of a ceiling
	scrapedSeconds = 300 // a Prometheus of Harvest scrapes every 60 s
	// An array averages latency badly over fewer operations.
	latencyOps = 10

	clientCacheShare      = 950 // server bytes below this share of the bytes read: the rest came from a cache
	smallWorkingSetBytes  = 16 << 30
	implausibleP50Micros  = 200
	rereadFactor          = 2
	protocolShare         = 990 // bytes on the declared channel or mount / bytes of the load
	edgeMilliseconds      = 200 // by which counters and load may disagree on a window, both ends together
	tooShortWarnSeconds   = 30
	tooShortInfoSeconds   = 60
	variationHigh         = 100
	lateShare             = 10
	overlapGood           = 900
	smallBlockBytes       = 256 << 10
	fewOutstandingPerPath = 4

	dnfsBytesShare = 900 // of the bytes of the database, in V$DNFS_STATS: below, processes have ended
	mountFlat      = 50  // of the load, on a mount that should be idle: trace files, and others' reads
	mountCarried   = 500 // beyond, the mount and not Direct NFS carried the load
	coldShare      = 900 // of the later runs: slower, the first was made with cold caches
	// Of the blocks of random reads, those that were read in batches: above this share, the
	// latency of db file sequential read is not that of the load. A batch has 2 to 128 blocks.
	batchedShare = 20
	leastBatch   = 2
	mostBatch    = 128
	directShare  = 900 // of the blocks of a full scan, read past the buffer cache
	// Of the rows' blocks that sessions looked at, read from storage: below, the
	// buffer cache answered. It has the index in any case, a few blocks for a range.
	storageReadShare   = 500
	storageUpdateShare = 100
	indexBlocks        = 4
	// Of fs.aio-max-nr: a process asks for some hundred at once, and gets all or none.
	asyncUsed = 950
	// Of the wait time of sessions, the part that is not for storage: a smaller part changes
	// the throughput less than two runs differ.
	waitsElsewhere = 100
	instanceUneven = 200 // distance from an equal share of RAC instances, as a share of it
	// No read over a network and TCP takes less; Oracle 12.2 says 19 to 24 of pNFS.
	roundTripMicros = 30
	// A mean of V$IOSTAT_FILE below this share of another that measures the same
	// or less is wrong.
	latencyAgrees = 500
	latencyWaits  = 100 // waits of an event that make a mean
)

// steadyThroughput and steadyLatency are the limits of NotSteady. Latency may
// move more: in a closed loop it mirrors the throughput, and its noise is larger.
func steadyThroughput() stats.SteadyLimits {
	return stats.SteadyLimits{MaxDeviation: 0.10, MaxDrift: 0.10}
}

func steadyLatency() stats.SteadyLimits {
	return stats.SteadyLimits{MaxDeviation: 0.25, MaxDrift: 0.25}
}
