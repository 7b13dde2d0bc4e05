package judge

// The thresholds of the findings. docs/findings.md is generated with their values, from findings.md.tmpl.
// Shares are permille unless the name says otherwise.
const (
	wireGood      = 850  // 100 MB/s of the 117.6 MB/s of GbE: the least that a hasty setup reaches
	wireSaturated = 950  // above, the run measured the link and not the storage
	wireExceeded  = 1020 // above, the declared link speed is wrong

	pathIdle = 10 // below this share of an equal share, a path counts as unused
	// Deviation from an equal share, relative to it. In the runs of "make believe", equal paths and data servers deviate
	// by at most 8 permille. Two paths of the demo that share one link deviate by 124; data servers do not share links.
	pathUneven   = 200
	serverUneven = 150
	// A path that was away for a shorter time only reconnected.
	channelLostMilliseconds = 100
	channelLostShare        = 10  // share of the window: the loss equals the spread of two runs
	carriedMeanwhile        = 950 // share of the seconds without a path in which others carried I/O: they replaced it
	slotWaitShare           = 10  // share of the READs and WRITEs of a repetition that waited for a slot
	layoutFallbackShare     = 10  // share of a repetition's bytes, through the metadata server
	cpuBusy                 = 900 // busy share of a machine, a CPU limit, or a storage node
	throttled               = 50  // share of the window
	retransmitRate          = 1   // segments per 1000 payload segments
	// Segments per 1000 segments of payload that was read. GRO joins segments before they are counted,
	// so the counter is low. On a link without loss that uses one queue for a connection it is zero.
	outOfOrderRate = 5

	foreignBytesPerSecond = 1_000_000 // in the idle baseline; 1 % of the load if larger
	foreignOpsPerSecond   = 20
	foreignShare          = 10 // permille of the load
	mountForeign          = 50 // permille of the load: bytes on a mount beyond the load
	// Allowed difference between the bytes of storage and clients, whose windows differ. A larger
	// difference means that others used the volume, or that a cache answered.
	arrayTolerance = 100
	// The allowed difference if the clients' samples cover the seconds that the storage counted. Without other load the
	// two differed by 1 permille, and by up to 20 on a machine without a free processor. foreignShare of both
	// directions, or ownBytesPerSecond if more, is added for the array's own I/O.
	sampledTolerance  = 30
	ownBytesPerSecond = 20_000

	cpuRise        = 50  // CPU of a node that only forwards I/O: an idle node uses as much
	lifAll         = 950 // share of the bytes of all LIFs on one LIF
	qosReached     = 950 // share of a QoS ceiling
	scrapedSeconds = 300 // Harvest's Prometheus scrapes every 60 s

	clientCacheShare     = 950 // server bytes / bytes read: below, a cache supplied the rest
	smallWorkingSetBytes = 16 << 30
	implausibleP50Micros = 200
	rereadFactor         = 2
	protocolShare        = 990 // bytes on the declared channel or mount / bytes of the load
	edgeMilliseconds     = 200 // allowed offset of the windows of counters and load, both ends together
	mostEdge             = 0.5 // share of the window: maximum offset when the loader waited for a processor
	tooShortWarnSeconds  = 30
	tooShortInfoSeconds  = 60
	variationHigh        = 100
	noiseOfBound         = 200 // late wake-ups of a client / latency bound or expectation
	noiseOfP99           = 500 // late wake-ups of a client / measured latency, both at p99
	// A processor in deep sleep may need some hundred microseconds to wake, but a processor that carries I/O does not
	// sleep. Only bounds and expectations are compared with shorter delays.
	leastNoiseMicros = 1000
	lateShare        = 10
	overlapGood      = 900
	// Share of the time of all operations in slow ones: slower than ten times the median, and slower than a disk or a
	// cache miss.
	slowTimeShare    = 50
	leastStallMicros = 50_000
	// A closed loop hides stalls from its p99. The p99 of an open loop shows stalls of stalledShare of
	// the time (1 %); it must be omissionFactor (permille) times the measured p99.
	stalledShare          = 10
	omissionFactor        = 1500
	smallBlockBytes       = 256 << 10
	fewOutstandingPerPath = 4

	dnfsBytesShare = 900 // V$DNFS_STATS bytes / database bytes: below, processes have ended
	mountFlat      = 50  // share of the load on a mount that should be idle: trace files, reads of other users
	mountCarried   = 500 // above, the mount and not Direct NFS carried the load
	coldShare      = 900 // first run / later runs: below, the first run had cold caches
	// Share of the blocks of random reads that are read in batches. Above it, the latency of db file
	// sequential read is not that of the load. A batch has 2 to 128 blocks.
	batchedShare = 20
	leastBatch   = 2
	mostBatch    = 128
	directShare  = 900 // share of the blocks of a full scan that bypass the buffer cache
	// Share of the table blocks of the sessions that are read from storage. Below it, the buffer cache
	// answered. The cache always holds the index, a few blocks per range.
	storageReadShare   = 500
	storageUpdateShare = 100
	indexBlocks        = 4
	// Share of each CPU of the machine. A load that used less did not make the machine busy.
	ownCPUSmall = 250
	// Share of fs.aio-max-nr. A process requests several hundred at once, and gets all or none.
	asyncUsed = 950
	// Share of the sessions' wait time that storage does not cause. It lowers the throughput by the same share.
	waitsElsewhere = 50
	// The same for a single wait that slow storage can also cause.
	waitsPerhapsElsewhere = 100
	// Wait time of the sessions relative to the time of all users. Above it, other sessions also wait. The users alone
	// reach at most 1000, plus the waits in progress at the ends of the window.
	usersWait      = 1030
	othersWait     = 10  // 1/othersWait of the window: the database's own sessions
	othersRead     = 20  // share of the bytes read that sessions of the load did not read
	reportDiffers  = 50  // waits in a kit's report, relative to V$SYSTEM_EVENT
	instanceUneven = 200 // deviation from an equal share of RAC instances, relative to it
	// No read over a network with TCP is faster. Oracle 12.2 reports 19 to 24 µs for pNFS.
	roundTripMicros = 30
	// A mean of V$IOSTAT_FILE is wrong below this share of another mean that measures the same reads or a part of them.
	latencyAgrees = 500
	latencyWaits  = 100 // minimum waits of an event for a mean
	// Width relative to the capacity. The last rates of a search are 5 % apart, so an interval is 15 % wide if one rate
	// on each side is uncertain, and 26 % if two are.
	intervalWide = 0.30
	leastWide    = 4 // operations a second: rates are whole numbers
	// Permille of the latency at the lowest rate. An I/O whose time from its start is below this was not slowed by the
	// load.
	queueLatency = 1500
)
