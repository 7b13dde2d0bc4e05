package trident

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/trident"
)

const storagePrefix = "trident_"

// provisionerFinalizer is that of the CSI provisioner, which runs beside Trident.
const provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"

// selectedNode is what the scheduler writes on a claim that binds late.
const selectedNode = "volume.kubernetes.io/selected-node"

// stepCalls begins to make volumes for claims: the CSI provisioner, which asks Trident.
func (c *Controller) stepCalls(ctx context.Context) (string, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	err := c.Client.List(ctx, claims, client.InNamespace(c.Claims))
	return firstStep(ctx, claims.Items, err, c.stepClaim)
}

func (c *Controller) stepClaim(ctx context.Context, pvc *corev1.PersistentVolumeClaim) (string, error) {
	if pvc.DeletionTimestamp != nil || pvc.Status.Phase == corev1.ClaimBound || ptr.Deref(pvc.Spec.StorageClassName, "") == "" ||
		c.underWay[pvc.UID] != nil {
		return "", nil
	}
	class, err := c.classOf(ctx, pvc)
	if err != nil || class == nil {
		return "", err
	}
	pv := &corev1.PersistentVolume{}
	err = c.Client.Get(ctx, client.ObjectKey{Name: volumeName(pvc)}, pv)
	switch {
	case err == nil:
		return c.bind(ctx, pvc, pv)
	case !apierrors.IsNotFound(err):
		return "", err
	}
	late := ptr.Deref(class.VolumeBindingMode, "") == storagev1.VolumeBindingWaitForFirstConsumer
	if late && pvc.Annotations[selectedNode] == "" {
		return "", nil
	}
	backends, err := c.list(ctx, trident.KindBackend)
	if err != nil || len(backends) == 0 { // of another test's Trident
		return "", err
	}
	if c.worksOn == nil || c.Concurrent { // a call that waits for the lock learns of no problem
		if problem := c.problem(backends, class); problem != "" {
			return c.fails(ctx, pvc, class, problem, nil)
		}
	}
	c.underWay[pvc.UID] = pvc.DeepCopy()
	_, err = c.tell(ctx, pvc, "PersistentVolumeClaim", corev1.EventTypeNormal, "Provisioning",
		fmt.Sprintf("External provisioner is provisioning volume for claim %q", pvc.Namespace+"/"+pvc.Name))
	return "the provisioner asks Trident for the volume of " + pvc.Name, err
}

func volumeName(pvc *corev1.PersistentVolumeClaim) string { return "pvc-" + string(pvc.UID) }

// classOf is the class of a claim; nil where it is not there, or not one of Trident's.
func (c *Controller) classOf(ctx context.Context, pvc *corev1.PersistentVolumeClaim) (*storagev1.StorageClass, error) {
	class := &storagev1.StorageClass{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: *pvc.Spec.StorageClassName}, class)
	if apierrors.IsNotFound(err) || err == nil && class.Provisioner != trident.Driver {
		return nil, nil //nolint:nilnil // there is none
	}
	return class, err
}

// problem is what keeps Trident from making a volume of a class; "" where nothing does.
func (c *Controller) problem(backends []unstructured.Unstructured, class *storagev1.StorageClass) string {
	if backend, _ := c.place(backends, class); backend == nil {
		return "no available backends for storage class " + class.Name
	}
	return c.fault().Provisioning
}

// fails says once why a claim gets no volume.
func (c *Controller) fails(
	ctx context.Context, pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, problem string, err error,
) (string, error) {
	if err != nil {
		return "", err
	}
	said, err := c.warn(ctx, pvc, "PersistentVolumeClaim", "ProvisioningFailed",
		fmt.Sprintf("failed to provision volume with StorageClass %q: ", class.Name)+"rpc error: code = Unknown desc = "+problem)
	if err != nil || !said {
		return "", err
	}
	return "Trident makes no volume for " + pvc.Name, nil
}

