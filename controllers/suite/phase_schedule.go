package suite

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/workflow"
)

// schedule brings the CronWorkflow in line with the spec. It compiles once for each
// generation, and applies what has changed only.
func (r *Reconciler) schedule(ctx context.Context, s *scope) error {
	known := r.memory.of(s.suite.UID, s.suite.Generation)
	is := &unstructured.Unstructured{}
	is.SetGroupVersionKind(workflow.CronWorkflow)
	err := r.Reader.Get(ctx, client.ObjectKeyFromObject(s.suite), is)
	found := err == nil
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("read cronworkflow %q: %w", s.suite.Name, err)
	}
	if found {
		if err := checkOurs(s, "CronWorkflow", is); err != nil {
			return err
		}
		s.last = workflow.LastScheduled(is)
	}
	has := is.GetAnnotations()[annotationCompiled]
	switch {
	case s.matrix == nil && found && has != "":
		return r.holdSchedule(ctx, is)
	case s.matrix == nil, found && known.compiled != "" && has == known.compiled:
		return nil
	}
	u, err := r.compileSchedule(s)
	if err != nil {
		return err
	}
	if known.compiled, err = stamp(u); err != nil {
		return err
	}
	if found && has == known.compiled {
		return nil
	}
	return r.apply(ctx, u)
}

func (r *Reconciler) compileSchedule(s *scope) (*unstructured.Unstructured, error) {
	u, err := r.unstructuredOf(s, workflow.NewCronWorkflow(workflow.Input{Suite: s.suite, Matrix: *s.matrix}))
	if err != nil {
		return nil, err
	}
	if _, set, _ := unstructured.NestedBool(u.Object, "spec", "suspend"); !set {
		// Said always: what holdSchedule has written would stay otherwise.
		err = unstructured.SetNestedField(u.Object, false, "spec", "suspend")
	}
	return u, err
}

// holdSchedule starts no more runs of a spec that is no longer the declared one.
func (r *Reconciler) holdSchedule(ctx context.Context, is *unstructured.Unstructured) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}},"spec":{"suspend":true}}`, annotationCompiled)
	err := r.Client.Patch(ctx, is, client.RawPatch(mergePatch, patch), client.FieldOwner(FieldOwner))
	return refusal("CronWorkflow", is.GetName(), client.IgnoreNotFound(err))
}
