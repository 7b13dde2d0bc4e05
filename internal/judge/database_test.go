package judge

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

// scanRun is a full table scan over four paths, with all evidence.
func scanRun(testing.TB) runfile.Result {
	r := experiments.Scan(fourPaths()...)
	load, o := &r.Clients[0].Load, r.Clients[0].Load.Oracle
	o.Library = &runfile.DirectNFSLibrary{Wanted: true, Path: "/o/rdbms/lib/odm/libnfsodm19.so", AlertLine: "Oracle instance running with ODM", OradismMode: "-rwsr-x---"}
	rep := &load.Repetitions[0]
	for _, path := range fourPaths() {
		rep.Oracle.Connections = append(rep.Oracle.Connections, runfile.Connection{Local: "10.1.0.9:900", Remote: path + ":2049"})
	}
	r.Clients[0].Observed.Windows = []runfile.ObservedWindow{{
		Kind: runfile.SpanMeasure, Repetition: 1, Start: rep.Start, End: rep.End, Mount: &runfile.MountCounters{ServerReadBytes: 1 << 20},
	}}
	return r
}

// onKernel is scanRun by the kernel's client.
func onKernel(t testing.TB) runfile.Result {
	t.Helper()
	r := scanRun(t)
	r.Plan.Database.DirectNFS = false
	r.Plan.Link.BitsPerSecond = *bench.Bits(40e9)
	r.Plan.Engine = runfile.Engine{Client: bench.ClientKernel, NFSVersion: "NFSv3", MountPath: "/opt/oracle/oradata"}
	r.Clients[0].Load.Mount = &runfile.MountFacts{FilesystemType: "nfs", Source: "192.168.4.100:/z", NFSVersion: "NFSv3", ReadSizeBytes: 1 << 20}
	w := windowOf1(&r)
	w.DirectNFS = runfile.DirectNFS{}
	w.Files[0].AccessMethod = measure.MethodOS
	eachWindow(&r, runfile.SpanMeasure, func(o *runfile.ObservedWindow) {
		o.Mount.ServerReadBytes = r.Clients[0].Load.Repetitions[0].Read.Bytes
	})
	return r
}

func windowOf1(r *runfile.Result) *runfile.OracleWindow {
	return r.Clients[0].Load.Repetitions[0].Oracle
}

// mounted sets what the mount moved, in permille of the load.
func mounted(permille int64) func(*runfile.Result) {
	return func(r *runfile.Result) {
		eachWindow(r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) {
			w.Mount.ServerReadBytes = r.Clients[0].Load.Repetitions[0].Read.Bytes / 1000 * permille
		})
	}
}

// mountsOf is an alert log that mounts what is defined in a file.
func mountsOf(file string) func(*runfile.Result) {
	return func(r *runfile.Result) {
		r.Clients[0].Load.Oracle.Library.Mounts = []runfile.DNFSMount{{Export: "/x", Server: r.Plan.Engine.Server, DefinedIn: file}}
	}
}

