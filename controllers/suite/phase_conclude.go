package suite

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// page is how many benchmarks are read at a time.
const page = 100

// conclude ends the runs of which nothing is under way any more. What it decides is
// for good, so it asks past the cache.
func (r *Reconciler) conclude(ctx context.Context, s *scope) (next, error) {
	for _, one := range s.open() {
		if !one.loaded || !one.isDone() || len(one.live) > 0 {
			continue
		}
		if err := r.lookAgain(ctx, s, one); err != nil {
			return next{}, err
		}
		if len(one.live) > 0 {
			continue // the cache was behind
		}
		one.outcome = outcomeOf(s.suite, one)
		one.file.Phase, one.file.Reason, one.file.Message = string(one.outcome.phase), one.outcome.reason, one.outcome.message
		one.file.Ended = s.now.UTC()
		if t := one.state.Finished; t != nil && lastEnd(one.file).Before(t.Time) {
			one.file.Ended = t.UTC()
		}
	}
	return next{}, nil
}

func lastEnd(f runfile.SuiteRun) (last time.Time) {
	for _, r := range f.Results {
		if r.Ended.After(last) {
			last = r.Ended
		}
	}
	return last
}

// lookAgain gathers the benchmarks of a run as they are, and not as the cache has
// them. It keeps no more than one page of them.
func (r *Reconciler) lookAgain(ctx context.Context, s *scope, one *run) error {
	list := &v1alpha1.NFSBenchmarkList{}
	results, live := one.file.Results, []underWay(nil)
	which := client.MatchingLabels{v1alpha1.LabelSuite: s.suite.Name, v1alpha1.LabelSuiteRun: one.name}
	for {
		err := r.Reader.List(ctx, list, client.InNamespace(s.suite.Namespace), which, client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return fmt.Errorf("list the benchmarks of run %q: %w", one.name, err)
		}
		g, err := gather(results, list.Items, func(b *v1alpha1.NFSBenchmark, to *runfile.SuiteResult) error { return r.addPoints(ctx, b, to) })
		if err != nil {
			return err
		}
		results, live = g.results, append(live, g.live...)
		if list.Continue == "" {
			break
		}
	}
	one.take(gathered{results: results, live: live})
	return nil
}

// outcomeOf says how a run ended. All benchmarks of it that are needed having
// succeeded, it does not matter how Argo fared.
func outcomeOf(suite *v1alpha1.NFSBenchmarkSuite, one *run) *outcome {
	total, good, bad := one.total(), 0, []runfile.SuiteResult(nil)
	for _, r := range one.file.Results {
		if isSuccess(r) {
			good++
		} else {
			bad = append(bad, r)
		}
	}
	done := fmt.Sprintf("%d of %d benchmarks succeeded", good, total)
	switch {
	case good >= total && total > 0:
		return &outcome{v1alpha1.SuiteSucceeded, v1alpha1.ReasonCompleted, done}
	case one.vanished:
		return &outcome{v1alpha1.SuiteFailed, v1alpha1.ReasonWorkflowMissing, fmt.Sprintf(
			"the Workflow was deleted while it ran, and its benchmarks with it; %s before and are kept in the record: annotate the suite with %s to run the others", done, v1alpha1.AnnotationResubmit)}
	case suite.Spec.Shutdown == v1alpha1.ShutdownStop:
		return &outcome{v1alpha1.SuiteCancelled, v1alpha1.ReasonCancelled, "stopped by spec.shutdown: " + done}
	case len(bad) > 0:
		return &outcome{v1alpha1.SuiteFailed, v1alpha1.ReasonBenchmarkFailed, fmt.Sprintf(
			"%s, %d failed, the first of them %s: %s", done, len(bad), bad[0].Benchmark, orUnknown(bad[0].Message))}
	default:
		return &outcome{v1alpha1.SuiteFailed, v1alpha1.ReasonWorkflowFailed, fmt.Sprintf(
			"%s, and Argo gave the run up: %s", done, orUnknown(one.state.Message))}
	}
}

func orUnknown(message string) string {
	if message == "" {
		return "it does not say why"
	}
	return message
}
