package csi

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Provisioner is a stand-in for the controller of csi-driver-nfs: it makes a directory below the
// export that a class names, and a PersistentVolume with the attributes of csi-driver-nfs, and
// removes both when the claim is gone.
type Provisioner struct {
	Client client.Client
	Class  string // its provisioner is Driver, with the parameters server and share
	Folder func(server, share string) (string, error)
}

// The annotations that Kubernetes and its external provisioner use.
const (
	annotationNode        = "volume.kubernetes.io/selected-node"
	annotationProvisioned = "pv.kubernetes.io/provisioned-by"
)

// Run looks at claims and volumes of the class until the context ends.
func (p Provisioner) Run(ctx context.Context) error {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.step(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end is asked for
		}
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

func (p Provisioner) step(ctx context.Context) error {
	class, claims, volumes := &storagev1.StorageClass{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}
	if err := errors.Join(p.Client.Get(ctx, client.ObjectKey{Name: p.Class}, class), p.Client.List(ctx, claims),
		p.Client.List(ctx, volumes)); err != nil {
		return err
	}
	return errors.Join(p.make(ctx, class, claims), p.remove(ctx, class, volumes))
}

func (p Provisioner) make(ctx context.Context, class *storagev1.StorageClass, claims *corev1.PersistentVolumeClaimList) error {
	for i := range claims.Items {
		c := &claims.Items[i]
		late := *class.VolumeBindingMode == storagev1.VolumeBindingWaitForFirstConsumer
		if c.Spec.StorageClassName == nil || *c.Spec.StorageClassName != p.Class || c.Spec.VolumeName != "" ||
			c.DeletionTimestamp != nil || late && c.Annotations[annotationNode] == "" {
			continue
		}
		if err := p.provision(ctx, class, c); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func (p Provisioner) remove(ctx context.Context, class *storagev1.StorageClass, volumes *corev1.PersistentVolumeList) error {
	for i := range volumes.Items {
		v := &volumes.Items[i]
		if v.Spec.StorageClassName != p.Class || v.Status.Phase != corev1.VolumeReleased {
			continue
		}
		folder, err := p.Folder(v.Spec.CSI.VolumeAttributes["server"], path.Join(class.Parameters["share"], v.Name))
		if err != nil {
			return err
		}
		if err := errors.Join(os.RemoveAll(folder), p.Client.Delete(ctx, v)); err != nil {
			return err
		}
	}
	return nil
}

func (p Provisioner) provision(ctx context.Context, class *storagev1.StorageClass, c *corev1.PersistentVolumeClaim) error {
	name := "pvc-" + string(c.UID)
	server, share := class.Parameters["server"], class.Parameters["share"]
	folder, err := p.Folder(server, filepath.Join(share, name))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return err
	}
	if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // as csi-driver-nfs does
		return err
	}
	return p.Client.Create(ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{annotationProvisioned: Driver}},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: c.Spec.Resources.Requests, AccessModes: c.Spec.AccessModes, StorageClassName: class.Name,
			PersistentVolumeReclaimPolicy: *class.ReclaimPolicy, MountOptions: class.MountOptions,
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: c.Namespace, Name: c.Name, UID: c.UID,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				Driver: Driver, VolumeHandle: server + "#" + share + "#" + name,
				VolumeAttributes: map[string]string{"server": server, "share": share, "subdir": name},
			}},
		},
	})
}