func TestObservationsOfDirectNFS(t *testing.T) {
	t.Parallel()
	yes, no := new(true), new(false)
	cases := map[string]struct {
		base     func(testing.TB) runfile.Result
		mutate   func(*runfile.Result)
		verified *bool
		mismatch bool
		observed string
		text     string
	}{
		"all agree": {scanRun, func(*runfile.Result) {}, yes, false, "DirectNFS NFSv3 over 4 of 4 paths", "V$IOSTAT_FILE.ACCESS_METHOD (DNFS_LIB), V$DNFS_SERVERS (NFSv3.0), V$DNFS_CHANNELS (4 of 4 paths sent and received), V$DNFS_STATS (bytes), mountstats (flat), TCP connections of the pod, the alert log (ODM library)."},
		"silent fallback": {scanRun, func(r *runfile.Result) {
			windowOf1(r).Files[0].AccessMethod = measure.MethodOS
		}, no, true, "Kernel", "OS_LIB for 100.0 %"},
		"another protocol":            {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.Servers[0].Version = "Parallel NFS" }, no, true, "DirectNFS pNFS over 4 of 4 paths", "NFSv3 was declared and V$DNFS_SERVERS says Parallel NFS"},
		"version in other letters":    {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.Servers[0].Version = "nfsv3" }, yes, false, "", ""},
		"version that nobody knows":   {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.Servers[0].Version = "NFSv5" }, yes, false, "", `Not seen: the protocol in V$DNFS_SERVERS ("NFSv5")`},
		"the mount carried the load":  {scanRun, mounted(990), no, true, "", "the kernel's mount moved 99.0 % of the bytes"},
		"the mount carried a part":    {scanRun, mounted(200), no, false, "", "the kernel's mount moved 20.0 % of the bytes"},
		"the mount moved trace files": {scanRun, mounted(49), yes, false, "", "mountstats (flat)"},
		"a path sent nothing":         {scanRun, func(r *runfile.Result) { c := &windowOf1(r).DirectNFS.Channels[2]; c.Sends, c.Receives = 0, 0 }, no, false, "DirectNFS NFSv3 over 3 of 4 paths", "1 of 4 paths sent nothing in V$DNFS_CHANNELS: 192.168.6.50 -> 192.168.6.100"},
		"no byte in the statistics":   {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.ReadBytes = new(int64(0)) }, no, false, "", "V$DNFS_STATS counted no byte"},
		"calibration, no byte": {func(testing.TB) runfile.Result { return experiments.Calibrations()[0].Result() }, func(r *runfile.Result) {
			for _, rep := range r.Clients[0].Load.Repetitions {
				rep.Oracle.Statistics = map[string]int64{measure.StatReadBytes: 1 << 30}
				rep.Oracle.DirectNFS.ReadBytes, rep.Oracle.DirectNFS.WriteBytes = new(int64(0)), new(int64(0))
			}
		}, yes, false, "", "V$DNFS_STATS (the processes that read may have ended)"},
		"processes ended":                   {scanRun, func(r *runfile.Result) { b := windowOf1(r).DirectNFS.ReadBytes; *b = *b / 2 }, yes, false, "", "V$DNFS_STATS (50.0 % of the bytes; the counters of processes that ended are lost)"},
		"no channels":                       {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.Channels = nil }, yes, false, "DirectNFS NFSv3", "Not seen: V$DNFS_CHANNELS (no row), TCP connections of the pod."},
		"no connection to a path":           {scanRun, func(r *runfile.Result) { windowOf1(r).Connections = windowOf1(r).Connections[1:] }, yes, false, "", "Not seen: a TCP connection of the pod to 192.168.4.100"},
		"the alert log names the oranfstab": {scanRun, mountsOf("oranfstab"), yes, false, "DirectNFS NFSv3 over 4 of 4 paths", "the alert log (ODM library, a mount of the oranfstab)."},
		"the alert log names the mtab":      {scanRun, mountsOf("mtab"), yes, false, "DirectNFS NFSv3 over 4 of 4 paths", "Not seen: a mount of the oranfstab in the alert log (but of "},
		"only rows of servers":              {scanRun, onlyServers, nil, false, "", "Nothing proves that Direct NFS carried the load. Evidence for it: V$DNFS_SERVERS (NFSv3.0), the alert log (ODM library)."},
		"an external without any view":      {scanRun, func(r *runfile.Result) { onlyServers(r); windowOf1(r).DirectNFS.Servers = nil }, nil, false, "DirectNFS of unknown version", "V$DNFS_SERVERS (no row)"},
		"no window of the database":         {scanRun, func(r *runfile.Result) { r.Clients[0].Load.Repetitions[0].Oracle = nil }, nil, false, "", "counters were not read"},
		"files of other folders": {scanRun, func(r *runfile.Result) {
			w := windowOf1(r)
			w.Files = append(w.Files, runfile.OracleFile{Number: 1, Type: measure.FileTypeData, AccessMethod: measure.MethodOS, SmallReads: 900, SmallReadMegabyte: 7}, runfile.OracleFile{Type: "Log File", AccessMethod: measure.MethodOS, LargeReads: 1 << 40, LargeReadMegabyte: 1 << 40})
		}, yes, false, "", "ACCESS_METHOD (DNFS_LIB)"},
		"other servers of the database": {scanRun, func(r *runfile.Result) {
			d := &windowOf1(r).DirectNFS
			d.Servers = append([]runfile.DNFSServer{{Server: "backup", Export: "/b", Version: "NFSv4.1"}}, d.Servers...)
			d.Channels = append(d.Channels, runfile.DNFSChannel{Instance: 1, Server: "backup", Path: "10.9.9.9", Sends: 5})
		}, yes, false, "DirectNFS NFSv3 over 4 of 4 paths", ""},
		"kernel, as declared":  {onKernel, func(*runfile.Result) {}, yes, false, "Kernel NFSv3", "ACCESS_METHOD is OS_LIB. The mount moved 100.0 %"},
		"kernel, asynchronous": {onKernel, asynchronous(128, 4352), yes, false, "", "fs.aio-nr was 4352 under load, and 128 before it, of fs.aio-max-nr 65536."},
		"kernel declared, Direct NFS used": {onKernel, func(r *runfile.Result) {
			windowOf1(r).Files[0].AccessMethod = measure.MethodDirectNFS
		}, no, true, "DirectNFS", "The kernel's client was declared, but V$IOSTAT_FILE.ACCESS_METHOD is DNFS_LIB for 100.0 %"},
		"kernel declared, channels sent": {onKernel, func(r *runfile.Result) {
			windowOf1(r).Files = nil
			windowOf1(r).DirectNFS.Channels = []runfile.DNFSChannel{{Server: "s", Path: "p", Sends: 1}}
		}, no, true, "DirectNFS", "V$DNFS_CHANNELS has paths that sent"},
		"kernel, of an external":       {onKernel, func(r *runfile.Result) { r.Clients[0].Observed.Windows = nil }, nil, false, "", "ACCESS_METHOD is OS_LIB. The mount's counters were not collected"},
		"kernel, another version":      {onKernel, func(r *runfile.Result) { r.Clients[0].Load.Mount.NFSVersion = "NFSv4.1" }, no, true, "Kernel NFSv4.1", "mounted with NFSv4.1"},
		"kernel, without V$IOSTATFILE": {onKernel, func(r *runfile.Result) { windowOf1(r).Files = nil }, yes, false, "", "V$IOSTAT_FILE did not tell"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := c.base(t)
			c.mutate(&r)
			j := Judge(r)
			e := j.Protocol
			if (e.Verified == nil) != (c.verified == nil) || e.Verified != nil && *e.Verified != *c.verified || e.Mismatch != c.mismatch {
				t.Errorf("verified %v, mismatch %v: %s", e.Verified, e.Mismatch, e.Message)
			}
			if !strings.Contains(e.Message, c.text) || c.observed != "" && e.Observed != c.observed {
				t.Errorf("%q: %s", e.Observed, e.Message)
			}
			if c.mismatch != (j.Validity == bench.ValidityInvalid) || (c.mismatch || e.Doubted) != hasFinding(j, ProtocolMismatch, "") {
				t.Errorf("validity %s: %+v", j.Validity, j.Findings)
			}
		})
	}
}

