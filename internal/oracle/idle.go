package oracle

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/nfsbench/nfsbench/internal/course"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// idleLooks is how often, a second apart, a database may be found at work before it
// is called busy. An instance that has just started has jobs of its own to do.
const idleLooks = 60

// CheckIdle fails with FailureBusy where sessions of others are at work: what is
// measured would be their load as well. It means only sessions that are found at
// work for a minute: neither a probe that asks for the health of the database nor
// what an instance does after it has started.
func (a *Admin) CheckIdle(ctx context.Context) error {
	still, err := a.activeSessions(ctx)
	for look := 1; look < idleLooks && err == nil && len(still) > 0; look++ {
		if err = course.Wait(ctx, a.pause); err != nil {
			return err
		}
		var now []session
		now, err = a.activeSessions(ctx)
		still = slices.DeleteFunc(now, func(s session) bool {
			return !slices.ContainsFunc(still, func(before session) bool { return before.id == s.id })
		})
	}
	if err != nil || len(still) == 0 {
		return err
	}
	var others []string
	for _, s := range still[:min(3, len(still))] {
		others = append(others, s.what)
	}
	more := ""
	if len(still) > len(others) {
		more = fmt.Sprintf(" and %d more", len(still)-len(others))
	}
	return Fail(runfile.FailureBusy, fmt.Sprintf("others use the database: %s%s; run the benchmark when nobody does",
		strings.Join(others, "; "), more), nil)
}

// session is one that is at work.
type session struct {
	id   [2]int64 // instance and SID
	what string
}

func (a *Admin) activeSessions(ctx context.Context) ([]session, error) {
	return query(ctx, a, "active_sessions", func(r *sql.Rows) (session, error) {
		var s session
		var user, machine, program, event sql.NullString
		err := r.Scan(&s.id[0], &s.id[1], &user, &machine, &program, &event)
		s.what = fmt.Sprintf("%s, %s on %s (instance %d, SID %d, %s)", user.String, program.String, machine.String, s.id[0], s.id[1], event.String)
		return s, err
	})
}
