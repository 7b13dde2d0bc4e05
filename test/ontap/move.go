package ontap

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The states of a movement and of a job that the stand-in goes through.
const (
	moveQueued      = "queued"
	moveReplicating = "replicating"
	moveCutover     = "cutover"
	moveSuccess     = "success"
	moveFailed      = "failed"
	moveAborted     = "aborted"

	jobQueued  = "queued"
	jobRunning = "running"
	jobSuccess = "success"
	jobFailure = "failure"
)

// movement is a move of a volume. All but cancel is guarded by Standin.mu.
type movement struct {
	state   string
	percent int
	start   time.Time
	to      string    // aggregate
	window  int       // cutover, seconds
	before  *movement // told of instead while this one is late; nil = none
	late    bool      // the volume does not know of it yet
	cancel  context.CancelFunc
}

func (m *movement) running() bool {
	return m != nil && slices.Contains([]string{moveQueued, moveReplicating, moveCutover}, m.state)
}

// job is what a change becomes that takes its time.
type job struct {
	uuid, description, state, message string
	code                              int
	start, end                        time.Time
}

type patchBody struct {
	Movement *struct {
		State       string `json:"state"`
		Window      *int   `json:"cutover_window"`
		Destination struct {
			Name string `json:"name"`
			UUID string `json:"uuid"`
		} `json:"destination_aggregate"`
	} `json:"movement"`
}

// patch moves a volume, which is the one change that the stand-in knows.
func (s *Standin) patch(w http.ResponseWriter, r *http.Request, a Account) *apiError {
	uuid, ok := strings.CutPrefix(r.URL.Path, "/api/storage/volumes/")
	if !ok || r.Method != http.MethodPatch {
		return &apiError{http.StatusMethodNotAllowed, "3", "the stand-in cannot do that", ""}
	}
	// An SVM may change its volumes, but not where they are.
	if a.access(r.URL.Path) != AccessAll || a.SVM != "" {
		return forbidden()
	}
	var body patchBody
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || body.Movement == nil {
		return badRequest("Unexpected or missing field: the stand-in knows movement only", "movement")
	}
	j, e := s.move(uuid, body, r.URL.Query().Get("validate_only") == "true")
	if e != nil {
		return e
	}
	s.answer(w, http.StatusAccepted, map[string]any{"job": map[string]any{"uuid": j}})
	return nil
}

func (s *Standin) move(uuid string, body patchBody, dry bool) (string, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.model.Volumes, func(v Volume) bool { return v.id() == uuid })
	if i < 0 {
		return "", notFound("uuid")
	}
	v, running := s.model.Volumes[i], s.moves[uuid]
	if body.Movement.State == moveAborted {
		if !running.running() {
			return "", badRequest("No volume move is in progress.", "movement.state")
		}
		running.cancel()
		return s.newJob("abort of the move of "+v.Name, jobSuccess).uuid, nil
	}
	window := 30
	if body.Movement.Window != nil {
		window = *body.Movement.Window
	}
	to, e := s.destination(v, body, window)
	switch {
	case e != nil:
		return "", e
	case running.running():
		return "", &apiError{http.StatusConflict, "8", "Volume \"" + v.Name + "\" is in use: a move is under way.", "movement"}
	case dry:
		return s.newJob("validation of a move of "+v.Name, jobSuccess).uuid, nil
	}
	ctx, cancel := context.WithCancel(s.ctx)
	m := &movement{
		state: moveQueued, start: s.now(), to: to.Name, window: window, cancel: cancel, before: running, late: s.opt.Queue > 0,
	}
	j := s.newJob("move of "+v.Name+" to "+to.Name, jobQueued)
	s.moves[uuid] = m
	s.tasks.Go(func() {
		defer cancel()
		s.carry(ctx, v, to, m, j)
	})
	return j.uuid, nil
}

