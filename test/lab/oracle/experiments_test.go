package oracle_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/measure"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// deafSink hears nothing of a run.
type deafSink struct{}

func (deafSink) Event(runfile.Event)      {}
func (deafSink) Load(*runfile.Load) error { return nil }

// execute makes the run of a plan against a stand-in, and what a collector would
// make of its Load.
func execute(t *testing.T, w *standin.World, plan runfile.Plan) runfile.Result {
	t.Helper()
	d := plan.Database
	d.AdminConnect, d.Connects, d.SID = w.Admin(), []string{w.Load()}, standin.DefaultSID
	d.DataDirectory, d.StartupTimeoutSeconds = plan.Engine.MountPath, 600
	load, err := run.Run(t.Context(), run.Options{
		Plan: plan, Now: time.Now, Open: w.Opener(), User: "sys", Password: standin.Password, Sink: deafSink{}, Database: w,
	})
	if err != nil {
		t.Fatal(err)
	}
	return runfile.Result{
		Version: runfile.ResultVersion, Plan: plan, Simulated: load.Oracle.StandIn,
		Clients: []runfile.ClientResult{{
			Host: runfile.Host{Name: "loader", Node: "node0", CPUs: 4}, Load: *load, Observed: &runfile.Observed{IntervalMilliseconds: 1000},
		}},
	}
}

// times is how many printed averages of up to seven decimals it takes to be whole
// microseconds: the experiments have 4,000,000 reads of each file.
const times = 5

// fixtureOf makes the views say, before the first call and after each of two,
// what the author of dnfs-vs-pnfs printed.
func fixtureOf(c experiments.Calibration) *standin.Fixture {
	f := &standin.Fixture{Advance: []string{"calibrate"}, Answers: map[string][]standin.Answer{
		"calibrate": {{Rows: []map[string]any{{"max_iops": c.MaxIOPS, "max_mbps": c.MegabytesSecond, "actual_latency_ms": c.Latency}}}},
		"dnfs_servers": {{Rows: []map[string]any{{
			"inst_id": int64(1), "id": int64(1), "svrname": "vsdb122b-lif1", "dirname": "/vol/db122b_data1/db122b_data1_qt",
			"nfsversion": c.Text, "wtmax": int64(65536), "rtmax": int64(65536),
		}}}},
		"dnfs_channels": {{Rows: []map[string]any{channel(40, "vsdb122b-lif1", "10.146.146.61")}}},
	}}
	for phase := range int64(3) {
		var files []map[string]any
		reads := int64(0)
		for _, file := range c.Files {
			n := phase * file.Reads * times
			reads += n
			files = append(files, map[string]any{
				"inst_id": int64(1), "file_no": file.Number, "filetype_id": int64(2), "filetype_name": "Data File", "name": fmt.Sprint(file.Number),
				"access_method": "DNFS_LIB", "asynch_io": "ASYNC_ON",
				"small_read_reqs": n, "small_read_servicetime": micros(file.SmallRead, n),
				"small_sync_read_reqs": n, "small_sync_read_latency": micros(file.SmallSyncRead, n),
				"large_read_reqs": int64(0), "large_read_servicetime": int64(0), "small_read_megabytes": n / 128, "large_read_megabytes": int64(0),
				"small_write_reqs": int64(0), "large_write_reqs": int64(0),
			})
		}
		add := func(name string, rows ...map[string]any) {
			f.Answers[name] = append(f.Answers[name], standin.Answer{Rows: rows})
		}
		add("iostat_file", files...)
		add("async_files", files...)
		// The waits of recursive SQL, which he did not print: they are what the
		// unit of the times is told from, and as wrong as the rest with pNFS.
		add("system_event", map[string]any{
			"inst_id": int64(1), "event": "db file sequential read", "total_waits": 100 * phase, "time_waited_micro": micros(c.Files[0].SmallSyncRead, 100*phase),
		})
		add("sysstat", map[string]any{"inst_id": int64(1), "name": "physical read total bytes", "value": reads * 8192},
			map[string]any{"inst_id": int64(1), "name": "physical read total IO requests", "value": reads})
	}
	return f
}

