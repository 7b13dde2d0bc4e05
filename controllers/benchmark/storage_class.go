package benchmark

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/human"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// classAdvice is for an operator that may not read classes.
const classAdvice = "install it with cluster scope, or make a claim of the class and name it in spec.storage.claim"

// classClaim makes a claim of the class, waits until it is bound, and reads the export of its
// volume.
func (r *Reconciler) classClaim(ctx context.Context, s *scope) (next, error) {
	class, err := r.readClass(ctx, s, classAdvice)
	if err == nil {
		err = checkClass(s.b, class)
	}
	if err != nil {
		return next{}, err
	}
	pvc := manifest.ClassClaim(s.b)
	if err := r.ensureClaim(ctx, s, pvc); err != nil {
		return next{}, err
	}
	if class.Provisioner == trident.Driver {
		s.target.VolumeName = trident.VolumeName(pvc.UID) // recorded as for storage.trident
	}
	if pvc.Status.Phase != corev1.ClaimBound {
		return r.awaitClass(ctx, s, class, pvc)
	}
	s.target.VolumeName = pvc.Spec.VolumeName
	n, err := r.resolveVolume(ctx, s)
	if bad := (*pass.Invalid)(nil); errors.As(err, &bad) {
		return next{}, invalid(bad.Reason, "StorageClass %q: %w", class.Name, err)
	}
	if err != nil || n.Stop {
		return n, err
	}
	// The pod that mounts the claim may never start on a node without an NFS client.
	_, err = r.DeleteOurs(ctx, s.b, &batchv1.Job{ObjectMeta: s.meta(s.names.Mount)})
	return next{}, err
}

// readClass reads the StorageClass that the spec names. The error for an operator that may not read classes contains
// the advice.
func (r *Reconciler) readClass(ctx context.Context, s *scope, advice string) (*storagev1.StorageClass, error) {
	class := &storagev1.StorageClass{}
	field, name := plan.ClassOf(s.b.Spec.Storage)
	err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, class)
	switch {
	case apierrors.IsNotFound(err):
		return nil, invalid(v1alpha1.ReasonClassNotFound,
			"there is no StorageClass %q (%s): create it, or correct %s", name, otherClasses(s, name), field)
	case apierrors.IsForbidden(err):
		return nil, invalid(v1alpha1.ReasonForbidden, "the operator may not read StorageClass %q: %s: %w", name, advice, err)
	case err != nil:
		return nil, fmt.Errorf("read class %q: %w", name, err)
	case class.Labels[manifest.LabelManagedBy] == manifest.ManagedBy:
		return nil, invalid(v1alpha1.ReasonPolicyDenied, "StorageClass %q is for the volume of another benchmark only: "+
			"correct %s (kubectl get storageclass)", name, field)
	}
	return class, nil
}

// otherClasses says which class somebody may have meant, of those that the policy allows in the namespace: not
// everybody may list the others.
func otherClasses(s *scope, name string) string {
	names := slices.DeleteFunc(s.policy.ClassesOf(s.b.Namespace), func(n string) bool { return n == name })
	if len(names) == 0 || slices.Contains(names, "*") {
		return "see kubectl get storageclass"
	}
	return human.Others(name, names)
}

func bindsLate(class *storagev1.StorageClass) bool {
	m := class.VolumeBindingMode
	return m != nil && *m == storagev1.VolumeBindingWaitForFirstConsumer
}

// checkClass refuses a class that the benchmark cannot use.
func checkClass(b *v1alpha1.NFSBenchmark, class *storagev1.StorageClass) error {
	if p := class.ReclaimPolicy; p != nil && *p == corev1.PersistentVolumeReclaimRetain {
		return invalid(v1alpha1.ReasonInvalidSpec, "StorageClass %q has reclaimPolicy Retain, and the volume of each run "+
			"would stay on the storage: name a class with reclaimPolicy Delete, or make a claim and name it in "+
			"spec.storage.claim", class.Name)
	}
	return checkVersion(b, class.Name, class.MountOptions)
}

