package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/policy"
	"github.com/nfsbench/nfsbench/internal/runfile"
)

// checkPolicy refuses a benchmark that the policy of the cluster does not allow, before the operator creates anything
// for it. A new policy does not stop a run that has begun.
func (r *Reconciler) checkPolicy(ctx context.Context, s *scope) (next, error) {
	if s.b.Status.StartTime != nil {
		return next{}, nil
	}
	p, err := r.Policy(ctx)
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !apierrors.IsNotFound(err) {
		return next{}, err // the API server does not answer
	}
	if err != nil {
		return s.wait(v1alpha1.ReasonPolicyInvalid, err.Error()+": ask an administrator to correct policy in the values of "+
			"the chart", soon)
	}
	s.policy = p
	if err := refused(r.checker.Check(p, s.b)); err != nil {
		return next{}, cmp.Or(r.noClass(ctx, s), err)
	}
	if t := s.b.Spec.Storage.Trident; t != nil && t.BackendName != "" {
		backend, _ := p.Backend(t.BackendName) // the rules have checked that it exists
		if err := checkBackend(s.b, backend.BackendSpec); err != nil {
			return next{}, err
		}
	}
	draft, err := plan.Build(s.b, plan.Anywhere()) // before a volume is created or moved
	if err != nil {
		return next{}, invalid(v1alpha1.ReasonInvalidSpec, "%w", err)
	}
	if err := refused(p.CheckTime(plan.HoldTime(s.b, draft))); err != nil {
		return next{}, err
	}
	return r.admitSecrets(ctx, s)
}

// noClass returns an error if the class that the spec names does not exist. Its name may be a typo, which the refusal
// of the policy would hide.
func (r *Reconciler) noClass(ctx context.Context, s *scope) error {
	if _, name := plan.ClassOf(s.b.Spec.Storage); name == "" {
		return nil
	}
	_, err := r.readClass(ctx, s, classAdvice)
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) && bad.Reason == v1alpha1.ReasonClassNotFound {
		return bad
	}
	return nil
}

// refused turns an error of the policy into one that the user must fix.
func refused(err error) error {
	if denied := (*policy.Denied)(nil); errors.As(err, &denied) {
		return invalid(v1alpha1.ReasonPolicyDenied, "%w", denied)
	}
	return err
}

// ensureVolume creates a PersistentVolume of an export if the policy lets the nodes mount its address and path. They
// may come from an array or a Service, which the rules on the spec do not see.
func (r *Reconciler) ensureVolume(ctx context.Context, s *scope, pv *corev1.PersistentVolume) error {
	if s.b.Status.StartTime == nil {
		if err := refused(r.checker.CheckVolume(s.policy, s.b, pv)); err != nil {
			return err
		}
	}
	return r.Ensure(ctx, s.b, pv)
}

// ensureClaim creates a claim if the policy allows the benchmark a volume of that class or backend, and size.
func (r *Reconciler) ensureClaim(ctx context.Context, s *scope, pvc *corev1.PersistentVolumeClaim) error {
	if err := refused(r.checker.CheckClaim(s.policy, s.b, pvc)); err != nil {
		return err
	}
	return r.Ensure(ctx, s.b, pvc)
}

// mountable returns the survey without the LIFs of an export that the nodes would mount and the policy forbids. The
// operator then chooses among the allowed LIFs.
func (r *Reconciler) mountable(s *scope) *runfile.Survey {
	if s.b.Spec.Storage.Export == nil || !plan.NeedsVolume(s.b) {
		return s.target.Survey
	}
	sv := *s.target.Survey
	sv.LIFs = slices.DeleteFunc(slices.Clone(sv.LIFs), func(l runfile.LIF) bool {
		return r.checker.CheckVolume(s.policy, s.b, manifest.Volume(s.b, l.Address, s.target.Export)) != nil ||
			plan.RedoExport(s.b) != "" && r.checker.CheckVolume(s.policy, s.b, manifest.RedoVolume(s.b, l.Address)) != nil
	})
	return &sv
}

