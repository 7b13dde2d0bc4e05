package runfile

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// fullPlan sets every field. Its engine and its loads therefore are no possible
// ones: see directPlan, kernelPlan and oraclePlan for plans that can run.
func fullPlan() Plan {
	p := directPlan()
	p.Engine.MountPath = "/mnt/volume"
	p.Engine.MountOptions = []string{"vers=3", "rsize=1048576"}
	p.Workload.Calibrate, p.Workload.SLOB, p.Database = calibrate(), slob(), containerDatabase()
	p.Workload.SLOB.WorkLoop = 1000
	p.Database.TablespaceDirectory, p.Database.AllowRedo = "/u02/oradata/bench", true
	p.Database.RedoDirectory, p.Database.RedoExport = "/opt/oracle/oraredo", "/vol/redo"
	p.Database.RedoLogBytes, p.Database.UndoBytes, p.Database.TablespaceBytes = 1<<30, 4<<30, 64<<30
	capacity := &bench.Capacity{
		Percentile: "p99", Milliseconds: new(int64(1)), Microseconds: new(int64(1000)), Arrivals: bench.ArrivalsPoisson,
		AlsoAt: []bench.LatencyBound{{Percentile: "p999", Milliseconds: new(int64(2)), Microseconds: new(int64(2000))}},
	}
	p.Workload.Raw.ReadPercent, p.Workload.Raw.Capacity, p.Workload.SLOB.Capacity = new(int32(70)), capacity, capacity
	p.Expect.MinCapacity = new(int64(40_000))
	p.Workload.Raw.Seed, p.Keep, p.BlockBytes, p.LargeReadBytes = new(int64(1)), true, 8192, 1<<20
	addStorage(&p)
	return p
}

func directPlan() Plan {
	return Plan{
		Version: PlanVersion,
		Run:     Identity{Namespace: "bench", Name: "demo", UID: "6a2c1f0e-0000-4000-8000-000000000001"},
		Clients: 1,
		Engine: Engine{
			Client: bench.ClientDirectNFS, NFSVersion: "NFSv3", Transport: "TCP", Server: "array1", Export: "/vol/data",
			DontRoute: true, Channels: []bench.ResolvedPath{
				{Local: "10.0.1.5", Path: "10.0.1.61", LIF: "lif1", Node: "a", Locality: bench.LocalityLocal},
				{Local: "10.0.2.5", Path: "10.0.2.61", LIF: "lif2", Node: "b", Locality: bench.LocalityRemote},
			},
			RequireNFS: true, Security: "sys", TransferSizeBytes: 1 << 20, MountTimeoutSeconds: 30, CallTimeoutSeconds: 60, Sessions: 1,
			Ports: Ports{NFS: 2049, Mount: 635, Portmap: 111}, UserID: new(uint32(54321)), GroupID: new(uint32(54321)), PathSelection: "All",
		},
		Workload: bench.Workload{Raw: &bench.RawWorkload{
			Pattern: bench.PatternRead, BlockSize: bench.Bytes(1 << 20), FileSize: *bench.Bytes(4 << 30), Jobs: 4, Depth: 8, OperationsPerSecond: new(int64(5000)),
			Directory: "nfsbench-demo", ForeignFiles: bench.ForeignFilesOverwrite, Verify: bench.VerifyAll,
		}},
		Schedule: Schedule{BaselineSeconds: 5, WarmupSeconds: 10, DurationSeconds: 60, CooldownSeconds: 5, Repetitions: 3, TimeoutSeconds: 600},
		Collect: Collect{IntervalMilliseconds: 1000, Sources: []Source{
			{Kind: SourceEmbedded, Name: "server", URL: "http://10.0.1.61:8080"},
		}},
		Link: &bench.Link{BitsPerSecond: *bench.Bits(10_000_000_000), MTU: 9000},
		Expect: &bench.Expect{
			MinWirePercent: new(int32(85)), MinMegabytesPerSecond: new(int64(2000)), MinIOPS: new(int64(1900)),
			MaxMeanLatencyMicroseconds: new(int64(20_000)), MaxP99LatencyMicroseconds: new(int64(50_000)), MaxPauseMilliseconds: new(int64(1000)), MaxVariationPercent: new(int32(5)),
		},
		Seed: 42,
	}
}

