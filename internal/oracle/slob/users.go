package slob

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/nfsbench/nfsbench/internal/oracle"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// logins is how many sessions log in at the same time: a listener refuses a
// storm of them.
const logins = 8

// Options say who puts load on schemas, and where.
type Options struct {
	Open     oracle.Opener
	Connects []string // in turns: services of RAC instances
	Password string   // of every schema
	SLOB     runfile.SLOB
	Rows     int64 // of the table of each schema
	Users    int32
	Seed     uint64
}

// Users are sessions that put load on schemas.
type Users struct {
	pools    map[place]*sql.DB
	sessions []*session
	// NotDirect says why scans may not read past the buffer cache; nil = they do.
	NotDirect error
}

// place is where a session goes.
type place struct{ schema, connect string }

// placeOf spreads users over schemas, and schemas over services in turns, so
// that one schema is worked on in one instance; with a single schema the users
// go in turns.
func (o Options) placeOf(user int) place {
	schemas := int(max(1, o.SLOB.Schemas))
	schema := user % schemas
	turn := schema
	if schemas == 1 {
		turn = user
	}
	return place{SchemaName(schema), o.Connects[turn%len(o.Connects)]}
}

// Connect logs all users in. Close them in any case.
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
		db, err := o.Open(ctx, oracle.ConnectOptions{Connect: p.connect, User: p.schema, Password: o.Password, Sessions: counts[p]})
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

// Run lets all work until ctx is done, and returns when all have stopped. An
// error of one stops the others.
func (u *Users) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, s := range u.sessions {
		g.Go(func() error { return s.work(ctx) })
	}
	return g.Wait()
}

// Close logs all out; not during Run.
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
