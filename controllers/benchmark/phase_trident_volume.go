package benchmark

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// isTrident says that Trident made the volume.
func isTrident(pv *corev1.PersistentVolume) bool {
	return pv.Spec.CSI != nil && pv.Spec.CSI.Driver == trident.Driver
}

// followTrident goes from a PersistentVolume by Trident's own objects to the
// export, and fills the target. What is not there yet, and may come, is reported as
// a fact; what will not is the error, and the user's.
//
// The address is that which the backend has now, because that is what Trident
// mounts; what the volume recorded when it was made is a hint only.
func (r *Reconciler) followTrident(ctx context.Context, s *scope, pv *corev1.PersistentVolume, namespace string) (*fact, error) {
	if !isTrident(pv) {
		return nil, invalid(v1alpha1.ReasonNotNFS, fmt.Errorf("PersistentVolume %q is not of driver %s", pv.Name, trident.Driver))
	}
	u, err := r.tridentVolume(ctx, pv.Spec.CSI.VolumeHandle, namespace)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return &fact{reason: v1alpha1.ReasonVolumeNotFound, message: fmt.Sprintf(
			"Trident has no TridentVolume %q in namespace %s: does it run in another (kubectl get tvol --all-namespaces)?", pv.Spec.CSI.VolumeHandle, namespace)}, nil
	}
	v, unread := trident.ReadVolume(u)
	if refused := v.BlockRefusal(); refused != "" {
		return nil, invalid(v1alpha1.ReasonDriverRefused, errors.New(refused))
	}
	b, gap, err := r.tridentBackendOf(ctx, v)
	switch {
	case err != nil:
		return nil, err
	case b != nil && trident.Refusal(b.Driver) != "":
		return nil, invalid(v1alpha1.ReasonDriverRefused, fmt.Errorf("PersistentVolume %q: %s", pv.Name, trident.Refusal(b.Driver)))
	case unread != nil:
		return gapOf(v1alpha1.ReasonNotNFS, unread), nil
	case gap != nil:
		return gap, nil
	}
	return fillTarget(s.target, v, *b), nil
}

// gapOf is what an object of Trident's does not say: it may come to say it.
func gapOf(reason string, unread error) *fact { return &fact{reason: reason, message: unread.Error()} }

func fillTarget(t *plan.Target, v trident.Volume, b trident.Backend) *fact {
	if ok, why := v.IsUsable(); !ok {
		return &fact{reason: v1alpha1.ReasonBackendFailed, message: why}
	}
	if ok, why := b.IsUsable(); !ok {
		return &fact{reason: v1alpha1.ReasonBackendFailed, message: why}
	}
	address := b.DataLIF
	if address == "" {
		address = v.NFSServer
	}
	if address == "" {
		return &fact{reason: v1alpha1.ReasonNotNFS, message: fmt.Sprintf(
			"Trident names no address for volume %s: its backend %s has no dataLIF, and TridentVolume %s/%s no config.accessInformation.nfsServerIp: set dataLIF", v.Name, b.Name, v.Namespace, v.Name)}
	}
	t.Export, t.Addresses, t.VolumeName = v.NFSPath, []string{address}, v.Name
	t.Backend = &plan.Backend{
		Name: b.Name, Driver: b.Driver, ManagementLIF: b.ManagementLIF, SVM: b.SVM, DataLIF: address,
		Volume: v.InternalName, Pool: v.Pool,
	}
	return nil
}

// tridentVolume finds the TridentVolume of a name: in the namespace where
// Trident should be, else wherever it is, as far as that may be asked. It is
// nil where there is none.
func (r *Reconciler) tridentVolume(ctx context.Context, name, namespace string) (*unstructured.Unstructured, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(trident.Kind(trident.KindVolume))
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u)
	if err == nil {
		return u, nil
	}
	if !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err) {
		return nil, tridentError(err, namespace)
	}
	list := tridentList(trident.KindVolume)
	everywhere := r.Reader.List(ctx, list, client.MatchingFields{"metadata.name": name})
	switch {
	case everywhere == nil && len(list.Items) > 0:
		return &list.Items[0], nil
	case apierrors.IsForbidden(err):
		return nil, tridentError(err, namespace) // the namespace it should be in is what matters
	case everywhere != nil && !apierrors.IsForbidden(everywhere):
		return nil, tridentError(everywhere, namespace)
	default:
		return nil, nil
	}
}

// tridentBackendOf finds the backend of a volume, in the volume's namespace.
func (r *Reconciler) tridentBackendOf(ctx context.Context, v trident.Volume) (*trident.Backend, *fact, error) {
	list := tridentList(trident.KindBackend)
	if err := r.Reader.List(ctx, list, client.InNamespace(v.Namespace)); err != nil {
		return nil, nil, tridentError(err, v.Namespace)
	}
	for i := range list.Items {
		if !trident.HasUUID(&list.Items[i], v.BackendUUID) {
			continue
		}
		b, unread := trident.ReadBackend(&list.Items[i])
		if unread != nil {
			return nil, gapOf(v1alpha1.ReasonBackendFailed, unread), nil
		}
		return &b, nil, nil
	}
	return nil, &fact{reason: v1alpha1.ReasonBackendFailed, message: fmt.Sprintf(
		"Trident has no backend with UUID %q in namespace %s, which TridentVolume %s names", v.BackendUUID, v.Namespace, v.Name)}, nil
}

func tridentList(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(trident.Kind(kind + "List"))
	return list
}

// tridentError makes what only the user can mend an error of the spec.
func tridentError(err error, namespace string) error {
	if reason, message := tridentTrouble(err, namespace); reason != "" {
		return invalid(reason, errors.New(message))
	}
	return fmt.Errorf("read Trident's objects in namespace %q: %w", namespace, err)
}
