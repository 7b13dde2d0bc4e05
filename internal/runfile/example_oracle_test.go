package runfile

import (
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
)

// nativeFiles are those of a native load.
func nativeFiles() bench.NativeFiles {
	return bench.NativeFiles{Count: 4, Size: *bench.Bytes(1 << 30), Directory: "nfsbench", ForeignFiles: bench.ForeignFilesOverwrite, Verify: bench.VerifySample}
}

func calibrate() *bench.CalibrateWorkload {
	return &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1)), DatabaseSize: bench.Bytes(64 << 30), NativeFiles: nativeFiles()}
}

// slob is a ramp of RandomRead with every field that a load in a database has.
func slob() *bench.SLOBWorkload {
	return &bench.SLOBWorkload{
		Access: bench.SLOBRandomRead, Users: []int32{1, 2, 4, 8, 16}, Schemas: 2, Scale: *bench.Bytes(1 << 30), ScanTableSize: *bench.Bytes(1 << 30),
		WorkUnit: 64, UpdatePercent: 25, RedoStress: bench.SLOBRedoHeavy, Think: &bench.SLOBThink{Frequency: 3, MinimumMilliseconds: 100, MaximumMilliseconds: 500},
		ReadAhead: 4, LoadParallelDegree: 2, Tablespace: "NFSBENCH", ObfuscateColumns: bench.Enabled, AWR: bench.Enabled, ThreadsPerSchema: 1, NativeFiles: nativeFiles(),
		Kit: &bench.SLOBKit{ClaimName: "slob", Directory: "kit"},
	}
}

// containerDatabase is one that the run starts.
func containerDatabase() *Database {
	return &Database{
		Kind: DatabaseContainer, AdminConnect: "localhost:1521/ORCLCDB", Connects: []string{"localhost:1521/ORCLPDB1"}, User: "sys", Role: "SYSDBA",
		DirectNFS: true, Parameters: map[string]string{"sga_target": "2048M", "filesystemio_options": "SETALL"}, RestartBeforeRun: true,
		DataDirectory: "/opt/oracle/oradata", StartupTimeoutSeconds: 2700, SID: "ORCLCDB", CPUMillis: 4000,
	}
}

// externalDatabase is a RAC of two instances with a service each.
func externalDatabase() *Database {
	return &Database{
		Kind: DatabaseExternal, AdminConnect: "scan.example:1521/ORCL", Role: "SYSDBA", DirectNFS: true,
		Connects: []string{"rac1.example:1521/slob1", "[fd00::2]:1521/slob2?connect_timeout=15&expire_time=2"},
	}
}

// inContainer, inExternal and native put a load where it runs.
func inContainer(p *Plan) {
	p.Database = containerDatabase()
	p.Engine.MountPath = p.Database.DataDirectory
}

func inExternal(p *Plan) { p.Database = externalDatabase() }

func native(p *Plan) {
	if w := p.Workload.SLOB; w != nil {
		w.AWR, w.Kit = bench.Disabled, nil
	}
}

func kernel(p *Plan) {
	mount := p.Engine.MountPath
	p.Engine = kernelPlan().Engine
	if p.Database != nil {
		p.Database.DirectNFS = false
		p.Engine.MountPath = mount
	}
}

// oraclePlan is a plan of calibrate or SLOB, changed by mods.
func oraclePlan(w bench.Workload, mods ...func(*Plan)) Plan {
	p := directPlan()
	p.Workload = w
	p.Schedule.TimeoutSeconds = 24 * 3600
	for _, m := range mods {
		m(&p)
	}
	return p
}

// fullOracle is what a loader found of a database.
func fullOracle(t0 time.Time) *Oracle {
	return &Oracle{
		Banner: "Oracle Database 19c", Version: "19.0.0.0.0", Container: "CDB$ROOT", StandIn: true,
		Patches: []string{"Database Release Update : 19.24.0.0.240716 (36582781)"}, EncryptedTablespaces: new(int64(2)),
		Instances:         []OracleInstance{{ID: 1, Name: "ORCLCDB", Host: "pod", StartupTime: t0}},
		Parameters:        []OracleParameter{{Name: "sga_target", Requested: "2048M", Value: "2147483648"}},
		ReadyMilliseconds: new(int64(900_000)), Library: fullLibrary(), Host: fullHost(), LoadedBytes: 1 << 30, SchemasReused: true, Restarted: true,
	}
}

