package survey

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

func TestAMoveIsToldNowAndThenAndBeforeItBegins(t *testing.T) {
	t.Parallel()
	var r *rig
	a := &array{}
	a.move = func(_ context.Context, progress func(int32)) (runfile.VolumeMove, error) {
		if n := len(r.published); n != 1 {
			t.Errorf("%d reports before the move began, want one", n)
		}
		for _, step := range []struct {
			after   time.Duration
			percent int32
		}{{time.Second, 3}, {5 * time.Second, 10}, {time.Second, 20}, {time.Second, 30}, {5 * time.Second, 30}, {5 * time.Second, 20}, {5 * time.Second, 100}} {
			r.now = r.now.Add(step.after)
			progress(step.percent)
		}
		return runfile.VolumeMove{From: "aggr1", Seconds: 23}, nil
	}
	r = newRig(a)
	r.Request.MoveTo = "aggr2"
	got, err := Run(t.Context(), r.Options)
	if err != nil {
		t.Fatal(err)
	}
	var percents []int32
	for _, s := range r.published {
		percents = append(percents, s.Move.Percent)
		if s.Move.To != "aggr2" || s.IsMoving() != (s.Move.Percent < 100) {
			t.Errorf("report %+v", s.Move)
		}
	}
	if diff := cmp.Diff([]int32{0, 10, 30, 99, 100}, percents); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&runfile.VolumeMove{From: "aggr1", To: "aggr2", Seconds: 23, Percent: 100}, got.Move); diff != "" {
		t.Errorf("move (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"move /vol/data to aggr2", "survey /vol/data"}, a.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestAMoveGoesOnThoughItsProgressCannotBePublished(t *testing.T) {
	t.Parallel()
	a := &array{move: func(_ context.Context, progress func(int32)) (runfile.VolumeMove, error) {
		progress(50)
		return runfile.VolumeMove{}, nil
	}}
	r := newRig(a)
	r.Request.MoveTo = "aggr2"
	publish, calls := r.Publish, 0
	r.Publish = func(ctx context.Context, s runfile.Survey) error {
		if calls++; calls == 1 {
			return errors.New("503")
		}
		return publish(ctx, s)
	}
	if _, err := Run(t.Context(), r.Options); err != nil || r.last().Volume == nil {
		t.Errorf("published %+v, %v", r.last(), err)
	}
}

func TestAMoveThatFailsIsNotSurveyed(t *testing.T) {
	t.Parallel()
	full := &storage.SurveyError{Reason: runfile.SurveyMoveFailed, Err: errors.New("aggr2 has no room")}
	cases := map[string]struct {
		err    error
		reason string
		words  string
	}{
		"told":        {full, runfile.SurveyMoveFailed, "aggr2 has no room"},
		"forbidden":   {&storage.SurveyError{Reason: runfile.SurveyRefused, Err: errors.New("needs modify")}, runfile.SurveyRefused, "needs modify"},
		"unexplained": {errors.New("bad JSON"), runfile.SurveyMoveFailed, "move the volume to aggregate aggr2: bad JSON"},
	}
	for name, tc := range cases {
		a := &array{move: func(context.Context, func(int32)) (runfile.VolumeMove, error) { return runfile.VolumeMove{}, tc.err }}
		r := newRig(a)
		r.Request.MoveTo = "aggr2"
		if _, err := Run(t.Context(), r.Options); err != nil {
			t.Fatal(err)
		}
		p := r.last().Problem
		if p == nil || p.Reason != tc.reason || !strings.Contains(p.Message, tc.words) || len(a.asked) != 1 {
			t.Errorf("%s: problem %+v after %q", name, p, a.asked)
		}
	}
}

func TestWhoIsToldToStopSaysThatAMoveGoesOn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := newRig(&array{move: func(ctx context.Context, progress func(int32)) (runfile.VolumeMove, error) {
		progress(40)
		cancel()
		<-ctx.Done()
		return runfile.VolumeMove{}, ctx.Err()
	}})
	r.Request.MoveTo = "aggr2"
	advance := r.Now
	r.Now = func() time.Time { r.now = r.now.Add(6 * time.Second); return advance() }
	if _, err := Run(ctx, r.Options); err != nil {
		t.Fatal(err)
	}
	if p := r.last().Problem; p == nil || p.Reason != runfile.SurveyMoveFailed || !strings.Contains(p.Message, "at 40 %") || !strings.Contains(p.Message, "goes on") {
		t.Errorf("problem %+v", p)
	}
}
