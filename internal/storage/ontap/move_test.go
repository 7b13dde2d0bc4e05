package ontap_test

import (
	gocmp "cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
)

// script plays a move: each look at the volume is the next line, and the last one stays.
type script struct {
	*array
	volume []string // aggregate, state, percent
	jobs   []string // JSON
	patch  func(w http.ResponseWriter)

	mu           sync.Mutex
	looks, polls int
	bodies       []string
	before       string // what a look gives before there was a PATCH
}

func newScript(t *testing.T) *script {
	t.Helper()
	s := &script{array: newArray(t), before: "aggr_a  ", patch: func(w http.ResponseWriter) {
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(`{"job":{"uuid":"j1"}}`))
	}}
	s.answer("/api/storage/volumes", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, records(line(s.before))) })
	s.answer("/api/storage/volumes/"+uuid, s.one)
	s.answer("/api/cluster/jobs/j1", func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.jobs) == 0 {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(forbidden))
			return
		}
		_, _ = w.Write([]byte(s.jobs[min(s.polls, len(s.jobs)-1)]))
		s.polls++
	})
	return s
}

func line(l string) string {
	f := strings.Split(l, " ")
	move := ""
	if f[1] != "" {
		move = fmt.Sprintf(`,"movement":{"state":%q,"percent_complete":%s,"destination_aggregate":{"name":"aggr_b"}}`, f[1], gocmp.Or(f[2], "0"))
	}
	aggregates := fmt.Sprintf(`[{"name":%q}]`, f[0])
	if f[0] == "-" {
		aggregates = `[]`
	}
	return fmt.Sprintf(`{"uuid":%q,"name":"vol1","svm":{"name":"svm1"},"style":"flexvol","nas":{"path":"/vol1"},"aggregates":%s%s}`, uuid, aggregates, move)
}

func (s *script) one(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPatch {
		b, _ := io.ReadAll(r.Body)
		s.bodies = append(s.bodies, string(b))
		s.patch(w)
		return
	}
	_, _ = w.Write([]byte(line(s.volume[min(s.looks, len(s.volume)-1)])))
	s.looks++
}

const (
	running = `{"state":"running"}`
	success = `{"state":"success"}`
)

func TestMovesThatArrive(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		before   string
		volume   []string
		jobs     []string
		patches  int
		progress []int32
	}{
		"the whole way": {
			"", "aggr_a  ",
			[]string{"aggr_a queued ", "aggr_a replicating 20", "aggr_a replicating 20", "aggr_a cutover 95", "aggr_b success 100"},
			[]string{`{"state":"queued"}`, running, running, running, success},
			1,
			[]int32{20, 95, 100},
		},
		"there already":                {"nothing to do", "aggr_b  ", nil, nil, 0, []int32{100}},
		"there, with a history":        {"the last move is over", "aggr_b success 100", nil, nil, 0, []int32{100}},
		"under way":                    {"an earlier try began it", "aggr_a replicating 40", []string{"aggr_a replicating 60", "aggr_b success 100"}, nil, 0, []int32{60, 100}},
		"jobs are not to be seen":      {"the volume tells enough", "aggr_a  ", []string{"aggr_a replicating 50", "aggr_b success 100"}, nil, 1, []int32{50, 100}},
		"after one that failed":        {"the volume still tells of the last move", "aggr_a failed 70", []string{"aggr_a failed 0", "aggr_a replicating 10", "aggr_b success 100"}, []string{running, running, success}, 1, []int32{10, 100}},
		"after one that failed, blind": {"no job tells which move it is", "aggr_a failed 70", []string{"aggr_a failed 70", "aggr_a replicating 10", "aggr_b success 100"}, nil, 1, []int32{70, 100}},
		"late": {
			"a volume may show its new aggregate five polls after the move", "aggr_a  ",
			[]string{
				"aggr_a replicating 50", "aggr_a success 100", "aggr_a success 100", "aggr_a success 100",
				"aggr_a success 100", "aggr_a success 100", "aggr_b success 100",
			},
			[]string{success},
			1,
			[]int32{50, 100},
		},
		"success before cutover": {"the job is done, the volume not", "aggr_a  ", []string{"aggr_a cutover_pending 90", "- success 100", "aggr_b success 100"}, []string{success}, 1, []int32{90, 100}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.before, s.volume, s.jobs = tc.before, tc.volume, tc.jobs
			var progress []int32
			got, err := s.source().Move(t.Context(), "/vol1", "aggr_b", func(p int32) { progress = append(progress, p) })
			from, _, _ := strings.Cut(tc.before, " ")
			if err != nil || got.From != from || got.To != "aggr_b" || got.Percent != 100 || got.Seconds < 0 {
				t.Errorf("%s: got %+v, %v", tc.reason, got, err)
			}
			if d := cmp.Diff(tc.progress, progress); d != "" {
				t.Errorf("%s: progress (-want +got)\n%s", tc.reason, d)
			}
			if len(s.bodies) != tc.patches {
				t.Errorf("%s: %d moves were begun", tc.reason, len(s.bodies))
			}
			want := `{"movement":{"destination_aggregate":{"name":"aggr_b"}}}`
			if slices.ContainsFunc(s.bodies, func(b string) bool { return b != want }) {
				t.Errorf("sent %q", s.bodies)
			}
		})
	}
}

