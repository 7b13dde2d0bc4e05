package experiments

import (
	"strconv"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// Wait is a line of an awr.txt of nfs-vs-dnfs for db file sequential read, with the
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

const banner11 = "Oracle Database 11g Enterprise Edition Release 11.2.0.2.0 - 64bit Production"

const oranfstabNFSVsDNFS = `server: filer
path: 192.168.1.20
nfs_version: %s
export: /oradata mount: /opt/oracle/oradata
`

func rampPlan(steps int) runfile.Plan {
	plan := basePlan("nfs-vs-dnfs")
	plan.Workload.SLOB = &bench.SLOBWorkload{Access: bench.SLOBRandomRead, Schemas: 16, Scale: *bench.Bytes(80 << 20)}
	for users := range steps {
		plan.Workload.SLOB.Users = append(plan.Workload.SLOB.Users, int32(users+1)) //nolint:gosec // a few
	}
	plan.Engine = engine(oranfstabNFSVsDNFS, "nfsv3")
	plan.Link = &bench.Link{BitsPerSecond: *bench.Bits(1_000_000_000), MTU: 1500}
	return plan
}

// Kit is the run of the user's own SLOB kit with one client (DNFS or NFS).
func Kit(client string) runfile.Result {
	plan := rampPlan(10)
	plan.Workload.SLOB.Kit = &bench.SLOBKit{Directory: "/slob"}
	load := runfile.Load{Oracle: database(banner11, "orcl")}
	for _, w := range Waits() {
		if w.Client != client {
			continue
		}
		rep := rampStep(w.Users, 1, w.Waits)
		rep.Oracle.AWR = []runfile.AWRRow{{Event: "db file sequential read", Waits: w.Waits, Seconds: w.Seconds, SecondsRounding: .5}}
		load.Repetitions = append(load.Repetitions, rep)
	}
	return result(plan, load)
}

// Ramp is the ramp of 1 to 16 users, in two rounds: each user reads again when the read
// before has ended. Latencies are in the bucket of 512, 1024 or 2048 microseconds.
func Ramp() runfile.Result {
	load := runfile.Load{Oracle: database(banner11, "orcl")}
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
		Statistics: map[string]int64{"physical read total bytes": bytes, "DB CPU": 30_000_000},
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

// Impact is a row of the last table of nfs-vs-dnfs: SLOB with so many users, 8 times
// over NFS and over Direct NFS in turn.
type Impact struct {
	Users int
	// Printed: milliseconds, and percent.
	Mean, Impact, Deviation, Minimum, Maximum float64
	// Pairs are the repetitions.
	Pairs [8]ImpactPair
}

// ImpactPair is the mean time of a single-block read, in hundredths of a
// millisecond, which is what the page's first awk printed and its second read.
type ImpactPair struct{ NFS, DNFS int64 }

// FirstPrinted are the rows whose first pair is printed.
const FirstPrinted = 10

// Impacts are the rows. The page prints the table, and of the averages behind it
// those of the first repetition for 1 to 10 users: these are the first pairs of
// the first ten rows. All other pairs are RECONSTRUCTED: they were searched for so
// that the page's arithmetic gives the printed figures, with means as close to the
// printed one as was found, and many others would do. They show that the arithmetic
// is the page's. They are no measurements: what a test of significance reports about
// them, it does not say of the experiment.
//
// That arithmetic is (NFS-dNFS)/dNFS*100 of averages with two decimals (44 and 59
// give the printed -25.42), and the deviation is the population's: see
// TestThePrintedDeviationIsThePopulations in internal/compare.
func Impacts() []Impact {
	return []Impact{
		{1, 0.46, 1.93, 14.69, -14.00, 35.00, [8]ImpactPair{{46, 44}, {44, 47}, {43, 47}, {54, 40}, {47, 46}, {50, 45}, {43, 47}, {43, 50}}},
		{2, 0.47, -13.24, 8.14, -25.42, 0.00, [8]ImpactPair{{44, 59}, {44, 47}, {41, 51}, {47, 47}, {42, 49}, {43, 49}, {40, 51}, {44, 47}}},
		{3, 0.61, -13.88, 4.14, -21.13, -6.25, [8]ImpactPair{{56, 65}, {60, 64}, {55, 65}, {54, 64}, {56, 71}, {56, 63}, {55, 62}, {56, 67}}},
		{4, 0.61, 0.10, 5.40, -11.29, 8.62, [8]ImpactPair{{60, 58}, {63, 63}, {62, 64}, {62, 62}, {55, 62}, {63, 58}, {60, 60}, {65, 63}}},
		{5, 0.60, -1.60, 7.94, -9.68, 11.67, [8]ImpactPair{{57, 62}, {57, 57}, {60, 66}, {56, 61}, {67, 60}, {56, 62}, {57, 56}, {62, 57}}},
		{6, 0.64, 12.10, 6.33, -1.54, 19.30, [8]ImpactPair{{66, 61}, {68, 62}, {69, 60}, {64, 65}, {68, 57}, {68, 58}, {68, 58}, {67, 60}}},
		{7, 0.67, 10.73, 5.53, 3.03, 21.31, [8]ImpactPair{{69, 62}, {69, 65}, {68, 66}, {69, 63}, {72, 64}, {74, 61}, {69, 65}, {73, 63}}},
		{8, 0.70, 12.46, 4.42, 6.06, 19.70, [8]ImpactPair{{70, 66}, {79, 66}, {73, 64}, {75, 68}, {74, 63}, {73, 66}, {73, 64}, {72, 67}}},
		{9, 0.73, 14.77, 2.94, 11.43, 19.70, [8]ImpactPair{{76, 67}, {81, 68}, {78, 69}, {77, 67}, {78, 70}, {77, 69}, {77, 67}, {79, 66}}},
		{10, 0.78, 17.08, 2.91, 13.89, 23.61, [8]ImpactPair{{85, 74}, {88, 74}, {83, 72}, {89, 72}, {81, 69}, {82, 72}, {83, 72}, {81, 69}}},
		{11, 0.85, 13.48, 2.90, 8.64, 17.95, [8]ImpactPair{{95, 81}, {92, 78}, {87, 78}, {94, 82}, {87, 78}, {88, 81}, {93, 82}, {88, 78}}},
		{12, 0.92, 10.34, 2.76, 6.90, 16.28, [8]ImpactPair{{94, 86}, {97, 89}, {96, 87}, {93, 87}, {100, 86}, {98, 87}, {95, 88}, {96, 87}}},
		{13, 0.99, 11.83, 3.92, 6.45, 18.28, [8]ImpactPair{{103, 94}, {110, 93}, {101, 93}, {99, 93}, {106, 96}, {106, 94}, {107, 91}, {101, 91}}},
		{14, 1.04, 7.23, 4.42, 0.00, 13.13, [8]ImpactPair{{108, 104}, {108, 104}, {107, 98}, {107, 97}, {112, 99}, {106, 106}, {108, 96}, {105, 100}}},
		{15, 1.12, 8.03, 4.18, -0.93, 13.21, [8]ImpactPair{{121, 110}, {120, 106}, {112, 105}, {122, 108}, {116, 107}, {118, 110}, {112, 105}, {107, 108}}},
		{16, 1.21, 9.37, 2.78, 5.08, 14.04, [8]ImpactPair{{125, 118}, {126, 115}, {130, 114}, {124, 118}, {125, 114}, {125, 114}, {127, 113}, {126, 116}}},
	}
}

// ImpactRun is the table as a suite would have recorded it: cells by client and
// users, NFS and Direct NFS in turn, each with all users, 8 times.
func ImpactRun() runfile.SuiteRun {
	run := runfile.SuiteRun{
		Version: runfile.SuiteRunVersion, Suite: "nfs-vs-dnfs", Run: "nfs-vs-dnfs-0f3a9c21", Namespace: "default",
		Started: Start(), Ended: Start().Add(24 * time.Hour), Phase: "Succeeded",
		Settings: runfile.SuiteSettings{
			Repetitions: 8, Order: "Interleaved", Blocks: "ABBA", Seed: 2,
			Compare: &runfile.SuiteCompare{
				SuiteSignificance: runfile.SuiteSignificance{Metrics: []string{bench.MetricMeanLatency}, Alpha: 0.05, MinimumEffect: 0.02, Correction: "Holm"},
				Baseline:          map[string]string{"client": "nfs"}, ImpactOf: "Candidate",
			},
		},
	}
	rows := Impacts()
	for _, client := range []string{"nfs", "dnfs"} {
		for _, row := range rows {
			run.Cells = append(run.Cells, runfile.SuiteCell{
				Name:   impactCell(client, row.Users),
				Values: []runfile.SuiteAxis{{Axis: "client", Value: client}, {Axis: "users", Value: strconv.Itoa(row.Users)}},
			})
		}
	}
	for repetition := range 8 {
		for _, client := range []string{"nfs", "dnfs"} {
			for _, row := range rows {
				run.Results = append(run.Results, row.result(client, repetition, len(run.Results)+1))
			}
		}
	}
	return run
}

func impactCell(client string, users int) string { return client + "-" + strconv.Itoa(users) }

func (i Impact) result(client string, repetition, position int) runfile.SuiteResult {
	hundredths := i.Pairs[repetition].NFS
	if client == "dnfs" {
		hundredths = i.Pairs[repetition].DNFS
	}
	cell := impactCell(client, i.Users)
	start := Start().Add(time.Duration(position) * 5 * time.Minute)
	return runfile.SuiteResult{
		Cell: cell, Repetition: int32(repetition + 1), Position: int32(position), //nolint:gosec // 8 times 32 of them
		Benchmark: "nfs-vs-dnfs-" + cell + "-r" + strconv.Itoa(repetition+1) + "-0",
		Phase:     "Succeeded", Validity: "Valid", Started: start, Ended: start.Add(4 * time.Minute),
		Points: []runfile.SuitePoint{{Metrics: map[string]float64{bench.MetricMeanLatency: float64(10 * hundredths)}}},
	}
}
