package oracle_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// schema is a schema of ours in the pluggable database, with both tables.
type schema struct {
	w     *standin.World
	admin *sql.DB
	user  *sql.DB
	rows  int64
}

func render(t *testing.T, name string, values map[string]any) string {
	t.Helper()
	text, err := sqltext.Render(name, values)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *schema) do(t *testing.T, text string, args ...any) error {
	t.Helper()
	_, err := s.admin.ExecContext(t.Context(), text, args...)
	return err
}

// newSchema loads rows into both tables, in two pieces each.
func newSchema(t *testing.T, w *standin.World, rows int64) *schema {
	t.Helper()
	s := &schema{w: w, rows: rows, admin: connect(t, w, oracle.ConnectOptions{
		Connect: w.Load(), User: "sys", Password: standin.Password, Role: "SYSDBA", Sessions: 4,
	})}
	file := filepath.Join(w.Config().Data, "FREE/FREEPDB1/nfsbench01.dbf")
	texts := []string{
		render(t, "slob_tablespace_create", map[string]any{"Tablespace": "NFSBENCH", "File": sqltext.Literal(file), "Megabytes": 1}),
		render(t, "slob_schema_create", map[string]any{"Schema": "NFSBENCH1", "Password": sqltext.Password("Pa_1"), "Tablespace": "NFSBENCH"}),
		render(t, "slob_schema_grant", map[string]any{"Schema": "NFSBENCH1"}),
	}
	for _, table := range []string{"NFSBENCH_RANGES", "NFSBENCH_SCAN"} {
		texts = append(texts, render(t, "slob_table_create", map[string]any{"Schema": "NFSBENCH1", "Table": table, "Tablespace": "NFSBENCH"}))
	}
	for _, text := range texts {
		if err := s.do(t, text); err != nil {
			t.Fatal(err)
		}
	}
	g, _ := errgroup.WithContext(t.Context())
	for _, table := range []string{"NFSBENCH_RANGES", "NFSBENCH_SCAN"} {
		text := render(t, "slob_load_plain", map[string]any{"Schema": "NFSBENCH1", "Table": table})
		for piece := range int64(2) {
			g.Go(func() error { return s.do(t, text, piece+1, 2, 7, rows/2) })
		}
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	s.user = connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "nfsbench1", Password: "Pa_1", Sessions: 4})
	return s
}

func counters(t *testing.T, db *sql.DB) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	for _, r := range query(t, db, "sysstat") {
		all[r["NAME"].(string)] = r["VALUE"].(int64)
	}
	for _, r := range query(t, db, "time_model") {
		all[r["STAT_NAME"].(string)] = r["VALUE"].(int64)
	}
	for _, r := range query(t, db, "system_event") {
		all[r["EVENT"].(string)] = r["TOTAL_WAITS"].(int64)
	}
	for _, r := range query(t, db, "event_histogram") {
		all["histogram of "+r["EVENT"].(string)] += r["WAIT_COUNT"].(int64)
	}
	return all
}

func delta(before, after map[string]int64, name string) int64 { return after[name] - before[name] }

func TestARandomReadIsOneReadOfEachBlock(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]standin.Options{"kernel": {}, "Direct NFS": {Paths: fourPaths()}} {
		t.Run(name, func(t *testing.T) {
			w := standin.NewWorld(t, o)
			s := newSchema(t, w, 600)
			root := sysdba(t, w)
			before := counters(t, root)
			rows := query(t, s.user, "slob_random_read", 101, 164)
			if rows[0]["FOUND"] != int64(64) {
				t.Errorf("found %v rows of 64", rows[0]["FOUND"])
			}
			after := counters(t, root)
			for name, want := range map[string]int64{
				"physical read total bytes": 64 * 8192, "physical read total IO requests": 64, "physical reads": 64,
				"db file sequential read": 64, "histogram of db file sequential read": 64, "physical reads direct": 0,
			} {
				if got := delta(before, after, name); got != want {
					t.Errorf("%s: %d, want %d", name, got, want)
				}
			}
		})
	}
}

