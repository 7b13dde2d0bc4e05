package judge

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

type findingCase struct {
	base     func(testing.TB) runfile.Result // good when nil
	mutate   func(*runfile.Result)
	code     Code
	severity bench.Severity
	validity bench.Validity
	text     string
}

// mtus are those of two paths.
func mtus(a, b int32) func(*runfile.Result) {
	return func(r *runfile.Result) {
		r.Clients[0].Load.Mount.Paths = []runfile.PathFacts{
			{Path: "10.0.1.61", MTUBytes: a, LargeCall: "Acknowledged"}, {Path: "10.0.2.61", MTUBytes: b, LargeCall: "Acknowledged"},
		}
	}
}

// findingCases are all cases, by subject and name.
func findingCases(t *testing.T) map[string]findingCase {
	t.Helper()
	all := map[string]findingCase{}
	for _, of := range []struct {
		base     func(testing.TB) runfile.Result
		subjects map[string]map[string]findingCase
	}{
		{good, map[string]map[string]findingCase{
			"wire": wireCases(), "path": pathCases(), "loss": lossCases(), "client": clientCases(), "storage": storageCases(t), "end": endCases(),
			"time": timeCases(), "server": serverCases(), "database": databaseCases(), "noise": noiseCases(t),
		}},
		{twoNodes("a"), map[string]map[string]findingCase{
			"locality": localityCases(), "quiet": quietCases(), "counter": counterCases(t), "move": moveCases(), "setting": settingCases(), "partial": partialCases(),
		}},
	} {
		for subject, cases := range of.subjects {
			for name, c := range cases {
				if c.base == nil {
					c.base = of.base
				}
				all[subject+"/"+name] = c
			}
		}
	}
	return all
}

func (c findingCase) result(t *testing.T) runfile.Result {
	t.Helper()
	r := c.base(t)
	c.mutate(&r)
	return r
}

func TestFindings(t *testing.T) {
	t.Parallel()
	for name, c := range findingCases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := Judge(c.result(t))
			switch f := findingOf(j, c.code); {
			case c.severity == "" && f != nil:
				t.Errorf("found %+v", f)
			case c.severity != "" && f == nil:
				t.Errorf("no %s in %+v", c.code, j.Findings)
			case c.severity != "":
				checkFinding(t, c, *f, j)
			}
		})
	}
}

func TestAnMTUThatIsNearlyTheSameOrUnknownIsNoFinding(t *testing.T) {
	t.Parallel()
	for _, m := range [][2]int32{{9000, 9000}, {8900, 9000}, {0, 0}, {0, 9000}} { // 9000 bytes are declared
		r := good(t)
		mtus(m[0], m[1])(&r)
		if j := Judge(r); hasFinding(j, MTUDiffers, "") {
			t.Errorf("%v: %+v", m, j.Findings)
		}
	}
}

func checkFinding(t *testing.T, c findingCase, f bench.Finding, j Judgement) {
	t.Helper()
	if f.Severity != c.severity || !regexp.MustCompile(c.text).MatchString(f.Message) {
		t.Errorf("finding %+v, want %s with %q", f, c.severity, c.text)
	}
	if j.Validity != c.validity {
		t.Errorf("validity %s, want %s; %+v", j.Validity, c.validity, j.Findings)
	}
}