func micros(average float64, reads int64) int64 { return int64(math.Round(average * float64(reads))) }

func channel(pnum int64, server, path string) map[string]any {
	return map[string]any{
		"inst_id": int64(1), "pnum": pnum, "svrname": server, "path": path, "local": "10.146.2.61", "ch_id": int64(0), "svr_id": int64(1),
		"sends": int64(100_000), "recvs": int64(100_000), "pings": int64(0), "spreco": int64(0), "dpreco": int64(0), "clientport": int64(700),
	}
}

func TestDNFSVsPNFSComesThroughThePipelineAsPrinted(t *testing.T) {
	t.Parallel()
	for _, c := range experiments.Calibrations() {
		t.Run(fmt.Sprint(c.Test), func(t *testing.T) {
			t.Parallel()
			w := standin.NewWorld(t, standin.Options{Config: standin.Config{Fixture: fixtureOf(c)}})
			plan := c.Result().Plan
			plan.Database.RestartBeforeRun = true
			plan.Schedule.CooldownSeconds = 0
			result := execute(t, w, plan)
			load := result.Clients[0].Load
			if load.Failure != nil || len(load.Repetitions) != 2 || !load.Oracle.Restarted || !load.Oracle.StandIn {
				t.Fatalf("failure %+v, %d repetitions, %+v", load.Failure, len(load.Repetitions), load.Oracle)
			}
			checkWindow(t, c, load.Repetitions[1].Oracle)
			checkJudgement(t, c, judge.Judge(result))
		})
	}
}

// checkWindow compares a window with the lines of the experiment, to the printed digit.
func checkWindow(t *testing.T, c experiments.Calibration, w *runfile.OracleWindow) {
	t.Helper()
	if got := w.Calibration; got.MaxIOPS != c.MaxIOPS || got.MaxMegabytesPerSecond != c.MegabytesSecond || got.ActualLatencyMilliseconds != c.Latency {
		t.Errorf("calibration %+v", got)
	}
	if w.ServiceTimeUnit != runfile.UnitMicroseconds {
		t.Errorf("unit %q", w.ServiceTimeUnit)
	}
	printed := func(v float64) string { return fmt.Sprintf("%.9g", v) } // as SQL*Plus has it
	var got, want []string
	for _, f := range w.Files {
		got = append(got, fmt.Sprintln(f.Number, printed(f.SmallReadTime/float64(f.SmallReads)), printed(f.SmallSyncReadTime/float64(f.SmallSyncReads))))
	}
	for _, f := range c.Files {
		want = append(want, fmt.Sprintln(f.Number, printed(f.SmallRead), printed(f.SmallSyncRead)))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("FILE_NO, AVG_SMALL_READ_US, AVG_SMALL_SYNC_READ_US (-printed +got):\n%s", diff)
	}
	if len(w.DirectNFS.Servers) != 1 || w.DirectNFS.Servers[0].Version != c.Text {
		t.Errorf("servers %+v", w.DirectNFS.Servers)
	}
}

