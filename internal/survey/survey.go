// Package survey queries an array, before a run, for its properties and the place of the volume; if the request asks
// for it, it moves the volume first.
//
// The result can always be published: the survey, or the problem that prevented it, with a reason and a sentence for
// the user. During a move survey publishes the progress. It runs in a pod of the benchmark's namespace, because the
// operator reads no Secret, and on a laptop.
package survey

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
	"github.com/nfsbench/nfsbench/internal/storage/rest"
)

const (
	// publishPatience bounds the publishing of the result, also when the program is told to stop.
	publishPatience = 25 * time.Second
	// progressEvery is the shortest interval between reports of a move.
	progressEvery = 5 * time.Second
	// progressPatience bounds one report; the next one replaces it.
	progressPatience = 10 * time.Second
	// stillMoving is the highest percentage of a report before the survey is complete: 100 % means that the survey exists.
	stillMoving = 99
	// room bounds a survey without the sentences about facts that were left out.
	room = runfile.MaxSurveyBytes - 2<<10
	// maxMessage bounds the error of an array in a status.
	maxMessage = 2000
)

// Options configures a survey. All members but Clients and Secrets must be set.
type Options struct {
	Request runfile.SurveyRequest
	Open    func(runfile.Source) (storage.Source, error)
	// Publish replaces the published survey. Run calls it on its own goroutine.
	Publish func(context.Context, runfile.Survey) error
	Clients []string // the addresses under which the array may see the clients
	// Secrets are redacted from everything that Run publishes.
	Secrets []string
	Now     func() time.Time
	Log     *slog.Logger
}

// Run makes the survey, or finds why it cannot be made, and publishes the result. It returns only an error of
// publishing: a problem of the survey is a result. After ctx has ended, Run publishes that and returns soon.
func Run(ctx context.Context, o Options) (runfile.Survey, error) {
	s, err := o.survey(ctx)
	if err != nil {
		reason := runfile.SurveyFailed
		if known := (*storage.SurveyError)(nil); errors.As(err, &known) && known.Reason != "" {
			reason = known.Reason
		}
		s = runfile.Survey{Problem: &runfile.SurveyProblem{Reason: reason, Message: o.explain(reason, err)}}
	}
	s.Version, s.Source = runfile.SurveyVersion, o.Request.Source.Name
	if s.Time.IsZero() {
		s.Time = o.Now().Round(0)
	}
	fit(redacted(&s, o.Secrets))
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), publishPatience)
	defer cancel()
	if err := o.Publish(ctx, s); err != nil {
		return s, fmt.Errorf("publish the survey: %w", err)
	}
	return s, nil
}

// explain returns what the array or the system said, and what to do about it. Most errors have the advice themselves.
func (o Options) explain(reason string, err error) string {
	unconnected, is := errors.AsType[*rest.ConnectError](err)
	switch {
	case is && reason == runfile.SurveyUnreachable:
		address := "the management LIF"
		if o.Request.Source.Kind == runfile.SourceFlashBlade {
			address = "the management VIP"
		}
		return fmt.Sprintf("%s: check that this is %s, and that pods reach its port %s", unconnected, address,
			unconnected.Port)
	case reason == runfile.SurveyUnreachable:
		return "no answer from the array: check its management address in storage.array: " + err.Error()
	case reason == runfile.SurveyRefused:
		return "the array refuses the account: check user and password, or token, in the Secret of credentialsSecretRef, " +
			"and the role of the account: " + err.Error()
	default:
		return err.Error()
	}
}

func (o Options) survey(ctx context.Context) (runfile.Survey, error) {
	if err := o.Request.Validate(); err != nil {
		return runfile.Survey{}, fmt.Errorf("the request for the survey is wrong: %w", err)
	}
	source, err := o.Open(o.Request.Source)
	if err != nil {
		return runfile.Survey{}, err
	}
	defer func() {
		if err := storage.Close(source); err != nil {
			o.Log.InfoContext(ctx, "The session on the array was not closed", slog.Any("error", err))
		}
	}()
	surveyor, ok := source.(storage.Surveyor)
	if !ok {
		return runfile.Survey{}, fmt.Errorf("%s cannot say what it is: only sources of kind ontap and flashBlade can",
			source.Name())
	}
	var moved *runfile.VolumeMove
	if o.Request.MoveTo != "" {
		if moved, err = o.move(ctx, source); err != nil {
			return runfile.Survey{}, err
		}
	}
	limit := time.Duration(cmp.Or(o.Request.TimeoutSeconds, runfile.DefaultSurveySeconds)) * time.Second
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o.Log.InfoContext(ctx, "Asking the array", slog.String("array", surveyor.Name()))
	s, err := surveyor.Survey(within, o.Request.Export)
	switch {
	case err == nil:
	case errors.As(err, new(*storage.SurveyError)): // the source itself has a reason
		return runfile.Survey{}, err
	case ctx.Err() != nil:
		return runfile.Survey{}, fmt.Errorf("the survey was stopped before %s had answered: %w", surveyor.Name(), err)
	case within.Err() != nil:
		return runfile.Survey{}, &storage.SurveyError{Reason: runfile.SurveyUnreachable, Err: fmt.Errorf(
			"%s did not answer all questions within %s: %w",
			surveyor.Name(), limit, err)}
	default:
		return runfile.Survey{}, err
	}
	s.Problem, s.Move, s.Clients = nil, moved, o.Clients
	return s, nil
}