// checkRoom checks whether the namespace has room for one more result. It checks once, because the limit counts all
// benchmarks of the namespace.
func (r *Reconciler) checkRoom(ctx context.Context, s *scope) error {
	limits := s.policy.Limits
	list := &v1alpha1.NFSBenchmarkList{}
	if err := r.Client.List(ctx, list, client.InNamespace(s.b.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list the benchmarks of namespace %q: %w", s.b.Namespace, err)
	}
	var taken int64
	for i := range list.Items {
		if ref := list.Items[i].Status.ResultRef; ref != nil {
			taken += ref.Bytes
		}
	}
	kept, err := r.bytesKept(ctx, s.b.Namespace)
	if err != nil {
		return err
	}
	if taken += kept; taken < limits.ResultBytes.Value() {
		return nil
	}
	more := resource.NewQuantity(max(2*limits.ResultBytes.Value(), taken+limits.ResultBytes.Value()), resource.BinarySI)
	return invalid(v1alpha1.ReasonPolicyDenied, "the results of the benchmarks in namespace %q take %s and the policy of "+
		"this cluster allows %s. Delete finished benchmarks, or ConfigMaps with the label "+manifest.LabelKeptResult+
		", or ask an administrator to run: %s --set policy.limits.resultBytes=%s", s.b.Namespace,
		resource.NewQuantity(taken, resource.BinarySI), &limits.ResultBytes, s.policy.Upgrade, more)
}

// bytesKept returns the size of the results of deleted benchmarks: those that were kept, and those whose benchmark was
// deleted with --cascade=orphan, each as the largest ConfigMap. A user who can change these ConfigMaps can understate
// their size, but could as well fill other ConfigMaps.
func (r *Reconciler) bytesKept(ctx context.Context, namespace string) (total int64, err error) {
	list := pass.MetadataOf(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	add := func() error {
		for _, m := range list.Items {
			if m.Labels[manifest.LabelKeptResult] == "" && metav1.GetControllerOf(&m) != nil {
				continue // the status of its benchmark has the size
			}
			bytes, err := strconv.ParseInt(m.Annotations[manifest.AnnotationBytes], 10, 64)
			if err != nil || bytes < 0 {
				bytes = maxConfigMapBytes
			}
			total += bytes
		}
		return nil
	}
	err = pass.Pages(ctx, r.Reader, list, maxObjects, add,
		client.InNamespace(namespace), client.HasLabels{manifest.LabelUID})
	if err != nil {
		return 0, fmt.Errorf("list the kept results of namespace %q: %w", namespace, err)
	}
	return total, nil
}

// maxObjects bounds the objects of one namespace that a pass reads.
const maxObjects = 10_000

// maxConfigMapBytes bounds the contents of a ConfigMap.
const maxConfigMapBytes = 1 << 20

// admitSecrets waits until each Secret that the benchmark names exists and has the label that lets benchmarks use it.
// Without the label anybody who may create benchmarks could read every Secret of the namespace with an image or a
// server of their own. admitSecrets reads only the metadata.
func (r *Reconciler) admitSecrets(ctx context.Context, s *scope) (next, error) {
	for _, use := range plan.SecretUses(s.b) {
		secret := &metav1.PartialObjectMetadata{ObjectMeta: s.meta(use.Name)}
		secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
		err := r.Reader.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		switch {
		case apierrors.IsNotFound(err):
			return s.wait(v1alpha1.ReasonSecretNotFound, fmt.Sprintf("there is no Secret %q in namespace %q, which %s names: "+
				"create it with the label %s=%s",
				use.Name, s.b.Namespace, use.Field, v1alpha1.LabelAllowUse, v1alpha1.UseAllowed), soon)
		case apierrors.IsForbidden(err):
			return next{}, invalid(v1alpha1.ReasonForbidden, "the operator may not read the labels of Secret %q: let its "+
				"service account get Secrets in namespace %q: %w", use.Name, s.b.Namespace, err)
		case err != nil:
			return next{}, fmt.Errorf("read the labels of Secret %q: %w", use.Name, err)
		case secret.Labels[v1alpha1.LabelAllowUse] != v1alpha1.UseAllowed:
			return s.wait(v1alpha1.ReasonSecretDenied, fmt.Sprintf("benchmarks may not use Secret %q, which %s names. If they "+
				"may, somebody who may change it labels it: kubectl -n %s label secret %s %s=%s", use.Name, use.Field,
				s.b.Namespace, use.Name, v1alpha1.LabelAllowUse, v1alpha1.UseAllowed), soon)
		}
	}
	return next{}, nil
}
