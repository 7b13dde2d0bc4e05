package report

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/report/doc"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/experiments"
)

// pageOf judges a result and shows it.
func pageOf(t *testing.T, r runfile.Result, o Options) string {
	t.Helper()
	var b bytes.Buffer
	if err := Text(&b, judge.Judge(r), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// simulated is a run of the stand-in: silent fallback, one parameter refused.
func simulated() runfile.Result {
	r := experiments.Calibrations()[0].Result()
	load := &r.Clients[0].Load
	load.Oracle.StandIn, load.Oracle.Banner = true, "Oracle stand-in of nfsbench"
	load.Oracle.Host = &runfile.DatabaseHost{
		Limits:           []runfile.ProcessLimit{{Name: "Max open files", Hard: new(int64(65536)), HardBefore: new(int64(1048576))}, {Name: "Max processes"}},
		Mended:           []string{"listener.ora: HOST = first is now 0.0.0.0"},
		Servers:          []runfile.ServerProbe{{Path: "10.0.1.61"}, {Path: "10.0.2.61", Problem: "no answer"}},
		ServersNotProbed: "the benchmark uses krb5",
	}
	load.Oracle.Parameters = []runfile.OracleParameter{{Name: "filesystemio_options", Requested: "SETALL", Value: "setall"}, {Name: "cpu_count", Requested: "4", Value: "2"}, {Name: "db_block_size", Value: "8192"}}
	load.Oracle.Library = &runfile.DirectNFSLibrary{Wanted: true, AlertLine: "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 4.0", OradismMode: "-rwxr-x---"}
	load.Oracle.ReadyMilliseconds = new(int64(312_400))
	for i := range load.Repetitions {
		w := load.Repetitions[i].Oracle
		w.DirectNFS = runfile.DirectNFS{}
		for f := range w.Files {
			w.Files[f].AccessMethod = "OS_LIB"
		}
	}
	r.Simulated = true
	return r
}

// waiting is a ramp in a database of two cores.
func waiting() runfile.Result {
	r := experiments.Ramp()
	for i := range r.Clients[0].Load.Repetitions {
		rep := &r.Clients[0].Load.Repetitions[i]
		if rep.Step.Users < 14 {
			continue // these have less time
		}
		w := rep.Oracle
		w.ForegroundWaitMicroseconds = new(int64(4_000_000_000))
		w.TopWaits = []runfile.OracleWait{
			{Name: "resmgr:cpu quantum", Class: "Scheduler", Waits: 200_000, Microseconds: 2_100_000_000},
			{Name: "db file sequential read", Class: "User I/O", Waits: 3_000_000, Microseconds: 1_800_000_000},
			{Name: "log file switch (checkpoint incomplete)", Class: "Configuration", Waits: 4, Microseconds: 1_000_000},
		}
	}
	return r
}

func TestTheTopWaitsAreInTheFile(t *testing.T) {
	t.Parallel()
	benchmark(t, waiting(), PageOptions{}).has(t, "Top waits of sessions", "resmgr:cpu quantum", "Scheduler", "52.5", "WaitsNotStorage")
}

func TestTheExportOfTheRedoLogsIsNamed(t *testing.T) {
	t.Parallel()
	r := experiments.Scan("192.168.4.100")
	r.Plan.Database.RedoExport = "/vol/oraredo"
	benchmark(t, r, PageOptions{}).has(t, "redo logs on /vol/oraredo")
}

func TestThePagesOfDatabases(t *testing.T) {
	t.Parallel()
	paths := []string{"192.168.4.100", "192.168.5.100", "192.168.6.100", "192.168.7.100"}
	cases := map[string]struct {
		result  runfile.Result
		options Options
	}{
		"calibrate":        {experiments.Calibrations()[0].Result(), Options{}},
		"calibrate-pnfs":   {experiments.Calibrations()[4].Result(), Options{}},
		"calibrate-phases": {experiments.CalibrationInPhases(), Options{}},
		"scan":             {experiments.Scan(paths...), Options{}},
		"scan-one-path":    {experiments.Scan(paths[0]), Options{Width: 100}},
		"kit":              {experiments.Kit("DNFS"), Options{}},
		"ramp":             {experiments.Ramp(), Options{}},
		"ramp-waits":       {waiting(), Options{}},
		"ramp-ascii":       {experiments.Ramp(), Options{ASCII: true, Width: 60}},
		"simulated":        {simulated(), Options{}},
		"simulated-color":  {simulated(), Options{Color: true, Width: 60}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			golden(t, name+".golden", pageOf(t, c.result, c.options))
		})
	}
}

func TestPagesOfDatabasesFitTheWidth(t *testing.T) {
	t.Parallel()
	long := simulated()
	long.Clients[0].Load.Repetitions[1].Oracle.DirectNFS.Servers = []runfile.DNFSServer{{Server: strings.Repeat("server-", 6), Export: "/" + strings.Repeat("folder/", 20), Version: "Parallel NFS", ReadMaxBytes: 1 << 20}}
	long.Clients[0].Load.Repetitions[1].Oracle.Events = []runfile.OracleEvent{{Name: strings.Repeat("wait ", 30), Waits: 1 << 40, Microseconds: 1 << 50}}
	long.Clients[0].Load.Repetitions[1].Oracle.TopWaits = []runfile.OracleWait{{Name: strings.Repeat("wait ", 30), Class: "User I/O", Waits: 1 << 40, Microseconds: 1 << 50}}
	for _, width := range []int{60, 80, 120} {
		for name, r := range map[string]runfile.Result{"long": long, "ramp": experiments.Ramp(), "phases": experiments.CalibrationInPhases(), "scan": experiments.Scan("192.168.4.100"), "kit": experiments.Kit("NFS")} {
			for l := range strings.Lines(pageOf(t, r, Options{Width: width})) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(l, "\n")); n > width {
					t.Errorf("%s: %d columns of %d: %s", name, n, width, l)
				}
			}
		}
	}
}