func TestMovesThatDoNot(t *testing.T) {
	t.Parallel()
	refuse := func(status int, body string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	cases := map[string]struct {
		before string
		volume []string
		jobs   []string
		patch  func(http.ResponseWriter)
		reason string
		want   string
	}{
		"the job fails": {
			"aggr_a  ",
			[]string{"aggr_a  "},
			[]string{running, `{"state":"failure","code":7,"message":"m","error":{"code":"918253","message":"no space in aggr_b for benchaccount"}}`},
			nil,
			runfile.SurveyMoveFailed, "no space in aggr_b for (hidden) (code 918253)",
		},
		"the job fails, the old way": {"aggr_a  ", []string{"aggr_a  "}, []string{`{"state":"failure","code":918253,"message":"no space"}`}, nil, runfile.SurveyMoveFailed, "no space (code 918253)"},
		"the volume says so":         {"aggr_a  ", []string{"aggr_a replicating 5", "aggr_a failed 5"}, nil, nil, runfile.SurveyMoveFailed, "failed"},
		"somebody stops it":          {"aggr_a  ", []string{"aggr_a replicating 5", "aggr_a aborted 5"}, []string{running, success}, nil, runfile.SurveyMoveFailed, "aborted"},
		"success without a change":   {"aggr_a  ", []string{"aggr_a success 100"}, []string{success}, nil, runfile.SurveyMoveFailed, "the volume is on aggregate [aggr_a]"},
		"a job without a state":      {"aggr_a  ", []string{"aggr_a success 100"}, []string{`{}`}, nil, runfile.SurveyMoveFailed, "the volume is on aggregate [aggr_a]"},
		"a move elsewhere":           {"aggr_a replicating 5", nil, nil, nil, runfile.SurveyMoveFailed, "a move to aggregate aggr_b is under way"},
		"not allowed":                {"aggr_a  ", nil, nil, refuse(403, forbidden), runfile.SurveyMoveFailed, "rest-role modify -role nfsbench -api /api/storage/volumes -access read_modify"},
		"no such aggregate":          {"aggr_a  ", nil, nil, refuse(400, `{"error":{"message":"aggregate not found","code":"918235"}}`), runfile.SurveyMoveFailed, "aggregate not found"},
		"credentials are taken away": {"aggr_a  ", nil, nil, refuse(401, `{}`), runfile.SurveyRefused, "401"},
		"it breaks off for a while":  {"aggr_a  ", nil, nil, refuse(500, `{}`), runfile.SurveyMoveFailed, "500"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := newScript(t)
			s.before, s.volume, s.jobs = tc.before, tc.volume, tc.jobs
			if tc.patch != nil {
				s.patch = tc.patch
			}
			to := "aggr_b"
			if name == "a move elsewhere" {
				to = "aggr_c"
			}
			_, err := s.source().Move(t.Context(), "/vol1", to, nil)
			wantReason(t, err, tc.reason)
			if err != nil && (!strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "move volume vol1")) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestAFlexGroupIsNotMoved(t *testing.T) {
	t.Parallel()
	for _, facts := range []string{
		`"style":"flexgroup","aggregates":[{"name":"aggr_a"},{"name":"aggr_b"}]`,
		`"style":"flexgroup","aggregates":[{"name":"aggr_a"}]`,
		`"aggregates":[{"name":"aggr_a"},{"name":"aggr_b"}]`, // of a version that does not say the style
	} {
		a := newArray(t)
		a.say("/api/storage/volumes", 200, records(`{"uuid":"u","name":"vol1","nas":{"path":"/vol1"},`+facts+`}`))
		_, err := a.source().Move(t.Context(), "/vol1", "aggr_b", nil)
		wantReason(t, err, runfile.SurveyMoveFailed)
		if err == nil || !strings.Contains(err.Error(), "it is a FlexGroup") {
			t.Errorf("%s: error %v", facts, err)
		}
	}
}

func TestAVolumeThatIsNotThereIsNotMoved(t *testing.T) {
	t.Parallel()
	a := newArray(t)
	a.say("/api/storage/volumes", 200, records())
	_, err := a.source().Move(t.Context(), "/vol1", "aggr_b", nil)
	wantReason(t, err, runfile.SurveyNoVolume)
}

func TestTheEndOfTheContextLeavesTheMoveToTheArray(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.volume, s.jobs = []string{"aggr_a replicating 45"}, []string{running}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.source().Move(ctx, "/vol1", "aggr_b", func(int32) { cancel() })
	wantReason(t, err, runfile.SurveyMoveFailed)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "at 45 %") || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("got %v", err)
	}
}

func TestAnOutageDuringAMoveIsWaitedFor(t *testing.T) {
	t.Parallel()
	s := newScript(t)
	s.volume, s.jobs = []string{"aggr_a replicating 45", "aggr_b success 100"}, []string{running}
	var outages int
	job := s.answers["/api/cluster/jobs/j1"]
	s.answer("/api/cluster/jobs/j1", func(w http.ResponseWriter, r *http.Request) {
		if outages++; outages <= 3 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		job(w, r)
	})
	if got, err := s.source().Move(t.Context(), "/vol1", "aggr_b", nil); err != nil || outages < 4 {
		t.Errorf("got %+v, %v", got, err)
	}
}