func wireCases() map[string]findingCase {
	return map[string]findingCase{
		"BelowWireSpeedUnexplained": {nil, func(r *runfile.Result) { slower(r, 50) }, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `1114\.\d MB/s of 247\d\.\d MB/s \(45\.0 %\).*Nothing that was measured here explains it.*negotiated speed`},
		"BelowWireSpeedSmallBlocksAndDepth": {nil, func(r *runfile.Result) {
			slower(r, 50)
			r.Plan.Workload.Raw.BlockSize, r.Plan.Workload.Raw.Jobs, r.Plan.Workload.Raw.Depth = bench.Bytes(8192), 1, 1
		}, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `blocks of 8Ki are small.*; 1 outstanding I/Os for 2 paths are few`},
		"BelowWireSpeedBusyServerComesFirst": {nil, func(r *runfile.Result) {
			slower(r, 50)
			r.Plan.Workload.Raw.Depth, r.Plan.Workload.Raw.Jobs = 1, 1
			eachWindow(r, "Measure", func(w *runfile.ObservedWindow) { w.Storage[0].Nodes[0].CPUPermille = new(int32(990)) })
		}, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `Most likely first: the CPU of storage node n1 was 99\.0 % busy; .*outstanding`},
		"BelowWireSpeedSpecCutsBlocks": {nil, func(r *runfile.Result) {
			slower(r, 50)
			r.Clients[0].Load.Mount.ReadSizeBytes, r.Plan.Engine.TransferSizeBytes = 65536, 65536
		}, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `protocol\.transferSize cuts blocks of 1Mi into transfers of 64Ki`},
		"LineSaturated":       {nil, func(r *runfile.Result) { slower(r, 108) }, LineSaturated, bench.SeverityInfo, bench.ValidityValid, `97\.\d %\): the line is full`},
		"AboveWireLimit":      {nil, func(r *runfile.Result) { r.Plan.Link.BitsPerSecond = *bench.Bits(1e9) }, AboveWireLimit, bench.SeverityError, bench.ValiditySuspect, `more than the declared links can carry`},
		"AboveWireLimitFound": {nil, func(r *runfile.Result) { discover(r, 1e9) }, AboveWireLimit, bench.SeverityError, bench.ValiditySuspect, `more than the discovered links`},
		"WireLimitUnknown":    {nil, func(r *runfile.Result) { r.Plan.Link = nil }, WireLimitUnknown, bench.SeverityInfo, bench.ValidityValid, `no interface could be matched`},
		"WireLimitUnknownVirtual": {nil, func(r *runfile.Result) {
			discover(r, 10e9)
			r.Clients[0].Observed.Interfaces[1].Virtual = true
		}, WireLimitUnknown, bench.SeverityInfo, bench.ValidityValid, `eth1 is a virtual interface`},
		"HalfDuplexCopy": {nil, func(r *runfile.Result) {
			r.Plan.Workload.Raw.Pattern, r.Plan.Workload.Raw.Depth = bench.PatternCopy, 1
			halfWritten(r)
		}, HalfDuplexCopy, bench.SeverityInfo, bench.ValidityValid, `serial, half duplex.*1114\.1 MB/s and write 1114\.1 MB/s make 2228\.\d MB/s together\. That is 90\.\d %`},
		"TransferSizeBelowBlock": {nil, func(r *runfile.Result) { r.Clients[0].Load.Mount.ReadSizeBytes = 65536 }, TransferSizeReduced, bench.SeverityWarning, bench.ValidityValid, `READ moves 64Ki, so each block of 1Mi`},
		"TransferSizeBelowWanted": {nil, func(r *runfile.Result) {
			r.Plan.Engine.TransferSizeBytes = 262144
			r.Clients[0].Load.Mount.ReadSizeBytes = 65536
		}, TransferSizeReduced, bench.SeverityWarning, bench.ValidityValid, `64Ki, where 256Ki were asked for`},
		"RetransmitsTCP": {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.TCPRetransmittedSegment = new(int64(150_000)) }), Retransmits, bench.SeverityWarning, bench.ValidityValid, `10\.\d of 1000 TCP segments`},
		"OutOfOrder": {
			nil, func(r *runfile.Result) { outOfOrder(r, 6) }, Retransmits, bench.SeverityWarning, bench.ValidityValid,
			`^6\.0 of 1000 TCP segments arrived out of order: packets from the server were lost or overtook others\. Look for a bad cable`,
		},
		"OutOfOrderOfWhatWasRead": {nil, func(r *runfile.Result) {
			r.Plan.Workload.Raw.Pattern = bench.PatternMixed
			outOfOrder(r, 4) // of all, and 8 of the half that is read
			halfWritten(r)
		}, Retransmits, bench.SeverityWarning, bench.ValidityValid, `^8\.0 of 1000 TCP segments arrived out of order`},
		"BelowWireSpeedOutOfOrder": {nil, func(r *runfile.Result) {
			slower(r, 50)
			outOfOrder(r, 10)
		}, BelowWireSpeed, bench.SeverityWarning, bench.ValidityValid, `Most likely first: 20\.0 of 1000 TCP segments arrived out of order: look for a bad cable`},
		"RetransmitsNFS": {nil, inRepetitions(func(rep *runfile.Repetition) { rep.Channels[1].Retransmits = 2 }), Retransmits, bench.SeverityWarning, bench.ValidityValid, `2 NFS calls were sent again`},
	}
}