// stepUnderWay goes on with the volumes that the provisioner has asked for.
func (c *Controller) stepUnderWay(ctx context.Context) (string, error) {
	for uid, pvc := range c.underWay {
		did, err := c.provision(ctx, pvc)
		if err != nil || did != "" {
			return did, err
		}
		if !c.fault().Unanswered {
			delete(c.underWay, uid)
		}
	}
	return "", nil
}

// provision is the two halves of provisioning: Trident makes the volume, though its class may be
// gone by then, and the provisioner, which needs the class, the PersistentVolume.
func (c *Controller) provision(ctx context.Context, pvc *corev1.PersistentVolumeClaim) (string, error) {
	name := volumeName(pvc)
	v := &unstructured.Unstructured{}
	v.SetGroupVersionKind(trident.Kind(trident.KindVolume))
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, v)
	if apierrors.IsNotFound(err) {
		return c.makeVolume(ctx, pvc, name)
	}
	if err != nil || c.fault().Unanswered {
		return "", err
	}
	class, err := c.classOf(ctx, pvc)
	if err != nil || class == nil {
		return "", err // storageClass not found: the provisioner gives up
	}
	err = c.Client.Create(ctx, newPV(pvc, class, text(v, "backendUUID"), name, text(v, "config", "internalName")))
	if client.IgnoreAlreadyExists(err) != nil {
		return "", err
	}
	delete(c.underWay, pvc.UID)
	_, err = c.tell(ctx, pvc, "PersistentVolumeClaim", corev1.EventTypeNormal, "ProvisioningSucceeded", "Successfully provisioned volume "+name)
	return "the provisioner makes PersistentVolume " + name, err
}

func (c *Controller) makeVolume(ctx context.Context, pvc *corev1.PersistentVolumeClaim, name string) (string, error) {
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: *pvc.Spec.StorageClassName}}
	if known, err := c.classOf(ctx, pvc); err != nil {
		return "", err
	} else if known != nil {
		class = known
	}
	backends, err := c.list(ctx, trident.KindBackend)
	if err != nil {
		return "", err
	}
	backend, pool := c.place(backends, class)
	if problem := c.problem(backends, class); problem != "" {
		return c.fails(ctx, pvc, class, problem, nil)
	}
	size := pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	internal := InternalName(name)
	v := newVolume(pvc, class, backend, name, internal, pool)
	junction, lif, err := c.Array.CreateVolume(ctx, internal, size.Value(), pool, text(v, "config", "exportPolicy"))
	if err != nil {
		return c.fails(ctx, pvc, class, err.Error(), nil)
	}
	access := v.Object["config"].(map[string]any)["accessInformation"].(map[string]any)
	access["nfsPath"], access["nfsServerIp"] = junction, trident.Bare(cmp.Or(text(backend, "config", ontapConfig, "dataLIF"), lif))
	if err := c.Client.Create(ctx, v); client.IgnoreAlreadyExists(err) != nil {
		return "", err
	}
	did := "Trident makes volume " + name
	if err := c.Client.Get(ctx, client.ObjectKeyFromObject(pvc), &corev1.PersistentVolumeClaim{}); err != nil {
		return did, client.IgnoreNotFound(err) // there is no claim to say it about
	}
	_, err = c.tell(ctx, pvc, "PersistentVolumeClaim", corev1.EventTypeNormal, "ProvisioningSuccess", "provisioned a volume")
	return did, err
}

// InternalName is what the array calls a volume, by Trident's rule.
func InternalName(name string) string {
	s := strings.NewReplacer("-", "_", ".", "_").Replace(storagePrefix + "-" + name)
	return regexp.MustCompile(`_+`).ReplaceAllString(s, "_")
}

// ManagedPool is the one pool of a backend whose volumes ONTAP places: FlexGroups, and all on AFX.
const ManagedPool = "managed_storage_pool"