// onlyServers leaves what proves nothing.
func onlyServers(r *runfile.Result) {
	w := windowOf1(r)
	w.Files, w.Connections = nil, nil
	w.DirectNFS.Channels, w.DirectNFS.ReadBytes = nil, nil
	r.Clients[0].Observed.Windows = nil
}

// A fallback in one of many windows must not drown in the others.
func TestOneWindowThatFellBackIsEnough(t *testing.T) {
	t.Parallel()
	r := experiments.Ramp()
	rep := &r.Clients[0].Load.Repetitions[2]
	rep.Oracle.Files[0].AccessMethod = measure.MethodOS
	if j := Judge(r); !j.Protocol.Mismatch || j.Validity != bench.ValidityInvalid || !hasFinding(j, DNFSNotActive, "") {
		t.Errorf("%+v", j.Protocol)
	}
	rep.Step.Warmup = true
	if j := Judge(r); j.Protocol.Mismatch {
		t.Errorf("a warm-up does not count: %+v", j.Protocol)
	}
}

func databaseCases() map[string]findingCase {
	calibrated := func(testing.TB) runfile.Result { return experiments.Calibrations()[0].Result() }
	random := func(testing.TB) runfile.Result { return experiments.Ramp() }
	last := func(r *runfile.Result) *runfile.OracleWindow { return r.Clients[0].Load.Repetitions[1].Oracle }
	return map[string]findingCase{
		"Fallback": {scanRun, func(r *runfile.Result) {
			windowOf1(r).Files[0].AccessMethod = measure.MethodOS
			l := r.Clients[0].Load.Oracle.Library
			l.Path, l.OradismMode, l.OradismOwner, l.Warnings = "", "-rwxr-x---", new(int64(54321)), []string{"Direct NFS: please check that oradism is setuid"}
		}, DNFSNotActive, bench.SeverityError, bench.ValidityInvalid, `100\.0 % of the reads of data files used OS_LIB.*libnfsodm is not in rdbms/lib/odm, bin/oradism is not setuid \(-rwxr-x---\), bin/oradism belongs to user 54321.*alert log says: Direct NFS: please`},
		"FallbackUnexplained": {scanRun, func(r *runfile.Result) { windowOf1(r).Files[0].AccessMethod = measure.MethodOS }, DNFSNotActive, bench.SeverityError, bench.ValidityInvalid, `compare export and mount in the oranfstab`},
		"LoaderSawTheFallback": {scanRun, func(r *runfile.Result) {
			r.Clients[0].Load.Failure = &runfile.Failure{Code: runfile.FailureDirectNFSInactive, Message: "The kernel carried it."}
			r.Clients[0].Load.Repetitions = nil
		}, DNFSNotActive, bench.SeverityError, bench.ValidityInvalid, `^The kernel carried it\.$`},
		"Oradism": {scanRun, func(r *runfile.Result) {
			r.Clients[0].Load.Failure = &runfile.Failure{Code: runfile.FailureOradism, Message: "oradism is not setuid."}
		}, DNFSNotActive, bench.SeverityError, bench.ValidityInvalid, `oradism`},
		"OranfstabNotUsed": {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.Servers[0].Server = "192.168.4.100" }, OranfstabNotUsed, bench.SeverityWarning, bench.ValiditySuspect, `flashblade and V\$DNFS_SERVERS 192\.168\.4\.100`},
		"PathImbalance":    {scanRun, func(r *runfile.Result) { windowOf1(r).DirectNFS.Channels[0].Sends *= 3 }, PathImbalance, bench.SeverityWarning, bench.ValidityValid, `192\.168\.4\.50 -> 192\.168\.4\.100 40\.0 %`},
		"Trunking": {scanRun, func(r *runfile.Result) {
			r.Plan.Engine.NFSVersion = "NFSv4.1"
			windowOf1(r).DirectNFS.Servers[0].Version = "NFSv4.1"
		}, MultiplePathsOnNFSv4, bench.SeverityWarning, bench.ValidityValid, `4 paths with NFSv4\.1`},
		"SyncIO":                          {scanRun, func(r *runfile.Result) { windowOf1(r).Files[0].AsynchIO = measure.AsynchOff }, SyncIO, bench.SeverityWarning, bench.ValidityValid, `ASYNC_OFF\): 12\..*check that Direct NFS is active`},
		"SyncIOKernel":                    {onKernel, func(r *runfile.Result) { windowOf1(r).Files[0].AsynchIO = measure.AsynchOff }, SyncIO, bench.SeverityWarning, bench.ValidityValid, `filesystemio_options=SETALL.*Direct NFS .* looks better than it is`},
		"SyncIOInDeed":                    {onKernel, asynchronous(0, 0), SyncIO, bench.SeverityWarning, bench.ValidityValid, `fs\.aio-nr is 0.*looks better than it is`},
		"AsyncIOExhausted":                {onKernel, asynchronous(4096, 62_260), AsyncIOExhausted, bench.SeverityWarning, bench.ValiditySuspect, `fs\.aio-nr 62260 of fs\.aio-max-nr 65536\..*3145728.*looks better than it is`},
		"AsyncIOExhaustedBesideDirectNFS": {scanRun, asynchronous(65_536, 65_536), AsyncIOExhausted, bench.SeverityInfo, bench.ValidityValid, `would not be fair`},
		"BufferedScan": {scanRun, func(r *runfile.Result) {
			w := windowOf1(r)
			w.Statistics[measure.StatReadsDirect] = w.Statistics[measure.StatReads] * 89 / 100
		}, BufferedScan, bench.SeverityWarning, bench.ValiditySuspect, `In repetition 1 \(32 users, round 1\) 8[89]\.\d % of the blocks.*direct path read 900000, db file scattered read 12`},
		"FewStatements": {scanRun, func(r *runfile.Result) {
			r.Plan.Workload.SLOB.ScanTableSize = *bench.Bytes(1 << 40)
		}, FewStatements, bench.SeverityInfo, bench.ValidityValid, `read its table 0\.\d times in the window`},
		"BatchedReads": {random, func(r *runfile.Result) {
			w := windowOf1(r)
			w.Statistics[measure.StatReadsCache] = 1100
			w.Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 980}, {Name: measure.EventParallelRead, Waits: 2}}
		}, BatchedReads, bench.SeverityWarning, bench.ValiditySuspect, `In repetition 1 \(.*about 10\.9 % of the blocks .*2 waits for db file parallel read, 980 for .*Leave _db_block_prefetch_limit`},
		"BatchedReadsOfAnExternal": {random, func(r *runfile.Result) {
			r.Plan.Database.Kind = runfile.DatabaseExternal
			windowOf1(r).Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 940}, {Name: measure.EventParallelRead, Waits: 10}}
		}, BatchedReads, bench.SeverityWarning, bench.ValiditySuspect, `about 2\.1 % .*Set _db_block_prefetch_limit.* this database`},
		"PartlyThroughTheKernel": {scanRun, mounted(200), ProtocolMismatch, bench.SeverityWarning, bench.ValiditySuspect, `the kernel's mount moved 20\.0 % .*in part only`},
		"Checkpoints":            {random, waited("log file switch (checkpoint incomplete)", "Configuration", 100), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `spent 10\.0 % of their wait time on log file switch \(checkpoint incomplete\) \(class Configuration, 7 waits, 10\.0 %\).*redo logs are too small`},
		"FreeBuffers":            {random, waited("free buffer waits", "Configuration", 400), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `raise db_cache_size or db_writer_processes in database\.container\.parameters`},
		"TwoCores":               {random, waited("resmgr:cpu quantum", "Scheduler", 600), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `60\.0 % .*Free uses two cores`},
		"RowLocks":               {random, waited("enq: TX - row lock contention", "Application", 600), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `more schemas or fewer users`},
		"Interconnect":           {random, waited("gc cr block 2-way", "Cluster", 400), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `instances wait for each other`},
		"SlowLoader":             {random, waited("SQL*Net more data to client", "Network", 400), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `network between the loader and the database`},
		"Latches":                {random, waited("latch free", "Other", 400), WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `Look up the wait`},
		"SeveralSmall": {random, func(r *runfile.Result) {
			waited("latch: cache buffers chains", "Concurrency", 26)(r)
			eachRep(r, func(rep *runfile.Repetition) {
				w := rep.Oracle
				w.TopWaits = append(w.TopWaits, runfile.OracleWait{Name: "enq: HW - contention", Class: "Configuration", Waits: 3, Microseconds: 24_000})
			})
		}, WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `spent 5\.0 % .* on latch: cache buffers chains .*2\.6 %\), enq: HW - contention .*2\.4 %\)\. .*fewer users`},
		"SmallExternal": {random, func(r *runfile.Result) {
			r.Plan.Database.Kind = runfile.DatabaseExternal
			waited("enq: HW - contention", "Configuration", 600)(r)
		}, WaitsNotStorage, bench.SeverityWarning, bench.ValiditySuspect, `change this database`},
		"OthersInTheDatabase": {random, inRepetitions(func(rep *runfile.Repetition) { timed(rep, 1037) }), ForeignLoad, bench.SeverityWarning, bench.ValiditySuspect, `others use the database`},
		"OthersReadInTheDatabase": {random, func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Oracle.Statistics[measure.StatReadBytes] = 100e9
				rep.Oracle.OwnReadBytes = new(int64(97.9e9))
			})
		}, ForeignLoad, bench.SeverityWarning, bench.ValiditySuspect, `the sessions of the load read 97\.9 % of the bytes that the database read\. Others read \d+\.\d MB/s`},
		"ReadsOfAKitAreNotKnown": {
			func(testing.TB) runfile.Result { return experiments.Kit("DNFS") },
			func(r *runfile.Result) { r.Plan.Database.Kind = runfile.DatabaseExternal },
			NotCollected, bench.SeverityInfo, bench.ValidityValid, `those of a SLOB kit have ended .* throughput and IOPS are those of all sessions`,
		},
		"ViewsSayTooLittle": {random, inRepetitions(func(rep *runfile.Repetition) { timed(rep, 490) }), SuspectLatency, bench.SeverityWarning, bench.ValiditySuspect, `16 users the views have only 49\.6 % as waits or CPU time: a read took 1\.21 ms`},
		"ViewsSayLessThanTheStorage": {random, func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				timed(rep, 490)
				rep.Oracle.Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 1000, Microseconds: 499_000}}
			})
			counted(r, 1000)
		}, SuspectLatency, bench.SeverityWarning, bench.ValiditySuspect, `16 users the views have only`},
		"CachedReads": {random, func(r *runfile.Result) {
			r.Plan.Workload.SLOB.WorkUnit = 4 // half of what is looked at is the index
			windowOf1(r).Statistics = map[string]int64{measure.StatLogicalReads: 1000, measure.StatReads: 249}
		}, CacheSuspected, bench.SeverityWarning, bench.ValiditySuspect, `In repetition 1 \(.*only 24\.9 % of the blocks .*physical reads 249 of session logical reads 1000`},
		"CachedUpdates": {random, func(r *runfile.Result) {
			r.Plan.Workload.SLOB.UpdatePercent, r.Plan.Workload.SLOB.WorkUnit = 20, 4
			windowOf1(r).Statistics = map[string]int64{measure.StatLogicalReads: 1000, measure.StatReads: 49}
		}, CacheSuspected, bench.SeverityWarning, bench.ValiditySuspect, `only 4\.9 %`},
		"ParameterDiffers": {scanRun, func(r *runfile.Result) {
			r.Clients[0].Load.Oracle.Parameters = []runfile.OracleParameter{{Name: "cpu_count", Requested: "4", Value: "2"}, {Name: "sga_target", Requested: "554M", Value: "583008256"}, {Name: "x", Requested: "'SetAll'", Value: "SETALL"}, {Name: "y", Value: "1"}}
		}, ParameterDiffers, bench.SeverityWarning, bench.ValiditySuspect, `declared: cpu_count is 2 \(asked for: 4\)\. Oracle`},
		"HiddenParameterDiffers": {random, func(r *runfile.Result) {
			r.Clients[0].Load.Oracle.Parameters = []runfile.OracleParameter{{Name: "_db_block_prefetch_quota", Requested: "0", Value: "10"}, {Name: "_no_such", Requested: "1"}}
		}, ParameterDiffers, bench.SeverityWarning, bench.ValiditySuspect, `declared: _db_block_prefetch_quota is 10 \(asked for: 0\), _no_such is empty \(asked for: 1\)`},
		"BatchedReadsOfARelease": {random, func(r *runfile.Result) {
			windowOf1(r).Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 940}, {Name: measure.EventParallelRead, Waits: 10}}
			r.Clients[0].Load.Oracle.Parameters = []runfile.OracleParameter{{Name: "_db_block_prefetch_limit", Requested: "0", Value: "0"}, {Name: "_db_file_noncontig_mblock_read_count", Requested: "0"}}
		}, BatchedReads, bench.SeverityWarning, bench.ValiditySuspect, `This release does not take _db_file_noncontig_mblock_read_count = 0: use the latency that the array reports`},
		"FreeAtItsLimit": {random, func(r *runfile.Result) {
			r.Clients[0].Load.Oracle.Banner = "Oracle Database 23ai Free Release 23.0.0.0.0 - Develop, Learn, and Run for Free"
			useCPU(r, 1.9)
		}, ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `the database used 95\.0 % of the 2 cores that it can use at most`},
		"ContainerAtItsLimit": {random, func(r *runfile.Result) {
			r.Plan.Database.CPUMillis = 1500
			useCPU(r, 1.4)
		}, ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `the database used 93\.3 % of the 1\.5 cores`},
		"PNFSLatency": {func(testing.TB) runfile.Result { return experiments.Calibrations()[5].Result() }, func(*runfile.Result) {}, SuspectLatency, bench.SeverityWarning, bench.ValiditySuspect, `23\.\d µs.*24321 IOPS that is only 0\.6 reads`},
		"LatencyBelowAnyNetwork": {calibrated, func(r *runfile.Result) {
			for i := range last(r).Files {
				f := &last(r).Files[i]
				f.SmallReadTime = float64(f.SmallReads) * 29
			}
			last(r).Calibration.MaxIOPS = 100_000
		}, SuspectLatency, bench.SeverityWarning, bench.ValiditySuspect, `29 µs .* no read over a network`},
		"LatencyBelowTheWait": {calibrated, func(r *runfile.Result) {
			last(r).Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 100, Microseconds: 80_000}}
		}, SuspectLatency, bench.SeverityWarning, bench.ValiditySuspect, `but db file sequential read took 800 µs in V\$SYSTEM_EVENT\. Do not use it`},
		"LatencyBelowTheArray": {random, func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				w := rep.Oracle
				w.ServiceTimeUnit, w.Files[0].SmallReadTime = runfile.UnitMicroseconds, float64(w.Files[0].SmallReads)*100
			})
			counted(r, 201)
		}, SuspectLatency, bench.SeverityWarning, bench.ValiditySuspect, `but the storage itself took 201 µs`},
		"UnitUnknown":       {calibrated, func(r *runfile.Result) { last(r).ServiceTimeUnit = "" }, NotCollected, bench.SeverityInfo, bench.ValidityValid, `unit of the times`},
		"LatencyResolution": {calibrated, func(*runfile.Result) {}, LatencyResolution, bench.SeverityInfo, bench.ValidityValid, `here 1: .*says 356 µs`},
		"ColdWarmup":        {calibrated, func(r *runfile.Result) { windowOf1(r).Calibration.MaxIOPS = 24_000 }, ColdCache, bench.SeverityInfo, bench.ValidityValid, `gave 24000 IOPS and the next 27066 IOPS.*does not count`},
		"ColdAndCounted": {calibrated, func(r *runfile.Result) {
			first := &r.Clients[0].Load.Repetitions[0]
			first.Oracle.Calibration.MaxIOPS, first.Step.Warmup, first.Step.Round = 24_000, false, 1
			r.Clients[0].Load.Repetitions[1].Step.Round = 2
		}, ColdCache, bench.SeverityWarning, bench.ValiditySuspect, `It counts nevertheless`},
		"CalibrationsVary": {calibrated, func(r *runfile.Result) {
			first := &r.Clients[0].Load.Repetitions[0]
			first.Oracle.Calibration.MaxMegabytesPerSecond, first.Step.Warmup, first.Step.Round = 500, false, 1
			r.Clients[0].Load.Repetitions[1].Step.Round = 2
		}, VariationHigh, bench.SeverityWarning, bench.ValiditySuspect, `results of 2 calibrations vary by 22\.\d %`},
		"StepsVary":         {random, func(r *runfile.Result) { r.Clients[0].Load.Repetitions[3].Read.Bytes /= 2 }, VariationHigh, bench.SeverityWarning, bench.ValiditySuspect, `between rounds: 4 users by 47\.\d %`},
		"AboveTheLimit":     {calibrated, func(r *runfile.Result) { last(r).Calibration.ActualLatencyMilliseconds = 21 }, LatencyLimitExceeded, bench.SeverityWarning, bench.ValidityValid, `at 21 ms, above the limit of 20 ms`},
		"LineFullInOneStep": {random, func(*runfile.Result) {}, LineSaturated, bench.SeverityInfo, bench.ValidityValid, `full with 14 users\.`},
		"LineFullInMore": {
			random, func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(970_000_000) }, LineSaturated, bench.SeverityInfo, bench.ValidityValid,
			`96\.\d %\): the line is full with 12 users, 13 users, 14 users, and 2 more steps\.`,
		},
		"AStepIsMissing":       {random, func(r *runfile.Result) { l := &r.Clients[0].Load; l.Repetitions = l.Repetitions[:20] }, Partial, bench.SeverityError, bench.ValiditySuspect, `Not all steps were measured 2 times: 5 users 1, 6 users 1`},
		"ACalibrationIsMissed": {calibrated, func(r *runfile.Result) { last(r).Calibration = nil }, Partial, bench.SeverityError, bench.ValiditySuspect, `0 of 1 calibrations`},
		"Simulated":            {scanRun, func(r *runfile.Result) { r.Clients[0].Load.Oracle.StandIn = true }, SimulatedDatabase, bench.SeverityInfo, bench.ValidityValid, `stand-in for Oracle`},
		"DatabaseHostIsBusy": {scanRun, func(r *runfile.Result) {
			windowOf1(r).BusyCentiseconds, windowOf1(r).IdleCentiseconds = new(int64(950)), new(int64(50))
		}, ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `95\.0 % busy`},
		"BelowWireSpeedOfAScan": {scanRun, func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(25e9) }, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `34\.\d %`},
		"FewUsers": {scanRun, func(r *runfile.Result) {
			r.Plan.Link.BitsPerSecond = *bench.Bits(25e9)
			r.Clients[0].Load.Repetitions[0].Step.Users, r.Plan.Workload.SLOB.Ramp()[0] = 2, 2
		}, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `2 outstanding I/Os for 4 paths are few: raise users`},
	}
}