// addStorage sets the fields of a plan about an array.
func addStorage(p *Plan) {
	p.Collect.Sources = []Source{{
		Kind: SourceONTAP, Name: "server", URL: "https://10.0.1.5", Credentials: "array", CABundle: "-----BEGIN CERTIFICATE-----", InsecureSkipVerify: true,
		Volume: "data", SVM: "svm1", Nodes: []SourceNode{{Name: "n1", URL: "http://10.0.1.61:9100/metrics"}},
		Labels: map[string]string{"cluster": "c1"}, Queries: map[string]string{"readBytes": "x"}, IntervalMilliseconds: 5000, OneClient: true,
	}}
	p.Survey = fullSurvey()
}

func fullSurvey() *Survey {
	yes, n := new(true), new(int64(1))
	return &Survey{
		Version: SurveyVersion, Source: "server", Array: "ONTAP 9.14.1", Time: time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC), ClockOffsetMilliseconds: n,
		Clients: []string{"10.244.0.5"}, Nodes: []SurveyNode{{Name: "n1", Model: "FAS3170", Up: yes}},
		LIFs: []LIF{{Name: "lif1", Address: "10.0.1.61", Prefix: 24, Node: "n1", HomeNode: "n1", AtHome: yes, Up: yes}},
		Volume: &SurveyVolume{
			Name: "data", UUID: "u", Export: "/vol/data", Style: "flexvol", State: "online", Aggregate: "aggr1", Node: "n1", SizeBytes: n,
			AvailableBytes: n, ExportPolicy: "default", Moving: true, QoS: &QoS{Policy: "gold", MaxIOPS: n, MaxBytesPerSecond: n},
		},
		NFS:     &NFSService{Enabled: yes, V3: yes, V40: yes, V41: yes, PNFS: yes, TransferSizeBytes: n},
		Rules:   []ExportRule{{Index: 1, Clients: []string{"0.0.0.0/0"}, Protocols: []string{"nfs"}, ReadOnly: []string{"sys"}, ReadWrite: []string{"sys"}, SuperUser: []string{"any"}}},
		Missing: []MissingFact{{What: "CPU of the nodes", Why: "403", Fix: "security login rest-role create"}},
		Move:    &VolumeMove{From: "aggr1", To: "aggr2", Seconds: 1, Percent: 100},
		Problem: &SurveyProblem{Reason: SurveyFailed, Message: "no"},
	}
}

func kernelPlan() Plan {
	p := directPlan()
	p.Engine = Engine{Client: bench.ClientKernel, NFSVersion: "pNFS", MountPath: "/mnt/volume", RequireNFS: true}
	return p
}

