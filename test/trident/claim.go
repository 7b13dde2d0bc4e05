package trident

import (
	"context"
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

// storagePrefix is Trident's own.
const storagePrefix = "trident_"

// provisionerFinalizer is that of the CSI provisioner, which runs beside Trident.
const provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"

// selectedNode is what the scheduler writes on a claim that binds late.
const selectedNode = "volume.kubernetes.io/selected-node"

// stepClaims makes the volume of the next claim, or binds it.
func (c *Controller) stepClaims(ctx context.Context) (string, error) {
	claims := &corev1.PersistentVolumeClaimList{}
	if err := c.Client.List(ctx, claims, client.InNamespace(c.Claims)); err != nil {
		return "", err
	}
	for i := range claims.Items {
		did, err := c.stepClaim(ctx, &claims.Items[i])
		if did != "" || err != nil {
			return did, err
		}
	}
	return "", nil
}

func (c *Controller) stepClaim(ctx context.Context, pvc *corev1.PersistentVolumeClaim) (string, error) {
	if pvc.DeletionTimestamp != nil || pvc.Status.Phase == corev1.ClaimBound || ptr.Deref(pvc.Spec.StorageClassName, "") == "" {
		return "", nil
	}
	class := &storagev1.StorageClass{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: *pvc.Spec.StorageClassName}, class)
	if apierrors.IsNotFound(err) || err == nil && class.Provisioner != trident.Driver {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	name := "pvc-" + string(pvc.UID)
	pv := &corev1.PersistentVolume{}
	err = c.Client.Get(ctx, client.ObjectKey{Name: name}, pv)
	switch {
	case err == nil:
		return c.bind(ctx, pvc, pv)
	case !apierrors.IsNotFound(err):
		return "", err
	}
	late := class.VolumeBindingMode != nil && *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
	if late && pvc.Annotations[selectedNode] == "" {
		return "", nil
	}
	return c.provision(ctx, pvc, class, name)
}

func (c *Controller) provision(ctx context.Context, pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, name string) (string, error) {
	backend, pool, err := c.place(ctx, class)
	if err != nil {
		return "", err
	}
	problem := c.fault().Provisioning
	if backend == nil {
		if known, err := c.hasBackends(ctx); err != nil || !known {
			return "", err // of another test's Trident
		}
		problem = "no available backends for storage class " + class.Name
	}
	if problem != "" {
		said, err := c.warn(ctx, pvc, "PersistentVolumeClaim", "ProvisioningFailed", "failed to provision volume with StorageClass "+class.Name+": rpc error: code = Unknown desc = "+problem)
		if err != nil || !said {
			return "", err
		}
		return "Trident makes no volume for " + pvc.Name, nil
	}
	size := pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	internal := InternalName(name)
	junction, lif, err := c.Array.CreateVolume(ctx, internal, size.Value(), pool)
	if err != nil {
		_, err := c.warn(ctx, pvc, "PersistentVolumeClaim", "ProvisioningFailed", err.Error())
		return "", err
	}
	if d := text(backend, "config", "ontap_config", "dataLIF"); d != "" {
		lif = d
	}
	v := c.newVolume(pvc, class, backend, name, internal, pool, junction, trident.Bare(lif))
	if err := c.Client.Create(ctx, v); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", err
	}
	return "Trident makes volume " + name, c.Client.Create(ctx, newPV(pvc, class, backend, name, internal))
}

// InternalName is what the array calls a volume, by Trident's rule.
func InternalName(name string) string {
	s := strings.NewReplacer("-", "_", ".", "_").Replace(storagePrefix + "-" + name)
	return regexp.MustCompile(`_+`).ReplaceAllString(s, "_")
}

// place finds a backend and a pool that the class allows.
func (c *Controller) place(ctx context.Context, class *storagev1.StorageClass) (backend *unstructured.Unstructured, pool string, err error) {
	list, err := c.list(ctx, trident.KindBackend)
	if err != nil {
		return nil, "", err
	}
	for i := range list {
		b := &list[i]
		if t := parameter(class, "backendType"); t != "" && t != text(b, "config", "ontap_config", "storageDriverName") && !c.fault().BackendsAreEconomy {
			continue
		}
		if online, _, _ := unstructured.NestedBool(b.Object, "online"); !online {
			continue
		}
		for _, p := range c.Pools {
			if inPools(parameter(class, "storagePools"), text(b, "backendName"), p) {
				return b, p, nil
			}
		}
	}
	return nil, "", nil
}

func (c *Controller) hasBackends(ctx context.Context) (bool, error) {
	list, err := c.list(ctx, trident.KindBackend)
	return len(list) > 0, err
}

func parameter(class *storagev1.StorageClass, name string) string {
	if v, ok := class.Parameters[name]; ok {
		return v
	}
	return class.Parameters["trident.netapp.io/"+name]
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

func newPV(pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, backend *unstructured.Unstructured, name, internal string) *corev1.PersistentVolume {
	policy := corev1.PersistentVolumeReclaimDelete
	if class.ReclaimPolicy != nil {
		policy = *class.ReclaimPolicy
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Finalizers: []string{provisionerFinalizer},
			Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": trident.Driver},
		},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes: pvc.Spec.AccessModes, VolumeMode: pvc.Spec.VolumeMode, StorageClassName: class.Name,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: pvc.Spec.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: policy,
			MountOptions:                  slices.Clone(class.MountOptions),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: pvc.Namespace, Name: pvc.Name,
				UID: pvc.UID, ResourceVersion: pvc.ResourceVersion,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: trident.Driver, VolumeHandle: name,
				VolumeAttributes: map[string]string{
					"backendUUID": text(backend, "backendUUID"), "name": name, "internalName": internal, "protocol": "file",
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