// waited makes a wait the given permille of the sessions' wait time, and reads the rest.
func waited(name, class string, permille int64) func(*runfile.Result) {
	return inRepetitions(func(rep *runfile.Repetition) {
		w := rep.Oracle
		w.ForegroundWaitMicroseconds = new(int64(1_000_000))
		w.TopWaits = []runfile.OracleWait{
			{Name: measure.EventSequentialRead, Class: "User I/O", Waits: 900, Microseconds: (1000 - permille) * 1000},
			{Name: name, Class: class, Waits: 7, Microseconds: permille * 1000},
		}
	})
}

// timed makes the sessions of a repetition wait for a part of their users' time.
func timed(rep *runfile.Repetition, permille int64) {
	all := int64(rep.Step.Users) * rep.End.Sub(rep.Start).Microseconds()
	rep.Oracle.ForegroundWaitMicroseconds = new(all * permille / 1000)
}

// asynchronous sets the node's asynchronous I/O requests before and during the load.
func asynchronous(before, under int64) func(*runfile.Result) {
	return func(r *runfile.Result) {
		const limit = 65_536
		o := r.Clients[0].Observed
		idle := o.Windows[0]
		idle.Kind, idle.Mount, idle.AsyncIO = runfile.SpanBaseline, nil, &runfile.AsyncIO{Requests: before, Limit: limit}
		o.Windows[0].AsyncIO = &runfile.AsyncIO{Requests: under, Limit: limit}
		o.Windows = append(o.Windows, idle)
	}
}