func fullHost() *DatabaseHost {
	n := new(int64(65536))
	return &DatabaseHost{
		Limits: []ProcessLimit{{Name: "Max open files", Soft: n, Hard: n, HardBefore: new(int64(1073741816))}},
		Mended: []string{"listener.ora: HOST = a is now 0.0.0.0"}, Servers: []ServerProbe{{Path: "10.0.1.61", Export: "/vol/redo", Problem: "refused", WriteMaxBytes: 65536}},
		ServersNotProbed: "security krb5", SocketBuffers: &SocketBuffers{ReceiveBytes: 4 << 20, SendBytes: 1 << 20},
	}
}

func fullLibrary() *DirectNFSLibrary {
	return &DirectNFSLibrary{
		Wanted: true, Method: "make", Path: "/opt/oracle/product/19c/dbhome_1/rdbms/lib/odm/libnfsodm19.so",
		AlertLine: "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0", Warnings: []string{"Direct NFS: please check that oradism is setuid"},
		Mounts:      []DNFSMount{{Export: "/vol/oradata", Server: "filer1", DefinedIn: "oranfstab"}},
		OradismMode: "-rwsr-x---", OradismOwner: new(int64(1)), // 0 is what it should be, and what "not set" looks like here
	}
}

// fullWindow is what a database counted in one window.
func fullWindow(t0 time.Time) *OracleWindow {
	n, buckets := new(int64(1)), []LatencyBucket{{BelowMicroseconds: 512, Count: 1}}
	return &OracleWindow{
		Calibration: &Calibration{MaxIOPS: 27_000, MaxMegabytesPerSecond: 1100, ActualLatencyMilliseconds: 1, Seconds: 600, AdditionalInfo: "none"},
		Phases: []OraclePhase{{
			Kind: StepSmallReads, Start: t0, End: t0.Add(time.Minute), Reads: 1_600_000, ReadTime: 5.6e8, BusyCentiseconds: n, IdleCentiseconds: n,
		}},
		Statistics: map[string]int64{"physical read total bytes": 1 << 30},
		OwnReads:   new(int64(130_000)), OwnReadBytes: new(int64(1 << 30)), DatafileBytes: 67 << 30,
		Events:   []OracleEvent{{Name: "db file sequential read", Waits: 1, Microseconds: 355, Buckets: buckets}},
		TopWaits: []OracleWait{{Name: "db file sequential read", Class: "User I/O", Waits: 1, Microseconds: 355}}, ForegroundWaitMicroseconds: new(int64(400)),
		Files: []OracleFile{{
			Number: 4, Instance: 1, Type: "Data File", Name: "/opt/oracle/oradata/users01.dbf", AccessMethod: "DNFS_LIB", AsynchIO: "ASYNC_ON",
			SmallReads: 1, SmallReadTime: 6.28571429, SmallSyncReads: 1, SmallSyncReadTime: 355, LargeReads: 1, LargeReadTime: 1,
			SmallReadMegabyte: 1, LargeReadMegabyte: 1, SmallWrites: 1, LargeWrites: 1,
		}},
		ServiceTimeUnit: UnitMicroseconds,
		DirectNFS: DirectNFS{
			Servers: []DNFSServer{{Instance: 1, Server: "array1", Export: "/vol/data", Version: "NFSv3.0", WriteMaxBytes: 1 << 18, ReadMaxBytes: 1 << 18}},
			Files:   []DNFSFile{{Name: "/opt/oracle/oradata/users01.dbf", Server: 1}},
			Channels: []DNFSChannel{{
				Instance: 1, Server: "array1", Path: "10.0.1.61", Local: "10.0.1.5", Processes: 1, Sends: 1, Receives: 1, Reconnects: 1, LowPorts: 1,
			}},
			ReadOps: n, WriteOps: n, ReadBytes: n, WriteBytes: n,
		},
		Connections:      []Connection{{Local: "10.0.1.5:714", Remote: "10.0.1.61:2049"}},
		BusyCentiseconds: n, IdleCentiseconds: n,
		AWR:           []AWRRow{{WaitsRounding: 1, SecondsRounding: .5, Event: "db file sequential read", Waits: 1, Seconds: 1}},
		InstanceBytes: map[string]int64{"ORCLCDB": 1},
	}
}
