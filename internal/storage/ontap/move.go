package ontap

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// settlePolls is the number of polls after the end of a move for which the volume may still be reported at
// another aggregate.
const settlePolls = 5

// move is the state of a running move.
type move struct {
	*Source
	vol      volume
	to       string
	job      string // UUID, empty = none or not visible
	percent  int32
	progress func(int32)
	seen     bool // a poll saw the move running
	// done counts the polls since ONTAP reported the end of the move.
	done int
}

// Move moves the volume behind export to aggregate and returns when the volume is there. If such a move is
// already running, Move waits for it. When ctx ends, the array goes on moving, and the error says so.
// progress may be nil.
func (s *Source) Move(ctx context.Context, export, aggregate string,
	progress func(percent int32),
) (runfile.VolumeMove, error) {
	began := s.now()
	vol, err := s.find(ctx, export, "uuid", "name", "svm.name", "style", "aggregates.name", "nas.path", "movement")
	if err != nil {
		err = fmt.Errorf("move volume to %s: %w", aggregate, err)
		return runfile.VolumeMove{}, surveyError(rest.Reason(err), err)
	}
	if progress == nil {
		progress = func(int32) {}
	}
	m := &move{Source: s, vol: vol, to: aggregate, progress: progress}
	out := runfile.VolumeMove{To: aggregate}
	if len(vol.Aggregates) > 0 {
		out.From = vol.Aggregates[0].Name
	}
	if err := m.run(ctx); err != nil {
		return runfile.VolumeMove{}, m.explain(err)
	}
	out.Percent, out.Seconds = 100, s.now().Sub(began).Seconds()
	if m.percent < 100 {
		progress(100)
	}
	return out, nil
}

// explain returns err as a SurveyError, with the volume, the target aggregate and the reason.
func (m *move) explain(err error) error {
	reason := runfile.SurveyMoveFailed
	if r := rest.Reason(err); r == runfile.SurveyUntrusted || hasStatus(err, http.StatusUnauthorized) {
		reason = r
	}
	if hasStatus(err, http.StatusForbidden) {
		// The same REST role lets the account read volumes; read_modify needs ONTAP 9.11.1.
		err = fmt.Errorf("%w: allow it with: security login rest-role modify -role nfsbench -api %s -access read_modify "+
			"(nfsbench = the role of the account)%s", err, apiVolumes, clusterOnly)
	}
	return surveyError(reason, fmt.Errorf("move volume %s of %s to aggregate %s: %w", m.vol.Name, m.name, m.to, err))
}

func (m *move) run(ctx context.Context) error {
	moving := m.vol.Movement.running()
	switch dest := m.vol.Movement.Destination.Name; {
	case m.vol.Style == "flexgroup" || len(m.vol.Aggregates) > 1:
		return storage.Permanent(errors.New("it is a FlexGroup: only a FlexVol can be moved as a whole"))
	case moving && dest != "" && dest != m.to:
		return storage.Permanent(fmt.Errorf("a move to aggregate %s is under way: wait for it, or stop it with volume "+
			"move abort", dest))
	case moving:
		return m.wait(ctx)
	case m.arrived(m.vol):
		return nil
	}
	var answer struct {
		Job named `json:"job"`
	}
	body := map[string]any{"movement": map[string]any{"destination_aggregate": map[string]any{"name": m.to}}}
	if _, err := m.client.Do(ctx, http.MethodPatch, volumePath(m.vol.UUID), nil, body, &answer); err != nil {
		return err
	}
	m.job = answer.Job.UUID
	return m.wait(ctx)
}

func (m *move) arrived(v volume) bool {
	return len(v.Aggregates) == 1 && v.Aggregates[0].Name == m.to
}

// wait polls the job and the volume until the volume is there. Temporary errors do not end the wait, because
// the array goes on with the move.
func (m *move) wait(ctx context.Context) error {
	timer := time.NewTimer(m.poll)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return m.left(ctx.Err())
		case <-timer.C:
		}
		over, err := m.look(ctx)
		switch {
		case ctx.Err() != nil:
			return m.left(ctx.Err())
		case err != nil && storage.IsPermanent(err):
			return err
		case over:
			return nil
		}
		timer.Reset(m.poll)
	}
}

func (m *move) left(cause error) error {
	return fmt.Errorf("%w at %d %%: the array goes on moving the volume: follow it with volume move show, or stop it "+
		"with volume move abort", cause, m.percent)
}

// look reports whether the volume is at its target. Errors that are not permanent may be temporary.
func (m *move) look(ctx context.Context) (bool, error) {
	pending, failure, err := m.lookAtJob(ctx)
	if err != nil {
		return false, err
	}
	var v volume
	_, err = m.client.Get(ctx, volumePath(m.vol.UUID),
		url.Values{"fields": fields("name", "aggregates.name", "movement")}, &v)
	if err != nil {
		return false, err
	}
	if p := v.Movement.Percent; p.ok && p.n <= 100 && int32(p.n) > m.percent { //nolint:gosec // at most 100
		m.percent = int32(p.n) //nolint:gosec // at most 100
		m.progress(m.percent)
	}
	switch {
	case failure != nil && !m.arrived(v):
		return false, failure
	case v.Movement.running():
		m.done, m.seen = 0, true
		return false, nil
	case m.arrived(v):
		return true, nil
	case pending: // the state of the volume is still that of an earlier move
		return false, nil
	case m.hasFailed(v.Movement):
		return false, storage.Permanent(fmt.Errorf("ONTAP calls the move %s (volume move show tells more)", v.Movement.State))
	}
	if m.done++; m.done > settlePolls {
		return false, storage.Permanent(fmt.Errorf("no move is under way any more, and the volume is on aggregate %v",
			names(v.Aggregates)))
	}
	return false, nil
}

// hasFailed reports whether our move failed, and not an earlier one: without a visible job, the volume may
// report the state of the earlier move for a while.
func (m *move) hasFailed(now movement) bool {
	if now.State != "failed" && now.State != "aborted" {
		return false
	}
	return m.job != "" || m.seen || m.vol.Movement.State != now.State
}

// lookAtJob reports whether the job is still pending, or why it failed. Without the right to read jobs it
// reports neither.
func (m *move) lookAtJob(ctx context.Context) (pending bool, failure, err error) {
	if m.job == "" {
		return false, nil, nil
	}
	var j job
	_, err = m.client.Get(ctx, apiJobs+"/"+url.PathEscape(m.job),
		url.Values{"fields": fields("state", "message", "code", "error")}, &j)
	switch {
	case hasStatus(err, http.StatusForbidden), hasStatus(err, http.StatusNotFound), err == nil && j.State == "":
		m.job = "" // the volume is enough
		return false, nil, nil
	case err != nil:
		return false, nil, err
	}
	if j.State != "failure" {
		return j.State != "success", nil, nil
	}
	code, message := rest.Code(j.Code), j.Message
	if j.Error != nil {
		code, message = rest.Code(j.Error.Code), j.Error.Message
	}
	return false, storage.Permanent(fmt.Errorf("ONTAP says: %s (code %s)", m.session.redact(message), code)), nil
}