func TestADatabaseCannotDriveTheTerminal(t *testing.T) {
	t.Parallel()
	r, evil := simulated(), "x\x1b]0;pwned\x07\r\u009b2J"
	o := r.Clients[0].Load.Oracle
	o.Banner, o.Instances[0].Name, o.Instances[0].Host, o.Parameters[0].Value, o.Library.AlertLine = evil, evil, evil, evil, evil
	w := r.Clients[0].Load.Repetitions[1].Oracle
	w.Files[0].AccessMethod = evil
	w.Events = []runfile.OracleEvent{{Name: evil, Waits: 1}}
	w.TopWaits = []runfile.OracleWait{{Name: evil, Class: evil, Waits: 1, Microseconds: 1}}
	w.AWR = []runfile.AWRRow{{Event: evil, Waits: 1}}
	w.DirectNFS.Servers = []runfile.DNFSServer{{Server: evil, Export: evil, Version: evil}}
	w.DirectNFS.Channels = []runfile.DNFSChannel{{Server: evil, Path: evil, Local: evil}}
	for _, events := range []bool{false, true} {
		if events {
			w.AWR = nil
		}
		if page := pageOf(t, r, Options{}); strings.ContainsAny(page, "\x1b\x07\r\u009b") {
			t.Errorf("control characters came through:\n%q", page)
		}
	}
}

// The averages that the author of nfs-vs-dnfs computed from awr.txt.
// A machine may have hundreds of cores.
func TestManyCoresAreTheBusiestAndTheIdlest(t *testing.T) {
	t.Parallel()
	r := experiments.CalibrationInPhases()
	for i := range r.Clients[0].Observed.Windows {
		w := &r.Clients[0].Observed.Windows[i]
		for n := range int32(30) {
			w.Cores = append(w.Cores, runfile.CoreWindow{Number: n + 2, BusyPermille: 10 * n})
		}
	}
	page := pageOf(t, r, Options{})
	for _, line := range []string{"busiest of its 32 cores +98.0 % +31.0 %", "idlest of them +0.0 % +0.0 %"} {
		if !regexp.MustCompile(line).MatchString(page) || strings.Contains(page, "its core") {
			t.Errorf("no line %q in\n%s", line, page)
		}
	}
}