// halfWritten lets a good run read only half of its bytes, and write the other half.
func halfWritten(r *runfile.Result) {
	eachRep(r, func(rep *runfile.Repetition) {
		half := *rep.Read
		half.Bytes /= 2
		rep.Read, rep.Write = &half, &half
	})
	eachWindow(r, "Measure", func(w *runfile.ObservedWindow) {
		w.Storage[0].ReadBytes, w.Storage[0].WriteBytes = new(goodBytes/2), new(goodBytes/2)
	})
}

// outOfOrder lets so many of 1000 segments of a good run arrive out of order.
func outOfOrder(r *runfile.Result, permille int64) {
	eachWindow(r, "Measure", func(w *runfile.ObservedWindow) {
		w.TCPOutOfOrderSegments = new(goodBytes / (9000 - 52) * permille / 1000)
	})
}

func TestSegmentsOutOfOrderAreNoFindingWhereTheyAreFewOrUnknown(t *testing.T) {
	for name, change := range map[string]func(*runfile.Result){
		"just below the limit": func(r *runfile.Result) { outOfOrder(r, outOfOrderRate) },
		"not counted":          inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.TCPOutOfOrderSegments = nil }),
		"nothing was read": func(r *runfile.Result) {
			outOfOrder(r, 100)
			eachRep(r, func(rep *runfile.Repetition) { rep.Read, rep.Write = nil, rep.Read })
		},
	} {
		r := good(t)
		change(&r)
		if j := Judge(r); hasFinding(j, Retransmits, "") {
			t.Errorf("%s: %+v", name, j.Findings)
		}
	}
}

// discover replaces the declared link with two interfaces of a speed.
func discover(r *runfile.Result, bits int64) {
	r.Plan.Link = nil
	r.Clients[0].Observed.Interfaces = []runfile.Interface{
		{Name: "eth0", Addresses: []string{"10.0.1.5/24"}, MTUBytes: 9000, SpeedBitsPerSecond: &bits},
		{Name: "eth1", Addresses: []string{"fe80::1", "10.0.2.5"}, MTUBytes: 9000, SpeedBitsPerSecond: &bits},
		{Name: "eth2", Addresses: []string{"10.0.3.5"}, MTUBytes: 9000, SpeedBitsPerSecond: &bits},
	}
}