func (c *Controller) place(backends []unstructured.Unstructured, class *storagev1.StorageClass) (*unstructured.Unstructured, string) {
	for i := range backends {
		b := &backends[i]
		driver := text(b, "config", ontapConfig, "storageDriverName")
		if t := parameter(class, "backendType"); t != "" && t != driver && !c.fault().BackendsAreEconomy {
			continue
		}
		if online, _, _ := unstructured.NestedBool(b.Object, "online"); !online || text(b, "userState") == "suspended" || c.failed[text(b, "backendUUID")] {
			continue
		}
		pools := c.Pools
		if c.AFX || driver == trident.DriverFlexGroup {
			pools = []string{ManagedPool}
		}
		for _, p := range pools {
			if inPools(parameter(class, "storagePools"), text(b, "backendName"), p) {
				return b, p
			}
		}
	}
	return nil, ""
}

func parameter(class *storagev1.StorageClass, name string) string {
	return cmp.Or(class.Parameters[name], class.Parameters["trident.netapp.io/"+name])
}

// inPools matches "backend:pool,pool;backend:pool" as Trident does: both are
// regular expressions, and only that of the backend is anchored.
func inPools(pools, backend, pool string) bool {
	if pools == "" {
		return true
	}
	for entry := range strings.SplitSeq(pools, ";") {
		name, list, _ := strings.Cut(entry, ":")
		if ok, err := regexp.MatchString("^"+name+"$", backend); err != nil || !ok {
			continue
		}
		for p := range strings.SplitSeq(list, ",") {
			if ok, err := regexp.MatchString(p, pool); err == nil && ok {
				return true
			}
		}
	}
	return false
}

func newPV(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, backendUUID, name, internal string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Finalizers: []string{provisionerFinalizer},
			Annotations: map[string]string{
				"pv.kubernetes.io/provisioned-by": trident.Driver, "volume.kubernetes.io/provisioner-deletion-secret-name": "",
				"volume.kubernetes.io/provisioner-deletion-secret-namespace": "",
			},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: pvc.Spec.AccessModes, VolumeMode: pvc.Spec.VolumeMode, StorageClassName: class.Name,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: pvc.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: ptr.Deref(class.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete),
			MountOptions:                  slices.Clone(class.MountOptions),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: pvc.Namespace, Name: pvc.Name,
				UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: trident.Driver, VolumeHandle: name,
				VolumeAttributes: map[string]string{
					"backendUUID": backendUUID, "name": name, "internalName": internal, "protocol": "file",
					"storage.kubernetes.io/csiProvisionerIdentity": "stand-in-" + trident.Driver,
				},
			}},
		},
	}
}

// bind is what the volume binder of Kubernetes does.
func (c *Controller) bind(ctx context.Context, pvc *corev1.PersistentVolumeClaim, pv *corev1.PersistentVolume) (string, error) {
	if !c.Bind {
		return "", nil
	}
	if pvc.Spec.VolumeName == "" {
		pvc.Spec.VolumeName = pv.Name
		if err := c.Client.Update(ctx, pvc); err != nil {
			return "", err
		}
	}
	pvc.Status.Phase = corev1.ClaimBound
	if err := c.Client.Status().Update(ctx, pvc); err != nil {
		return "", err
	}
	pv.Status.Phase = corev1.VolumeBound
	return "claim " + pvc.Name + " is bound", c.Client.Status().Update(ctx, pv)
}

