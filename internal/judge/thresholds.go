package judge

import (
	"time"

	"github.com/nfsbench/nfsbench/internal/capacity"
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
	mountForeign          = 50 // permille of the load: what a mount moved beyond it
	// The storage's bytes and the clients' may differ by this much, for their
	// windows do; beyond, others used the volume, or a cache answered.
	arrayTolerance = 100
	// The same where the samples of the clients are of the seconds that the storage counted:
	// without anybody else the two differed by 1 permille, and by up to 20 on a machine without
	// a free processor. On top comes foreignShare of both directions, or this many bytes per
	// second, for what an array does by itself.
	sampledTolerance  = 30
	ownBytesPerSecond = 20_000
	// The samples may miss this much of the load. Each end of the window may be elsewhere by as
	// much as the stamp of an ONTAP tells, whole seconds; in a short window that is too much.
	sampledMissing = 10
	stampError     = time.Second
	sampledLeast   = 30 * time.Second

	cpuRise        = 50  // of a node that only passes on: what idle nodes do by themselves
	lifAll         = 950 // of the bytes of all LIFs, on one
	qosReached     = 950 // of a ceiling
	scrapedSeconds = 300 // a Prometheus of Harvest scrapes every 60 s
	// An array averages latency badly over fewer operations.
	latencyOps = 10

	clientCacheShare     = 950 // server bytes below this share of the bytes read: the rest came from a cache
	smallWorkingSetBytes = 16 << 30
	implausibleP50Micros = 200
	rereadFactor         = 2
	protocolShare        = 990 // bytes on the declared channel or mount / bytes of the load
	edgeMilliseconds     = 200 // by which counters and load may disagree on a window, both ends together
	mostEdge             = 0.5 // of a window, by which they may disagree because the loader waited for a processor
	tooShortWarnSeconds  = 30
	tooShortInfoSeconds  = 60
	variationHigh        = 100
	lateShare            = 10
	overlapGood          = 900
	// A closed loop hides stalls from p99 that take this much of the time: p99 of an open
	// loop has what takes 1 % of it. Then that p99 is this many permille of the closed loop's.
	stalledShare          = 10
	omissionFactor        = 1500
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
	// Of the wait time of sessions, the part that is not for storage: the throughput is lower by
	// as much.
	waitsElsewhere = 50
	// Of the same, a single wait that slow storage causes in part.
	waitsPerhapsElsewhere = 100
	// Of the time of all users together, the waits of sessions: above, others wait, too. Users
	// alone have 1000 at most, and what was under way at the ends of the window.
	usersWait      = 1030
	othersWait     = 10  // 1/othersWait of the window: sessions of the database's own
	instanceUneven = 200 // distance from an equal share of RAC instances, as a share of it
	// No read over a network and TCP takes less; Oracle 12.2 says 19 to 24 of pNFS.
	roundTripMicros = 30
	// A mean of V$IOSTAT_FILE below this share of another that measures the same
	// or less is wrong.
	latencyAgrees = 500
	latencyWaits  = 100 // waits of an event that make a mean

	followShare = 0.98 // of the operations that are due: achieved below, throughput does not follow
	leastBend   = 0.1  // of a curve of latency over load, below which it has no knee
	// Of a capacity. The last rates of a search are 5 % apart, so an interval is 15 % wide with
	// one on each side that is not sure, and 26 % with two.
	intervalWide  = 0.30
	leastWide     = 4                   // operations a second: rates are whole numbers
	bracketNarrow = capacity.Resolution // times the rate below it, as a search leaves them
	contradicts   = 1.1                 // times the rate: nearer levels differ by noise
	// Of a level of a search, to judge more by it: in fewer, a hiccup or the way to it is too much.
	decidedSeconds = capacity.LeastDecidedSeconds
	// Of the latency at the lowest rate: an I/O that takes less from its start was not slowed by load.
	queueLatency = 1500
)

// steadyThroughput and steadyLatency are the limits of NotSteady. Latency may
// move more: in a closed loop it mirrors the throughput, and its noise is larger.
func steadyThroughput() stats.SteadyLimits {
	return stats.SteadyLimits{MaxDeviation: 0.10, MaxDrift: 0.10}
}

func steadyLatency() stats.SteadyLimits {
	return stats.SteadyLimits{MaxDeviation: 0.25, MaxDrift: 0.25}
}