func TestAveragesOfAnAWRReportAreThoseThatPeopleCompute(t *testing.T) {
	t.Parallel()
	for _, w := range experiments.Waits() {
		if got := average(w.Seconds, w.Waits); got != w.Average {
			t.Errorf("%s %d users: %s ms, printed was %s", w.Client, w.Users, got, w.Average)
		}
	}
}

// A report that prints whole seconds says of few waits how long they can have been.
func TestTooFewWaitsToTellAreARange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  runfile.AWRRow
		want string
	}{
		{runfile.AWRRow{Waits: 5000, SecondsRounding: .5}, "below 0.10"},
		{runfile.AWRRow{Waits: 5, SecondsRounding: .5}, "below 100"},
		{runfile.AWRRow{Waits: 700, Seconds: 1, SecondsRounding: .5}, "0.71 to 2.14"},
		{runfile.AWRRow{Waits: 32_032, Seconds: 14, SecondsRounding: .5}, "0.44"},
	} {
		if got := reportedAverage(c.row); got != c.want {
			t.Errorf("%+v: %q, want %q", c.row, got, c.want)
		}
	}
	if got := average(0, 800); got != "0.00" { // V$SYSTEM_EVENT counts microseconds
		t.Error(got)
	}
}

func TestTheExactMeanStandsBesideACoarseOne(t *testing.T) {
	t.Parallel()
	for seconds, rows := range map[float64]int{1: 2, 100: 1} {
		w := runfile.OracleWindow{
			AWR:    []runfile.AWRRow{{Event: "x", Waits: 700, Seconds: seconds, SecondsRounding: .5}},
			Events: []runfile.OracleEvent{{Name: "x", Waits: 700, Microseconds: 350_000}},
		}
		table := &doc.Table{Columns: doc.Columns(1, 12, "Event", "Waits", "Seconds", "Mean, ms")}
		if addWaits(table, w); len(table.Rows) != rows || rows == 2 && table.Rows[1].Cells[3].Text != "0.50" {
			t.Errorf("%g s: %+v", seconds, table.Rows)
		}
	}
}

func TestWaitsOfAnotherInstanceAreShownBeside(t *testing.T) {
	t.Parallel()
	for waits, rows := range map[int64]int{1000: 1, 1030: 1, 2500: 2} {
		w := runfile.OracleWindow{AWR: []runfile.AWRRow{{Event: "x", Waits: 1000, Seconds: 9}}, Events: []runfile.OracleEvent{{Name: "x", Waits: waits, Microseconds: 5000}, {Name: "y", Waits: 1}}}
		table := &doc.Table{Columns: doc.Columns(1, 12, "Event", "Waits", "Seconds", "Mean, ms")}
		if addWaits(table, w); len(table.Rows) != rows {
			t.Errorf("%d waits: %+v", waits, table.Rows)
		}
	}
}

func TestAPageSaysWhyItHasNoOranfstab(t *testing.T) {
	t.Parallel()
	r := experiments.Scan("192.168.4.100")
	r.Plan.Engine.MountPath = ""
	r.Plan.Database = &runfile.Database{Kind: runfile.DatabaseExternal, DirectNFS: true, AdminConnect: "db1:1521/ORCL", Connects: []string{"db1:1521/ORCL"}}
	benchmark(t, r, PageOptions{}).has(t, "There is no oranfstab, because database.external.mountPath does not say where the host of the database mounts the export.")
	r.Plan.Database.DataDirectory = "/u02/oradata"
	benchmark(t, r, PageOptions{}).has(t, "mount: /u02/oradata")
}