// counted adds a storage that takes the given microseconds for each read.
func counted(r *runfile.Result, micros int64) {
	for _, rep := range r.Clients[0].Load.Repetitions {
		n := rep.Read.Count
		r.Clients[0].Observed.Windows = append(r.Clients[0].Observed.Windows, runfile.ObservedWindow{
			Kind: runfile.SpanMeasure, Repetition: rep.Index, Start: rep.Start, End: rep.End,
			Storage: []runfile.StorageWindow{{
				Source: "array", Seconds: 300, ReadOps: &n, WriteOps: new(int64(0)), ReadBytes: &rep.Read.Bytes, WriteBytes: new(int64(0)),
				ReadMicroseconds: new(n * micros), WriteMicroseconds: new(int64(0)),
			}},
		})
	}
}

func TestWhatIsAsItShouldBeIsNoFinding(t *testing.T) {
	t.Parallel()
	quiet := func(name string, r runfile.Result, codes ...Code) {
		for _, code := range codes {
			if j := Judge(r); hasFinding(j, code, "") {
				t.Errorf("%s: %s in %+v", name, code, j.Findings)
			}
		}
	}
	quiet("a scan", scanRun(t), DNFSNotActive, OranfstabNotUsed, PathUnused, MultiplePathsOnNFSv4, SyncIO, BufferedScan, RACImbalance, SuspectLatency, CalibrationOnly, SimulatedDatabase, SimulatedStorage, ParameterDiffers, ColdCache, Partial, CacheSuspected, ArrayDisagrees, NotNFS)
	ramp := func(name string, change func(*runfile.Result), codes ...Code) {
		r := experiments.Ramp()
		change(&r)
		quiet(name, r, codes...)
	}
	ramp("a hidden parameter that the release does not know", func(r *runfile.Result) {
		r.Clients[0].Load.Oracle.Parameters = []runfile.OracleParameter{{Name: "_db_block_prefetch_limit", Requested: "0"}}
	}, ParameterDiffers, BatchedReads)
	ramp("others who read 1.9 %", func(r *runfile.Result) {
		windowOf1(r).Statistics[measure.StatReadBytes], windowOf1(r).OwnReadBytes = 100e9, new(int64(98.1e9))
	}, ForeignLoad)
	ramp("reads that are known of an external database", func(r *runfile.Result) {
		r.Plan.Database.Kind = runfile.DatabaseExternal
		eachRep(r, func(rep *runfile.Repetition) {
			rep.Oracle.OwnReadBytes = new(rep.Oracle.Statistics[measure.StatReadBytes])
		})
	}, ForeignLoad)
	read := experiments.Calibrations()[0].Result()
	eachRep(&read, func(rep *runfile.Repetition) { rep.Oracle.DatafileBytes = 3 << 30 })
	if j := Judge(read); !hasFinding(j, CacheSuspected, "all datafiles: 3 GiB were read") {
		t.Errorf("a calibration of a small database: %+v", j.Findings)
	}
	half := scanRun(t)
	windowOf1(&half).Statistics[measure.StatReads], windowOf1(&half).Statistics[measure.StatReadsDirect] = 1000, 900
	many := scanRun(t)
	many.Plan.Workload.SLOB.ScanTableSize = *bench.Bytes(1 << 30)
	quiet("many scans", many, FewStatements)
	quiet("nine of ten blocks past the cache", half, BufferedScan)
	cached := experiments.Ramp()
	for percent, physical := range map[int32]int64{0: 250, 20: 50} { // an update looks more than once
		cached.Plan.Workload.SLOB.WorkUnit, cached.Plan.Workload.SLOB.UpdatePercent = 4, percent
		windowOf1(&cached).Statistics = map[string]int64{measure.StatLogicalReads: 1000, measure.StatReads: physical}
		if j := Judge(cached); hasFinding(j, CacheSuspected, "buffer cache") {
			t.Errorf("half of the rows, and all of the index, in the buffer cache: %+v", j.Findings)
		}
	}
	batches := experiments.Ramp()
	windowOf1(&batches).Statistics[measure.StatReadsCache] = 10_000
	windowOf1(&batches).Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 9700}, {Name: measure.EventParallelRead, Waits: 1}}
	quiet("one batch, which cannot be all that is missing", batches, BatchedReads)
	windowOf1(&batches).Events = windowOf1(&batches).Events[:1]
	quiet("no batch at all", batches, BatchedReads)
	for name, wait := range map[string]struct {
		class    string
		permille int64
	}{
		"resmgr:cpu quantum": {"Scheduler", 49}, "log file sync": {"Commit", 999}, "db file scattered read": {"User I/O", 999},
		// Waits for storage, or for a process that waits for it.
		"log buffer space": {"Configuration", 999}, "checkpoint completed": {"Configuration", 999},
		"rdbms ipc reply": {"Other", 999}, "reliable message": {"Other", 999},
		"enq: KO - fast object checkpoint": {"Application", 999}, "enq: CF - contention": {"Other", 999},
		"gc cr grant 2-way": {"Cluster", 999}, "gc current grant busy": {"Cluster", 999}, "gc cr multi block request": {"Cluster", 999},
		// Waits that are for storage in part.
		"free buffer waits": {"Configuration", 99}, "write complete waits": {"Configuration", 99},
		"log file switch (checkpoint incomplete)": {"Configuration", 99}, "log file switch completion": {"Configuration", 99},
	} {
		ramp(name, waited(name, wait.class, wait.permille), WaitsNotStorage)
	}
	for name, permille := range map[string]int64{"users that wait all the time": 1036, "users that wait half of it": 500} {
		ramp(name, inRepetitions(func(rep *runfile.Repetition) { timed(rep, permille) }), ForeignLoad, SuspectLatency)
	}
	for name, change := range map[string]func(*runfile.Result){
		"users that wait for the processors of a container": func(r *runfile.Result) {
			r.Plan.Database.CPUMillis = 1000
			useCPU(r, 0.95)
		},
		"users that wait for those of one instance": inRepetitions(func(rep *runfile.Repetition) { rep.Oracle.InstanceBytes = map[string]int64{"a": 1, "b": 1} }),
		"waits as long as the reads of the storage": func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Oracle.Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 1000, Microseconds: 500_000}}
			})
			counted(r, 1000)
		},
	} {
		ramp(name, both(inRepetitions(func(rep *runfile.Repetition) { timed(rep, 400) }), change), SuspectLatency)
	}
	ramp("users that think", func(r *runfile.Result) {
		r.Plan.Workload.SLOB.Think = &bench.SLOBThink{Frequency: 1}
		eachRep(r, func(rep *runfile.Repetition) { timed(rep, 100) })
	}, SuspectLatency)
	for name, base := range map[string]func(testing.TB) runfile.Result{"kernel": onKernel, "Direct NFS": scanRun} {
		r := base(t)
		asynchronous(128, 62_259)(&r)
		quiet("asynchronous I/O, "+name, r, SyncIO, AsyncIOExhausted)
	}
	none := scanRun(t)
	asynchronous(0, 0)(&none)
	quiet("Direct NFS needs no asynchronous I/O of the kernel", none, SyncIO, AsyncIOExhausted)
	quiet("instances within a fifth", experiments.RAC(600, 400), RACImbalance)
	cold := experiments.Calibrations()[0].Result()
	windowOf1(&cold).Calibration.MaxIOPS = 24_360
	quiet("a first run that gave nine tenths", cold, ColdCache)
	simulated := scanRun(t)
	simulated.Simulated, simulated.Clients[0].Load.Oracle.StandIn = true, true
	quiet("a stand-in of a database on real storage", simulated, SimulatedStorage)
	waits := experiments.Calibrations()[0].Result()
	waits.Clients[0].Load.Repetitions[1].Oracle.Events = []runfile.OracleEvent{{Name: measure.EventSequentialRead, Waits: 100, Microseconds: 71_000}}
	quiet("half of the wait is as good", waits, SuspectLatency)
	calibrated := experiments.Calibrations()[0].Result()
	eachRep(&calibrated, func(rep *runfile.Repetition) { rep.End = rep.Start.Add(9 * time.Second) })
	quiet("a calibration takes as long as it wants", calibrated, TooShort, NotSteady)
}

