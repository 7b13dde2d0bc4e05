package survey

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/storage"
)

const (
	// progressEvery is how often a move is reported at most.
	progressEvery = 5 * time.Second
	// progressPatience bounds one report: the next says more.
	progressPatience = 10 * time.Second
	// stillMoving is the most that a report says before the survey is made: a
	// move of 100 % is one whose survey is there.
	stillMoving = 99
)

// move moves the volume and tells how far it is.
func (o Options) move(ctx context.Context, source storage.Source) (*runfile.VolumeMove, error) {
	mover, ok := source.(storage.Mover)
	if !ok {
		return nil, &storage.SurveyError{Reason: runfile.SurveyMoveFailed, Err: fmt.Errorf("%s cannot move volumes: only ONTAP can", source.Name())}
	}
	within, cancel := context.WithTimeout(ctx, runfile.MaxMoveSeconds*time.Second)
	defer cancel()
	report := &reporter{o: o, percent: -1}
	// Before the array begins: should this program be killed, the move goes on,
	// and somebody has to say so.
	report.tell(ctx, 0)
	moved, err := mover.Move(within, o.Request.Export, o.Request.MoveTo, func(percent int32) { report.tell(ctx, percent) })
	if err == nil {
		moved.To, moved.Percent = o.Request.MoveTo, 100
		return &moved, nil
	}
	told := (*storage.SurveyError)(nil)
	switch {
	case within.Err() != nil:
		return nil, &storage.SurveyError{Reason: runfile.SurveyMoveFailed, Err: fmt.Errorf(
			"the move to aggregate %s was not waited for to its end, at %d %%; what the array has begun goes on there, see volume move show: %w", o.Request.MoveTo, report.last(), err)}
	case errors.As(err, &told):
		return nil, err
	default:
		return nil, &storage.SurveyError{Reason: runfile.SurveyMoveFailed, Err: fmt.Errorf("move the volume to aggregate %s: %w", o.Request.MoveTo, err)}
	}
}

// reporter publishes the progress of a move now and then. It is safe for
// several goroutines.
type reporter struct {
	o       Options
	mu      sync.Mutex
	percent int32 // published last, or reached since
	at      time.Time
}

func (r *reporter) last() int32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return max(r.percent, 0)
}

// tell publishes a percentage that is new, unless it was done a moment ago. A
// report that fails is only logged: the move matters more.
func (r *reporter) tell(ctx context.Context, percent int32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	percent = min(max(percent, 0), stillMoving)
	now := r.o.Now()
	if percent <= r.percent || r.percent >= 0 && now.Sub(r.at) < progressEvery {
		return
	}
	r.percent, r.at = percent, now
	within, cancel := context.WithTimeout(ctx, progressPatience)
	defer cancel()
	r.o.Log.InfoContext(ctx, "Moving the volume", slog.String("aggregate", r.o.Request.MoveTo), slog.Int("percent", int(percent)))
	err := r.o.Publish(within, runfile.Survey{
		Version: runfile.SurveyVersion, Source: r.o.Request.Source.Name, Time: now.Round(0),
		Move: &runfile.VolumeMove{To: r.o.Request.MoveTo, Percent: percent},
	})
	if err != nil {
		r.o.Log.WarnContext(ctx, "The progress of the move could not be published", slog.Any("error", err))
	}
}
