package suite

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

const (
	single = "db file sequential read"
	direct = "direct path read"
)

// deaf ignores the events of a run.
type deaf struct{}

func (deaf) Event(runfile.Event)      {}
func (deaf) Load(*runfile.Load) error { return nil }

// load runs a workload and returns the last window.
func (s *suite) load(t *testing.T, w runfile.Workload) (runfile.Load, runfile.Repetition) {
	t.Helper()
	client := runfile.ClientKernel
	if s.o.DirectNFS {
		client = runfile.ClientDirectNFS
	}
	load, err := run.Run(t.Context(), run.Options{
		Now: time.Now, Open: s.open, User: s.o.User, Password: s.o.Password, Sink: deaf{},
		Plan: runfile.Plan{
			Version: runfile.PlanVersion, Run: runfile.Identity{Name: "conformance"}, Clients: 1, Seed: 1, Workload: w,
			Engine:   runfile.Engine{Client: client, NFSVersion: "NFSv3"},
			Schedule: runfile.Schedule{WarmupSeconds: s.o.Seconds / 5, DurationSeconds: s.o.Seconds, Repetitions: 1},
			Database: &runfile.Database{
				Kind: runfile.DatabaseExternal, AdminConnect: s.o.Admin, Connects: []string{s.o.Load}, User: s.o.User, Role: "SYSDBA",
				DirectNFS: s.o.DirectNFS,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if load.Failure != nil || len(load.Repetitions) == 0 {
		t.Fatalf("failure %+v, %d repetitions", load.Failure, len(load.Repetitions))
	}
	return *load, load.Repetitions[len(load.Repetitions)-1]
}

func (s *suite) slob(access string, updates int32) runfile.Workload {
	return runfile.Workload{SLOB: &runfile.SLOB{
		Access: access, Users: []int32{2}, Schemas: 1, ScaleBytes: 32 << 20, ScanTableBytes: 32 << 20, WorkUnit: 16, LoadParallelDegree: 1,
		UpdatePercent: updates, RedoStress: runfile.RedoLite, Tablespace: s.o.Tablespace,
	}}
}

func eventOf(w *runfile.OracleWindow, name string) runfile.OracleEvent {
	for _, e := range w.Events {
		if e.Name == name {
			return e
		}
	}
	return runfile.OracleEvent{}
}

// agree says whether two counts of the same thing are about the same: views are
// not read at one moment.
func agree(a, b int64) bool { return a > 0 && b > 0 && 5*a >= 4*b && 5*b >= 4*a }

func (s *suite) randomRead(t *testing.T) {
	load, rep := s.load(t, s.slob(runfile.AccessRandomRead, 0))
	if load.Oracle.LoadedBytes == 0 || load.Oracle.SchemasReused {
		t.Errorf("%d bytes loaded, reused: %t", load.Oracle.LoadedBytes, load.Oracle.SchemasReused)
	}
	waits := eventOf(rep.Oracle, single)
	buckets := int64(0)
	for _, b := range waits.Buckets {
		buckets += b.Count
	}
	if !agree(waits.Waits, buckets) {
		t.Errorf("%d waits in V$SYSTEM_EVENT and %d in its histogram", waits.Waits, buckets)
	}
	if requests := rep.Oracle.Statistics["physical read total IO requests"]; !agree(waits.Waits, requests) {
		t.Errorf("%d waits and %d requests in V$SYSSTAT", waits.Waits, requests)
	}
	small := int64(0)
	for _, f := range rep.Oracle.Files {
		small += f.SmallReads
	}
	if !agree(waits.Waits, small) {
		t.Errorf("%d waits and %d small reads in V$IOSTAT_FILE", waits.Waits, small)
	}
	if rep.Oracle.ServiceTimeUnit == "" {
		t.Error("the unit of V$IOSTAT_FILE cannot be told")
	}
	s.evidence(t, rep.Oracle)
}

// evidence checks that the views say how the files are reached. What V$DNFS_STATS counts
// of a calibration depends on whether its processes began before the first look.
func (s *suite) evidence(t *testing.T, w *runfile.OracleWindow) {
	t.Helper()
	for _, f := range w.Files {
		if f.Type == "Data File" && f.SmallReads+f.LargeReads > 0 && (f.AccessMethod == "DNFS_LIB") != s.o.DirectNFS {
			t.Errorf("file %d is reached by %s", f.Number, f.AccessMethod)
		}
	}
	d := w.DirectNFS
	if !s.o.DirectNFS {
		if len(d.Servers)+len(d.Channels) > 0 {
			t.Errorf("Direct NFS is not in use, and there are %+v", d)
		}
		return
	}
	sends := int64(0)
	for _, c := range d.Channels {
		sends += c.Sends
	}
	counted := w.Calibration != nil || d.ReadOps != nil && *d.ReadOps > 0
	if len(d.Servers) == 0 || sends == 0 || !counted {
		t.Errorf("%d servers, %d sends, %+v", len(d.Servers), sends, d)
	}
	if d.ReadOps != nil && sends < *d.ReadOps/2 {
		t.Errorf("%d sends, and %d reads", sends, *d.ReadOps)
	}
	if len(d.Servers) > 0 && !strings.HasPrefix(d.Servers[0].Version, "NFSv") && d.Servers[0].Version != "Parallel NFS" {
		t.Errorf("NFSVERSION is %q", d.Servers[0].Version)
	}
}

func (s *suite) scan(t *testing.T) {
	_, rep := s.load(t, s.slob(runfile.AccessFullTableScan, 0))
	st := rep.Oracle.Statistics
	if st["physical reads direct"] == 0 || st["physical reads direct"] < st["physical reads"]*9/10 {
		t.Errorf("%d of %d blocks were read past the cache", st["physical reads direct"], st["physical reads"])
	}
	if n := st["physical read total multi block requests"]; n == 0 {
		t.Error("no multiblock reads")
	}
	if eventOf(rep.Oracle, direct).Waits == 0 {
		t.Errorf("no wait for %s", direct)
	}
	if mean := rep.Read.Bytes / max(rep.Read.Count, 1); mean < 64<<10 {
		t.Errorf("reads are of %d bytes", mean)
	}
	s.evidence(t, rep.Oracle)
}

func (s *suite) update(t *testing.T) {
	_, rep := s.load(t, s.slob(runfile.AccessRandomRead, 50))
	for _, name := range []string{"redo size", "user commits", "redo writes"} {
		if rep.Oracle.Statistics[name] == 0 {
			t.Errorf("%s is 0", name)
		}
	}
	if eventOf(rep.Oracle, "log file sync").Waits == 0 {
		t.Error("nobody waited for a commit")
	}
}

func (s *suite) calibrate(t *testing.T) {
	_, rep := s.load(t, runfile.Workload{Calibrate: &runfile.Calibrate{PhysicalDisks: 100, MaxLatencyMilliseconds: 20}})
	c := rep.Oracle.Calibration
	if c == nil || c.MaxIOPS <= 0 || c.MaxMegabytesPerSecond <= 0 || c.ActualLatencyMilliseconds < 0 || c.ActualLatencyMilliseconds > 20 {
		t.Fatalf("%+v", c)
	}
	small, large := int64(0), int64(0)
	for _, f := range rep.Oracle.Files {
		small, large = small+f.SmallReads, large+f.LargeReads
	}
	if small < c.MaxIOPS || large == 0 {
		t.Errorf("%d small and %d large reads in V$IOSTAT_FILE, with %d IOPS", small, large, c.MaxIOPS)
	}
	s.evidence(t, rep.Oracle)
}

func (s *suite) nothingLeft(t *testing.T) {
	o := s.sysdba()
	o.Connect = s.o.Load
	db := s.connect(t, o)
	names, err := schemas(t, db)
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(names, func(n string) bool { return n != "" }); i >= 0 {
		t.Errorf("schemas are left: %v", names)
	}
}

func schemas(t *testing.T, db *sql.DB) ([]string, error) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), sqltext.Text("slob_schemas"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		var marked int64
		if err := rows.Scan(&name, &marked); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}
