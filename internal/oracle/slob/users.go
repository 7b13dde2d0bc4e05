package slob

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/oracle/sqltext"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/runloop"
)

const (
	// logins bounds the concurrent logins of sessions: a listener refuses too many
	// at once.
	logins      = 8
	columnBytes = 128
)

// Options configures the sessions and their load.
type Options struct {
	Open     oracle.Opener
	Connects []string // used in turn: services of RAC instances
	Password string   // of every schema
	SLOB     bench.SLOBWorkload
	Rows     int64 // of the table of each schema
	Users    int32
	Seed     uint64
	Pace     *Pace // nil = each session executes one statement after the other
}

// Users are sessions that put load on schemas.
type Users struct {
	pools    map[place]*sql.DB
	sessions []*session
	// NotDirect is the reason why scans may not bypass the buffer cache; nil = they do.
	NotDirect error
}

// place is the schema and service of a session.
type place struct{ schema, connect string }

// placeOf distributes users over schemas, and schemas over services in turn, so
// that one instance does all work on a schema. With a single schema it
// distributes the users over services.
func (o Options) placeOf(user int) place {
	schemas := int(max(1, o.SLOB.Schemas))
	schema := user % schemas
	turn := schema
	if schemas == 1 {
		turn = user
	}
	return place{SchemaName(schema), o.Connects[turn%len(o.Connects)]}
}

// Connect logs all users in. Close the Users in any case.
func Connect(ctx context.Context, o Options) (*Users, error) {
	u := &Users{pools: map[place]*sql.DB{}, sessions: make([]*session, o.Users)}
	counts := map[place]int{}
	for i := range int(o.Users) {
		counts[o.placeOf(i)]++
	}
	for i := range int(o.Users) { // in their order, so that errors do not vary
		p := o.placeOf(i)
		if u.pools[p] != nil {
			continue
		}
		at := oracle.ConnectOptions{Connect: p.connect, User: p.schema, Password: o.Password, Sessions: counts[p]}
		db, err := o.Open(ctx, at)
		if err != nil {
			return u, fmt.Errorf("connect %s to %s: %w", p.schema, p.connect, oracle.Explain(err))
		}
		u.pools[p] = db
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(logins)
	for i := range u.sessions {
		g.Go(func() (err error) {
			u.sessions[i], err = newSession(ctx, o, i, u.pools[o.placeOf(i)])
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return u, err
	}
	for _, s := range u.sessions {
		u.NotDirect = errors.Join(u.NotDirect, s.notDirect)
	}
	return u, nil
}

// Run lets all sessions work until ctx is done, or until each has executed the statements of WorkLoop, and returns
// when all have stopped. An error of one session stops the others.
func (u *Users) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range u.sessions {
		g.Go(func() error { return s.work(ctx) })
	}
	return g.Wait()
}

// Close logs all sessions out. Do not call it during Run.
func (u *Users) Close() {
	for _, s := range u.sessions {
		if s != nil {
			s.close()
		}
	}
	for _, db := range u.pools {
		_ = db.Close()
	}
}

// session is one user.
type session struct {
	name      string
	slob      bench.SLOBWorkload
	rows      int64
	pace      *Pace
	conn      *sql.Conn
	read      *sql.Stmt
	update    *sql.Stmt // nil without updates
	random    *rand.Rand
	notDirect error
}

func newSession(ctx context.Context, o Options, index int, db *sql.DB) (*session, error) {
	p := o.placeOf(index)
	s := &session{
		name: fmt.Sprintf("user %d (%s at %s)", index+1, p.schema, p.connect), slob: o.SLOB, rows: o.Rows,
		pace:   o.Pace,
		random: rand.New(rand.NewPCG(o.Seed, uint64(index))), //nolint:gosec // offsets, not secrets
	}
	if err := s.open(ctx, db); err != nil {
		s.close()
		return nil, fmt.Errorf("%s: %w", s.name, oracle.Explain(err))
	}
	return s, nil
}

func (s *session) open(ctx context.Context, db *sql.DB) (err error) {
	if s.conn, err = db.Conn(ctx); err != nil {
		return err
	}
	if s.slob.Access == bench.SLOBFullTableScan {
		s.readDirectly(ctx)
		s.read, err = s.conn.PrepareContext(ctx, sqltext.Text("slob_full_scan"))
		return err
	}
	if s.read, err = s.conn.PrepareContext(ctx, sqltext.Text("slob_random_read")); err != nil {
		return err
	}
	if s.slob.UpdatePercent == 0 {
		return nil
	}
	name := "slob_update_lite"
	if s.slob.RedoStress == bench.SLOBRedoHeavy {
		name = "slob_update_heavy"
	}
	s.update, err = s.conn.PrepareContext(ctx, sqltext.Text(name))
	return err
}

// readDirectly makes scans bypass the buffer cache. The value "always" is
// undocumented, "true" is older. If the database refuses both, Oracle decides
// by the size of the table, and its counters show the decision.
func (s *session) readDirectly(ctx context.Context) {
	for _, name := range []string{"slob_direct_read_always", "slob_direct_read_true"} {
		if _, err := s.conn.ExecContext(ctx, sqltext.Text(name)); err != nil {
			s.notDirect = fmt.Errorf("%s: %w", s.name, oracle.Explain(err))
			continue
		}
		s.notDirect = nil
		return
	}
}

// work runs statements until ctx is done or the fixed work is finished. An interrupted last statement is not an
// error.
func (s *session) work(ctx context.Context) error {
	if s.pace != nil {
		return s.keepPace(ctx)
	}
	for done := int32(1); ctx.Err() == nil && (s.slob.WorkLoop == 0 || done <= s.slob.WorkLoop); done++ {
		err := s.statement(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // ORA-01013 of the statement that was cancelled
		}
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, oracle.Explain(err))
		}
		if t := s.slob.Think; t != nil && t.Frequency > 0 && done%t.Frequency == 0 {
			spread := t.MaximumMilliseconds - t.MinimumMilliseconds
			think := time.Duration(t.MinimumMilliseconds+s.random.Int32N(max(0, spread)+1)) * time.Millisecond
			if runloop.Wait(ctx, think) != nil {
				return nil //nolint:nilerr // being told to end while it thinks is no error either
			}
		}
	}
	return nil
}