func TestLatenciesOfDatabasesAgainstExpectations(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		result runfile.Result
		expect bench.Expect
		want   bench.Verdict
		text   string
	}{
		"p99 above the bucket":      {experiments.Ramp(), bench.Expect{MaxP99LatencyMicroseconds: new(int64(2048))}, bench.VerdictPass, ""},
		"p99 below the bucket":      {experiments.Ramp(), bench.Expect{MaxP99LatencyMicroseconds: new(int64(1023))}, bench.VerdictFail, "Expected at most 1.02 ms p99 latency and got 2.05 ms"},
		"p99 in the bucket":         {experiments.Ramp(), bench.Expect{MaxP99LatencyMicroseconds: new(int64(1500))}, bench.VerdictInconclusive, "at most 1500 µs p99 latency, and the database counts it between 1024 and 2048 µs"},
		"p99 that nobody counted":   {experiments.Kit("DNFS"), bench.Expect{MaxP99LatencyMicroseconds: new(int64(9_000_000))}, bench.VerdictInconclusive, "not measured"},
		"mean is exact":             {experiments.Ramp(), bench.Expect{MaxMeanLatencyMicroseconds: new(int64(1209))}, bench.VerdictFail, "and got a little more than 1.21 ms."},
		"mean of the kit":           {experiments.Kit("NFS"), bench.Expect{MaxMeanLatencyMicroseconds: new(int64(851))}, bench.VerdictPass, ""},
		"IOPS of a calibration":     {experiments.Calibrations()[0].Result(), bench.Expect{MinIOPS: new(int64(27067))}, bench.VerdictFail, "got 27066"},
		"IOPS are met":              {experiments.Calibrations()[0].Result(), bench.Expect{MinIOPS: new(int64(27066)), MinMegabytesPerSecond: new(int64(362))}, bench.VerdictPass, ""},
		"MB/s were not printed":     {experiments.Calibrations()[2].Result(), bench.Expect{MinMegabytesPerSecond: new(int64(1))}, bench.VerdictInconclusive, "not measured"},
		"a mean of V$IOSTAT_FILE":   {experiments.Calibrations()[1].Result(), bench.Expect{MaxMeanLatencyMicroseconds: new(int64(392))}, bench.VerdictFail, "got 393 µs"},
		"headline has the most":     {experiments.Ramp(), bench.Expect{MinIOPS: new(int64(13_223))}, bench.VerdictPass, ""},
		"variation of one run":      {experiments.Calibrations()[0].Result(), bench.Expect{MaxVariationPercent: new(int32(5))}, bench.VerdictInconclusive, "two repetitions"},
		"variation between rounds":  {experiments.Ramp(), bench.Expect{MaxVariationPercent: new(int32(1))}, bench.VerdictPass, ""},
		"a fallback decides nought": {fellBack(), bench.Expect{MinIOPS: new(int64(1))}, bench.VerdictInconclusive, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.result.Plan.Expect = &c.expect
			j := Judge(c.result)
			if j.Verdict != c.want || c.text != "" && !hasFinding(j, ExpectationMissed, c.text) && !hasFinding(j, ExpectationNotMeasured, c.text) {
				t.Errorf("%s: %+v", j.Verdict, j.Findings)
			}
		})
	}
}

