package ontap_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

const toB = `{"movement":{"destination_aggregate":{"name":"aggr_b"}}}`

// volume is the record of vol1 of the first SVM.
func (w *world) volume(t *testing.T) map[string]any {
	t.Helper()
	return w.records(t, "/api/storage/volumes?name=vol1&svm.name=vsdb122b&fields=aggregates.name,movement")[0]
}

// beginMove wants a move to begin and returns the path of its job.
func (w *world) beginMove(t *testing.T) string {
	t.Helper()
	status, answer := w.ask(t, http.MethodPatch, "/api/storage/volumes/"+w.volume(t)["uuid"].(string), toB)
	job, _ := at(answer, "job.uuid").(string)
	if status != http.StatusAccepted || job == "" {
		t.Fatalf("a move is answered %d %v", status, answer)
	}
	return "/api/cluster/jobs/" + job
}

// until polls a record until its field is as wanted.
func (w *world) until(t *testing.T, read func() map[string]any, field, want string) {
	t.Helper()
	var seen []string
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		got, _ := at(read(), field).(string)
		if len(seen) == 0 || seen[len(seen)-1] != got {
			seen = append(seen, got)
		}
		if got == want {
			return
		}
	}
	t.Fatalf("%s went through %q, never %q", field, seen, want)
}

func TestAMoveSwapsTheOwnerOnline(t *testing.T) {
	t.Parallel()
	arrived, release, replicated := make(chan string), make(chan struct{}), make(chan struct{})
	w := begin(t, func(o *ontap.Options) {
		o.Replication = time.Second
		o.Wait = func(ctx context.Context, d time.Duration) error {
			if d > 0 { // there is no queue
				select {
				case <-replicated:
				case <-ctx.Done():
				}
			}
			return ctx.Err()
		}
	})
	w.truth.OnMove(func(_ context.Context, volume, node string) error {
		arrived <- volume + " to " + node
		<-release
		return nil
	})
	uuid := w.volume(t)["uuid"]
	job := w.beginMove(t)
	w.until(t, func() map[string]any { return w.volume(t) }, "movement.state", "replicating")
	close(replicated)
	w.until(t, func() map[string]any { return w.volume(t) }, "movement.state", "cutover")
	if got := <-arrived; got != "vol1 to naclu1-02" {
		t.Errorf("the truth was asked for %s", got)
	}
	v := w.volume(t)
	if diff := cmp.Diff([]any{map[string]any{"name": "aggr_a", "uuid": at(v["aggregates"].([]any)[0].(map[string]any), "uuid")}}, v["aggregates"]); diff != "" {
		t.Errorf("before the cutover the data are where they were: %s", diff)
	}
	if state := w.get(t, job+"?fields=state")["state"]; state != "running" {
		t.Errorf("the job is %v", state)
	}
	if status, body := w.ask(t, http.MethodPatch, "/api/storage/volumes/"+uuid.(string), toB); status != http.StatusConflict || at(body, "error.code") != "8" {
		t.Errorf("a second move: %d %v", status, body)
	}
	close(release)
	w.until(t, func() map[string]any { return w.volume(t) }, "movement.state", "success")
	w.until(t, func() map[string]any { return w.get(t, job) }, "state", "success")
	v = w.volume(t)
	if at(v, "movement.percent_complete") != 100.0 || v["aggregates"].([]any)[0].(map[string]any)["name"] != "aggr_b" || v["uuid"] != uuid {
		t.Errorf("after the move: %v", v)
	}
}

func TestHowAMoveCanEnd(t *testing.T) {
	t.Parallel()
	t.Run("the truth refuses", func(t *testing.T) {
		w := begin(t)
		w.truth.OnMove(func(context.Context, string, string) error { return errors.New("no space on node") })
		job := w.beginMove(t)
		w.until(t, func() map[string]any { return w.volume(t) }, "movement.state", "failed")
		w.until(t, func() map[string]any { return w.get(t, job) }, "state", "failure")
		if got := w.get(t, job); at(got, "error.message") != "no space on node" {
			t.Errorf("job %v", got)
		}
	})
	t.Run("the job ends when the move has begun", func(t *testing.T) {
		w := begin(t, func(o *ontap.Options) { o.JobEndsEarly = true })
		w.truth.OnMove(func(ctx context.Context, _, _ string) error { <-ctx.Done(); return ctx.Err() })
		job := w.beginMove(t)
		w.until(t, func() map[string]any { return w.get(t, job) }, "state", "success")
		w.until(t, func() map[string]any { return w.volume(t) }, "movement.state", "cutover")
	})
}

func TestMovesThatCannotBegin(t *testing.T) {
	t.Parallel()
	w := begin(t, func(o *ontap.Options) {
		o.Model.Accounts = append(o.Model.Accounts, ontap.ReadOnly("viewer", "v"), ontap.SVMAdmin("vsadmin", "s", "vsdb122b"))
	})
	path := "/api/storage/volumes/" + w.volume(t)["uuid"].(string)
	cases := map[string]struct {
		user, password, path, body string
		status                     int
	}{
		"no such aggregate":   {user, password, path, `{"movement":{"destination_aggregate":{"name":"aggr_x"}}}`, 400},
		"where it is":         {user, password, path, `{"movement":{"destination_aggregate":{"name":"aggr_a"}}}`, 400},
		"a field of nobody":   {user, password, path, `{"movement":{"target":"aggr_b"}}`, 400},
		"no such volume":      {user, password, "/api/storage/volumes/x", toB, 404},
		"an account to read":  {"viewer", "v", path, toB, 403},
		"an account of a SVM": {"vsadmin", "s", path, toB, 403},
		"a stranger":          {"vsadmin", "x", path, toB, 401},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w.user, w.password = tc.user, tc.password
			if status, body := w.ask(t, http.MethodPatch, tc.path, tc.body); status != tc.status {
				t.Errorf("got %d %v", status, body)
			}
		})
	}
	if moves := w.truth.Moves(); moves != nil {
		t.Errorf("the truth moved %q", moves)
	}
}