// fullResult sets every field of the contract.
func fullResult() Result {
	t0 := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	ops := &Ops{Count: 140_000, Bytes: 140_000 << 20, Errors: 1, Histogram: "HISTFAAAAB", Buckets: []LatencyBucket{{BelowMicroseconds: 512, Count: 1}}, TotalMicroseconds: 1, Batches: []Batch{{Milliseconds: 2000, Count: 3, Latencies: "160:2 170:1"}}}
	sample := &SampleOps{Count: 2300, Bytes: 2300 << 20, Errors: 1, MeanMicroseconds: 13_000, P50Microseconds: 12_000, P99Microseconds: 30_000, MaxMicroseconds: 41_000}
	return Result{
		Version: ResultVersion, Plan: fullPlan(), Simulated: true,
		Clients: []ClientResult{{
			Index: 1,
			Host:  Host{Name: "demo-0", Node: "node1", Kernel: "6.12.0", CPUs: 16, CPULimit: new(4.0), MemoryBytes: 64 << 30, NUMANodes: 2, TCPSlots: 65536, Version: "v0.1.0"},
			Load: Load{
				Partial: true, Failure: &Failure{Code: FailureIO, Message: "read file 3 at 4096 failed; look at the log of the server", Cause: "input/output error"},
				LoopMode: "open", Spans: []Span{{Kind: SpanMeasure, Repetition: 1, Start: t0, End: t0.Add(time.Minute)}},
				Repetitions: []Repetition{{
					Index: 1, Start: t0, End: t0.Add(time.Minute), Read: ops, Write: ops,
					Channels: []Channel{{
						ID: 1, Local: "10.0.1.5", Path: "10.0.1.61", State: "Up", Sends: 70_000, Receives: 70_000,
						BytesRead: 70_000 << 20, BytesWritten: 1, Reconnects: 1, Retransmits: 1, DownMilliseconds: 100,
						Losses: []ChannelLoss{{Start: t0, NoticedMilliseconds: 400, ConnectedMilliseconds: new(int64(9000)), AnsweredMilliseconds: new(int64(12_500))}},
						Server: 1, Role: bench.PathDataServer,
					}},
					Servers:              []NFSServer{fullServer()},
					FirstDoneNanoseconds: 59e9, LastDoneNanoseconds: 60e9, LateOps: 1, DroppedOps: 1, EdgeMilliseconds: 1, CPUMicroseconds: 30e6, PeakMemoryBytes: 64 << 20,
					Pauses: &Pauses{
						LeastMilliseconds: 100,
						Client:            []Pause{{StartMilliseconds: 20_000, Milliseconds: 12_500}},
						Paths:             []PathPause{{"path 10.0.1.61 from 10.0.1.5", Pause{StartMilliseconds: 19_900, Milliseconds: 12_700}}},
					},
					WakeUps: &WakeUps{Count: 60_000, P50Microseconds: 20, P90Microseconds: 50, P95Microseconds: 60, P99Microseconds: 200, P999Microseconds: 1800, MaxMicroseconds: 3600},
					Level:   &LevelReport{Index: 1, Seconds: 2, Due: []int64{2300}, Done: []int64{2299}, Errors: 1, Slow: [][]int64{{23}}, Histogram: "HISTFAAAAB"},
					Step:    &Step{Kind: StepUsers, Users: 4, OperationsPerSecond: 2300, Round: 1, Warmup: true}, Oracle: fullWindow(t0),
				}},
				Samples: []LoadSample{{Time: t0, Span: SpanMeasure, Repetition: 1, Read: sample, Write: sample, Channels: []PathBytes{{ID: 1, BytesRead: 1, BytesWritten: 1}}}},
				Verification: &Verification{
					ReadsChecked: 2300, ReadsWrong: 4, WrongReads: Faults{Lost: 1, Torn: 1, Misplaced: 1, Corrupted: 1},
					WritesAcknowledged: 2300, WritesSentAgain: 1, BlocksWritten: 2000, BlocksInDoubt: 1, BlocksChecked: 64, WrittenBlocksChecked: 64,
					BlocksWrong: 4, WrongBlocks: Faults{Lost: 1, Torn: 1, Misplaced: 1, Corrupted: 1}, Cut: true,
					Examples: []WrongData{{Kind: FaultTorn, File: "c0-j0.dat", Offset: 8192, Read: true, Path: "10.0.1.5 -> 10.0.1.61", Message: "the block at 8192 has data of 2 writes"}},
				},
				Mount: &MountFacts{
					FilesystemType: "nfs", Source: "10.0.1.61:/vol/data", Options: []string{"vers=3"}, NFSVersion: "NFSv3",
					ReadSizeBytes: 1 << 20, WriteSizeBytes: 1 << 20, TotalBytes: 1 << 40, FreeBytes: 1 << 39, DirectIO: true,
					Servers: []NFSServer{fullServer()},
					Paths:   []PathFacts{{Local: "10.0.1.5", Path: "10.0.1.61", MTUBytes: 9000, SegmentBytes: 8948, LargeCall: "Acknowledged"}},
				},
				FilledBytes: 16 << 30, CeilingPerSecond: new(int64(9000)), SampleSeconds: 1, FilesLeft: true, Oracle: fullOracle(t0),
			},
			Observed: fullObserved(t0),
		}},
	}
}