func (s *Standin) destination(v Volume, body patchBody, window int) (Aggregate, *apiError) {
	d := body.Movement.Destination
	i := slices.IndexFunc(s.model.Aggregates, func(a Aggregate) bool {
		return a.Name == d.Name || d.Name == "" && uuidOf("aggregate", a.Name) == d.UUID
	})
	switch {
	case window < 30 || window > 300:
		return Aggregate{}, badRequest("cutover_window must be 30 to 300", "movement.cutover_window")
	case i < 0:
		return Aggregate{}, badRequest("Aggregate \""+d.Name+d.UUID+"\" does not exist.", "movement.destination_aggregate")
	case len(v.Aggregates) != 1:
		return Aggregate{}, &apiError{http.StatusBadRequest, "3", "A FlexGroup cannot be moved.", "movement"}
	case v.Aggregates[0] == s.model.Aggregates[i].Name:
		return Aggregate{}, badRequest("Volume is already on that aggregate.", "movement.destination_aggregate")
	}
	return s.model.Aggregates[i], nil
}

func (s *Standin) newJob(what, state string) *job {
	j := &job{uuid: uuidOf("job", what+strconv.Itoa(len(s.jobs))), description: what, state: state, start: s.now()}
	if state == jobSuccess {
		j.end = j.start
	}
	s.jobs[j.uuid] = j
	return j
}

// carry replicates, lets the truth cut over, and tells how it ended.
func (s *Standin) carry(ctx context.Context, v Volume, to Aggregate, m *movement, j *job) {
	_ = pause(ctx, s.opt.Queue) // the context is asked below
	s.step(m, moveReplicating, 0, j, jobRunning)
	if s.opt.JobEndsEarly {
		s.endJob(j, nil)
	}
	err := ctx.Err()
	for percent := 10; err == nil && s.opt.Replication > 0 && percent <= 90; percent += 10 { // the data is on its way
		if err = pause(ctx, s.opt.Replication/9); err == nil {
			s.step(m, moveReplicating, percent, nil, "")
		}
	}
	if err == nil {
		s.step(m, moveCutover, 99, nil, "")
		err = s.truth.Move(ctx, v.Name, to.Node)
	}
	s.mu.Lock()
	switch {
	case ctx.Err() != nil:
		m.state = moveAborted
	case err != nil:
		m.state = moveFailed
	default:
		m.state, m.percent = moveSuccess, 100
		for i := range s.model.Volumes {
			if s.model.Volumes[i].id() == v.id() {
				s.model.Volumes[i].Aggregates = []string{to.Name}
			}
		}
	}
	s.mu.Unlock()
	s.endJob(j, errors.Join(err, ctx.Err()))
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

func (s *Standin) step(m *movement, state string, percent int, j *job, jobState string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.state, m.percent, m.late, m.before = state, percent, false, nil
	if j != nil {
		j.state = jobState
	}
}

func (s *Standin) endJob(j *job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !j.end.IsZero() {
		return
	}
	j.state, j.end, j.message = jobSuccess, s.now(), "success"
	if err != nil {
		j.state, j.message, j.code = jobFailure, err.Error(), 917835 // any of the codes of its own that an endpoint has
	}
}

// tellMove puts into r what is known of the last move of v.
func (s *Standin) tellMove(r record, v Volume) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.moves[v.id()]
	if m != nil && m.late {
		m = m.before
	}
	if m == nil {
		return
	}
	r["movement.state"], r["movement.percent_complete"], r["movement.start_time"] = m.state, m.percent, rfc3339(m.start)
	r["movement.cutover_window"] = m.window
	r["movement.destination_aggregate.name"], r["movement.destination_aggregate.uuid"] = m.to, uuidOf("aggregate", m.to)
}

func jobCollection() *collection {
	return &collection{
		path: "/cluster/jobs", one: "uuid", keys: []string{"uuid"},
		fields: []string{"description", "state", "message", "code", "start_time", "end_time", "error.message", "error.code"},
		list: func(q query) []record {
			q.s.mu.Lock()
			defer q.s.mu.Unlock()
			var all []record
			for _, j := range q.s.jobs {
				r := record{"uuid": j.uuid, "description": j.description, "state": j.state, "message": j.message, "code": j.code, "start_time": rfc3339(j.start)}
				if !j.end.IsZero() {
					r["end_time"] = rfc3339(j.end)
				}
				if j.state == jobFailure {
					r["error.message"], r["error.code"] = j.message, strconv.Itoa(j.code)
				}
				all = append(all, r)
			}
			return all
		},
	}
}