func TestARangeIsReadInBatchesUnlessTold(t *testing.T) {
	t.Parallel()
	plain := strings.ReplaceAll(sqltext.Text("slob_random_read"), "NO_BATCH_TABLE_ACCESS_BY_ROWID(r)", "")
	for name, c := range map[string]struct {
		text            string
		parameters      map[string]string
		single, batches int64 // waits
	}{
		"told by the statement": {sqltext.Text("slob_random_read"), nil, 64, 0},
		"told by a parameter":   {plain, map[string]string{"_db_file_noncontig_mblock_read_count": "0"}, 64, 0},
		"not told":              {plain, nil, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := standin.NewWorld(t, standin.Options{Config: standin.Config{Parameters: c.parameters}})
			s := newSchema(t, w, 600)
			root := sysdba(t, w)
			before := counters(t, root)
			var found int64
			if err := s.user.QueryRowContext(t.Context(), c.text, 101, 164).Scan(&found); err != nil || found != 64 {
				t.Fatalf("found %d rows of 64: %v", found, err)
			}
			after := counters(t, root)
			for name, want := range map[string]int64{
				"physical read total IO requests": 64, "physical reads cache": 64,
				"db file sequential read": c.single, "db file parallel read": c.batches,
			} {
				if got := delta(before, after, name); got != want {
					t.Errorf("%s: %d, want %d", name, got, want)
				}
			}
		})
	}
}

func TestANewDatabaseRunsJobsOfItsOwn(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{Autotasks: time.Hour}})
	root := sysdba(t, w)
	if rows := query(t, root, "active_sessions"); len(rows) != 1 || rows[0]["MODULE"] != "DBMS_SCHEDULER" {
		t.Errorf("sessions at work: %+v", rows)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	root = sysdba(t, w)
	if rows := query(t, root, "active_sessions"); len(rows) != 1 {
		t.Errorf("after a restart: %+v", rows)
	}
	text := render(t, "set_parameter", map[string]any{"Name": sqltext.Parameter("job_queue_processes"), "Value": sqltext.Value("0")})
	if _, err := root.ExecContext(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows := query(t, sysdba(t, w), "active_sessions"); len(rows) > 0 {
		t.Errorf("with job_queue_processes=0: %+v", rows)
	}
}

func TestAScanReadsTheTableInMultiblockReads(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{})
	s := newSchema(t, w, 600)
	root := sysdba(t, w)
	for step, want := range map[string]string{"small": "db file scattered read", "direct": "direct path read"} {
		if step == "direct" {
			s.user.SetMaxOpenConns(1)
			if _, err := s.user.ExecContext(t.Context(), sqltext.Text("slob_direct_read_always")); err != nil {
				t.Fatal(err)
			}
		} else {
			s.user = connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "NFSBENCH1", Password: "Pa_1"})
		}
		before := counters(t, root)
		if rows := query(t, s.user, "slob_full_scan"); rows[0]["FOUND"] != int64(600) {
			t.Errorf("found %v rows of 600", rows[0]["FOUND"])
		}
		after := counters(t, root)
		if got := delta(before, after, "physical read total bytes"); got != 600*8192 {
			t.Errorf("%s: %d bytes read", step, got)
		}
		if got := delta(before, after, want); got != 6 { // two pieces of 300 blocks, 128 at a time
			t.Errorf("%s: %d waits for %s, want 6", step, got, want)
		}
	}
}

