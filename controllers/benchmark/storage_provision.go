package benchmark

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/pass"
	"github.com/nfsbench/nfsbench/internal/diagnose"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// provision makes the storage ready: the embedded server where it is asked
// for, that of Trident, and the volume of a kernel mount of an export.
func (r *Reconciler) provision(ctx context.Context, s *scope) (next, error) {
	s.stage = v1alpha1.PhaseProvisioning
	s.storage = &fact{Reason: v1alpha1.ReasonProvisioning}
	if !r.NoNetworkPolicies {
		for _, p := range manifest.NetworkPolicies(s.b, r.Images) { // before the first pod
			if err := r.ensure(ctx, s.b, p); err != nil {
				return next{}, err
			}
		}
	}
	if s.b.Spec.Storage.Embedded != nil {
		if n, err := r.provisionServer(ctx, s); err != nil || n.Stop {
			return n, err
		}
	}
	var steps []phase
	switch {
	case s.b.Spec.Storage.Trident != nil && s.b.Status.StartTime == nil:
		// Once the load runs, what becomes of the volume shows in the load's own errors.
		steps = []phase{r.tridentBackend, r.tridentClass, r.tridentClaim, r.tridentKeys}
	case s.b.Spec.Storage.Trident == nil && s.target.ClaimName == s.names.Claim && !hasSurvey(s.b):
		steps = []phase{r.provisionVolume} // else the array tells by which address
	}
	if n, err := pass.Run(ctx, s, steps); err != nil || n.Stop {
		return n, err
	}
	s.storage = &fact{OK: true, Reason: v1alpha1.ReasonProvisioned}
	return next{}, nil
}

// provisionServer runs the embedded server and learns its addresses.
func (r *Reconciler) provisionServer(ctx context.Context, s *scope) (next, error) {
	var addresses []string
	for _, svc := range manifest.PathServices(s.b) {
		if err := r.ensure(ctx, s.b, svc); err != nil {
			return next{}, err
		}
		if svc.Spec.ClusterIP == "" {
			return s.wait(v1alpha1.ReasonProvisioning, "waiting for the address of service "+svc.Name, soon)
		}
		addresses = append(addresses, svc.Spec.ClusterIP)
	}
	s.target.Addresses = addresses
	if err := choosePaths(s.b, s.target); err != nil {
		return next{}, err
	}
	s.target.Sources = []runfile.Source{{
		Kind: runfile.SourceEmbedded, Name: "embedded",
		URL: "http://" + net.JoinHostPort(addresses[0], strconv.Itoa(manifest.CountersPort)),
	}}
	if plan.NeedsVolume(s.b) {
		s.target.ClaimName, s.target.VolumeName = s.names.Claim, s.names.Volume
	}
	if s.b.Status.StartTime != nil {
		// Once the load runs, a server that fails shows in the load's own
		// errors; what it measured until then must not be lost.
		return next{}, nil
	}
	pod := manifest.ServerPod(s.b, r.Images)
	if err := r.ensure(ctx, s.b, pod); err != nil {
		return next{}, err
	}
	if slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	}) {
		return next{}, nil
	}
	t := diagnose.Pods([]corev1.Pod{*pod}, nil, s.now, r.Grace)
	switch {
	case t == nil:
		return s.wait(v1alpha1.ReasonProvisioning, "waiting for the embedded server to be ready", soon)
	case t.Fatal:
		s.storage = &fact{Reason: t.Reason, Message: t.Message}
		return s.fail(t.Reason, "the embedded NFS server does not run: "+t.Message)
	default:
		return s.wait(t.Reason, t.Message, soon)
	}
}

// provisionVolume brings an export into a PersistentVolume of our own.
func (r *Reconciler) provisionVolume(ctx context.Context, s *scope) (next, error) {
	pv := manifest.Volume(s.b, s.target.Paths[0].Path, s.target.Export)
	if err := r.ensure(ctx, s.b, pv); err != nil {
		if apierrors.IsForbidden(err) {
			without := "set spec.protocol.client to DirectNFS, or "
			if s.b.Spec.Database != nil { // it keeps its files on a volume, whoever carries its I/O
				without = "or "
			}
			return next{}, invalid(v1alpha1.ReasonForbidden, fmt.Errorf(
				"a kernel mount of an export needs a PersistentVolume, which the operator may not create: install it with "+
					"cluster scope, %sgive a claim: %w", without, err))
		}
		return next{}, err
	}
	pvc := manifest.Claim(s.b)
	if err := r.ensure(ctx, s.b, pvc); err != nil {
		return next{}, err
	}
	if pvc.Status.Phase != corev1.ClaimBound && s.b.Status.StartTime == nil {
		return s.wait(v1alpha1.ReasonProvisioning,
			fmt.Sprintf("waiting for claim %s to be bound to volume %s", pvc.Name, pv.Name), soon)
	}
	return next{}, nil
}

