package oracle_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	standin "github.com/nfsbench/nfsbench/test/lab/oracle"
)

func setParameter(t *testing.T, w *standin.World, name, value string) error {
	t.Helper()
	text := render(t, "set_parameter", map[string]any{"Name": sqltext.Parameter(name), "Value": sqltext.Value(value)})
	_, err := sysdba(t, w).ExecContext(t.Context(), text)
	return err
}

func parameter(t *testing.T, w *standin.World, name string) any {
	t.Helper()
	for _, r := range query(t, sysdba(t, w), "parameters") {
		if r["NAME"] == name {
			return r["VALUE"]
		}
	}
	return nil
}

func TestChannelsStartAgainWhenRead(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()})
	s := newSchema(t, w, 600)
	root := sysdba(t, w)
	_ = query(t, root, "dnfs_channels")
	_ = query(t, s.user, "slob_random_read", 1, 400)
	sent, paths := int64(0), map[any]bool{}
	for _, r := range query(t, root, "dnfs_channels") {
		if r["SVRNAME"] != "flashblade" {
			t.Errorf("svrname = %v", r["SVRNAME"])
		}
		if r["SENDS"].(int64) > 0 {
			paths[r["PATH"]] = true
		}
		sent += r["SENDS"].(int64)
		if r["CLIENTPORT"].(int64) == 0 {
			t.Errorf("no port of the client: %v", r)
		}
	}
	if sent < 400 || sent > 450 || len(paths) != 4 {
		t.Errorf("%d calls over %v", sent, paths)
	}
	again := int64(0)
	for _, r := range query(t, root, "dnfs_channels") {
		again += r["SENDS"].(int64)
	}
	if again != 0 {
		t.Errorf("the second look finds %d sends", again)
	}
}

func TestCountersVanishWithTheProcess(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1]})
	s := newSchema(t, w, 600)
	root := sysdba(t, w)
	_ = query(t, s.user, "slob_random_read", 1, 400)
	sum := func() (ops, bytes int64) {
		for _, r := range query(t, root, "dnfs_stats") {
			ops += r["NFS_READ"].(int64)
			bytes += r["NFS_READBYTES"].(int64)
		}
		return ops, bytes
	}
	ops, bytes := sum()
	if ops < 400 || bytes < 400*8192 {
		t.Errorf("%d reads, %d bytes", ops, bytes)
	}
	_ = s.user.Close()
	// The database notices the end of a session by itself; go test ends what waits forever.
	for left, _ := sum(); left >= 400; left, _ = sum() {
		time.Sleep(time.Millisecond)
	}
}

func TestDirectNFSFallsBackWithoutAWord(t *testing.T) {
	t.Parallel()
	paths := fourPaths()[:2]
	for name, c := range map[string]struct {
		options standin.Options
		alert   string
	}{
		"the oranfstab is refused":  {standin.Options{Paths: paths, Oranfstab: "server: a\npath 127.0.0.1\n"}, ""},
		"NFSv4.1":                   {standin.Options{Paths: paths, Oranfstab: "server: a\npath: 127.0.0.1\nnfs_version: nfsv4.1\nexport: /export mount: DATA\n"}, "the stand-in speaks NFSv3"},
		"nobody serves the path":    {standin.Options{Paths: paths, Oranfstab: "server: a\npath: 127.0.0.99\nexport: /export mount: DATA\n"}, "Direct NFS: NFS3ERR"},
		"the fault":                 {standin.Options{Paths: paths, Config: standin.Config{Faults: standin.Faults{Fallback: true}}}, ""},
		"the library is not placed": {standin.Options{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.options.Config.Data = t.TempDir()
			c.options.Oranfstab = strings.ReplaceAll(c.options.Oranfstab, "DATA", c.options.Config.Data)
			w := standin.NewWorld(t, c.options)
			db := sysdba(t, w)
			if w.Instance().UsesDirectNFS() {
				t.Error("Direct NFS is used")
			}
			for _, name := range []string{"dnfs_servers", "dnfs_files", "dnfs_channels", "dnfs_stats"} {
				if rows := query(t, db, name); len(rows) != 0 {
					t.Errorf("%s = %v", name, rows)
				}
			}
			if r := query(t, db, "iostat_file")[0]; r["ACCESS_METHOD"] != "OS_LIB" || r["ASYNCH_IO"] != "ASYNC_OFF" {
				t.Errorf("%v", r)
			}
			if said := strings.Contains(w.AlertLog(), "Direct NFS: "); said != (c.alert != "") || !strings.Contains(w.AlertLog(), c.alert) {
				t.Errorf("alert log:\n%s", w.AlertLog())
			}
		})
	}
}

