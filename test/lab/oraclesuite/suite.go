// Package oraclesuite is the conformance suite of databases: what nfsbench asks of an
// Oracle database, and what it takes for granted of the answers. The stand-in
// passes it, and a real database must: `make test-oracle` runs it there. What one
// of them does otherwise is a mistake of the stand-in, or of ours.
//
// It makes schemas named NFSBENCH..., loads a few megabytes and drops them again.
// It changes no parameter, and empties the buffer cache.
package oraclesuite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/run"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/test/lab/oraclesql"
)

// Options say where the database is, and what is true of it.
type Options struct {
	Admin, Load string // EZConnect of the root container and of the pluggable database
	User        string
	Password    string
	Tablespace  string // for the schemas; made if it is not there
	DirectNFS   bool   // the datafiles are on Direct NFS
	Calibrate   bool   // call CALIBRATE_IO, which takes ten minutes
	StandIn     bool
	Seconds     int32 // of each load
	Statements  int32 // if set, a load ends when each user has executed so many, and not with its time
	// Report is a file for what was found, with what is said of program and image; empty = none.
	Report         string
	Program, Image string
}

// ParseDSN reads ORACLE_DSN:
//
//	oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB[&directNFS=true][&calibrate=true][&tablespace=NAME][&seconds=10]
//
// The user must be one who may connect AS SYSDBA. Errors never show the password.
func ParseDSN(dsn string) (Options, error) {
	u, err := url.Parse(dsn)
	if err != nil || u.Scheme != "oracle" || u.Host == "" || u.User == nil || len(u.Path) < 2 {
		return Options{}, fmt.Errorf("ORACLE_DSN is not oracle://sys:PASSWORD@HOST:PORT/CDB?pdb=PDB; characters that mean something in a URL must be written as %%XX")
	}
	password, _ := u.User.Password()
	o := Options{User: u.User.Username(), Password: password, Tablespace: "NFSBENCH", Seconds: 10}
	host := u.Host
	if u.Port() == "" {
		host = net.JoinHostPort(u.Hostname(), "1521")
	}
	o.Admin, o.Load = host+u.Path, host+u.Path
	for key, values := range u.Query() {
		value := values[0]
		switch key {
		case "pdb":
			o.Load = host + "/" + value
		case "tablespace":
			o.Tablespace = strings.ToUpper(value)
		case "directNFS":
			o.DirectNFS, err = strconv.ParseBool(value)
		case "calibrate":
			o.Calibrate, err = strconv.ParseBool(value)
		case "seconds":
			var n int64
			n, err = strconv.ParseInt(value, 10, 32)
			o.Seconds = int32(n)
		default:
			return o, fmt.Errorf("ORACLE_DSN has %s=, which is none of pdb, tablespace, directNFS, calibrate and seconds", key)
		}
		if err != nil {
			return o, fmt.Errorf("ORACLE_DSN has %s=%s, which is no value for it", key, value)
		}
	}
	return o, nil
}

// Suite checks a database.
func Suite(t *testing.T, open oracle.Opener, o Options) {
	t.Helper()
	s := &suite{o: o, report: report{program: o.Program, image: o.Image}}
	s.open = func(ctx context.Context, o oracle.ConnectOptions) (*sql.DB, error) {
		db, err := open(ctx, o)
		s.report.note(err)
		return db, err
	}
	s.report.add("ItSaysWhatItIs", t.Run("ItSaysWhatItIs", s.describe))
	s.report.add("EveryTextForItsReleaseIsTaken", t.Run("EveryTextForItsReleaseIsTaken", s.texts))
	if !o.StandIn { // which answers our texts and no others
		s.report.add("TheViewsAreThoseOfTheCatalogue", t.Run("TheViewsAreThoseOfTheCatalogue", s.compareColumns))
	}
	s.report.add("ParametersAreRead", t.Run("ParametersAreRead", s.parameters))
	s.report.add("AWrongPasswordIsRefused", t.Run("AWrongPasswordIsRefused", s.wrongPassword))
	s.report.add("WhoIsNotSysdbaMayNotCalibrate", t.Run("WhoIsNotSysdbaMayNotCalibrate", s.notSysdba))
	s.report.add("ACancelledStatementEnds", t.Run("ACancelledStatementEnds", s.cancel))
	s.report.add("RandomReadsAreCounted", t.Run("RandomReadsAreCounted", s.randomRead))
	s.report.add("ScansAreDirectReads", t.Run("ScansAreDirectReads", s.scan))
	s.report.add("UpdatesAreWritten", t.Run("UpdatesAreWritten", s.update))
	if o.Calibrate {
		s.report.add("CalibrateGivesItsThreeNumbers", t.Run("CalibrateGivesItsThreeNumbers", s.calibrate))
	}
	s.report.add("NothingIsLeft", t.Run("NothingIsLeft", s.nothingLeft))
	if o.Report == "" {
		return
	}
	if err := s.report.write(o.Report); err != nil {
		t.Error(err)
	}
}