func TestAnUpdateWritesBlocksAndRedo(t *testing.T) {
	t.Parallel()
	faults := standin.Faults{CheckpointWait: time.Millisecond}
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{Faults: faults}})
	s := newSchema(t, w, 600)
	root := sysdba(t, w)
	switches := func() (n int64) { // the load commits too
		for _, r := range query(t, root, "foreground_waits") {
			if r["EVENT"] == "log file switch (checkpoint incomplete)" {
				n = r["TOTAL_WAITS_FG"].(int64)
			}
		}
		return n
	}
	switched := switches()
	before := counters(t, root)
	if _, err := s.user.ExecContext(t.Context(), sqltext.Text("slob_update_lite"), "data", "data", 1, 10); err != nil {
		t.Fatal(err)
	}
	after := counters(t, root)
	for name, want := range map[string]int64{
		"physical writes": 10, "db file parallel write": 10, "log file sync": 1, "redo size": 5120, "user commits": 1,
	} {
		if got := delta(before, after, name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if got := switches() - switched; got != 1 {
		t.Errorf("the commit waited for %d checkpoints, not for one", got)
	}
	if rows := query(t, s.user, "slob_random_read", 1, 600); rows[0]["FOUND"] != int64(600) {
		t.Errorf("after the update: %v", rows)
	}
}

func TestABlockThatIsNotWhatWasWrittenIsCorrupt(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{})
	s := newSchema(t, w, 600)
	f, err := os.OpenFile(filepath.Join(w.Config().Data, "FREE/FREEPDB1/nfsbench01.dbf"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := f.Stat()
	for at := int64(4000); at < info.Size(); at += 8192 {
		if _, err := f.WriteAt([]byte{1, 2, 3, 4}, at); err != nil {
			t.Fatal(err)
		}
	}
	_ = f.Close()
	_, err = s.user.QueryContext(t.Context(), sqltext.Text("slob_random_read"), 1, 4) //nolint:rowserrcheck,sqlclosecheck // there are none
	if err == nil || !strings.Contains(err.Error(), "ORA-01578") {
		t.Errorf("%v", err)
	}
}

func TestSpaceEndsAsInOracle(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{Faults: standin.Faults{FullAfter: 8 << 20}}})
	s := newSchema(t, w, 400)
	text := render(t, "slob_load_plain", map[string]any{"Schema": "NFSBENCH1", "Table": "NFSBENCH_SCAN"})
	err := s.do(t, text, 1000, 1, 1, 400)
	if err == nil || !strings.Contains(err.Error(), "ORA-01653: unable to extend table NFSBENCH1.NFSBENCH_SCAN by 128 in tablespace NFSBENCH") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(w.AlertLog(), "No space left on device") {
		t.Error("the alert log does not say why")
	}
	err = s.do(t, text, 1000, 1, 1, int64(13)<<30/8192)
	if err == nil || !strings.Contains(err.Error(), "ORA-12954") {
		t.Errorf("Free takes 13 GiB: %v", err)
	}
	file := filepath.Join(w.Config().Data, "FREE/FREEPDB1/more01.dbf")
	err = s.do(t, render(t, "slob_tablespace_create", map[string]any{"Tablespace": "MORE", "File": sqltext.Literal(file), "Megabytes": 16}))
	if err == nil || !strings.Contains(err.Error(), "ORA-01119") || !strings.Contains(err.Error(), "No space left") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("the datafile that could not be made is still there")
	}
}

func TestSchemasOutliveARestart(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:2]})
	s := newSchema(t, w, 600)
	marker := render(t, "slob_marker_create", map[string]any{"Schema": "NFSBENCH1", "Tablespace": "NFSBENCH"})
	if err := s.do(t, marker); err != nil {
		t.Fatal(err)
	}
	if err := s.do(t, render(t, "slob_marker_write", map[string]any{"Schema": "NFSBENCH1"}), "ranges", 1, 600*8192, 600, 8192, 0, "NFSBENCH", 1); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	admin := connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "sys", Password: standin.Password, Role: "SYSDBA"})
	rows, err := admin.QueryContext(t.Context(), render(t, "slob_marker_read", map[string]any{"Schema": "NFSBENCH1"}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var kind, tablespace string
	var n [6]int64
	if !rows.Next() {
		t.Fatal("the marker is gone")
	}
	if err := rows.Scan(&kind, &n[0], &n[1], &n[2], &n[3], &n[4], &tablespace, &n[5]); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(kind, n, tablespace); got != "ranges[1 4915200 600 8192 0 1]NFSBENCH" {
		t.Errorf("marker = %s", got)
	}
	user := connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "nfsbench1", Password: "Pa_1"})
	if rows := query(t, user, "slob_random_read", 1, 600); rows[0]["FOUND"] != int64(600) {
		t.Errorf("after the restart: %v", rows)
	}
	if got := counters(t, sysdba(t, w))["physical writes"]; got != 0 {
		t.Errorf("views begin at %d writes after a restart", got)
	}
}

func TestACancelledStatementIsORA01013(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Config: standin.Config{Calibrate: time.Hour}})
	if err := setParameter(t, w, "filesystemio_options", "SETALL"); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	db := sysdba(t, w)
	status := func() any { return query(t, db, "calibrate_status")[0]["STATUS"] }
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, _, err := calibrate(ctx, db)
		ended <- err
	}()
	for status() != "IN PROGRESS" {
		select {
		case err := <-ended:
			t.Fatalf("the calibration has ended: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "ORA-01013") {
		t.Errorf("%v", err)
	}
	if got := status(); got != "NOT AVAILABLE" {
		t.Errorf("after the cancellation the status is %v", got)
	}
}
