package suite

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

const mergePatch = types.MergePatchType

// control brings the workflows of the runs under way in line with spec.suspend and
// spec.shutdown, and stops what would go on unseen: a workflow that was stopped
// ends its steps, and not the benchmarks that they wait for.
func (r *Reconciler) control(ctx context.Context, s *scope) (next, error) {
	for _, one := range s.open() {
		if err := r.steer(ctx, s, one); err != nil {
			return next{}, err
		}
		if s.suite.Spec.Shutdown != v1alpha1.ShutdownStop && !one.isDone() {
			continue
		}
		for _, b := range one.live {
			if err := r.stop(ctx, s, b); err != nil {
				return next{}, err
			}
		}
	}
	return next{}, nil
}

// isDone says that Argo begins nothing more of a run.
func (r *run) isDone() bool { return r.vanished || r.state.IsFinished }

func (r *Reconciler) steer(ctx context.Context, s *scope, one *run) error {
	if one.object == nil {
		return nil
	}
	patch := workflow.Patch(s.suite, one.object)
	if patch == nil {
		return nil
	}
	err := r.Client.Patch(ctx, one.object.DeepCopy(), client.RawPatch(mergePatch, patch), client.FieldOwner(FieldOwner))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("patch workflow %q: %w", one.object.GetName(), err)
	}
	return nil
}

// stop cancels a benchmark, which keeps what it measured.
func (r *Reconciler) stop(ctx context.Context, s *scope, l underWay) error {
	if l.suspended {
		return nil
	}
	b := &v1alpha1.NFSBenchmark{}
	b.Namespace, b.Name = s.suite.Namespace, l.name
	err := r.Client.Patch(ctx, b, client.RawPatch(mergePatch, []byte(`{"spec":{"suspend":true}}`)), client.FieldOwner(FieldOwner))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("stop benchmark %q: %w", l.name, err)
	}
	s.events = append(s.events, event{reason: "BenchmarkStopped", action: "Stop", note: "benchmark " + l.name + " gets the annotation that stops it, because its run has ended"})
	return nil
}