type suite struct {
	open   oracle.Opener
	o      Options
	report report
}

func (s *suite) sysdba() oracle.ConnectOptions {
	return oracle.ConnectOptions{Connect: s.o.Admin, User: s.o.User, Password: s.o.Password, Role: "SYSDBA", Sessions: 2}
}

func (s *suite) connect(t *testing.T, o oracle.ConnectOptions) *sql.DB {
	t.Helper()
	db, err := s.open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func (s *suite) admin(t *testing.T) (*sql.DB, *oracle.Admin) {
	t.Helper()
	db := s.connect(t, s.sysdba())
	return db, oracle.NewAdmin(db, time.Now)
}

// released is admin, and what the version of the database is called in the catalogue.
func (s *suite) released(t *testing.T) (*sql.DB, sqltext.Release) {
	t.Helper()
	db, admin := s.admin(t)
	d, err := admin.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release, err := sqltext.ReleaseOf(d.Version)
	if err != nil {
		t.Fatal(err)
	}
	return db, release
}

func (s *suite) describe(t *testing.T) {
	_, admin := s.admin(t)
	d, err := admin.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.report.banner, s.report.version, s.report.instances = d.Banner, d.Version, len(d.Instances)
	if d.StandIn != s.o.StandIn {
		t.Errorf("banner %q: stand-in is %t", d.Banner, d.StandIn)
	}
	if major, _, _ := strings.Cut(d.Version, "."); len(major) != 2 {
		t.Errorf("version %q", d.Version)
	}
	if len(d.Instances) == 0 || d.Instances[0].Name == "" || d.Instances[0].StartupTime.IsZero() || d.Instances[0].StartupTime.After(time.Now().Add(24*time.Hour)) {
		t.Errorf("instances %+v", d.Instances)
	}
}

// texts runs every query that has no place to fill and no bind.
func (s *suite) texts(t *testing.T) {
	db, release := s.released(t)
	ran := 0
	for _, name := range sqltext.Names() {
		text, err := sqltext.Render(name, nil)
		asIs := strings.Contains(text, "\nSELECT") && !strings.Contains(text, ":1") && !strings.Contains(text, "\nBEGIN")
		ownTable := name == "slob_full_scan" || name == "slob_random_read" // of the session's schema
		if err != nil || !asIs || ownTable {
			continue
		}
		releases, err := oraclesql.Covers(text)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(releases, release) {
			continue
		}
		if err := queryAll(t.Context(), db, text); err != nil {
			t.Errorf("%s: %v", name, err)
			s.report.texts = append(s.report.texts, outcome{name, numbers(err)})
		}
		ran++
	}
	if ran < 15 {
		t.Errorf("only %d texts ran", ran)
	}
}

func queryAll(ctx context.Context, db *sql.DB, text string) error {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	if columns, err := rows.Columns(); err != nil || len(columns) == 0 {
		return cmp.Or(err, errors.New("it has no columns"))
	}
	for rows.Next() {
	}
	return rows.Err()
}

func (s *suite) parameters(t *testing.T) {
	_, admin := s.admin(t)
	values, err := admin.Parameters(t.Context(), []string{"db_block_size", "timed_statistics", "filesystemio_options", "nfsbench_none"})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := strconv.Atoi(values["db_block_size"]); err != nil || n < 2048 || n&(n-1) != 0 {
		t.Errorf("db_block_size %q", values["db_block_size"])
	}
	if values["timed_statistics"] != "TRUE" || values["filesystemio_options"] == "" {
		t.Errorf("%v", values)
	}
	if v, ok := values["nfsbench_none"]; ok {
		t.Errorf("a parameter that does not exist is %q", v)
	}
	err = admin.SetParameters(t.Context(), map[string]string{"nfsbench_none": "1"})
	if oracle.CodeOf(err) != runfile.FailureParameter {
		t.Errorf("setting one: %v", err)
	}
}

func (s *suite) wrongPassword(t *testing.T) {
	o := s.sysdba()
	o.Password += "x"
	db, err := s.open(t.Context(), o)
	if err == nil {
		_ = db.Close()
	}
	if err = oracle.Explain(err); oracle.CodeOf(err) != runfile.FailurePassword || strings.Contains(err.Error(), o.Password) {
		t.Errorf("code %s", oracle.CodeOf(err))
	}
}

func (s *suite) notSysdba(t *testing.T) {
	o := s.sysdba()
	o.User, o.Role = "system", ""
	db, err := s.open(t.Context(), o)
	if err != nil {
		t.Logf("SYSTEM has another password than %s here: %v", s.o.User, oracle.CodeOf(err))
		return
	}
	defer func() { _ = db.Close() }()
	if err := oracle.NewAdmin(db, time.Now).CheckCalibration(t.Context()); oracle.CodeOf(err) != runfile.FailurePrivilege {
		t.Errorf("%v", err)
	}
}

// cancel asks with a context that has ended, and asks again on the same pool.
func (s *suite) cancel(t *testing.T) {
	db, _ := s.admin(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	rows, err := db.QueryContext(ctx, sqltext.Text("instances"))
	if err == nil {
		err = rows.Err()
		_ = rows.Close()
	}
	if err == nil {
		t.Error("a query whose context has ended gives rows")
	}
	if _, err := oracle.NewAdmin(db, time.Now).Describe(t.Context()); err != nil {
		t.Errorf("the connection is not good after it: %v", err)
	}
}

const (
	single    = "db file sequential read"
	scattered = "db file scattered read"
	parallel  = "db file parallel read"
	direct    = "direct path read"
)

type deaf struct{}

func (deaf) Event(runfile.Event)      {}
func (deaf) Load(*runfile.Load) error { return nil }

func (s *suite) load(t *testing.T, w bench.Workload) (runfile.Load, runfile.Repetition) {
	t.Helper()
	client := bench.ClientKernel
	if s.o.DirectNFS {
		client = bench.ClientDirectNFS
	}
	seconds := s.o.Seconds
	if s.o.Statements > 0 {
		seconds = 3600 // against hangs
	}
	load, err := run.Run(t.Context(), run.Options{
		Now: time.Now, Open: s.open, User: s.o.User, Password: s.o.Password, Sink: deaf{},
		Plan: runfile.Plan{
			Version: runfile.PlanVersion, Run: runfile.Identity{Name: "conformance"}, Clients: 1, Seed: 1, Workload: w,
			Engine:   runfile.Engine{Client: client, NFSVersion: "NFSv3"},
			Schedule: runfile.Schedule{WarmupSeconds: s.o.Seconds / 5, DurationSeconds: seconds, Repetitions: 1},
			Database: &runfile.Database{
				Kind: runfile.DatabaseExternal, AdminConnect: s.o.Admin, Connects: []string{s.o.Load}, User: s.o.User, Role: "SYSDBA",
				DirectNFS: s.o.DirectNFS,
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if f := load.Failure; f != nil {
		s.report.note(errors.New(f.Message))
	}
	if load.Failure != nil || len(load.Repetitions) == 0 {
		t.Fatalf("failure %+v, %d repetitions", load.Failure, len(load.Repetitions))
	}
	return *load, load.Repetitions[len(load.Repetitions)-1]
}

func (s *suite) slob(access bench.SLOBAccess, updates int32) bench.Workload {
	return bench.Workload{SLOB: &bench.SLOBWorkload{
		Access: access, Users: []int32{2}, Schemas: 1, Scale: *bench.Bytes(32 << 20), ScanTableSize: *bench.Bytes(32 << 20), WorkUnit: 16, LoadParallelDegree: 1,
		UpdatePercent: updates, RedoStress: bench.SLOBRedoLite, Tablespace: s.o.Tablespace, WorkLoop: s.o.Statements,
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

func sum[T any](all []T, of func(T) int64) (n int64) {
	for _, one := range all {
		n += of(one)
	}
	return n
}

// FlushCache empties the buffer cache, which holds the few megabytes of the suite after a second.
const FlushCache = "/* nfsbench flush_buffer_cache */ ALTER SYSTEM FLUSH BUFFER_CACHE"

// flushing empties the buffer cache until the end of the test.
func (s *suite) flushing(t *testing.T) {
	t.Helper()
	db := s.connect(t, s.sysdba())
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			if _, err := db.ExecContext(ctx, FlushCache); err != nil && ctx.Err() == nil {
				t.Errorf("empty the buffer cache: %v", err)
				return
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	})
	t.Cleanup(func() { stop(); done.Wait() })
}

func (s *suite) randomRead(t *testing.T) {
	s.flushing(t)
	load, rep := s.load(t, s.slob(bench.SLOBRandomRead, 0))
	if load.Oracle.LoadedBytes == 0 || load.Oracle.SchemasReused {
		t.Errorf("%d bytes loaded, reused: %t", load.Oracle.LoadedBytes, load.Oracle.SchemasReused)
	}
	waits := eventOf(rep.Oracle, single)
	buckets := sum(waits.Buckets, func(b runfile.LatencyBucket) int64 { return b.Count })
	if !agree(waits.Waits, buckets) {
		t.Errorf("%d waits in V$SYSTEM_EVENT and %d in its histogram", waits.Waits, buckets)
	}
	// An empty cache makes some releases read more blocks at once than were asked for.
	reads := waits.Waits + eventOf(rep.Oracle, scattered).Waits
	batches := eventOf(rep.Oracle, parallel).Waits > 0 // of which each wait has several reads
	if requests := rep.Oracle.Statistics["physical read total IO requests"]; !agree(reads, requests) && !batches {
		t.Errorf("%d waits and %d requests in V$SYSSTAT", reads, requests)
	}
	small := sum(rep.Oracle.Files, func(f runfile.OracleFile) int64 { return f.SmallReads })
	if !agree(reads, small) && !batches {
		t.Errorf("%d waits and %d small reads in V$IOSTAT_FILE", reads, small)
	}
	for _, e := range rep.Oracle.Events {
		if strings.HasPrefix(e.Name, "db file ") {
			s.report.fact("random reads wait for", e.Name)
		}
	}
	s.report.fact("times of V$IOSTAT_FILE", cmp.Or(rep.Oracle.ServiceTimeUnit, "unknown"))
	if rep.Oracle.ServiceTimeUnit == "" {
		t.Error("the unit of V$IOSTAT_FILE cannot be told")
	}
	s.evidence(t, rep.Oracle)
}

// accessOf keeps what the views say of how the files are reached.
func (r *report) accessOf(w *runfile.OracleWindow) {
	for _, f := range w.Files {
		if f.Type == "Data File" {
			r.fact("datafiles are reached by", f.AccessMethod)
		}
	}
	for _, server := range w.DirectNFS.Servers {
		r.fact("NFSVERSION", server.Version)
	}
}

// evidence checks that the views say how the files are reached.
func (s *suite) evidence(t *testing.T, w *runfile.OracleWindow) {
	t.Helper()
	s.report.accessOf(w)
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
	sends := sum(d.Channels, func(c runfile.DNFSChannel) int64 { return c.Sends })
	// Of a calibration, V$DNFS_STATS counts the processes that began before the first look.
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
	_, rep := s.load(t, s.slob(bench.SLOBFullTableScan, 0))
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
	_, rep := s.load(t, s.slob(bench.SLOBRandomRead, 50))
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
	_, rep := s.load(t, bench.Workload{Calibrate: &bench.CalibrateWorkload{PhysicalDisks: 100, MaxLatencyMilliseconds: 20}})
	c := rep.Oracle.Calibration
	// The latency of the stand-in is that of this machine.
	if c == nil || c.MaxIOPS <= 0 || c.MaxMegabytesPerSecond <= 0 || c.ActualLatencyMilliseconds < 0 ||
		c.ActualLatencyMilliseconds > 20 && !s.o.StandIn {
		t.Fatalf("%+v", c)
	}
	small := sum(rep.Oracle.Files, func(f runfile.OracleFile) int64 { return f.SmallReads })
	large := sum(rep.Oracle.Files, func(f runfile.OracleFile) int64 { return f.LargeReads })
	if small < c.MaxIOPS || large == 0 {
		t.Errorf("%d small and %d large reads in V$IOSTAT_FILE, with %d IOPS", small, large, c.MaxIOPS)
	}
	s.evidence(t, rep.Oracle)
}

func (s *suite) nothingLeft(t *testing.T) {
	o := s.sysdba()
	o.Connect = s.o.Load
	rows, err := s.connect(t, o).QueryContext(t.Context(), sqltext.Text("slob_schemas"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		var marked int64
		if err := rows.Scan(&name, &marked); err != nil || name != "" {
			t.Errorf("schema %s is left: %v", name, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}