func pathCases() map[string]findingCase {
	shift := func(to int, permille int64) func(*runfile.Result) {
		return func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels[to].BytesRead = goodBytes * permille / 1000
				rep.Channels[1-to].BytesRead = goodBytes - rep.Channels[to].BytesRead
			})
		}
	}
	return map[string]findingCase{
		"PathUnused": {nil, shift(1, 0), PathUnused, bench.SeverityWarning, bench.ValiditySuspect, `1 of 2 paths carried nothing, or next to nothing: 10\.0\.2\.5 -> 10\.0\.2\.61 \(Up\)`},
		"PathNeverConnected": {nil, func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.Channels = rep.Channels[:1]
				rep.Channels[0].BytesRead = goodBytes
			})
		}, PathUnused, bench.SeverityWarning, bench.ValiditySuspect, `10\.0\.2\.61 \(Missing\)`},
		"PathImbalance":       {nil, shift(0, 680), PathImbalance, bench.SeverityWarning, bench.ValidityValid, `10\.0\.1\.61 68\.0 %, .*32\.0 %`},
		"MTUOfPaths":          {nil, mtus(1500, 9000), MTUDiffers, bench.SeverityWarning, bench.ValidityValid, `path 10\.0\.1\.61 is 1500 bytes, and that of path 10\.0\.2\.61 is 9000`},
		"MTUOfTheLink":        {nil, mtus(1500, 1500), MTUDiffers, bench.SeverityWarning, bench.ValidityValid, `declared MTU is 9000 bytes, and that of path 10\.0\.1\.61 is 1500`},
		"MismatchOfVersion":   {nil, func(r *runfile.Result) { r.Clients[0].Load.Mount.NFSVersion = "NFSv4.1" }, ProtocolMismatch, bench.SeverityError, bench.ValidityInvalid, `NFSv3 was declared and NFSv4\.1 carried`},
		"MismatchOfBytes":     {nil, inRepetitions(func(rep *runfile.Repetition) { rep.Channels[0].BytesRead = 0; rep.Channels[1].BytesRead = 1 << 30 }), ProtocolMismatch, bench.SeverityError, bench.ValidityInvalid, `Only 0\.8 % of the load went over Direct NFS`},
		"MismatchOfTransport": {kernelRun, overTransport("tcp"), ProtocolMismatch, bench.SeverityError, bench.ValidityInvalid, `RDMA was declared and the mount uses TCP`},
		"MismatchOfMount":     {kernelRun, func(r *runfile.Result) { r.Clients[0].Load.Mount.Options = []string{"vers=3"} }, ProtocolMismatch, bench.SeverityError, bench.ValidityInvalid, `NFSv4\.1 was declared and the volume is mounted with NFSv3`},
		"PNFSWithoutLayouts":  {kernelRun, func(r *runfile.Result) { r.Plan.Engine.NFSVersion = "pNFS" }, ProtocolMismatch, bench.SeverityError, bench.ValidityInvalid, `used no layout`},
		"PNFSOverV3": {kernelRun, func(r *runfile.Result) {
			r.Plan.Engine.NFSVersion, r.Clients[0].Load.Mount.Options = "pNFS", []string{"vers=3"}
		}, ProtocolMismatch, bench.SeverityError, bench.ValidityInvalid, `which has no layouts`},
		"NotNFS": {kernelRun, func(r *runfile.Result) {
			r.Plan.Engine.NFSVersion, r.Clients[0].Load.Mount = "", &runfile.MountFacts{FilesystemType: "ext4", DirectIO: true}
		}, NotNFS, bench.SeverityWarning, bench.ValiditySuspect, `/mnt/v is ext4 and not NFS`},
	}
}

func clientCases() map[string]findingCase {
	return map[string]findingCase{
		"ClientNodeBusy": {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(930)) }), ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `machine were 93\.0 % busy`},
		"ClientBusyAtFullLine": {nil, func(r *runfile.Result) {
			slower(r, 108)
			inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(930)) })(r)
		}, ClientCPUBound, bench.SeverityInfo, bench.ValidityValid, `almost at its limit`},
		"ClientBusyAboveTheLine": {nil, func(r *runfile.Result) {
			r.Plan.Link.BitsPerSecond = *bench.Bits(1e9)
			inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(930)) })(r)
		}, ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `may be the limit`},
		"ClientAtLimit":   {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.CgroupCPUMicroseconds = new(int64(230e6)) }), ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `95\.8 % of its CPU limit`},
		"ClientThrottled": {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.CgroupThrottledMicros = new(int64(6e6)) }), ClientCPUBound, bench.SeverityWarning, bench.ValiditySuspect, `throttled for 10\.0 %`},
		"PageCacheRead":   {kernelRun, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Mount.ServerReadBytes = goodBytes / 2 }), CacheSuspected, bench.SeverityWarning, bench.ValiditySuspect, `read 125 GiB and the server sent 62\.3 GiB`},
		"PageCacheUsed":   {kernelRun, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Mount.NormalReadBytes = goodBytes }), CacheSuspected, bench.SeverityWarning, bench.ValiditySuspect, `instead of direct I/O`},
		"PageCachePossible": {kernelRun, func(r *runfile.Result) {
			r.Plan.Workload.Raw.FileSize = *bench.Bytes(1 << 30)
			r.Clients[0].Load.Mount.DirectIO = false
			eachWindow(r, "Measure", func(w *runfile.ObservedWindow) { w.Mount = nil })
		}, CacheSuspected, bench.SeverityWarning, bench.ValiditySuspect, `Client 0 reads 4 GiB through its page cache of up to 64 GiB`},
		"ForeignTraffic":    {nil, inWindows(runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.Interfaces[0].ReceivedBytes = 500e6 }), ForeignLoad, bench.SeverityWarning, bench.ValiditySuspect, `eth0 of client 0 carried 100\.0 MB/s while idle`},
		"ForeignOnTheMount": {kernelRun, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Mount.ServerWriteBytes = goodBytes * 55 / 1000 }), ForeignLoad, bench.SeverityWarning, bench.ValiditySuspect, `the mount moved 131 GiB and the load only 125 GiB`},
		"ForeignCPU":        {nil, inWindows(runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(400)) }), ForeignLoad, bench.SeverityWarning, bench.ValiditySuspect, `40\.0 % busy while idle`},
		"NotCollected":      {nil, func(r *runfile.Result) { r.Clients[0].Observed = nil }, NotCollected, bench.SeverityInfo, bench.ValidityValid, `no counters`},
		"NotCollectedProblem": {nil, func(r *runfile.Result) {
			r.Clients[0].Observed.Problems = []runfile.CollectionError{{Source: "array", Message: "refused", Count: 3}}
		}, NotCollected, bench.SeverityInfo, bench.ValidityValid, `array could not be read 3 times: refused`},
		"HistogramUnreadable": {nil, inRepetitions(func(rep *runfile.Repetition) { rep.Read.Histogram = "x" }), NotCollected, bench.SeverityInfo, bench.ValidityValid, `latency is unknown`},
	}
}

