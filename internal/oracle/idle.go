package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// CheckIdle fails with FailureBusy where sessions of others are at work: what is
// measured would be their load as well. It looks twice, a second apart, and
// means only sessions that are at work both times: a probe that asks for the
// health of the database is none.
func (a *Admin) CheckIdle(ctx context.Context) error {
	before, err := a.activeSessions(ctx)
	if err != nil || len(before) == 0 {
		return err
	}
	timer := time.NewTimer(a.pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
	}
	after, err := a.activeSessions(ctx)
	if err != nil {
		return err
	}
	seen := map[[2]int64]bool{}
	for _, s := range before {
		seen[s.id] = true
	}
	var others []string
	for _, s := range after {
		if seen[s.id] {
			others = append(others, s.what)
		}
	}
	if len(others) == 0 {
		return nil
	}
	more := ""
	if len(others) > 3 {
		more = fmt.Sprintf(" and %d more", len(others)-3)
	}
	return Fail(runfile.FailureBusy, fmt.Sprintf("others use the database: %s%s; run the benchmark when nobody does",
		strings.Join(others[:min(3, len(others))], "; "), more), nil)
}

// session is one that is at work.
type session struct {
	id   [2]int64 // instance and SID
	what string
}

func (a *Admin) activeSessions(ctx context.Context) ([]session, error) {
	return query(ctx, a.db, "active_sessions", func(r *sql.Rows) (session, error) {
		var s session
		var user, machine, program, event sql.NullString
		err := r.Scan(&s.id[0], &s.id[1], &user, &machine, &program, &event)
		s.what = fmt.Sprintf("%s, %s on %s (instance %d, SID %d, %s)", user.String, program.String, machine.String, s.id[0], s.id[1], event.String)
		return s, err
	})
}
