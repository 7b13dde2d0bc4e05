package suite

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// grant gives the workflow's pods the few rights that they need. It applies only
// what is not there yet, or has changed.
func (r *Reconciler) grant(ctx context.Context, s *scope) (next, error) {
	if s.matrix == nil || !s.wantsArgo() {
		return next{}, nil
	}
	for _, obj := range workflow.Access(s.suite) {
		if err := r.ensure(ctx, s, obj); err != nil {
			return next{}, err
		}
	}
	return next{}, nil
}

func (r *Reconciler) ensure(ctx context.Context, s *scope, obj client.Object) error {
	u, err := r.unstructuredOf(s, obj)
	if err != nil {
		return err
	}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[manifest.LabelManagedBy] = manifest.ManagedBy // what the cache holds
	u.SetLabels(labels)
	hash, err := stamp(u)
	if err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(u)
	is := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	err = r.Client.Get(ctx, key, is)
	if apierrors.IsNotFound(err) { // the cache may be behind, and holds what is ours only
		err = r.Reader.Get(ctx, key, is)
	}
	switch {
	case apierrors.IsNotFound(err):
		return r.apply(ctx, u)
	case err != nil:
		return fmt.Errorf("read %s %q: %w", u.GetKind(), key.Name, err)
	}
	if err := checkOurs(s, u.GetKind(), is); err != nil {
		return err
	}
	if is.GetAnnotations()[annotationCompiled] == hash {
		return nil
	}
	return r.apply(ctx, u)
}