func storageCases(t *testing.T) map[string]findingCase {
	t.Helper()
	small := func(r *runfile.Result) { r.Plan.Workload.Raw.FileSize = *bench.Bytes(1 << 30) }
	return map[string]findingCase{
		"StorageCPUBound":     {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Storage[0].Nodes[0].CPUPermille = new(int32(950)) }), StorageCPUBound, bench.SeverityWarning, bench.ValidityValid, `node n1 was 95\.0 % busy`},
		"ForeignOps":          {nil, inWindows(runfile.SpanBaseline, func(w *runfile.ObservedWindow) { w.Storage[0].ReadOps = new(int64(60_000)) }), ForeignLoad, bench.SeverityWarning, bench.ValiditySuspect, `storage array did 1000 operations/s while idle`},
		"ForeignBytes":        {nil, inWindows(runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.Storage[0].ReadBytes = new(goodBytes * 3 / 2) }), ArrayDisagrees, bench.SeverityWarning, bench.ValiditySuspect, `Storage array counted 3342\.\d MB/s of reads and the clients 2228\.\d MB/s \(repetition 1, 2, 3\): somebody else`},
		"ServerCachePossible": {nil, small, CacheSuspected, bench.SeverityInfo, bench.ValidityValid, `files \(4 GiB\) are small enough.*93\.4 times`},
		"ServerCacheSeen": {nil, func(r *runfile.Result) {
			small(r)
			h := histogram(t, 100, 120)
			eachRep(r, func(rep *runfile.Repetition) { rep.Read.Histogram = h })
		}, CacheSuspected, bench.SeverityWarning, bench.ValiditySuspect, `Half of the reads took less than \d+ µs`},
	}
}

