package oracle_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

// fourPaths are addresses of this machine.
func fourPaths() []string { return []string{"127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4"} }

func sysdba(t *testing.T, w *standin.World) *sql.DB {
	t.Helper()
	return connect(t, w, oracle.ConnectOptions{Connect: w.Admin(), User: "sys", Password: standin.Password, Role: "SYSDBA", Sessions: 4})
}

func connect(t *testing.T, w *standin.World, o oracle.ConnectOptions) *sql.DB {
	t.Helper()
	db, err := w.Opener()(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// calibrate calls CALIBRATE_IO.
func calibrate(ctx context.Context, db *sql.DB) (iops, mbps int64, err error) {
	var latency int64
	_, err = db.ExecContext(ctx, sqltext.Text("calibrate"),
		sql.Named("disks", 100), sql.Named("latency_ms", 20),
		sql.Named("max_iops", sql.Out{Dest: &iops}), sql.Named("max_mbps", sql.Out{Dest: &mbps}),
		sql.Named("actual_latency_ms", sql.Out{Dest: &latency}))
	return iops, mbps, err
}

// count runs a query and returns its rows as maps by upper-case column.
func query(t *testing.T, db *sql.DB, name string, args ...any) []map[string]any {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), sqltext.Text(name), args...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []map[string]any
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for n := range values {
			into[n] = &values[n]
		}
		if err := rows.Scan(into...); err != nil {
			t.Fatal(err)
		}
		r := map[string]any{}
		for n, c := range columns {
			r[c] = values[n]
		}
		all = append(all, r)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestCalibrateGoesOverDirectNFS(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()})
	db := sysdba(t, w)
	iops, mbps, err := calibrate(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if iops < 1 || mbps < 1 {
		t.Errorf("%d IOPS, %d MB/s", iops, mbps)
	}
	var small, large int64
	for _, r := range query(t, db, "iostat_file") {
		if r["ACCESS_METHOD"] != "DNFS_LIB" || r["ASYNCH_IO"] != "ASYNC_ON" {
			t.Errorf("file %v: %v, %v", r["FILE_NO"], r["ACCESS_METHOD"], r["ASYNCH_IO"])
		}
		small, large = small+r["SMALL_READ_REQS"].(int64), large+r["LARGE_READ_REQS"].(int64)
	}
	if small == 0 || large == 0 { // at random places: on a busy machine not of each file
		t.Errorf("%d small and %d large reads with %d IOPS", small, large, iops)
	}
	servers := query(t, db, "dnfs_servers")
	if len(servers) != 1 || servers[0]["SVRNAME"] != "flashblade" || servers[0]["DIRNAME"] != "/export" {
		t.Errorf("servers = %v", servers)
	}
	if !strings.Contains(w.AlertLog(), "Oracle instance running with ODM: Oracle Direct NFS ODM Library Version 6.0") {
		t.Error("the alert log does not name the library")
	}
}

func TestAWrongPasswordIsOracles(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{})
	for name, c := range map[string]struct {
		options oracle.ConnectOptions
		want    string
	}{
		"password": {oracle.ConnectOptions{Connect: w.Admin(), User: "sys", Password: "x", Role: "SYSDBA"}, "ORA-01017"},
		"service":  {oracle.ConnectOptions{Connect: w.Instance().Address() + "/nobody", User: "sys", Password: standin.Password, Role: "SYSDBA"}, "ORA-12514"},
		"role":     {oracle.ConnectOptions{Connect: w.Admin(), User: "system", Password: standin.Password, Role: "SYSDBA"}, "ORA-01031"},
		"listener": {oracle.ConnectOptions{Connect: "127.0.0.1:1/FREE", User: "sys", Password: standin.Password}, "ORA-12541"},
	} {
		_, err := w.Opener()(t.Context(), c.options)
		if err == nil || !strings.Contains(errors.Join(err).Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}
