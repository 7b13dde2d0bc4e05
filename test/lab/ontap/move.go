package ontap

import (
	"cmp"
	"context"
	"encoding/json"
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

	jobQueued  = "queued"
	jobRunning = "running"
	jobSuccess = "success"
	jobFailure = "failure"
)

// movement is a move of a volume, guarded by Standin.mu.
type movement struct {
	state   string
	percent int
	to      string    // aggregate
	before  *movement // told of instead while this one is late; nil = none
	late    bool      // the volume does not know of it yet
}

// job is what a change becomes that takes its time.
type job struct {
	uuid, description, state, message string
	code                              int
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
	var body struct {
		Movement struct {
			Destination struct {
				Name string `json:"name"`
				UUID string `json:"uuid"`
			} `json:"destination_aggregate"`
		} `json:"movement"`
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil {
		return badRequest("Unexpected field: the stand-in knows the destination of a movement only", "movement")
	}
	j, e := s.move(uuid, body.Movement.Destination.Name, body.Movement.Destination.UUID)
	if e != nil {
		return e
	}
	s.answer(w, http.StatusAccepted, map[string]any{"job": map[string]any{"uuid": j}})
	return nil
}

// move begins to move a volume to the aggregate of that name, or else UUID, and returns the
// UUID of its job.
func (s *Standin) move(uuid, name, aggregate string) (string, *apiError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.model.Volumes, func(v Volume) bool { return v.id() == uuid })
	if at < 0 {
		return "", notFound("uuid")
	}
	v, running := s.model.Volumes[at], s.moves[uuid]
	i := slices.IndexFunc(s.model.Aggregates, func(a Aggregate) bool {
		return a.Name == name || name == "" && uuidOf("aggregate", a.Name) == aggregate
	})
	switch {
	case i < 0:
		return "", badRequest("Aggregate \""+name+aggregate+"\" does not exist.", "movement.destination_aggregate")
	case v.Aggregates[0] == s.model.Aggregates[i].Name:
		return "", badRequest("Volume is already on that aggregate.", "movement.destination_aggregate")
	case running != nil && slices.Contains([]string{moveQueued, moveReplicating, moveCutover}, running.state):
		return "", &apiError{http.StatusConflict, "8", "Volume \"" + v.Name + "\" is in use: a move is under way.", "movement"}
	}
	to := s.model.Aggregates[i]
	m := &movement{state: moveQueued, to: to.Name, before: running, late: s.opt.Queue > 0}
	what := "move of " + v.Name + " to " + to.Name
	j := &job{uuid: uuidOf("job", what+strconv.Itoa(len(s.jobs))), description: what, state: jobQueued}
	s.jobs[j.uuid], s.moves[uuid] = j, m
	s.tasks.Go(func() { s.carry(v, to, m, j) })
	return j.uuid, nil
}

// carry replicates, lets the truth cut over, and tells how it ended.
func (s *Standin) carry(v Volume, to Aggregate, m *movement, j *job) {
	_ = s.opt.Wait(s.ctx, s.opt.Queue) // the context is asked below
	s.step(func() {
		m.state, m.late, m.before, j.state = moveReplicating, false, nil, jobRunning
		if s.opt.JobEndsEarly {
			j.state, j.message = jobSuccess, "success"
		}
	})
	err := s.ctx.Err()
	for percent := 10; err == nil && s.opt.Replication > 0 && percent <= 90; percent += 10 { // the data is on its way
		err = s.opt.Wait(s.ctx, s.opt.Replication/9)
		s.step(func() { m.percent = percent })
	}
	if err == nil {
		s.step(func() { m.state, m.percent = moveCutover, 99 })
		err = cmp.Or(s.truth.Move(s.ctx, v.Name, to.Node), s.ctx.Err())
	}
	s.step(func() {
		if err != nil {
			m.state = moveFailed
			if j.state == jobRunning {
				j.state, j.message, j.code = jobFailure, err.Error(), 917835 // any of the codes of its own that an endpoint has
			}
			return
		}
		m.state, m.percent, j.state, j.message = moveSuccess, 100, jobSuccess, "success"
		for i := range s.model.Volumes {
			if s.model.Volumes[i].id() == v.id() {
				s.model.Volumes[i].Aggregates = []string{to.Name}
			}
		}
	})
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err()
}

// step changes a movement and its job.
func (s *Standin) step(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
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
	r["movement.state"], r["movement.percent_complete"] = m.state, m.percent
	r["movement.destination_aggregate.name"], r["movement.destination_aggregate.uuid"] = m.to, uuidOf("aggregate", m.to)
}

func jobCollection() *collection {
	return &collection{
		path: "/cluster/jobs", one: "uuid", keys: []string{"uuid"},
		fields: []string{"description", "state", "message", "code", "error.message", "error.code"},
		list: func(q query) []record {
			q.s.mu.Lock()
			defer q.s.mu.Unlock()
			var all []record
			for _, j := range q.s.jobs {
				r := record{"uuid": j.uuid, "description": j.description, "state": j.state, "message": j.message, "code": j.code}
				if j.state == jobFailure {
					r["error.message"], r["error.code"] = j.message, strconv.Itoa(j.code)
				}
				all = append(all, r)
			}
			return all
		},
	}
}