const (
	// tridentAnswers is how long Trident may leave a backend configuration
	// without a word. It validates one in seconds; where nobody reads it, it
	// stays as it was made.
	tridentAnswers = 2 * time.Minute
	// volumePatience is how long a volume may take, from its claim on. Trident
	// tries again after a failure, and some fix themselves.
	volumePatience = 5 * time.Minute
)

// storageWaits and storageFails set the condition of the storage and that of the run.
func (s *scope) storageWaits(reason, message string) (next, error) {
	s.storage = &fact{Reason: reason, Message: message}
	return s.wait(reason, message, soon)
}

func (s *scope) storageFails(reason, message string) (next, error) {
	s.storage = &fact{Reason: reason, Message: message}
	return s.fail(reason, message)
}

// tridentBackend makes the backend that the benchmark asks for, and waits until
// Trident has taken it.
func (r *Reconciler) tridentBackend(ctx context.Context, s *scope) (next, error) {
	name := s.b.Spec.Storage.Trident.BackendName
	if name == "" {
		return next{}, nil
	}
	backend, _ := s.policy.Backend(name) // it has one: admit has looked
	config := manifest.TridentBackendConfig(s.b, r.TridentNamespace, backend.BackendSpec)
	where := config.GetNamespace() + "/" + config.GetName()
	if err := r.ensure(ctx, s.b, config); err != nil {
		if reason, message := tridentTrouble(err, config.GetNamespace()); reason != "" {
			return s.storageFails(reason, message)
		}
		return next{}, err
	}
	c, err := trident.ReadBackendConfig(config)
	age := s.now.Sub(config.GetCreationTimestamp().Time)
	switch {
	case err != nil:
		return s.storageFails(v1alpha1.ReasonBackendFailed, err.Error())
	case c.IsReady():
		return next{}, nil
	case c.IsFailed():
		return s.storageFails(v1alpha1.ReasonBackendFailed, fmt.Sprintf(
			"Trident refuses TridentBackendConfig %s: %s: ask an administrator to correct backend %s in policy.backends of the "+
				"chart, or its Secret in namespace %s", where, c.Message, name, config.GetNamespace()))
	case config.GetDeletionTimestamp() != nil || c.Phase == trident.PhaseDeleting:
		return s.storageFails(v1alpha1.ReasonBackendFailed, fmt.Sprintf("somebody deletes TridentBackendConfig %s", where))
	case c.Phase == "" && age > tridentAnswers:
		return s.storageFails(v1alpha1.ReasonTridentMissing, fmt.Sprintf(
			"Trident has not answered to TridentBackendConfig %s for %s: it reads its own namespace only, so see kubectl -n "+
				"%s get pods -l app=controller.csi.trident.netapp.io, and correct trident.namespace of the chart",
			where, age.Round(time.Second), config.GetNamespace()))
	case age > volumePatience:
		return s.storageFails(v1alpha1.ReasonBackendFailed,
			fmt.Sprintf("TridentBackendConfig %s is %s after %s: %s", where, c.Phase, age.Round(time.Second), c.Message))
	default:
		return s.storageWaits(v1alpha1.ReasonProvisioning,
			fmt.Sprintf("waiting for Trident to bind TridentBackendConfig %s", where))
	}
}

// tridentTrouble explains why Trident's objects cannot be had; "" where trying
// again may help.
func tridentTrouble(err error, namespace string) (reason, message string) {
	switch {
	case meta.IsNoMatchError(err):
		return v1alpha1.ReasonTridentMissing, "NetApp Trident is not installed in this cluster, its " +
			"CustomResourceDefinitions (trident.netapp.io/v1) are missing: install it, or use spec.storage.export or " +
			"spec.storage.claim"
	case apierrors.IsNotFound(err):
		return v1alpha1.ReasonTridentMissing, fmt.Sprintf("there is no namespace %q: set trident.namespace of the "+
			"chart to the one that Trident runs in", namespace)
	case apierrors.IsForbidden(err):
		return v1alpha1.ReasonForbidden, fmt.Sprintf(
			"the operator may not use Trident's objects in namespace %q: install it with trident.enabled and "+
				"trident.namespace: %v", namespace, err)
	default:
		return "", ""
	}
}

