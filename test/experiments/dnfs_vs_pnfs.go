package experiments

import (
	"strconv"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// File is a line of V$IOSTAT_FILE as printed: averages in microseconds.
type File struct {
	Number int64
	// Reads makes the average what it is: of few reads it is a fraction.
	Reads              int64
	SmallRead          float64
	SmallSyncRead      float64
	Nanoseconds, Syncs int64 // the same averages, rounded
}

// Calibration is one of the six tests of dnfs-vs-pnfs: CALIBRATE_IO with 100 disks
// and 20 ms, over NFSv3, NFSv4 and pNFS, by the LIF on the node of the data and
// by the other.
type Calibration struct {
	Test                              int
	Version                           string // as declared
	Text                              string // as V$DNFS_SERVERS has it
	MaxIOPS, Latency, MegabytesSecond int64
	Files                             []File
}

// Calibrations are the tests. The third is known from a summary only: its IOPS,
// and one average.
func Calibrations() []Calibration {
	const many = 4_000_000
	return []Calibration{
		{1, "NFSv3", "NFSv3.0", 27066, 1, 362, []File{
			{1, many, 355.507436, 355.538691, 355507, 355539},
			{3, many, 355.995664, 356.228999, 355996, 356229},
			{4, many, 356.920581, 356.920581, 356921, 356921},
			{5, many, 356.409876, 356.398215, 356410, 356398},
			{6, many, 355.770811, 355.783105, 355771, 355783},
			{7, 4, .75, .75, 750, 750},
			{8, many, 356.28306, 356.296397, 356283, 356296},
		}},
		{2, "NFSv3", "NFSv3.0", 26416, 0, 373, []File{
			{1, many, 392.113305, 392.128792, 392113, 392129},
			{3, many, 392.552918, 392.81291, 392553, 392813},
			{4, many, 393.717501, 393.717501, 393718, 393718},
			{5, many, 392.255744, 392.247527, 392256, 392248},
			{6, many, 392.842502, 392.844232, 392843, 392844},
			{7, 4, 2.25, 2.25, 2250, 2250},
			{8, many, 393.122799, 393.134732, 393123, 393135},
		}},
		{3, "NFSv4.0", "NFSv4.0", 23500, 1, 0, []File{{1, many, 430, 430, 430000, 430000}}},
		{4, "NFSv4.0", "NFSv4.0", 20780, 7, 344, []File{
			{1, many, 492.882536, 492.948468, 492883, 492948},
			{3, many, 495.428625, 495.733918, 495429, 495734},
			{4, many, 498.66933, 498.66933, 498669, 498669},
			{5, many, 495.088486, 495.092377, 495088, 495092},
			{6, many, 495.803506, 495.804537, 495804, 495805},
			{7, 7, 6.28571429, 6.28571429, 6286, 6286},
			{8, many, 496.395164, 496.452218, 496395, 496452},
		}},
		{5, "pNFS", "Parallel NFS", 25547, 1, 346, []File{
			{1, many, 18.8971259, 18.898718, 18897, 18899},
			{3, many, 18.9023989, 18.9072525, 18902, 18907},
			{4, many, 18.9125628, 18.9125628, 18913, 18913},
			{5, many, 18.9641167, 18.9654489, 18964, 18965},
			{6, many, 19.0164365, 19.0173799, 19016, 19017},
			{7, 4, 4, 4, 4000, 4000},
			{8, many, 19.0554705, 19.0565011, 19055, 19057},
		}},
		{6, "pNFS", "Parallel NFS", 24321, 3, 237, []File{
			{1, many, 22.9905378, 22.9887182, 22991, 22989},
			{3, many, 23.2977075, 23.2995525, 23298, 23300},
			{4, many, 23.1889902, 23.1880715, 23189, 23188},
			{5, many, 23.7003103, 23.7031924, 23700, 23703},
			{6, many, 23.1372255, 23.1385067, 23137, 23139},
			{7, 4, 2, 2, 2000, 2000},
			{8, many, 24.034558, 24.0348808, 24035, 24035},
		}},
	}
}

const oranfstabDNFSVsPNFS = `server: vsdb122b-lif1
path: 10.146.146.61
nfs_version: %s
export: /vol/db122b_data1/db122b_data1_qt mount: /opt/oracle/oradata
`

// Result is a run of two calibrations, of which the first is a warm-up.
func (c Calibration) Result() runfile.Result {
	plan := basePlan("dnfs-vs-pnfs-" + strconv.Itoa(c.Test))
	plan.Workload.Calibrate = &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20, WarmupRuns: new(int32(1))}
	keyword := map[string]string{"NFSv3": "nfsv3", "NFSv4.0": "nfsv4", "pNFS": "pnfs"}[c.Version]
	plan.Engine = engine(oranfstabDNFSVsPNFS, keyword)
	plan.Schedule.Repetitions = 1
	load := runfile.Load{Oracle: database("Oracle Database 12c Enterprise Edition Release 12.2.0.1.0 - 64bit Production", "DB122B")}
	for i, warmup := range []bool{true, false} {
		rep := repetition(int32(i+1), 600)
		rep.Step = &runfile.Step{Kind: runfile.StepCalibrate, Round: 1, Warmup: warmup}
		rep.Oracle = c.window()
		load.Repetitions = append(load.Repetitions, rep)
	}
	return result(plan, load)
}

