package benchmark

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/judge"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/queue"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// scope is what one pass knows. Phases fill it in, setStatus reads it.
type scope struct {
	b     *v1alpha1.NFSBenchmark
	names manifest.Names
	now   time.Time

	stage      v1alpha1.Phase // how far this pass came
	waiting    *fact          // what the pass waits for, in words
	target     *plan.Target
	place      *queue.Place
	storage    *fact               // about the storage; nil = not looked at
	surveying  *fact               // the array is being asked
	moving     *runfile.VolumeMove // under way
	preflight  *fact               // about what the array said; nil = not looked at
	plan       *runfile.Plan
	load       *batchv1.Job
	progress   []runfile.Progress
	database   *diagnose.Database // in the pods; nil = not looked at, or there is none
	released   bool               // the clients may start their load
	result     *runfile.Result
	judgement  *judge.Judgement
	outcome    *outcome
	cleanup    *fact // about what the run left; nil = not looked at
	volumeGone bool  // nothing of a Trident volume is left
	events     []event
}

// fact is one observation with its reason, for a condition.
type fact struct {
	ok      bool
	reason  string
	message string
}

// outcome is how the run ended.
type outcome struct {
	phase   v1alpha1.Phase // Succeeded, Failed or Cancelled
	reason  string
	message string
}

// next says what follows a phase: the zero value means "go on".
type next struct {
	stop  bool
	after time.Duration
}

// waitFor ends the pass. With a zero duration a watch must wake us up.
func waitFor(after time.Duration) next { return next{stop: true, after: after} }

type phase func(context.Context, *scope) (next, error)

// wait records why the pass ends here.
func (s *scope) wait(reason, message string, after time.Duration) (next, error) {
	s.waiting = &fact{reason: reason, message: message}
	return waitFor(after), nil
}

// end records how the run ended.
func (s *scope) end(phase v1alpha1.Phase, reason, message string) (next, error) {
	s.outcome = &outcome{phase: phase, reason: reason, message: message}
	return waitFor(0), nil
}

func (s *scope) fail(reason, message string) (next, error) {
	return s.end(v1alpha1.PhaseFailed, reason, message)
}
