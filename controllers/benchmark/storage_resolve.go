package benchmark

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/api/bench"
	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/controllers/owned"
	"github.com/nfsbench/nfsbench/internal/manifest"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/preflight"
	"github.com/nfsbench/nfsbench/internal/runfile"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// resolve finds the storage of the run.
func (r *Reconciler) resolve(ctx context.Context, s *scope) (next, error) {
	switch st := s.b.Spec.Storage; {
	case st.Export != nil:
		t, err := exportTarget(s.b)
		s.target = t
		return next{}, err
	case s.b.Status.StartTime != nil && plan.IsForeign(s.b):
		// The load follows its plan. If the volume changes meanwhile, the load reports errors.
		s.target = &plan.Target{Keys: plan.KnownKeys(s.b), ClaimName: claimOf(s.b)}
		if rs := s.b.Status.Resolved; rs != nil {
			s.target.Paths, s.target.VolumeName, s.target.Export = rs.Paths, rs.VolumeName, rs.Export
		}
		return next{}, nil
	case st.Claim != nil:
		return r.resolveClaim(ctx, s)
	case st.Trident != nil:
		// The address is known only after provisioning. Leave out the address of an earlier pass: no run may hold an address
		// while it waits for the array behind it.
		s.target = &plan.Target{Keys: append(plan.DeclaredKeys(s.b), plan.TridentKey(st.Trident)), ClaimName: claimOf(s.b)}
		if b, is := s.policy.Backend(st.Trident.BackendName); is {
			s.target.Keys = append(s.target.Keys, plan.SVMKey(b.ManagementLIF, b.SVM))
		}
		return next{}, nil
	case st.StorageClass != nil:
		s.target = &plan.Target{
			Keys: append(plan.DeclaredKeys(s.b), plan.ClassKey(st.StorageClass.Name)), ClaimName: claimOf(s.b),
		}
		return next{}, nil
	default:
		// The addresses of an embedded server exist only after provisioning.
		s.target = &plan.Target{
			Export: manifest.ServerExport,
			Keys:   append(plan.DeclaredKeys(s.b), "embedded/"+s.b.Namespace+"/"+s.b.Name),
		}
		return next{}, nil
	}
}

func exportTarget(b *v1alpha1.NFSBenchmark) (*plan.Target, error) {
	e := b.Spec.Storage.Export
	t := &plan.Target{
		Export: e.Path, Addresses: e.Servers, Keys: append(plan.DeclaredKeys(b), plan.ServerKeys(e.Servers)...),
	}
	if plan.NeedsVolume(b) {
		t.ClaimName, t.VolumeName = manifest.NamesOf(b).Claim, manifest.NamesOf(b).Volume
	}
	return t, choosePaths(b, t)
}

// choosePaths selects the paths in use from the addresses of a target. If an array may know more addresses, the paths
// are chosen after the survey.
//
// An existing volume, and one of a class or of Trident, itself names the address that the kernel mounts.
func choosePaths(b *v1alpha1.NFSBenchmark, t *plan.Target) error {
	if plan.MountDecides(b.Spec.Protocol) && plan.IsForeign(b) {
		if len(t.Addresses) > 0 {
			t.Paths = []bench.ResolvedPath{{Path: t.Addresses[0]}}
		}
		return nil
	}
	if plan.HasSurvey(b) && t.Survey == nil {
		return nil
	}
	paths, err := plan.SelectPaths(b.Spec, t.Addresses, t.Survey)
	if err != nil {
		return invalid(v1alpha1.ReasonNoPath, "%w", err)
	}
	t.Paths = paths
	return nil
}

func (r *Reconciler) resolveClaim(ctx context.Context, s *scope) (next, error) {
	name := s.b.Spec.Storage.Claim.Name
	// Claims of users do not carry our labels, so the cache does not hold them.
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: s.meta(name)}
	found, err := owned.Find(ctx, r.Reader, pvc)
	if err != nil {
		return next{}, err
	}
	if !found {
		missing := noClaim(s.b)
		return s.wait(missing.Reason, missing.Message, soon)
	}
	t := &plan.Target{ClaimName: claimOf(s.b), VolumeName: pvc.Spec.VolumeName}
	t.Keys = append(plan.DeclaredKeys(s.b), "claim/"+s.b.Namespace+"/"+name)
	if t.ClaimName != "" && s.b.Spec.Protocol.Client == bench.ClientKernel && !plan.HasSurvey(s.b) {
		// A class with late binding binds only when a pod mounts the claim.
		if pvc.Status.Phase == corev1.ClaimBound {
			keys, err := r.volumeKeys(ctx, t.VolumeName)
			if err != nil {
				return next{}, err
			}
			t.Keys = append(t.Keys, keys...)
		}
		s.target = t
		return next{}, nil
	}
	if pvc.Status.Phase != corev1.ClaimBound {
		return r.awaitClaim(ctx, s, pvc)
	}
	s.target = t
	n, err := r.resolveVolume(ctx, s)
	if err != nil || n.Stop {
		s.target = nil
	}
	return n, err
}