// tridentClass makes the class of our own backend, or looks at the user's.
func (r *Reconciler) tridentClass(ctx context.Context, s *scope) (next, error) {
	if name := s.b.Spec.Storage.Trident.BackendName; name != "" {
		backend, _ := s.policy.Backend(name)
		err := r.ensure(ctx, s.b, manifest.TridentClass(s.b, backend.BackendSpec))
		if apierrors.IsForbidden(err) {
			return s.storageFails(v1alpha1.ReasonForbidden, fmt.Sprintf(
				"a Trident backend needs a StorageClass, which the operator may not create: install it with cluster scope and "+
					"trident.enabled, or give a claim in spec.storage.claim: %v", err))
		}
		return next{}, err
	}
	name := s.b.Spec.Storage.Trident.StorageClassName
	class := &storagev1.StorageClass{}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, class)
	switch {
	case apierrors.IsNotFound(err):
		return s.storageFails(v1alpha1.ReasonClassNotFound, fmt.Sprintf(
			"there is no StorageClass %q: create it, or correct spec.storage.trident.storageClassName (kubectl get "+
				"storageclass)", name))
	case apierrors.IsForbidden(err):
		return s.storageFails(v1alpha1.ReasonForbidden, fmt.Sprintf(
			"the operator may not read StorageClass %q: install it with cluster scope and trident.enabled, or give a claim "+
				"in spec.storage.claim: %v", name, err))
	case err != nil:
		return next{}, fmt.Errorf("read class %q: %w", name, err)
	}
	if reason, message := classProblem(s.b, class); reason != "" {
		return s.storageFails(reason, message)
	}
	return next{}, nil
}

// classProblem says why a class that exists cannot serve the benchmark.
func classProblem(b *v1alpha1.NFSBenchmark, class *storagev1.StorageClass) (reason, message string) {
	if class.Provisioner != trident.Driver {
		return v1alpha1.ReasonClassNotTrident, fmt.Sprintf(
			"StorageClass %q has provisioner %s and not %s: name a class of Trident, or make a claim of this one and use "+
				"spec.storage.claim", class.Name, class.Provisioner, trident.Driver)
	}
	// There are two ways to write a parameter.
	backend := cmp.Or(class.Parameters["backendType"], class.Parameters[trident.AnnotationPrefix+"backendType"])
	if refused := trident.Refusal(backend); refused != "" {
		return v1alpha1.ReasonDriverRefused, fmt.Sprintf("StorageClass %q: %s", class.Name, refused)
	}
	if m := class.VolumeBindingMode; m != nil && *m == storagev1.VolumeBindingWaitForFirstConsumer {
		return v1alpha1.ReasonInvalidSpec, fmt.Sprintf(
			"StorageClass %q binds late (WaitForFirstConsumer), but the export must be known before the first pod: name a "+
				"class with volumeBindingMode: Immediate, or give spec.storage.trident.backendName", class.Name)
	}
	if !plan.MountDecides(b.Spec.Protocol) {
		return "", "" // a user-space client names its version itself, and the volume's mount carries nothing
	}
	want, have := trident.NFSVersion(plan.MountOptions(b.Spec.Protocol)), trident.NFSVersion(class.MountOptions)
	if have == "" {
		return v1alpha1.ReasonInvalidSpec, fmt.Sprintf(
			"StorageClass %q leaves the version of NFS to be negotiated: add nfsvers=%s to its mountOptions (a copy of the "+
				"class, since they cannot be changed), or give spec.storage.trident.backendName", class.Name, want)
	}
	if have != want {
		return v1alpha1.ReasonInvalidSpec, fmt.Sprintf(
			"StorageClass %q mounts with nfsvers=%s, but spec.protocol.version %s means nfsvers=%s: name another class, or "+
				"correct the version", class.Name, have, b.Spec.Protocol.Version, want)
	}
	return "", ""
}

