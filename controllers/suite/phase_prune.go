package suite

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/workflow"
)

// maxHistory is how many runs of a suite without a schedule are kept.
const maxHistory = 50

// prune removes the finished runs beyond the history limit, each with its workflow
// and so with its benchmarks. The record of the accepted run stays.
func (r *Reconciler) prune(ctx context.Context, s *scope) (next, error) {
	over := s.over()
	limit := maxHistory
	if s.scheduled() {
		limit = cmp.Or(int(s.suite.Spec.Schedule.HistoryLimit), defaultHistoryLimit)
	}
	for _, one := range over[:max(len(over)-limit, 0)] {
		for i := range one.workflows {
			if err := r.remove(ctx, s, one.workflows[i].Name, workflow.Workflow); err != nil {
				return next{}, err
			}
		}
		one.workflows = nil
		if one.name == s.accepted {
			continue
		}
		if err := r.remove(ctx, s, one.record.Name, corev1.SchemeGroupVersion.WithKind("ConfigMap")); err != nil {
			return next{}, err
		}
		s.runs = slices.DeleteFunc(s.runs, func(r *run) bool { return r == one })
	}
	return next{}, nil
}

func (r *Reconciler) remove(ctx context.Context, s *scope, name string, kind schema.GroupVersionKind) error {
	obj := &metav1.PartialObjectMetadata{}
	obj.SetGroupVersionKind(kind)
	obj.Namespace, obj.Name = s.suite.Namespace, name
	err := r.Client.Delete(ctx, obj, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err = client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("remove %s %q of an old run: %w", kind.Kind, name, err)
	}
	return nil
}