// volumeKeys returns the keys of a volume that the kernel mounts: two claims, or a claim and an export, may be the same
// files. It returns nil if the operator may not read volumes.
func (r *Reconciler) volumeKeys(ctx context.Context, name string) ([]string, error) {
	pv := &corev1.PersistentVolume{}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: name}, pv)
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read volume %q: %w", name, err)
	}
	if server, _, ok := plan.ExportOfVolume(pv); ok {
		return plan.ServerKeys([]string{server}), nil
	}
	if pv.Spec.CSI != nil {
		return []string{volumeKey(pv.Spec.CSI)}, nil
	}
	return nil, nil
}

func volumeKey(v *corev1.CSIPersistentVolumeSource) string {
	return "volume/" + v.Driver + "/" + v.VolumeHandle
}

// resolveVolume reads the export behind a volume.
func (r *Reconciler) resolveVolume(ctx context.Context, s *scope) (next, error) {
	t, pv := s.target, &corev1.PersistentVolume{}
	err := r.Reader.Get(ctx, client.ObjectKey{Name: t.VolumeName}, pv)
	if apierrors.IsForbidden(err) {
		return next{}, invalid(v1alpha1.ReasonForbidden, "the operator may not read PersistentVolume %q: install it with "+
			"cluster scope, or name the export in spec.storage.export: %w", t.VolumeName, err)
	}
	if err != nil {
		return next{}, fmt.Errorf("read volume %q: %w", t.VolumeName, err)
	}
	server, export, ok := plan.ExportOfVolume(pv)
	switch {
	case ok:
		t.Export, t.Addresses = export, []string{server}
	case s.b.Spec.Storage.StorageClass != nil && pv.Spec.CSI != nil && plan.MountDecides(s.b.Spec.Protocol) &&
		!plan.HasSurvey(s.b): // the mount will show the server and whether it is NFS
		t.Keys = append(t.Keys, volumeKey(pv.Spec.CSI))
		return next{}, nil
	case isTrident(pv):
		if gap, err := r.followTrident(ctx, s, pv, r.TridentNamespace); err != nil {
			return next{}, err
		} else if gap != nil {
			return s.awaitGap(gap, pv)
		}
		t.Keys = append(t.Keys, plan.SVMKeys(t.Backend)...)
	default:
		return r.lookInside(ctx, s, pv)
	}
	t.Keys = append(t.Keys, plan.ServerKeys(t.Addresses)...)
	return next{}, volumePaths(s.b, t)
}

// isTrident reports whether Trident made the volume.
func isTrident(pv *corev1.PersistentVolume) bool {
	return pv.Spec.CSI != nil && pv.Spec.CSI.Driver == trident.Driver
}

// followTrident finds the export of a PersistentVolume in Trident's own objects, and fills the target. It returns a
// fact for a value that is missing and may still come, and an error for one that only the user can correct.
//
// It uses the current address of the backend, because Trident mounts that one; the address that the volume recorded at
// its creation is only a hint.
func (r *Reconciler) followTrident(ctx context.Context, s *scope, pv *corev1.PersistentVolume,
	namespace string,
) (*fact, error) {
	if !isTrident(pv) {
		return nil, invalid(runfile.FailureNotNFS, "PersistentVolume %q is not of driver %s", pv.Name, trident.Driver)
	}
	u, err := r.tridentVolume(ctx, pv.Spec.CSI.VolumeHandle, namespace)
	if err != nil {
		return nil, err
	}
	if u == nil {
		return &fact{Reason: runfile.SurveyNoVolume, Message: fmt.Sprintf(
			"Trident has no TridentVolume %q in namespace %s: does it run in another (kubectl get tridentversions -A)?",
			pv.Spec.CSI.VolumeHandle, namespace)}, nil
	}
	v, unread := trident.ReadVolume(u)
	if refused := v.BlockRefusal(); refused != "" {
		return nil, invalid(v1alpha1.ReasonDriverRefused, "%s", refused)
	}
	b, gap, err := r.tridentBackendOf(ctx, v)
	switch {
	case err != nil:
		return nil, err
	case b != nil && trident.Refusal(b.Driver) != "":
		return nil, invalid(v1alpha1.ReasonDriverRefused, "PersistentVolume %q: %s", pv.Name, trident.Refusal(b.Driver))
	case unread != nil:
		return gapOf(runfile.FailureNotNFS, unread), nil
	case gap != nil:
		return gap, nil
	}
	for _, state := range []interface{ IsUsable() (bool, string) }{v, b} {
		if ok, why := state.IsUsable(); !ok {
			return &fact{Reason: v1alpha1.ReasonBackendFailed, Message: why}, nil
		}
	}
	address := cmp.Or(b.DataLIF, v.NFSServer)
	if address == "" {
		return &fact{Reason: runfile.FailureNotNFS, Message: fmt.Sprintf(
			"Trident names no address for volume %s: its backend %s has no dataLIF, and TridentVolume %s/%s no "+
				"config.accessInformation.nfsServerIp: set dataLIF", v.Name, b.Name, v.Namespace, v.Name)}, nil
	}
	if err := unfit(s.b, pv, v, *b); err != nil {
		return nil, err
	}
	s.storage = &fact{OK: true, Reason: v1alpha1.ReasonProvisioned} // so that the next wait starts anew
	s.attachedOnly = v.AttachedOnly(*b)
	t := s.target
	t.Export, t.Addresses, t.VolumeName = v.NFSPath, []string{address}, v.Name
	t.Backend = &plan.Backend{
		Name: b.Name, Driver: b.Driver, ManagementLIF: b.ManagementLIF, SVM: b.SVM, DataLIF: address,
		Volume: v.InternalName, Pool: v.Pool,
	}
	return nil, nil
}