// move moves the volume and reports the progress.
func (o Options) move(ctx context.Context, source storage.Source) (*runfile.VolumeMove, error) {
	failed := func(format string, args ...any) error {
		return &storage.SurveyError{Reason: runfile.SurveyMoveFailed, Err: fmt.Errorf(format, args...)}
	}
	mover, ok := source.(storage.Mover)
	if !ok {
		return nil, failed("%s cannot move volumes: only ONTAP can, so run without storage.trident.moveTo", source.Name())
	}
	within, cancel := context.WithTimeout(ctx, runfile.MaxMoveSeconds*time.Second)
	defer cancel()
	report := &reporter{o: o, percent: -1}
	// Report before the array begins: if this program is killed, the move goes on, and the status must show it.
	report.tell(ctx, 0)
	moved, err := mover.Move(within, o.Request.Export, o.Request.MoveTo, func(percent int32) { report.tell(ctx, percent) })
	if err == nil {
		moved.To, moved.Percent = o.Request.MoveTo, 100
		return &moved, nil
	}
	switch {
	case within.Err() != nil:
		return nil, failed("the move to aggregate %s was not waited for to its end, at %d %%; "+
			"what the array has begun goes on there, see volume move show: %w", o.Request.MoveTo, report.percent, err)
	case errors.As(err, new(*storage.SurveyError)):
		return nil, err
	default:
		return nil, failed("move the volume to aggregate %s: %w", o.Request.MoveTo, err)
	}
}

// reporter publishes the progress of a move at intervals.
type reporter struct {
	o       Options
	percent int32 // published last; -1 = none
	at      time.Time
}

// tell publishes a new percentage, unless the last report was a moment ago. A failed report is only logged: the move
// matters more.
func (r *reporter) tell(ctx context.Context, percent int32) {
	percent = min(max(percent, 0), stillMoving)
	now := r.o.Now()
	if percent <= r.percent || r.percent >= 0 && now.Sub(r.at) < progressEvery {
		return
	}
	r.percent, r.at = percent, now
	within, cancel := context.WithTimeout(ctx, progressPatience)
	defer cancel()
	r.o.Log.InfoContext(ctx, "Moving the volume", slog.String("aggregate", r.o.Request.MoveTo),
		slog.Int("percent", int(percent)))
	err := r.o.Publish(within, runfile.Survey{
		Version: runfile.SurveyVersion, Source: r.o.Request.Source.Name, Time: now.Round(0),
		Move: &runfile.VolumeMove{To: r.o.Request.MoveTo, Percent: percent},
	})
	if err != nil {
		r.o.Log.WarnContext(ctx, "The progress of the move could not be published", slog.Any("error", err))
	}
}

// fit removes parts of a survey that is too large, and notes what it removed. It removes the export rules first, and
// all of them: a part of a policy can grant what the whole denies.
func fit(s *runfile.Survey) {
	if p := s.Problem; p != nil && len(p.Message) > maxMessage {
		p.Message = strings.ToValidUTF8(p.Message[:maxMessage], "") + "…"
	}
	if n := len(s.Rules); n > 0 && size(s) > room {
		s.Rules = nil
		s.Missing = append(s.Missing, runfile.MissingFact{
			What: "the export rules",
			Why:  fmt.Sprintf("the policy has %d, more than a survey has room for", n),
		})
	}
	all := len(s.LIFs)
	for len(s.LIFs) > 1 && size(s) > room {
		s.LIFs = s.LIFs[:len(s.LIFs)/2]
	}
	if len(s.LIFs) < all {
		s.Missing = append(s.Missing, runfile.MissingFact{
			What: "some LIFs",
			Why:  fmt.Sprintf("there are %d, and a survey has room for the first %d", all, len(s.LIFs)),
		})
	}
	for len(s.Missing) > 1 && size(s) > room {
		s.Missing = s.Missing[:len(s.Missing)/2]
	}
}

func size(s *runfile.Survey) int {
	raw, err := json.Marshal(s)
	if err != nil {
		return 0 // these types always encode
	}
	return len(raw)
}

// redacted removes secrets from the sentences of a survey, in case that their authors did not.
func redacted(s *runfile.Survey, secrets []string) *runfile.Survey {
	const tooShort = 4 // would occur in words
	for _, secret := range secrets {
		if len(secret) < tooShort {
			continue
		}
		clean := func(text string) string { return strings.ReplaceAll(text, secret, "(secret)") }
		if s.Problem != nil {
			s.Problem.Message = clean(s.Problem.Message)
		}
		for i := range s.Missing {
			m := &s.Missing[i]
			m.What, m.Why, m.Fix = clean(m.What), clean(m.Why), clean(m.Fix)
		}
	}
	return s
}
