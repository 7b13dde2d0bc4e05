package survey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

// array is a source that does what the test says.
type array struct {
	survey func(context.Context) (runfile.Survey, error)
	move   func(context.Context, func(int32)) (runfile.VolumeMove, error)
	asked  []string
	closed int
}

func (a *array) Close() error {
	a.closed++
	return errors.New("the array does not answer")
}

func (*array) Name() string { return "array 10.0.1.5" }

func (*array) Sample(context.Context) (storage.Snapshot, error) { return storage.Snapshot{}, nil }

func (a *array) Survey(ctx context.Context, export string) (runfile.Survey, error) {
	a.asked = append(a.asked, "survey "+export)
	if a.survey != nil {
		return a.survey(ctx)
	}
	return runfile.Survey{Array: "ONTAP 9.14.1", Volume: &runfile.SurveyVolume{Name: "data", Node: "n1"}}, nil
}

func (a *array) Move(ctx context.Context, export, aggregate string, progress func(int32)) (runfile.VolumeMove, error) {
	a.asked = append(a.asked, "move "+export+" to "+aggregate)
	return a.move(ctx, progress)
}

// onlySamples hides everything but Source.
type onlySamples struct{ storage.Source }

// onlySurveys hides Move.
type onlySurveys struct{ storage.Surveyor }

// rig is one run of a survey.
type rig struct {
	Options
	now       time.Time
	published []runfile.Survey
	refuse    error
}

func newRig(source storage.Source) *rig {
	r := &rig{now: time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)}
	r.Options = Options{
		Request: runfile.SurveyRequest{
			Version: runfile.SurveyVersion, Source: runfile.Source{Kind: runfile.SourceONTAP, Name: "ontap", URL: "https://10.0.1.5", Credentials: "array"},
			Export: "/vol/data",
		},
		Open: func(runfile.Source) (storage.Source, error) { return source, nil },
		Publish: func(ctx context.Context, s runfile.Survey) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			r.published = append(r.published, s)
			return r.refuse
		},
		Clients: []string{"10.244.0.5", "192.168.0.7"},
		Now:     func() time.Time { return r.now }, Log: slog.New(slog.DiscardHandler),
	}
	return r
}

func (r *rig) last() runfile.Survey {
	if len(r.published) == 0 {
		return runfile.Survey{}
	}
	return r.published[len(r.published)-1]
}

func TestASurveyIsPublishedWithTheClientsItWasAskedFrom(t *testing.T) {
	t.Parallel()
	a := &array{}
	r := newRig(a)
	got, err := Run(t.Context(), r.Options)
	if err != nil {
		t.Fatal(err)
	}
	want := runfile.Survey{
		Version: runfile.SurveyVersion, Source: "ontap", Array: "ONTAP 9.14.1", Time: r.now,
		Clients: []string{"10.244.0.5", "192.168.0.7"}, Volume: &runfile.SurveyVolume{Name: "data", Node: "n1"},
	}
	if diff := cmp.Diff(want, got) + cmp.Diff([]runfile.Survey{want}, r.published); diff != "" {
		t.Errorf("survey (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"survey /vol/data"}, a.asked); diff != "" {
		t.Errorf("asked:\n%s", diff)
	}
}

func TestWhyThereIsNoSurveyIsAResult(t *testing.T) {
	t.Parallel()
	refused := &storage.SurveyError{Reason: runfile.SurveyRefused, Err: errors.New("wrong password")}
	fails := func(err error) storage.Source {
		return &array{survey: func(context.Context) (runfile.Survey, error) { return runfile.Survey{Array: "x"}, err }}
	}
	cases := map[string]struct {
		source storage.Source
		change func(*rig)
		reason string
		words  string
	}{
		"refused":     {source: fails(fmt.Errorf("ask: %w", refused)), reason: runfile.SurveyRefused, words: "ask: wrong password"},
		"unexplained": {source: fails(errors.New("bad JSON")), reason: runfile.SurveyFailed, words: "bad JSON"},
		"not opened": {change: func(r *rig) {
			r.Open = func(runfile.Source) (storage.Source, error) { return nil, errors.New("no file password") }
		}, reason: runfile.SurveyFailed, words: "no file password"},
		"refused at once": {change: func(r *rig) { r.Open = func(runfile.Source) (storage.Source, error) { return nil, refused } }, reason: runfile.SurveyRefused, words: "wrong password"},
		"no surveyor":     {source: onlySamples{&array{}}, reason: runfile.SurveyFailed, words: "cannot say what it is"},
		"no mover":        {source: onlySurveys{&array{}}, change: func(r *rig) { r.Request.MoveTo = "aggr2" }, reason: runfile.SurveyMoveFailed, words: "only ONTAP can"},
		"bad request":     {source: &array{}, change: func(r *rig) { r.Request.Export = "" }, reason: runfile.SurveyFailed, words: "export: is empty"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(tc.source)
			if tc.change != nil {
				tc.change(r)
			}
			if _, err := Run(t.Context(), r.Options); err != nil {
				t.Fatalf("a problem is no error: %v", err)
			}
			s := r.last()
			if s.Problem == nil || s.Problem.Reason != tc.reason || !strings.Contains(s.Problem.Message, tc.words) {
				t.Fatalf("problem %+v, want %s %q", s.Problem, tc.reason, tc.words)
			}
			if s.Array != "" || s.Version != runfile.SurveyVersion || s.Source != "ontap" || s.Time.IsZero() {
				t.Errorf("beside the problem there is %+v", s)
			}
		})
	}
}