// unfit explains why an existing volume cannot serve the benchmark.
func unfit(b *v1alpha1.NFSBenchmark, pv *corev1.PersistentVolume, v trident.Volume, backend trident.Backend) error {
	if v.AttachedOnly(backend) && !plan.NeedsVolume(b) {
		return invalid(preflight.ExportPolicyDenies, "the backend of volume %s has autoExportPolicy: %s use a backend with "+
			"an exportPolicy that admits the clients, and autoExportPolicy: false", v.InternalName, attachedOnly)
	}
	if err := checkPlacement(b.Spec.Storage.Trident, backend.Unplaceable); err != nil {
		return err
	}
	if b.Spec.Storage.Claim != nil || len(pv.Spec.MountOptions) > 0 { // with these, its class was checked
		return nil
	}
	return checkVersion(b, pv.Spec.StorageClassName, []string{v.MountOptions})
}

// gapOf returns the fact for a value that an object of Trident does not have yet.
func gapOf(reason string, unread error) *fact { return &fact{Reason: reason, Message: unread.Error()} }

// tridentVolume returns the TridentVolume of that name: from the namespace of Trident, or from any namespace if the
// operator may list them. It returns nil if there is none.
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
		return nil, tridentError(err, namespace) // report the error of the expected namespace
	case everywhere != nil && !apierrors.IsForbidden(everywhere):
		return nil, tridentError(everywhere, namespace)
	default:
		return nil, nil
	}
}

// tridentBackendOf finds the backend of a volume, in the volume's namespace.
func (r *Reconciler) tridentBackendOf(ctx context.Context, v trident.Volume) (*trident.Backend, *fact, error) {
	u, err := r.findBackend(ctx, v.Namespace, func(_, uuid string) bool { return uuid != "" && uuid == v.BackendUUID })
	switch {
	case err != nil:
		return nil, nil, err
	case u == nil:
		return nil, &fact{Reason: v1alpha1.ReasonBackendFailed, Message: fmt.Sprintf(
			"Trident has no backend with UUID %q in namespace %s, which TridentVolume %s names", v.BackendUUID, v.Namespace,
			v.Name)}, nil
	}
	b, unread := trident.ReadBackend(u)
	if unread != nil {
		return nil, gapOf(v1alpha1.ReasonBackendFailed, unread), nil
	}
	return &b, nil, nil
}

// findBackend returns the TridentBackend with a matching name or UUID; nil if there is none.
func (r *Reconciler) findBackend(
	ctx context.Context, namespace string, is func(name, uuid string) bool,
) (*unstructured.Unstructured, error) {
	list := tridentList(trident.KindBackend)
	if err := r.Reader.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, tridentError(err, namespace)
	}
	i := slices.IndexFunc(list.Items, func(u unstructured.Unstructured) bool { return is(trident.BackendNames(&u)) })
	if i < 0 {
		return nil, nil
	}
	return &list.Items[i], nil
}

func tridentList(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(trident.Kind(kind + "List"))
	return list
}

// tridentError explains why Trident's objects cannot be used. A problem that only the user can fix becomes an error of
// the spec.
func tridentError(err error, namespace string) error {
	switch {
	case meta.IsNoMatchError(err):
		return invalid(v1alpha1.ReasonTridentMissing, "NetApp Trident is not installed in this cluster, its "+
			"CustomResourceDefinitions (trident.netapp.io/v1) are missing: install it, or use spec.storage.export or "+
			"spec.storage.claim")
	case apierrors.IsNotFound(err):
		return invalid(v1alpha1.ReasonTridentMissing, "there is no namespace %q: set trident.namespace of the chart to the "+
			"one that Trident runs in", namespace)
	case apierrors.IsForbidden(err):
		return invalid(v1alpha1.ReasonForbidden, "the operator may not use Trident's objects in namespace %q: install it "+
			"with trident.enabled and trident.namespace: %w", namespace, err)
	default:
		return fmt.Errorf("use Trident's objects in namespace %q: %w", namespace, err)
	}
}
