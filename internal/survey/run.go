package survey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

// publishPatience is how long the last word may take to be published, also when
// the program is told to stop.
const publishPatience = 25 * time.Second

// Options says what is asked, and who is told. All members but Clients and
// Secrets must be set.
type Options struct {
	Request runfile.SurveyRequest
	Open    func(runfile.Source) (storage.Source, error)
	// Publish replaces what was published before. It may be called from
	// another goroutine than Run's, but never twice at once.
	Publish func(context.Context, runfile.Survey) error
	Clients []string // the addresses that the array may see the clients as
	// Secrets are the words that must not be published, whoever lets them slip.
	Secrets []string
	Now     func() time.Time
	Log     *slog.Logger
}

// Run makes the survey, or finds why it cannot be made, and publishes it. The
// error is that of publishing only: a problem is a result. It returns soon after
// ctx has ended, and then publishes that.
func Run(ctx context.Context, o Options) (runfile.Survey, error) {
	s, err := o.survey(ctx)
	if err != nil {
		s = runfile.Survey{Problem: problemOf(err)}
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
		return runfile.Survey{}, fmt.Errorf("%s cannot say what it is: only sources of kind ontap and flashBlade can", source.Name())
	}
	var moved *runfile.VolumeMove
	if o.Request.MoveTo != "" {
		if moved, err = o.move(ctx, source); err != nil {
			return runfile.Survey{}, err
		}
	}
	limit := o.timeout()
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o.Log.InfoContext(ctx, "Asking the array", slog.String("array", surveyor.Name()))
	s, err := surveyor.Survey(within, o.Request.Export)
	if err != nil {
		return runfile.Survey{}, o.explain(ctx, within, err, surveyor.Name(), limit)
	}
	s.Problem, s.Move, s.Clients = nil, moved, o.Clients
	return s, nil
}

func (o Options) timeout() time.Duration {
	seconds := o.Request.TimeoutSeconds
	if seconds == 0 {
		seconds = runfile.DefaultSurveySeconds
	}
	return time.Duration(seconds) * time.Second
}

// explain says what an error means that the source itself had no reason for:
// mostly that time was over.
func (o Options) explain(ctx, within context.Context, err error, name string, limit time.Duration) error {
	if errors.As(err, new(*storage.SurveyError)) {
		return err
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("the survey was stopped before %s had answered: %w", name, err)
	case within.Err() != nil:
		return &storage.SurveyError{Reason: runfile.SurveyUnreachable, Err: fmt.Errorf(
			"%s did not answer all questions within %s: check its address, and whether pods reach it: %w", name, limit, err)}
	default:
		return err
	}
}

// problemOf makes a result of an error.
func problemOf(err error) *runfile.SurveyProblem {
	p := &runfile.SurveyProblem{Reason: runfile.SurveyFailed, Message: err.Error()}
	if told := (*storage.SurveyError)(nil); errors.As(err, &told) && told.Reason != "" {
		p.Reason = told.Reason
	}
	return p
}
