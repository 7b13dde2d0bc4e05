package trident

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nfsbench/nfsbench/internal/trident"
)

// newVolume is a TridentVolume: its fields are at the top, not in a spec.
func (c *Controller) newVolume(
	pvc *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, backend *unstructured.Unstructured,
	name, internal, pool, junction, lif string,
) *unstructured.Unstructured {
	size := pvc.Spec.Resources.Requests[corev1.ResourceStorage]
	options := strings.Join(class.MountOptions, ",")
	u := &unstructured.Unstructured{Object: map[string]any{
		"backendUUID": text(backend, "backendUUID"), "pool": pool, "orphaned": false, "state": "online", "autogrowStatus": map[string]any{},
		"config": map[string]any{
			"version": "1", "name": name, "internalName": internal, "internalID": "", "size": fmt.Sprint(size.Value()),
			"protocol": "file", "spaceReserve": "none", "securityStyle": "unix", "snapshotPolicy": "none",
			"snapshotDirectory": pvc.Annotations["trident.netapp.io/snapshotDirectory"],
			"exportPolicy":      "default", "unixPermissions": "---rwxrwxrwx", "storageClass": class.Name,
			"accessMode": "ReadWriteMany", "volumeMode": "Filesystem", "mountOptions": options,
			"namespace": pvc.Namespace, "requestName": pvc.Name,
			"accessInformation": map[string]any{
				"nfsServerIp": lif, "nfsPath": junction, "mountOptions": options, "publishEnforcement": false, "readOnly": false,
			},
		},
	}}
	u.SetGroupVersionKind(trident.Kind(trident.KindVolume))
	u.SetNamespace(c.Namespace)
	u.SetName(name)
	u.SetFinalizers([]string{trident.Finalizer})
	return u
}

// stepVolumes takes the volumes back whose claim is gone.
func (c *Controller) stepVolumes(ctx context.Context) (string, error) {
	volumes, err := c.list(ctx, trident.KindVolume)
	if err != nil {
		return "", err
	}
	for i := range volumes {
		did, err := c.stepVolume(ctx, &volumes[i])
		if did != "" || err != nil {
			return did, err
		}
	}
	return "", nil
}

func (c *Controller) stepVolume(ctx context.Context, v *unstructured.Unstructured) (string, error) {
	pv := &corev1.PersistentVolume{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: v.GetName()}, pv)
	if apierrors.IsNotFound(err) {
		// Provisioned, and the claim went before its volume was told of.
		pvc := &corev1.PersistentVolumeClaim{}
		err := c.Client.Get(ctx, client.ObjectKey{Namespace: text(v, "config", "namespace"), Name: text(v, "config", "requestName")}, pvc)
		if !apierrors.IsNotFound(err) {
			return "", err
		}
		return c.remove(ctx, v, nil)
	}
	if err != nil {
		return "", err
	}
	if c.Bind && pv.Status.Phase != corev1.VolumeReleased {
		return c.unbind(ctx, pv)
	}
	released := pv.Status.Phase == corev1.VolumeReleased && pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete
	if !released {
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

// remove deletes a volume: on the array first, then its objects.
func (c *Controller) remove(ctx context.Context, v *unstructured.Unstructured, pv *corev1.PersistentVolume) (string, error) {
	problem := c.fault().Unreachable
	if problem == "" {
		if err := c.Array.DeleteVolume(ctx, text(v, "config", "internalName")); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		if pv == nil {
			return "", nil
		}
		said, err := c.warn(ctx, pv, "PersistentVolume", "VolumeFailedDelete", "rpc error: code = Unknown desc = "+problem)
		if err != nil || !said {
			return "", err
		}
		return "Trident cannot delete volume " + v.GetName(), nil
	}
	if pv != nil {
		pv.Finalizers = slices.DeleteFunc(pv.Finalizers, func(f string) bool { return f == provisionerFinalizer || c.Bind })
		if err := c.Client.Update(ctx, pv); err != nil {
			return "", err
		}
		if err := c.Client.Delete(ctx, pv); client.IgnoreNotFound(err) != nil {
			return "", err
		}
	}
	return "Trident deletes volume " + v.GetName(), c.release(ctx, v)
}