func TestTheHomesOranfstabComesFirst(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()})
	dbs := filepath.Join(w.Home, "dbs")
	if err := os.MkdirAll(dbs, 0o755); err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(w.Oranfstab(fourPaths()[:2]...), "flashblade", "home", 1)
	if err := os.WriteFile(filepath.Join(dbs, "oranfstab"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rows := query(t, sysdba(t, w), "dnfs_servers"); len(rows) != 1 || rows[0]["SVRNAME"] != "home" {
		t.Errorf("servers = %v", rows)
	}
}

func TestWithoutOradismTheAlertLogSaysIt(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1]})
	w.Config().Direct.Privileged = nil // look: there is no oradism in this home
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.Instance().UsesDirectNFS() || !strings.Contains(w.AlertLog(), "Direct NFS: please check that oradism is setuid") {
		t.Errorf("alert log:\n%s", w.AlertLog())
	}
	oradism := filepath.Join(w.Home, "bin/oradism")
	if err := os.MkdirAll(filepath.Dir(oradism), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(oradism, nil, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if w.Instance().UsesDirectNFS() {
		t.Error("an oradism that is not setuid is taken for one that is")
	}
	if err := os.Chmod(oradism, 0o750|os.ModeSetuid); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := os.Geteuid() == 0; w.Instance().UsesDirectNFS() != want {
		t.Errorf("with an oradism of uid %d that is setuid Direct NFS is used: %t", os.Geteuid(), !want)
	}
}

func TestParametersCountFromTheNextStart(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{})
	db := sysdba(t, w)
	_, _, err := calibrate(t.Context(), db)
	if err == nil || !strings.Contains(err.Error(), "ORA-56708") {
		t.Errorf("without async I/O: %v", err)
	}
	if err := setParameter(t, w, "filesystemio_options", "SETALL"); err != nil {
		t.Fatal(err)
	}
	if got := parameter(t, w, "filesystemio_options"); got != "none" {
		t.Errorf("before the restart: %v", got)
	}
	if err := setParameter(t, w, "_db_block_prefetch_limit", "0"); err != nil {
		t.Error(err)
	}
	if err := setParameter(t, w, "no_such_thing", "1"); err == nil || !strings.Contains(err.Error(), "ORA-02065") {
		t.Errorf("%v", err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := parameter(t, w, "filesystemio_options"); got != "SETALL" {
		t.Errorf("after the restart: %v", got)
	}
	if got := parameter(t, w, "_db_block_prefetch_limit"); got != "0" {
		t.Errorf("the hidden parameter: %v", got)
	}
	if _, _, err := calibrate(t.Context(), sysdba(t, w)); err != nil {
		t.Error(err)
	}
	if err := setParameter(t, w, "timed_statistics", "FALSE"); err != nil {
		t.Fatal(err)
	}
	if err := w.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := calibrate(t.Context(), sysdba(t, w)); err == nil || !strings.Contains(err.Error(), "ORA-56709") {
		t.Errorf("without timed_statistics: %v", err)
	}
}

func TestRightsAreOracles(t *testing.T) {
	t.Parallel()
	w := standin.NewWorld(t, standin.Options{Paths: fourPaths()[:1]})
	newSchema(t, w, 4)
	user := connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "nfsbench1", Password: "Pa_1"})
	system := connect(t, w, oracle.ConnectOptions{Connect: w.Admin(), User: "system", Password: standin.Password})
	pdb := connect(t, w, oracle.ConnectOptions{Connect: w.Load(), User: "sys", Password: standin.Password, Role: "SYSDBA"})
	exec := func(db *sql.DB, text string) error {
		_, err := db.ExecContext(t.Context(), text)
		return err
	}
	_, _, system1 := calibrate(t.Context(), system)
	_, _, pdb1 := calibrate(t.Context(), pdb)
	for want, err := range map[string]error{
		"ORA-00942": exec(user, sqltext.Text("sysstat")), "ORA-01031": system1, "ORA-65040": pdb1,
		"ORA-00900": exec(pdb, "SELECT 1 FROM dual"),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := pdb.QueryContext(t.Context(), "/* nfsbench sysstat */ SELECT inst_id, nonsense FROM gv$sysstat") //nolint:rowserrcheck,sqlclosecheck // there are none
	if err == nil || !strings.Contains(err.Error(), "ORA-00904") {
		t.Errorf("an unknown column: %v", err)
	}
}

func TestAnOranfstabOfAnotherExportIsNotUsed(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for line, want := range map[string]bool{
		"export: /export mount: " + data:               true,
		"export: /other mount: " + data:                false,
		"export: /export mount: /mnt/nfsbench":         false,
		"export: /export mount: " + filepath.Dir(data): false,
	} {
		w := standin.NewWorld(t, standin.Options{
			Paths: fourPaths()[:1], Config: standin.Config{Data: data}, Oranfstab: "server: label\npath: 127.0.0.1\n" + line + "\n",
		})
		if w.Instance().UsesDirectNFS() != want {
			t.Errorf("%s: Direct NFS is used: %t", line, !want)
		}
		_ = w.Instance().Shutdown(t.Context())
	}
}