func fullServer() NFSServer {
	return NFSServer{
		ID: 1, Role: bench.PathMetadata, NFSVersion: "NFSv4.1", Addresses: []string{"10.0.1.61", "10.0.2.61"}, Owner: "array1", OwnerMinor: "1",
		Scope: "array1.example.com", Trunking: bench.TrunkingSession, Slots: 64, SlotsAsked: 64, Sessions: 1, LeaseSeconds: 90, LayoutType: LayoutTypeFiles,
		SlotsUsed: 64, SlotsWanted: 32, SlotRequests: 1000, SlotWaits: 10, SlotWaitMilliseconds: 5,
		Recoveries: 1, RecoveryMilliseconds: 100, Callbacks: 1, LayoutsGranted: 4, LayoutsRecalled: 1, LayoutFallbacks: 8, LayoutFallbackBytes: 8 << 20,
	}
}

func fullObserved(t0 time.Time) *Observed {
	one, permille, cores := new(int64(1)), new(int32(400)), new(int32(8))
	mount := &MountCounters{
		ServerReadBytes: 1, ServerWriteBytes: 1, DirectReadBytes: 1, DirectWriteBytes: 1, NormalReadBytes: 1, NormalWriteBytes: 1,
		PNFSReads: 1, PNFSWrites: 1, ReadOps: 1, WriteOps: 1, Retransmits: 1, Transports: []Transport{{Protocol: "tcp", Sends: 1, Receives: 1}},
	}
	reads := []InterfaceRead{{Name: "eth0", ReceivedBytes: 1, SentBytes: 1}}
	seen := []StorageClient{{Address: "10.0.1.5", Server: "10.0.1.61", Protocol: "nfs3"}}
	paths := []StoragePath{{Address: "10.0.1.61", Name: "lif1", Node: "n1", ReadBytes: one, WriteBytes: one, Ops: one}}
	return &Observed{
		IntervalMilliseconds: 1000,
		Interfaces:           []Interface{{Name: "eth0", Addresses: []string{"10.0.1.5"}, MTUBytes: 9000, SpeedBitsPerSecond: new(int64(10e9)), Virtual: true}},
		Windows: []ObservedWindow{{
			Kind: "Measure", Repetition: 1, Start: t0, End: t0.Add(time.Minute), EdgeMilliseconds: 1, NodeCPUPermille: permille, NodeBusyMicroseconds: one, CgroupCPUMicroseconds: one,
			CgroupThrottledMicros: one, TCPRetransmittedSegment: one, TCPOutOfOrderSegments: one, Interfaces: reads, Mount: mount, CollectorCPUMicroseconds: one,
			AsyncIO: &AsyncIO{Requests: 1, Limit: 65_536}, Cores: []CoreWindow{{Number: 1, BusyPermille: 400}},
			Storage: []StorageWindow{{
				Source: "server", Seconds: 60, Start: t0, End: t0.Add(time.Minute), ReadOps: one, WriteOps: one, OtherOps: one, ReadBytes: one, WriteBytes: one,
				Nodes: []StorageNodeWindow{{Name: "n1", CPUPermille: permille}}, Paths: paths, Reset: true,
				ReadMicroseconds: one, WriteMicroseconds: one, VolumeNodes: []string{"n1", "n2"}, Clients: seen,
			}},
		}},
		Samples: []HostSample{{
			Time: t0, TookMilliseconds: 1, NodeBusyMicroseconds: one, NodeTotalMicroseconds: one, CgroupCPUMicroseconds: one, CgroupThrottledMicros: one,
			TCPRetransmittedSegment: one, TCPOutOfOrderSegments: one, Interfaces: reads, Mount: mount, CollectorCPUMicroseconds: one,
			AsyncIO: &AsyncIO{Requests: 1, Limit: 65_536},
		}},
		Storage: []StorageSample{{
			Source: "server", Time: t0, ReadOps: one, WriteOps: one, OtherOps: one, ReadBytes: one, WriteBytes: one,
			Nodes: []StorageNode{{Name: "n1", BusyMicroseconds: one, Cores: cores, BaseMicroseconds: one}}, Paths: paths,
			ReadMicroseconds: one, WriteMicroseconds: one, VolumeNode: "n1", Clients: seen,
		}},
		Problems:                []CollectionError{{Source: "server", Message: "connection refused", Since: t0, Count: 3}},
		ClockOffsetMilliseconds: new(int64(-250)),
	}
}