// newVolume is a TridentVolume, as far as it is known before the array has made the volume. Its
// fields are at the top, not in a spec.
func newVolume(
	pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, backend *unstructured.Unstructured, name, internal, pool string,
) *unstructured.Unstructured {
	size := pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	value := func(key string) string { // of an annotation of the claim, else of the backend
		return cmp.Or(pvc.Annotations[trident.AnnotationPrefix+key], text(backend, "config", ontapConfig, "defaults", key))
	}
	policy, access := value("exportPolicy"), map[string]any{}
	if auto, _, _ := unstructured.NestedBool(backend.Object, "config", ontapConfig, "autoExportPolicy"); auto {
		policy = "trident-" + text(backend, "backendUUID")
		if text(backend, "config", ontapConfig, "storageDriverName") != trident.DriverFlexGroup {
			policy, access["publishEnforcement"] = storagePrefix+"empty", true
		}
	}
	if o := text(backend, "config", ontapConfig, "nfsMountOptions"); o != "" {
		access["mountOptions"] = strings.TrimPrefix(o, "-o ")
	}
	u := &unstructured.Unstructured{Object: map[string]any{
		"backendUUID": text(backend, "backendUUID"), "pool": pool, "orphaned": false, "state": "online",
		"config": map[string]any{
			"version": "1", "name": name, "internalName": internal, "size": fmt.Sprint(size.Value()),
			"protocol": "file", "spaceReserve": value("spaceReserve"), "securityStyle": value("securityStyle"),
			"snapshotPolicy": value("snapshotPolicy"), "snapshotDirectory": cmp.Or(pvc.Annotations[trident.AnnotationPrefix+"snapshotDirectory"], value("snapshotDir")),
			"exportPolicy": policy, "unixPermissions": value("unixPermissions"), "storageClass": class.Name,
			"accessMode": "ReadWriteMany", "volumeMode": "Filesystem",
			"mountOptions": strings.TrimPrefix(strings.Join(class.MountOptions, ","), "-o "),
			"namespace":    pvc.Namespace, "requestName": pvc.Name, "accessInformation": access,
		},
	}}
	u.SetGroupVersionKind(trident.Kind(trident.KindVolume))
	u.SetNamespace(backend.GetNamespace())
	u.SetName(name)
	u.SetFinalizers([]string{trident.Finalizer})
	return u
}

// stepVolumes takes the volumes back whose claim is gone.
func (c *Controller) stepVolumes(ctx context.Context) (string, error) {
	volumes, err := c.list(ctx, trident.KindVolume)
	return firstStep(ctx, volumes, err, c.stepVolume)
}

// stepVolume leaves a volume without a PersistentVolume alone, as Trident does: only the
// provisioner asks for its deletion, and that by the PersistentVolume.
func (c *Controller) stepVolume(ctx context.Context, v *unstructured.Unstructured) (string, error) {
	pv := &corev1.PersistentVolume{}
	if err := c.Client.Get(ctx, client.ObjectKey{Name: v.GetName()}, pv); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if c.Bind && pv.Status.Phase != corev1.VolumeReleased {
		return c.unbind(ctx, pv)
	}
	if pv.Status.Phase != corev1.VolumeReleased || pv.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return "", nil
	}
	return c.remove(ctx, v, pv)
}

// unbind is what the volume binder of Kubernetes does when a claim is gone.
func (c *Controller) unbind(ctx context.Context, pv *corev1.PersistentVolume) (string, error) {
	pvc := &corev1.PersistentVolumeClaim{}
	err := c.Client.Get(ctx, client.ObjectKey{Namespace: pv.Spec.ClaimRef.Namespace, Name: pv.Spec.ClaimRef.Name}, pvc)
	if err == nil && pvc.UID == pv.Spec.ClaimRef.UID || err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	pv.Status.Phase = corev1.VolumeReleased
	at := metav1.NewTime(c.Now())
	pv.Status.LastPhaseTransitionTime = &at
	return "volume " + pv.Name + " is released", c.Client.Status().Update(ctx, pv)
}

// remove deletes a volume: on the array first, then the object of Trident, then that of the
// provisioner.
func (c *Controller) remove(ctx context.Context, v *unstructured.Unstructured, pv *corev1.PersistentVolume) (string, error) {
	problem := c.fault().Unreachable
	if problem == "" {
		if err := c.Array.DeleteVolume(ctx, text(v, "config", "internalName")); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		said, err := c.warn(ctx, pv, "PersistentVolume", "VolumeFailedDelete", "rpc error: code = Unknown desc = "+problem)
		if err != nil || !said {
			return "", err
		}
		return "Trident cannot delete volume " + v.GetName(), nil
	}
	if err := c.release(ctx, v); err != nil {
		return "", err
	}
	before := pv.DeepCopy()
	pv.Finalizers = slices.DeleteFunc(pv.Finalizers, func(f string) bool { return f == provisionerFinalizer || c.Bind })
	if err := c.Client.Patch(ctx, pv, client.MergeFrom(before)); err != nil { // not an update, which may conflict
		return "", err
	}
	return "Trident deletes volume " + v.GetName(), client.IgnoreNotFound(c.Client.Delete(ctx, pv))
}