// keepPace executes statements when they are due, until the window is over or ctx is done.
func (s *session) keepPace(ctx context.Context) error {
	for {
		due, more := s.pace.take()
		if !more {
			return nil
		}
		err := s.pace.wait(ctx, due)
		if err == nil {
			err = s.statement(ctx)
		}
		s.pace.ended(due, err == nil)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // ORA-01013 of the cancelled statement
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, oracle.Explain(err))
		}
	}
}

func (s *session) statement(ctx context.Context) error {
	if s.slob.Access == bench.SLOBFullTableScan {
		return s.count(ctx, s.rows)
	}
	keys := min(int64(s.slob.WorkUnit), s.rows)
	first := 1 + s.random.Int64N(s.rows-keys+1)
	last := first + keys - 1
	if s.update == nil || s.random.Int32N(100) >= s.slob.UpdatePercent {
		return s.count(ctx, keys, first, last)
	}
	args := []any{s.text(), s.text(), first, last}
	if s.slob.RedoStress == bench.SLOBRedoHeavy {
		args = args[1:]
	}
	_, err := s.update.ExecContext(ctx, args...)
	return err
}

// count reads, and checks the number of rows: a table with fewer rows would
// give better numbers.
func (s *session) count(ctx context.Context, want int64, args ...any) error {
	var found int64
	if err := s.read.QueryRowContext(ctx, args...).Scan(&found); err != nil {
		return err
	}
	if found != want {
		return oracle.Failf(runfile.FailureVerify, "a statement found %d rows where %d were loaded; drop the schemas "+
			"NFSBENCHn, so that the next run loads them again", found, want)
	}
	return nil
}

// text returns the new value of an updated column.
func (s *session) text() string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz+/"
	out := make([]byte, columnBytes)
	for i := 0; i < len(out); i += 8 {
		bits := s.random.Uint64()
		for j := range 8 {
			out[i+j] = letters[bits>>(6*j)&63]
		}
	}
	return string(out)
}

func (s *session) close() {
	for _, stmt := range []*sql.Stmt{s.read, s.update} {
		if stmt != nil {
			_ = stmt.Close()
		}
	}
	if s.conn != nil {
		_ = s.conn.Close()
	}
}
