package suite

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

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

func (s *suite) describe(t *testing.T) {
	_, admin := s.admin(t)
	d, err := admin.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	db, admin := s.admin(t)
	d, err := admin.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	release, _, _ := strings.Cut(d.Version, ".")
	ran := 0
	for _, name := range sqltext.Names() {
		text, err := sqltext.Render(name, nil)
		if err != nil || !runnable(text) || !meant(text, release) || ownTable(name) {
			continue
		}
		rows, err := db.QueryContext(t.Context(), text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		columns, err := rows.Columns()
		if err != nil || len(columns) == 0 {
			t.Errorf("%s: %d columns, %v", name, len(columns), err)
		}
		for rows.Next() {
		}
		if err := rows.Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_ = rows.Close()
		ran++
	}
	if ran < 15 {
		t.Errorf("only %d texts ran", ran)
	}
}

// runnable says whether a text is a query as it stands.
func runnable(text string) bool {
	return strings.Contains(text, "\nSELECT") && !strings.Contains(text, ":1") && !strings.Contains(text, "\nBEGIN")
}

// ownTable says whether a text asks a table of the session's own schema.
func ownTable(name string) bool {
	return slices.Contains([]string{"slob_full_scan", "slob_random_read"}, name)
}

// meant reads the releases of a text: all, "from 23" or "to 21".
func meant(text, release string) bool {
	_, after, ok := strings.Cut(text, "-- releases: ")
	if !ok {
		return true
	}
	line, _, _ := strings.Cut(after, "\n")
	way, bound, _ := strings.Cut(line, " ")
	have, errHave := strconv.Atoi(release)
	want, errWant := strconv.Atoi(strings.Split(bound, ".")[0])
	switch {
	case way == "all" || errHave != nil || errWant != nil:
		return true
	case way == "from":
		return have >= want
	default:
		return have <= want
	}
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
