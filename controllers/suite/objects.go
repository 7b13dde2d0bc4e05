package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/workflow"
)

// annotationCompiled holds the hash of the applied object, so that the operator applies it again only when it has
// changed.
const annotationCompiled = "nfsbench.io/compiled"

// unstructuredOf returns obj in the form for an apply: with its kind, owned by this suite, and without the empty fields
// that typed objects encode.
func (r *Reconciler) unstructuredOf(s *scope, obj client.Object) (*unstructured.Unstructured, error) {
	u, err := pass.Unstructured(r.Client.Scheme(), obj)
	if err != nil {
		return nil, err
	}
	u.SetNamespace(s.suite.Namespace)
	u.SetOwnerReferences([]metav1.OwnerReference{workflow.Owner(s.suite)})
	return u, nil
}

// apply does a server-side apply. A resourceVersion in u is a lock.
func (r *Reconciler) apply(ctx context.Context, u *unstructured.Unstructured) error {
	kind, name := u.GetKind(), u.GetName()
	return refusal(kind, name, pass.Apply(ctx, r.Client, u))
}

// refusal explains the error of a write. An error that no retry fixes becomes the user's.
func refusal(kind, name string, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		return blocked(v1alpha1.ReasonForbidden, fmt.Errorf("the cluster refuses %s %q: %w", kind, name, err))
	default:
		return fmt.Errorf("write %s %q: %w", kind, name, err)
	}
}

// stamp writes the hash of u into u, and returns the hash.
func stamp(u *unstructured.Unstructured) (string, error) {
	raw, err := json.Marshal(u.Object) // keys are sorted
	if err != nil {
		return "", fmt.Errorf("hash %s: %w", u.GetKind(), err)
	}
	sum := sha256.Sum256(raw)
	hash := hex.EncodeToString(sum[:8])
	return hash, unstructured.SetNestedField(u.Object, hash, "metadata", "annotations", annotationCompiled)
}

// checkOurs refuses an object of another owner under one of the suite's names.
func checkOurs(s *scope, kind string, obj metav1.Object) error {
	if isOurs(s, obj) {
		return nil
	}
	if c := metav1.GetControllerOf(obj); c != nil && c.Kind == "NFSBenchmarkSuite" && c.Name == s.suite.Name {
		return fmt.Errorf("%s %q still belongs to an earlier suite of this name: waiting for it to go", kind, obj.GetName())
	}
	return blocked(v1alpha1.ReasonNameTaken, fmt.Errorf(
		"there is a %s %q that this suite did not make: delete it, or give the suite another name", kind, obj.GetName()))
}

func isOurs(s *scope, obj metav1.Object) bool { return metav1.IsControlledBy(obj, s.suite) }

// isScheduled reports whether Argo made a Workflow of the suite's CronWorkflow.
func isScheduled(s *scope, obj metav1.Object) bool {
	c := metav1.GetControllerOf(obj)
	return c != nil && c.Kind == workflow.CronWorkflow.Kind && c.Name == s.suite.Name
}

// grantRights gives the workflow's pods the few rights that they need. It applies only objects that are missing or have
// changed.
func (r *Reconciler) grantRights(ctx context.Context, s *scope) (next, error) {
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
	// The cache holds only objects with this label.
	err = unstructured.SetNestedField(u.Object, manifest.ManagedBy, "metadata", "labels", manifest.LabelManagedBy)
	if err != nil {
		return err
	}
	hash, err := stamp(u)
	if err != nil {
		return err
	}
	is := obj.DeepCopyObject().(client.Object) //nolint:forcetypeassert // a copy has the type of its original
	switch err := pass.Read(ctx, r.Client, r.Reader, is); {
	case apierrors.IsNotFound(err):
		return r.apply(ctx, u)
	case err != nil:
		return fmt.Errorf("read %s %q: %w", u.GetKind(), u.GetName(), err)
	}
	if err := checkOurs(s, u.GetKind(), is); err != nil || is.GetAnnotations()[annotationCompiled] == hash {
		return err
	}
	return r.apply(ctx, u)
}