// tridentClaim makes the claim, waits for its volume and follows it to the
// array's side.
func (r *Reconciler) tridentClaim(ctx context.Context, s *scope) (next, error) {
	pvc := manifest.TridentClaim(s.b)
	if err := r.ensure(ctx, s.b, pvc); err != nil {
		return next{}, err
	}
	late := s.now.Sub(pvc.CreationTimestamp.Time) > volumePatience
	if pvc.Status.Phase != corev1.ClaimBound {
		reason, message := v1alpha1.ReasonProvisioning,
			fmt.Sprintf("waiting for Trident to make the volume of claim %s", pvc.Name)
		said, err := r.lastWarning(ctx, pvc.Namespace, "PersistentVolumeClaim", pvc.Name, pvc.UID)
		if err != nil {
			return next{}, err
		}
		if said != "" {
			reason, message = v1alpha1.ReasonProvisioningFailed, fmt.Sprintf("Trident makes no volume for claim %s: %s",
				pvc.Name, said)
		}
		if late {
			return s.storageFails(v1alpha1.ReasonProvisioningFailed,
				fmt.Sprintf("claim %s is not bound after %s: %s: see kubectl -n %s describe pvc %s", pvc.Name, volumePatience,
					message, pvc.Namespace, pvc.Name))
		}
		return s.storageWaits(reason, message)
	}
	s.target.VolumeName = pvc.Spec.VolumeName
	pv := &corev1.PersistentVolume{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: pvc.Spec.VolumeName}, pv); err != nil {
		if apierrors.IsForbidden(err) {
			return s.storageFails(v1alpha1.ReasonForbidden,
				fmt.Sprintf("the operator may not read PersistentVolume %q: install it with cluster scope: %v",
					pvc.Spec.VolumeName, err))
		}
		return next{}, fmt.Errorf("read volume %q: %w", pvc.Spec.VolumeName, err)
	}
	gap, err := r.followTrident(ctx, s, pv, r.TridentNamespace)
	switch {
	case err != nil:
		return next{}, err
	case gap == nil:
		return next{}, choosePaths(s.b, s.target)
	case late:
		return s.storageFails(gap.Reason, gap.Message)
	default:
		return s.storageWaits(gap.Reason, gap.Message)
	}
}

// tridentKeys takes the target once more, now that the address is known: a run
// on an export of the same address must not meet this one.
func (r *Reconciler) tridentKeys(ctx context.Context, s *scope) (next, error) {
	stage, place, before := s.stage, s.place, s.target.Keys
	keys := append(slices.Clone(before), svmKeys(s.target.Backend)...)
	keys = append(keys, plan.ServerKeys(s.target.Addresses)...)
	slices.Sort(keys)
	s.target.Keys = slices.Compact(keys)
	n, err := r.takeTarget(ctx, s, before)
	if err != nil || n.Stop {
		return n, err
	}
	s.stage, s.place = stage, place
	return next{}, nil
}

// lastWarning is what was last said against an object; "" where nothing was,
// or where it may not be read.
func (r *Reconciler) lastWarning(ctx context.Context, namespace, kind, name string, uid types.UID) (string, error) {
	list := &corev1.EventList{}
	err := r.Reader.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{
		"involvedObject.kind": kind, "involvedObject.name": name, "type": corev1.EventTypeWarning,
	})
	if apierrors.IsForbidden(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list the events of %s %q: %w", kind, name, err)
	}
	// Events of an earlier object of that name do not count.
	said := slices.DeleteFunc(list.Items, func(e corev1.Event) bool {
		return e.InvolvedObject.UID != "" && e.InvolvedObject.UID != uid
	})
	if len(said) == 0 {
		return "", nil
	}
	last := slices.MaxFunc(said, func(a, b corev1.Event) int { return saidAt(a).Compare(saidAt(b)) })
	return last.Reason + ": " + strings.TrimSpace(last.Message), nil
}

// saidAt is when an event was last told, of which there are three records.
func saidAt(e corev1.Event) time.Time {
	records := []time.Time{e.LastTimestamp.Time, e.EventTime.Time, e.CreationTimestamp.Time}
	if e.Series != nil {
		records = append(records, e.Series.LastObservedTime.Time)
	}
	return slices.MaxFunc(records, time.Time.Compare)
}
