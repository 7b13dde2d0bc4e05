package experiments

import (
	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const oranfstabDNFSThroughput = `server: flashblade
local: 192.168.4.50
path: 192.168.4.100
local: 192.168.5.50
path: 192.168.5.100
local: 192.168.6.50
path: 192.168.6.100
local: 192.168.7.50
path: 192.168.7.100
nfs_version: %s
export: /z-fbhosts_oradata mount: /opt/oracle/oradata
`

// What was reached: by four paths of 10GbE, and by two nodes with four each.
const (
	MegabytesPerSecond    = 4030
	MegabytesPerSecondRAC = 8300
)

// Scan is the third test of dnfs-throughput: full table scans over four paths. channels
// are the paths that V$DNFS_CHANNELS has.
func Scan(channels ...string) runfile.Result {
	plan := basePlan("dnfs-throughput")
	plan.Workload.SLOB = &bench.SLOBWorkload{Access: bench.SLOBFullTableScan, Users: []int32{32}, Schemas: 8, ScanTableSize: *bench.Bytes(64 << 30)}
	plan.Engine = engine(oranfstabDNFSThroughput, "nfsv3")
	plan.Link = &bench.Link{BitsPerSecond: *bench.Bits(10_000_000_000), MTU: 1500}
	load := runfile.Load{Oracle: database("Oracle Database 12c Enterprise Edition Release 12.2.0.1.0 - 64bit Production", "fb1")}
	load.Repetitions = []runfile.Repetition{scanned(MegabytesPerSecond, channels)}
	return result(plan, load)
}

// RAC is the fourth test: two instances, each with four paths.
func RAC(first, second int64) runfile.Result {
	r := Scan("192.168.4.100", "192.168.5.100", "192.168.6.100", "192.168.7.100")
	r.Plan.Database.Kind = runfile.DatabaseExternal
	load := &r.Clients[0].Load
	load.Oracle = database(load.Oracle.Banner, "fb1", "fb2")
	rep := scanned(MegabytesPerSecondRAC, []string{"192.168.4.100", "192.168.5.100", "192.168.6.100", "192.168.7.100"})
	all := rep.Oracle.DirectNFS.Channels
	for _, ch := range all {
		ch.Instance = 2
		rep.Oracle.DirectNFS.Channels = append(rep.Oracle.DirectNFS.Channels, ch)
	}
	rep.Oracle.InstanceBytes = map[string]int64{"fb1": first, "fb2": second}
	load.Repetitions[0] = rep
	return r
}

func scanned(megabytesPerSecond int64, channels []string) runfile.Repetition {
	rep := repetition(1, 300)
	bytes := megabytesPerSecond * 1_000_000 * 300
	rep.Step = &runfile.Step{Kind: runfile.StepUsers, Users: 32, Round: 1}
	rep.Read = &runfile.Ops{Count: bytes >> 20, Bytes: bytes}
	w := &runfile.OracleWindow{
		ServiceTimeUnit: runfile.UnitMicroseconds,
		Statistics: map[string]int64{
			"physical read total bytes": bytes, "physical reads": bytes / 8192, "physical reads direct": bytes/8192 - 1000, "DB CPU": 120_000_000,
		},
		Events: []runfile.OracleEvent{{Name: "direct path read", Waits: 900_000, Microseconds: 7_200_000_000}, {Name: "db file scattered read", Waits: 12, Microseconds: 9_000}},
		Files: []runfile.OracleFile{{
			Number: 12, Type: "Data File", AccessMethod: "DNFS_LIB", AsynchIO: "ASYNC_ON",
			LargeReads: bytes >> 20, LargeReadMegabyte: bytes >> 20, LargeReadTime: 9e9,
		}},
		DirectNFS: runfile.DirectNFS{
			Servers:   []runfile.DNFSServer{{Server: "flashblade", Export: "/z-fbhosts_oradata", Version: "NFSv3.0", ReadMaxBytes: 524288, WriteMaxBytes: 524288}},
			ReadBytes: &bytes, WriteBytes: new(int64),
		},
	}
	for _, path := range channels {
		w.DirectNFS.Channels = append(w.DirectNFS.Channels, runfile.DNFSChannel{
			Instance: 1, Server: "flashblade", Path: path, Processes: 32, Sends: 600_000, Receives: 600_000,
		})
	}
	rep.Oracle = w
	return rep
}