func endCases() map[string]findingCase {
	return map[string]findingCase{
		"Partial": {nil, func(r *runfile.Result) { r.Clients[0].Load.Partial = true }, Partial, bench.SeverityError, bench.ValiditySuspect, `did not reach its planned end`},
		"PartialFailure": {nil, func(r *runfile.Result) {
			r.Clients[0].Load.Failure = &runfile.Failure{Code: runfile.FailureUnreachable, Message: "no path answered."}
		}, Partial, bench.SeverityError, bench.ValiditySuspect, `ServerUnreachable: no path answered`},
		"PartialClients":     {nil, func(r *runfile.Result) { r.Plan.Clients = 3 }, Partial, bench.SeverityError, bench.ValiditySuspect, `1 of 3 clients`},
		"PartialRepetitions": {nil, func(r *runfile.Result) { r.Plan.Schedule.Repetitions = 5 }, Partial, bench.SeverityError, bench.ValiditySuspect, `3 of 5 repetitions`},
		"VerificationFailed": {nil, func(r *runfile.Result) {
			r.Clients[0].Load.Verification = &runfile.Verification{BlocksChecked: 64, BlocksWrong: 2, WrongBlocks: runfile.Faults{Lost: 1, Torn: 1}}
		}, VerificationFailed, bench.SeverityError, bench.ValidityInvalid, `2 of 64 blocks read back are not what was written \(1 lost, 1 torn\)`},
		"WrongReads": {nil, func(r *runfile.Result) {
			r.Clients[0].Load.Verification = &runfile.Verification{
				ReadsChecked: 500, ReadsWrong: 2, WrongReads: runfile.Faults{Lost: 2},
				Examples: []runfile.WrongData{{Kind: runfile.FaultLost, File: "c0-j0.dat", Message: "offset 8192 holds zeros"}},
			}
		}, VerificationFailed, bench.SeverityError, bench.ValidityInvalid, `2 of 500 reads of the load did not give what was written \(2 stale\); the first: file "c0-j0.dat": offset 8192 holds zeros`},
		"VerificationFailure": {nil, func(r *runfile.Result) {
			r.Clients[0].Load.Failure = &runfile.Failure{Code: runfile.FailureVerify, Message: "block 7 of file 1"}
		}, VerificationFailed, bench.SeverityError, bench.ValidityInvalid, `block 7`},
		"IOErrors": {nil, func(r *runfile.Result) { r.Clients[0].Load.Repetitions[2].Read.Errors = 4 }, IOErrors, bench.SeverityError, bench.ValiditySuspect, `4 of 382504 operations failed`},
		"Embedded": {nil, func(r *runfile.Result) {
			r.Plan.Collect.Sources = []runfile.Source{{Kind: runfile.SourceEmbedded, Name: "embedded", URL: "http://10.0.0.1:8080"}}
		}, EmbeddedServer, bench.SeverityInfo, bench.ValidityValid, `embedded NFS server`},
		"Simulated": {nil, func(r *runfile.Result) { r.Simulated = true }, SimulatedStorage, bench.SeverityInfo, bench.ValidityValid, `stand-in`},
		"Dropped":   {nil, func(r *runfile.Result) { r.Clients[0].Load.Repetitions[0].DroppedOps = 5 }, LateOperations, bench.SeverityError, bench.ValiditySuspect, `5 operations were due and never started`},
		"Late":      {nil, func(r *runfile.Result) { r.Clients[0].Load.Repetitions[0].LateOps = 50_000 }, LateOperations, bench.SeverityWarning, bench.ValidityValid, `50000 of 382500 operations started after`},
	}
}

func timeCases() map[string]findingCase {
	shorter := func(seconds int) func(*runfile.Result) {
		return func(r *runfile.Result) {
			eachRep(r, func(rep *runfile.Repetition) {
				rep.End = rep.Start.Add(time.Duration(seconds) * time.Second)
				rep.Read.Bytes = rep.Read.Bytes * int64(seconds) / 60
			})
		}
	}
	return map[string]findingCase{
		"TooShort":       {nil, shorter(20), TooShort, bench.SeverityWarning, bench.ValiditySuspect, `Only 20 s`},
		"TooShortToNote": {nil, shorter(45), TooShort, bench.SeverityInfo, bench.ValidityValid, `45 s were measured`},
		"NotSteady": {nil, func(r *runfile.Result) {
			for i := range r.Clients[0].Load.Samples[:60] {
				s := &r.Clients[0].Load.Samples[i]
				s.Read.Count += int64(i) * 20
			}
		}, NotSteady, bench.SeverityWarning, bench.ValiditySuspect, `Repetition 1 was not steady: .*drifted by 4\d\.\d %`},
		"LatencyNotSteady": {nil, func(r *runfile.Result) {
			for i := range r.Clients[0].Load.Samples[:60] {
				r.Clients[0].Load.Samples[i].Read.MeanMicroseconds += int64(i) * 200
			}
		}, NotSteady, bench.SeverityWarning, bench.ValiditySuspect, `latency deviated`},
		"VariationHigh": {nil, func(r *runfile.Result) { r.Clients[0].Load.Repetitions[0].Read.Bytes /= 2 }, VariationHigh, bench.SeverityWarning, bench.ValiditySuspect, `3 repetitions varies by 34\.\d %`},
		"ClientsNotTogether": {nil, func(r *runfile.Result) {
			other := r.Clients[0]
			other.Index = 1
			other.Load.Repetitions = append([]runfile.Repetition(nil), other.Load.Repetitions...)
			for i := range other.Load.Repetitions {
				other.Load.Repetitions[i].Start = other.Load.Repetitions[i].Start.Add(12 * time.Second)
				other.Load.Repetitions[i].End = other.Load.Repetitions[i].End.Add(12 * time.Second)
			}
			r.Clients = append(r.Clients, other)
		}, ClientsNotTogether, bench.SeverityWarning, bench.ValiditySuspect, `only 80 % of the time`},
	}
}