// awaitClass waits for the volume of a claim. A class that binds late gets a pod that mounts it.
func (r *Reconciler) awaitClass(
	ctx context.Context, s *scope, class *storagev1.StorageClass, pvc *corev1.PersistentVolumeClaim,
) (next, error) {
	consumer := ""
	if bindsLate(class) {
		_, trouble, err := r.mountPod(ctx, s, pvc.Name)
		if err != nil {
			return next{}, err
		}
		consumer = ", for a pod that mounts it as its first consumer" + trouble
	}
	if class.Provisioner == trident.Driver {
		return r.awaitVolume(ctx, s, pvc, consumer)
	}
	told, err := r.eventsOf(ctx, pvc.Namespace, "PersistentVolumeClaim", pvc.Name, pvc.UID)
	if err != nil {
		return next{}, err
	}
	reason := v1alpha1.ReasonProvisioning
	message := fmt.Sprintf("waiting for %s to make the volume of claim %s%s%s", class.Provisioner, pvc.Name, consumer,
		unserved(class.Name, told, s.now))
	if said := lastWarning(told); said != "" {
		reason, message = v1alpha1.ReasonProvisioningFailed, fmt.Sprintf("%s makes no volume for claim %s: %s",
			class.Provisioner, pvc.Name, pass.ClipTo(said, maxSaid))
	}
	end := s.answered(pvc.CreationTimestamp.Time, false).Add(volumePatience)
	if s.now.After(end) {
		return next{}, invalid(v1alpha1.ReasonProvisioningFailed, "claim %s is not bound after %s: %s", pvc.Name,
			volumePatience, message)
	}
	return s.storageWaits(reason, message+"; the run waits until "+until(end))
}

// unserved is the end of a message about a claim of which no provisioner has said anything, or is "". It is a hint and
// ends no run, because a provisioner may start later. A missing CSIDriver proves nothing: an external provisioner has
// none.
func unserved(class string, told []corev1.Event, now time.Time) string {
	asked := slices.IndexFunc(told, func(e corev1.Event) bool { return e.Reason == provisionerAsked })
	if asked < 0 || now.Sub(told[asked].CreationTimestamp.Time) < provisionerPatience {
		return ""
	}
	by := told[asked].Source.Component
	if slices.ContainsFunc(told, func(e corev1.Event) bool { return e.Source.Component != by }) {
		return ""
	}
	return fmt.Sprintf("; the provisioner has sent no event about the claim yet: ask an administrator whether the "+
		"provisioner of StorageClass %q is installed and runs, or name another class", class)
}

const (
	// provisionerAsked is the reason of the event with which Kubernetes hands a claim to its provisioner.
	provisionerAsked = "ExternalProvisioning"
	// provisionerPatience is the time for the first event of a provisioner about a claim. It sends it when it begins.
	provisionerPatience = 10 * time.Second
)

// maxSaid bounds the quoted message of a provisioner, in bytes.
const maxSaid = 600

// removeClassVolume waits until the volume of a deleted claim is gone, so that nothing of the run stays on the storage.
// It reports a volume that stays.
func (r *Reconciler) removeClassVolume(ctx context.Context, s *scope) (next, error) {
	if s.b.Spec.Storage.StorageClass == nil || s.b.Status.Resolved == nil || s.b.Status.Resolved.VolumeName == "" ||
		s.cleanup != nil && s.cleanup.Reason == v1alpha1.ReasonLeftBehind {
		return next{}, nil
	}
	pv := &corev1.PersistentVolume{}
	pv.Name = s.b.Status.Resolved.VolumeName
	found, err := owned.Find(ctx, r.Reader, pv)
	claim := pv.Spec.ClaimRef
	if apierrors.IsForbidden(err) || err == nil && !found {
		return r.removeInterrupted(ctx, s, pv.Name)
	}
	if err == nil && (claim == nil || claim.Namespace != s.b.Namespace || claim.Name != s.names.Claim) {
		return next{}, nil
	}
	if err != nil {
		return next{}, err
	}
	released := s.now
	if t := pv.Status.LastPhaseTransitionTime; t != nil && pv.Status.Phase != corev1.VolumeBound {
		released = later(t.Time, endedAt(s.b))
	}
	if s.now.Sub(released) < deletePatience {
		return s.wait(v1alpha1.ReasonCleaningUp, fmt.Sprintf("waiting for PersistentVolume %s to go", pv.Name), 2*time.Second)
	}
	return s.reportLeftover(fmt.Sprintf(
		"PersistentVolume %s is %s and was not removed within %s: %s; see kubectl describe pv %s",
		pv.Name, pv.Status.Phase, deletePatience, pv.Status.Message, pv.Name))
}

// removeInterrupted reports a TridentVolume without a PersistentVolume, which nothing deletes.
func (r *Reconciler) removeInterrupted(ctx context.Context, s *scope, volume string) (next, error) {
	left, err := r.tridentVolumeLeft(ctx, s, volume)
	if err != nil || left == nil {
		return next{}, err
	}
	if s.now.Sub(later(left.since, endedAt(s.b))) < deletePatience {
		return s.wait(v1alpha1.ReasonCleaningUp, "waiting for "+left.what, soon)
	}
	return s.reportLeftover("still there: " + left.what)
}
