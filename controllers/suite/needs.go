package suite

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
)

const (
	// lookAgain is how long nothing is expected to go missing.
	lookAgain = 24 * time.Hour
	// looksAtOnce bounds the cells that one pass looks at.
	looksAtOnce = 16
)

// look is what is known of the needs of one suite.
type look struct {
	generation int64
	cells      int       // that were looked at since begun
	begun      time.Time // the look of the day
	missing    *fact
}

// mostLooks bounds the suites whose needs are remembered.
const mostLooks = 10_000

// checkNeeds looks at what the benchmarks of a schedule need, now and once a day: people should learn of a missing
// Secret today, and not when the run begins at night. While something is missing, each pass looks again. A look that
// fails does not hold up the runs.
func (r *Reconciler) checkNeeds(ctx context.Context, s *scope) (next, error) {
	if !s.scheduled() || s.matrix == nil || r.Missing == nil || s.suite.Spec.Suspend || s.suite.Spec.Schedule.Suspend {
		return next{}, nil
	}
	known, _ := r.looks.Get(s.suite.UID)
	l, is := known.(*look)
	if !is || l.generation != s.suite.Generation || s.now.Sub(l.begun) >= lookAgain {
		l = &look{generation: s.suite.Generation, begun: s.now}
		r.looks.Add(s.suite.UID, l)
	}
	for n := 0; n < looksAtOnce && l.cells < len(s.matrix.Cells); n++ {
		cell := s.matrix.Cells[l.cells]
		b := &v1alpha1.NFSBenchmark{Spec: *cell.Spec.DeepCopy()}
		b.Namespace, b.Name, b.UID = s.suite.Namespace, s.suite.Name+"-"+cell.Name, s.suite.UID
		missing, err := r.Missing(ctx, b)
		if err != nil {
			log.FromContext(ctx).Error(err, "Looking at what a run needs", "cell", cell.Name)
			break
		}
		if l.missing = missing; missing != nil {
			break
		}
		l.cells++
	}
	s.missing = l.missing
	return next{}, nil
}