func TestAPacedOrRandomLoadNeedNotFillTheWire(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*bench.RawWorkload){
		"paced":  func(r *bench.RawWorkload) { r.OperationsPerSecond = new(int64(1000)) },
		"random": func(r *bench.RawWorkload) { r.Pattern, r.BlockSize = bench.PatternRandomRead, bench.Bytes(8192) },
	} {
		r := good(t)
		slower(&r, 30)
		f(r.Plan.Workload.Raw)
		if j := Judge(r); hasFinding(j, BelowWireSpeed, "") {
			t.Errorf("%s: %+v", name, j.Findings)
		}
	}
}

func TestFindingsComeGravestFirst(t *testing.T) {
	t.Parallel()
	r := good(t)
	r.Simulated = true
	slower(&r, 50)
	r.Clients[0].Load.Verification = &runfile.Verification{BlocksChecked: 1, BlocksWrong: 1}
	if diff := cmp.Diff([]Code{VerificationFailed, BelowWireSpeed, SimulatedStorage}, codesOf(r)); diff != "" {
		t.Error(diff)
	}
}

func TestTheDocsListEveryCodeAndNoOther(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("findings.md.tmpl")
	if err != nil {
		t.Fatal(err)
	}
	codes, _, _ := bytes.Cut(text, []byte("\n## The codes of suites\n"))
	var documented []Code
	for _, m := range regexp.MustCompile("(?m)^### ([A-Za-z0-9]+)$").FindAllSubmatch(codes, -1) {
		documented = append(documented, Code(m[1]))
	}
	if diff := cmp.Diff(Codes(), documented); diff != "" {
		t.Errorf("findings.md.tmpl and the table of codes differ, order included:\n%s", diff)
	}
}

// TestCPUThatTheLoadDidNotUseIsOtherWork: without an idle baseline nobody has looked what the machine does by itself.
func TestCPUThatTheLoadDidNotUseIsOtherWork(t *testing.T) {
	t.Parallel()
	noBaseline := func(r *runfile.Result) {
		o := r.Clients[0].Observed
		o.Windows = slices.DeleteFunc(o.Windows, func(w runfile.ObservedWindow) bool { return w.Kind == runfile.SpanBaseline })
	}
	fourCPUs := func(r *runfile.Result) { // of which the load used 3.3
		r.Clients[0].Host.CPUs = 4
		eachWindow(r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.CgroupCPUMicroseconds = new(int64(200e6)) })
	}
	for name, tc := range map[string]struct {
		base    func(testing.TB) runfile.Result
		changes []func(*runfile.Result)
		want    Code
	}{
		"no baseline":                       {good, []func(*runfile.Result){noBaseline}, ForeignLoad},
		"a quiet baseline":                  {good, nil, ClientCPUBound},
		"the load used most of the machine": {good, []func(*runfile.Result){noBaseline, fourCPUs}, ClientCPUBound},
		"the kernel's client":               {kernelRun, []func(*runfile.Result){noBaseline}, ClientCPUBound},
	} {
		r := tc.base(t)
		eachWindow(&r, runfile.SpanMeasure, func(w *runfile.ObservedWindow) { w.NodeCPUPermille = new(int32(930)) })
		for _, change := range tc.changes {
			change(&r)
		}
		j := Judge(r)
		for _, code := range []Code{ForeignLoad, ClientCPUBound} {
			if hasFinding(j, code, "") != (code == tc.want) {
				t.Errorf("%s: want %s alone: %+v", name, tc.want, j.Findings)
			}
		}
	}
}