func TestAnArrayThatDoesNotAnswerIsUnreachable(t *testing.T) {
	t.Parallel()
	hangs := &array{survey: func(ctx context.Context) (runfile.Survey, error) {
		<-ctx.Done()
		return runfile.Survey{}, ctx.Err()
	}}
	r := newRig(hangs)
	r.Request.TimeoutSeconds = 1
	if _, err := Run(t.Context(), r.Options); err != nil {
		t.Fatal(err)
	}
	if p := r.last().Problem; p == nil || p.Reason != runfile.SurveyUnreachable || !strings.Contains(p.Message, "within 1s") ||
		!strings.HasPrefix(p.Message, "no answer from the array: check its management address") {
		t.Errorf("problem %+v", p)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r = newRig(&array{survey: func(ctx context.Context) (runfile.Survey, error) {
		cancel()
		return hangs.survey(ctx)
	}})
	if _, err := Run(ctx, r.Options); err != nil {
		t.Fatalf("the last word is not published by who is told to stop: %v", err)
	}
	if p := r.last().Problem; p == nil || p.Reason != runfile.SurveyFailed || !strings.Contains(p.Message, "was stopped") {
		t.Errorf("problem %+v", p)
	}
}

func TestAnArrayWithoutAConnectionIsNamedByItsAddress(t *testing.T) {
	t.Parallel()
	silent := &rest.ConnectError{
		BaseURL: "https://10.0.1.5", Port: "443", Within: 10 * time.Second, Err: os.ErrDeadlineExceeded,
	}
	const said = "no answer from https://10.0.1.5 within 10 s"
	for name, tc := range map[string]struct{ kind, reason, want string }{
		"ontap": {
			runfile.SourceONTAP, runfile.SurveyUnreachable,
			said + ": check that this is the management LIF, and that pods reach its port 443",
		},
		"flashBlade": {
			runfile.SourceFlashBlade, runfile.SurveyUnreachable,
			said + ": check that this is the management VIP, and that pods reach its port 443",
		},
		"a move under way": {runfile.SourceONTAP, runfile.SurveyMoveFailed, "survey x: " + said},
	} {
		r := newRig(&array{survey: func(context.Context) (runfile.Survey, error) {
			return runfile.Survey{}, &storage.SurveyError{Reason: tc.reason, Err: fmt.Errorf("survey x: %w", silent)}
		}})
		r.Request.Source.Kind = tc.kind
		if _, err := Run(t.Context(), r.Options); err != nil {
			t.Fatal(err)
		}
		if p := r.last().Problem; p == nil || p.Reason != tc.reason || p.Message != tc.want {
			t.Errorf("%s: problem %+v, want %q", name, p, tc.want)
		}
	}
}

func TestTheSessionOnTheArrayIsClosedWhateverHappened(t *testing.T) {
	t.Parallel()
	surveyed, failing := &array{}, &array{survey: func(context.Context) (runfile.Survey, error) { return runfile.Survey{}, errors.New("no") }}
	for _, a := range []*array{surveyed, failing} {
		if _, err := Run(t.Context(), newRig(a).Options); err != nil || a.closed != 1 {
			t.Errorf("closed %d times, want once: %v", a.closed, err)
		}
	}
}

func TestWhatCannotBePublishedIsTheErrorOfTheProgram(t *testing.T) {
	t.Parallel()
	r := newRig(&array{})
	r.refuse = errors.New("403 Forbidden")
	if _, err := Run(t.Context(), r.Options); !errors.Is(err, r.refuse) {
		t.Errorf("error %v", err)
	}
}

func TestASecretThatSlippedIsNotPublished(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-3f9"
	r := newRig(&array{survey: func(context.Context) (runfile.Survey, error) {
		return runfile.Survey{Missing: []runfile.MissingFact{{What: secret, Why: "GET x?token=" + secret, Fix: secret}}}, nil
	}})
	r.Secrets = []string{secret, "ET"}
	if _, err := Run(t.Context(), r.Options); err != nil {
		t.Fatal(err)
	}
	got := r.last()
	r.Open = func(runfile.Source) (storage.Source, error) {
		return nil, errors.New("https://admin:" + secret + "@10.0.1.5")
	}
	if _, err := Run(t.Context(), r.Options); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("%+v %+v", got.Missing, r.last().Problem)
	if strings.Contains(text, secret) || !strings.Contains(text, "GET x?token=(secret)") || !strings.Contains(text, "admin:(secret)@10.0.1.5") {
		t.Errorf("published: %s", text)
	}
}