func (c Calibration) window() *runfile.OracleWindow {
	w := &runfile.OracleWindow{
		Calibration:     &runfile.Calibration{MaxIOPS: c.MaxIOPS, MaxMegabytesPerSecond: c.MegabytesSecond, ActualLatencyMilliseconds: c.Latency},
		ServiceTimeUnit: runfile.UnitMicroseconds,
		DirectNFS: runfile.DirectNFS{
			Servers:  []runfile.DNFSServer{{Server: "vsdb122b-lif1", Export: "/vol/db122b_data1/db122b_data1_qt", Version: c.Text}},
			Channels: []runfile.DNFSChannel{{Server: "vsdb122b-lif1", Path: "10.146.146.61", Processes: 40, Sends: 24_000_000, Receives: 24_000_000}},
		},
	}
	for _, f := range c.Files {
		w.Files = append(w.Files, runfile.OracleFile{
			Number: f.Number, Type: "Data File", AccessMethod: "DNFS_LIB", AsynchIO: "ASYNC_ON",
			SmallReads: f.Reads, SmallReadTime: f.SmallRead * float64(f.Reads),
			SmallSyncReads: f.Reads, SmallSyncReadTime: f.SmallSyncRead * float64(f.Reads), SmallReadMegabyte: f.Reads / 128,
		})
	}
	return w
}

// CalibrationInPhases is the second test, with counters of its small reads, five minutes, and of its large ones,
// four. The counters are invented.
func CalibrationInPhases() runfile.Result {
	r := Calibrations()[1].Result()
	r.Plan.Collect.Sources = []runfile.Source{{Name: "array", Kind: runfile.SourceONTAP}}
	cl := &r.Clients[0]
	for i := range cl.Load.Repetitions {
		rep := &cl.Load.Repetitions[i]
		at := func(minutes int) time.Time { return rep.Start.Add(time.Duration(minutes) * time.Minute) }
		rep.Oracle.BusyCentiseconds, rep.Oracle.IdleCentiseconds = new(int64(60)), new(int64(40))
		rep.Oracle.Phases = []runfile.OraclePhase{
			{Kind: runfile.StepSmallReads, Start: at(0), End: at(5), Reads: 1_000_000, ReadTime: 391e6, BusyCentiseconds: new(int64(90)), IdleCentiseconds: new(int64(10))},
			{Kind: runfile.StepLargeReads, Start: at(6), End: at(10), Reads: 100_000, ReadTime: 850e6, BusyCentiseconds: new(int64(20)), IdleCentiseconds: new(int64(80))},
		}
		window := func(kind string, from, to int, node int32, ops, micros int64, cpu ...int32) {
			cl.Observed.Windows = append(cl.Observed.Windows, runfile.ObservedWindow{
				Kind: kind, Repetition: rep.Index, Start: at(from), End: at(to), NodeCPUPermille: &node,
				Cores: []runfile.CoreWindow{{Number: 0, BusyPermille: node - 100}, {Number: 1, BusyPermille: node + 100}},
				Storage: []runfile.StorageWindow{{
					Source: "array", Seconds: float64(to-from) * 60, ReadOps: &ops, WriteOps: new(int64), ReadMicroseconds: &micros,
					Nodes: []runfile.StorageNodeWindow{{Name: "fas-a", CPUPermille: &cpu[0]}, {Name: "fas-b", CPUPermille: &cpu[1]}},
				}},
			})
		}
		window(runfile.SpanMeasure, 0, 10, 601, 1_800_000, 900e6, 300, 290)
		window(runfile.StepSmallReads, 0, 5, 880, 1_000_000, 300e6, 370, 380)
		window(runfile.StepLargeReads, 6, 10, 210, 800_000, 600e6, 200, 190)
	}
	return r
}
