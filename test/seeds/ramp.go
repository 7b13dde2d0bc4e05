package seeds

import "github.com/nfsbench/nfsbench/internal/runfile"

// Wait is a line of an awr.txt of seed 002 for db file sequential read, with the
// average in milliseconds that was printed for it.
type Wait struct {
	Client  string // DNFS or NFS
	Users   int32
	Waits   int64
	Seconds float64
	Average string
}

// Waits are the lines of the first run over 1 to 10 users.
func Waits() []Wait {
	return []Wait{
		{"DNFS", 1, 32032, 14, "0.44"},
		{"NFS", 1, 34633, 16, "0.46"},
		{"DNFS", 2, 88826, 52, "0.59"},
		{"NFS", 2, 92367, 41, "0.44"},
		{"DNFS", 3, 141068, 92, "0.65"},
		{"NFS", 3, 145057, 81, "0.56"},
		{"DNFS", 4, 192897, 111, "0.58"},
		{"NFS", 4, 197535, 118, "0.60"},
		{"DNFS", 5, 246322, 153, "0.62"},
		{"NFS", 5, 249038, 141, "0.57"},
		{"DNFS", 6, 297759, 181, "0.61"},
		{"NFS", 6, 301305, 199, "0.66"},
		{"DNFS", 7, 349475, 216, "0.62"},
		{"NFS", 7, 352788, 244, "0.69"},
		{"DNFS", 8, 402262, 266, "0.66"},
		{"NFS", 8, 405099, 282, "0.70"},
		{"DNFS", 9, 453341, 306, "0.67"},
		{"NFS", 9, 456009, 345, "0.76"},
		{"DNFS", 10, 507722, 376, "0.74"},
		{"NFS", 10, 508800, 433, "0.85"},
	}
}

// Averages are milliseconds by users, 1 to 16, over eight runs of both clients.
func Averages() []float64 {
	return []float64{.46, .47, .61, .61, .60, .64, .67, .70, .73, .78, .85, .92, .99, 1.04, 1.12, 1.21}
}

const oranfstab002 = `server: filer
path: 192.168.1.20
nfs_version: %s
export: /oradata mount: /opt/oracle/oradata
`

func rampPlan(steps int) runfile.Plan {
	plan := basePlan("seed-002")
	plan.Workload.SLOB = &runfile.SLOB{Access: runfile.AccessRandomRead, Schemas: 16, ScaleBytes: 80 << 20}
	for users := range steps {
		plan.Workload.SLOB.Users = append(plan.Workload.SLOB.Users, int32(users+1)) //nolint:gosec // a few
	}
	plan.Engine = engine(oranfstab002, "nfsv3")
	plan.Link = &runfile.Link{BitsPerSecond: 1_000_000_000, MTUBytes: 1500}
	return plan
}

// Kit is the run of the user's own SLOB kit with one client (DNFS or NFS).
func Kit(client string) runfile.Result {
	plan := rampPlan(10)
	plan.Workload.SLOB.Kit = &runfile.SLOBKit{Directory: "/slob"}
	load := runfile.Load{Oracle: database("Oracle Database 11g Enterprise Edition Release 11.2.0.2.0 - 64bit Production", "orcl")}
	for _, w := range Waits() {
		if w.Client != client {
			continue
		}
		rep := rampStep(w.Users, 1, w.Waits)
		rep.Oracle.AWR = []runfile.AWRRow{{Event: "db file sequential read", Waits: w.Waits, Seconds: w.Seconds}}
		load.Repetitions = append(load.Repetitions, rep)
	}
	return result(plan, load)
}

// Ramp is the ramp of 1 to 16 users, in two rounds: each user reads again when
// the read before has ended. Latencies are in the bucket of 512, 1024 or 2048
// microseconds.
func Ramp() runfile.Result {
	load := runfile.Load{Oracle: database("Oracle Database 11g Enterprise Edition Release 11.2.0.2.0 - 64bit Production", "orcl")}
	averages := Averages()
	for round := range int32(2) {
		for i, ms := range averages {
			users := int32(i + 1) //nolint:gosec // a few
			count := int64(float64(users) / ms * 1000 * 300)
			rep := rampStep(users, round+1, count)
			rep.Index += round * int32(len(averages)) //nolint:gosec // a few
			rep.Read.TotalMicroseconds = int64(ms * 1000 * float64(count))
			rep.Read.Buckets = []runfile.LatencyBucket{
				{BelowMicroseconds: 512, Count: count - count/2}, {BelowMicroseconds: 1024, Count: count/2 - count/50}, {BelowMicroseconds: 2048, Count: count / 50},
			}
			load.Repetitions = append(load.Repetitions, rep)
		}
	}
	plan := rampPlan(len(averages))
	plan.Schedule.Repetitions = 2
	return result(plan, load)
}

func rampStep(users, round int32, reads int64) runfile.Repetition {
	rep := repetition(users, 300)
	bytes := reads * 8192
	rep.Step = &runfile.Step{Kind: runfile.StepUsers, Users: users, Round: round}
	rep.Read = &runfile.Ops{Count: reads, Bytes: bytes}
	rep.Oracle = &runfile.OracleWindow{
		Statistics: map[string]int64{"physical read total bytes": bytes, "CPU used by this session": 3_000},
		Files: []runfile.OracleFile{{
			Number: 5, Type: "Data File", AccessMethod: "DNFS_LIB", AsynchIO: "ASYNC_ON", SmallReads: reads, SmallReadMegabyte: bytes >> 20,
		}},
		DirectNFS: runfile.DirectNFS{
			Servers:  []runfile.DNFSServer{{Server: "filer", Export: "/oradata", Version: "NFSv3.0"}},
			Channels: []runfile.DNFSChannel{{Server: "filer", Path: "192.168.1.20", Processes: users, Sends: reads, Receives: reads}},
		},
	}
	return rep
}