// checkJudgement looks at what the status is made of.
func checkJudgement(t *testing.T, c experiments.Calibration, j judge.Judgement) {
	t.Helper()
	if len(j.Calibrations) != 2 || !j.Calibrations[0].Warmup || *j.Calibrations[1].MaxIOPS != c.MaxIOPS ||
		*j.Calibrations[1].ActualLatencyMilliseconds != c.Latency || *j.Calibrations[1].MaxMegabytesPerSecond != c.MegabytesSecond {
		t.Errorf("calibrations %+v", j.Calibrations)
	}
	var want []measure.DatabaseFile
	for _, f := range c.Files {
		n := f.Reads * times
		want = append(want, measure.DatabaseFile{Number: f.Number, AccessMethod: "DNFS_LIB", SmallReads: &n, SmallReadNanoseconds: &f.Nanoseconds, SmallSyncReadNanoseconds: &f.Syncs})
	}
	if diff := cmp.Diff(want, j.Database.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	suspect := slices.ContainsFunc(j.Findings, func(f bench.Finding) bool { return f.Code == judge.SuspectLatency })
	if suspect != (c.Version == "pNFS") {
		t.Errorf("%s: latency suspected: %t\n%+v", c.Version, suspect, j.Findings)
	}
	if v := j.Protocol.Verified; v == nil || !*v || !strings.Contains(j.Protocol.Message, c.Text) {
		t.Errorf("protocol %+v", j.Protocol)
	}
}

func TestTheFourChannelsOfDNFSThroughputAreProven(t *testing.T) {
	t.Parallel()
	paths := []string{"192.168.4.100", "192.168.5.100", "192.168.6.100", "192.168.7.100"}
	var all []map[string]any
	for n, p := range paths {
		for pnum := range int64(2) {
			c := channel(50+pnum, "flashblade", p)
			c["ch_id"], c["local"] = int64(n), fmt.Sprintf("192.168.%d.50", 4+n)
			all = append(all, c)
		}
	}
	servers := []map[string]any{{
		"inst_id": int64(1), "id": int64(1), "svrname": "flashblade", "dirname": "/z-fbhosts_oradata", "nfsversion": "NFSv3.0",
		"wtmax": int64(524288), "rtmax": int64(524288),
	}}
	files := func(bytes int64) standin.Answer {
		return standin.Answer{Rows: []map[string]any{{
			"inst_id": int64(1), "file_no": int64(12), "filetype_id": int64(2), "filetype_name": "Data File", "access_method": "DNFS_LIB", "asynch_io": "ASYNC_ON",
			"small_read_reqs": int64(0), "small_read_servicetime": int64(0), "small_sync_read_reqs": int64(0), "small_sync_read_latency": int64(0),
			"large_read_reqs": bytes >> 20, "large_read_servicetime": bytes >> 10, "small_read_megabytes": int64(0), "large_read_megabytes": bytes >> 20,
			"small_write_reqs": int64(0), "large_write_reqs": int64(0),
		}}}
	}
	const scanned = 2 * 4030 * 1_000_000
	fixture := func(channels []map[string]any) *standin.Fixture {
		return &standin.Fixture{EachCall: []string{"iostat_file"}, Answers: map[string][]standin.Answer{
			"dnfs_servers": {{Rows: servers}}, "dnfs_channels": {{Rows: channels}}, "iostat_file": {files(0), files(scanned)},
		}}
	}
	judged := func(t *testing.T, f *standin.Fixture) judge.Judgement {
		t.Helper()
		w := standin.NewWorld(t, standin.Options{Config: standin.Config{Fixture: f}})
		plan := experiments.Scan(paths...).Plan
		plan.Schedule = runfile.Schedule{DurationSeconds: 2, Repetitions: 1}
		s := plan.Workload.SLOB
		s.Users, s.Schemas, s.ScanTableSize, s.Scale, s.Tablespace = []int32{4}, 2, *bench.Bytes(1 << 20), *bench.Bytes(1 << 20), "NFSBENCH"
		s.WorkUnit, s.LoadParallelDegree = 64, 2
		result := execute(t, w, plan)
		if f := result.Clients[0].Load.Failure; f != nil {
			t.Fatalf("%+v", f)
		}
		if got := result.Clients[0].Load.Repetitions[0].Oracle.Files; len(got) != 1 || got[0].LargeReadMegabyte != scanned>>20 {
			t.Errorf("files %+v", got)
		}
		return judge.Judge(result)
	}
	t.Run("four", func(t *testing.T) {
		t.Parallel()
		j := judged(t, fixture(all))
		if v := j.Protocol.Verified; v == nil || !*v || !strings.Contains(j.Protocol.Message, "4 of 4 paths") {
			t.Errorf("protocol %+v", j.Protocol)
		}
		if len(j.Database.Channels) != 4 || j.Database.Channels[0].Server != "flashblade" || j.Database.Channels[0].Processes != 2 {
			t.Errorf("channels %+v", j.Database.Channels)
		}
	})
	t.Run("one", func(t *testing.T) {
		t.Parallel()
		j := judged(t, fixture(all[:2]))
		if v := j.Protocol.Verified; v == nil || *v {
			t.Errorf("one path of four is taken for four: %+v", j.Protocol)
		}
	})
}

var _ run.Database = (*standin.World)(nil)