func fellBack() runfile.Result {
	r := experiments.Scan(fourPaths()...)
	windowOf1(&r).Files[0].AccessMethod = measure.MethodOS
	return r
}

func TestMillisecondsOfOldReleasesAreTaken(t *testing.T) {
	t.Parallel()
	r := experiments.Calibrations()[0].Result()
	w := r.Clients[0].Load.Repetitions[1].Oracle
	w.ServiceTimeUnit = runfile.UnitMilliseconds
	for i := range w.Files {
		w.Files[i].SmallReadTime /= 1000
		w.Files[i].SmallSyncReadTime /= 1000
	}
	j := Judge(r)
	if got := *j.Database.Files[0].SmallReadNanoseconds; math.Abs(float64(got)-355507) > 1 {
		t.Errorf("%d ns", got)
	}
	w.ServiceTimeUnit = ""
	if f := Judge(r).Database.Files[0]; f.SmallReadNanoseconds != nil || f.SmallReads == nil {
		t.Errorf("of an unknown unit no time is told: %+v", f)
	}
}

// useCPU makes the database use the given number of cores in each window.
func useCPU(r *runfile.Result, cores float64) {
	eachRep(r, func(rep *runfile.Repetition) {
		if rep.Oracle.Statistics == nil {
			rep.Oracle.Statistics = map[string]int64{}
		}
		rep.Oracle.Statistics[measure.StatForegroundCPU] = int64(cores * 1e6 * rep.End.Sub(rep.Start).Seconds())
	})
}

// TestALargeMachineHasRoomWhereTheDatabaseHasNone: another edition on the same machine with the
// same use of CPU is not at a limit.
func TestALargeMachineHasRoomWhereTheDatabaseHasNone(t *testing.T) {
	r := experiments.Ramp()
	useCPU(&r, 1.9)
	if j := Judge(r); hasFinding(j, ClientCPUBound, "") {
		t.Errorf("%+v", j.Findings)
	}
}
