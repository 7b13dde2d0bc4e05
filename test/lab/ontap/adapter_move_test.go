package ontap_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	adapter "github.com/nfsbench/nfsbench/internal/storage/ontap"
	"github.com/nfsbench/nfsbench/test/lab/ontap"
)

var _ storage.Mover = (*adapter.Source)(nil)

func TestTheAdapterMovesAVolumeAndSeesIt(t *testing.T) {
	t.Parallel()
	for name, early := range map[string]bool{"the job lasts as long as the move": false, "the job ends when the move has begun": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(o *ontap.Options) { o.JobEndsEarly = early })
			s := w.source(t)
			told := make(chan struct{}) // the move ends after it was told how far it is
			w.truth.OnMove(func(context.Context, string, string) error { <-told; return nil })
			tell := sync.OnceFunc(func() { close(told) })
			w.load(1)
			if snap := sampled(t, s); snap.VolumeNode != "naclu1-01" {
				t.Errorf("before: %+v", snap.VolumeNode)
			}
			var percents []int32
			got, err := s.Move(t.Context(), "/vol1", "aggr_b", func(p int32) { percents = append(percents, p); tell() })
			if err != nil {
				t.Fatal(err)
			}
			want := runfile.VolumeMove{From: "aggr_a", To: "aggr_b", Percent: 100}
			got.Seconds = 0 // the array's clock does not run here
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if !slices.IsSorted(percents) || len(percents) < 2 || percents[len(percents)-1] != 100 {
				t.Errorf("progress %v", percents)
			}
			if diff := cmp.Diff([]string{"vol1 to naclu1-02"}, w.truth.Moves()); diff != "" {
				t.Errorf("the truth: %s", diff)
			}
			survey, err := s.Survey(t.Context(), "/vol1")
			if err != nil || survey.Volume.Node != "naclu1-02" || survey.Volume.Aggregate != "aggr_b" || survey.Volume.Moving {
				t.Errorf("survey %+v: %v", survey.Volume, err)
			}
			w.load(1)
			if snap := sampled(t, s); snap.VolumeNode != "naclu1-02" {
				t.Errorf("a moved volume is not noticed by samples: %+v", snap.VolumeNode)
			}
			if again, err := s.Move(t.Context(), "/vol1", "aggr_b", nil); err != nil || again.From != "aggr_b" || len(w.truth.Moves()) != 1 {
				t.Errorf("a volume that is there already: %+v, %v", again, err)
			}
		})
	}
}

func TestMovesOfTheAdapterThatFail(t *testing.T) {
	t.Parallel()
	none := func(*world) {}
	cases := map[string]struct {
		account   ontap.Account
		before    func(*world)
		aggregate string
		reason    string
		want      string
	}{
		"an account that may not": {ontap.ReadOnly(user, password), none, "aggr_b", runfile.SurveyMoveFailed, "security login rest-role"},
		"an account of an SVM":    {ontap.SVMAdmin(user, password, "vsdb122b"), none, "aggr_b", runfile.SurveyMoveFailed, "account of the cluster"},
		"no such aggregate":       {ontap.Admin(user, password), none, "aggr_x", runfile.SurveyMoveFailed, "aggr_x"},
		"the array gives up": {ontap.Admin(user, password), func(w *world) {
			w.truth.OnMove(func(context.Context, string, string) error { return errors.New("no space on the node") })
		}, "aggr_b", runfile.SurveyMoveFailed, "no space on the node"},
		"a password in the array's own words": {ontap.Admin(user, password), func(w *world) {
			w.truth.OnMove(func(context.Context, string, string) error { return errors.New("I know " + password) })
		}, "aggr_b", runfile.SurveyMoveFailed, "I know"},
		"a refused password": {ontap.Admin(user, "another"), none, "aggr_b", runfile.SurveyRefused, "401"},
		"no such volume": {ontap.Admin(user, password), func(w *world) {
			w.Change(func(m *ontap.Model) { m.Volumes = nil })
		}, "aggr_b", runfile.SurveyNoVolume, "volume show -junction"},
		"the answer to the order is lost": {ontap.Admin(user, password), func(w *world) {
			w.Inject(ontap.Fault{Method: "PATCH", Reset: true})
		}, "aggr_b", runfile.SurveyMoveFailed, "PATCH"},
		"a FlexGroup": {ontap.Admin(user, password), func(w *world) {
			w.Change(func(m *ontap.Model) { m.Volumes[0].Aggregates = []string{"aggr_a", "aggr_b"} })
		}, "aggr_b", runfile.SurveyMoveFailed, "FlexGroup"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := begin(t, func(o *ontap.Options) { o.Model.Accounts = []ontap.Account{tc.account} })
			tc.before(w)
			_, err := w.source(t).Move(t.Context(), "/vol1", tc.aggregate, nil)
			var se *storage.SurveyError
			if !errors.As(err, &se) || se.Reason != tc.reason || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want reason %s and %q", err, tc.reason, tc.want)
			}
			for i, secret := range w.secrets() {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("the error holds secret number %d: %v", i, err)
				}
			}
		})
	}
}

func TestAnEarlierMoveIsNotTakenForThisOne(t *testing.T) {
	t.Parallel()
	w := begin(t, func(o *ontap.Options) { o.Queue = 3 * time.Second })
	w.truth.OnMove(func(context.Context, string, string) error { return errors.New("no space on the node") })
	w.beginMove(t)
	w.until(t, func() map[string]any { return w.volume(t) }, "movement.state", "failed")
	w.truth.OnMove(nil)
	if got, err := w.source(t).Move(t.Context(), "/vol1", "aggr_b", nil); err != nil || got.Percent != 100 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAMoveOutlivesWhatIsBrokenForAWhile(t *testing.T) {
	t.Parallel()
	w := begin(t, func(o *ontap.Options) { o.Replication = 6 * time.Second })
	began := make(chan struct{})
	go func() {
		<-began
		w.Inject(ontap.Fault{Method: "GET", Reset: true, Times: 6})
	}()
	var once bool
	got, err := w.source(t).Move(t.Context(), "/vol1", "aggr_b", func(int32) {
		if !once {
			once = true
			close(began)
		}
	})
	if err != nil || got.Percent != 100 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestAMoveThatIsLeftGoesOnAndIsFoundAgain(t *testing.T) {
	t.Parallel()
	w := begin(t)
	release := make(chan struct{})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	w.truth.OnMove(func(ctx context.Context, _, _ string) error {
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	s := w.source(t)
	_, err := s.Move(ctx, "/vol1", "aggr_b", func(int32) { leave() })
	var se *storage.SurveyError
	if !errors.As(err, &se) || se.Reason != runfile.SurveyMoveFailed || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "volume move abort") {
		t.Fatalf("got %v", err)
	}
	if survey, err := s.Survey(t.Context(), "/vol1"); err != nil || !survey.Volume.Moving || survey.Volume.Node != "naclu1-01" {
		t.Errorf("meanwhile: %+v, %v", survey.Volume, err)
	}
	if _, err := s.Move(t.Context(), "/vol1", "aggr_a", nil); err == nil || !strings.Contains(err.Error(), "aggr_b") {
		t.Errorf("a move elsewhere meanwhile: %v", err)
	}
	close(release)
	if got, err := s.Move(t.Context(), "/vol1", "aggr_b", nil); err != nil || got.Percent != 100 {
		t.Errorf("found again: %+v, %v", got, err)
	}
	if diff := cmp.Diff([]string{"vol1 to naclu1-02"}, w.truth.Moves()); diff != "" {
		t.Errorf("the truth: %s", diff)
	}
}
