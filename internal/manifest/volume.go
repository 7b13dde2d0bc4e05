package manifest

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
)

// nominalSize is what the PV and PVC of an export say: NFS volumes have no size
// of their own, but Kubernetes wants one.
const nominalSize = "1Gi"

// Volume and Claim bring an export into the pods of a kernel mount. They are
// bound to each other by name, so that no other claim gets the volume.
//
// The volume is cluster-scoped and cannot have a namespaced owner; the
// finalizer of the benchmark removes it.
func Volume(b *v1alpha1.NFSBenchmark, server, export string) *corev1.PersistentVolume {
	n := NamesOf(b)
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: n.Volume, Labels: Labels(b, ComponentVolume)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(nominalSize)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			MountOptions:                  plan.MountOptionsOf(b),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: b.Namespace, Name: n.Claim,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: server, Path: export},
			},
		},
	}
}

// Claim is the other half of Volume.
func Claim(b *v1alpha1.NFSBenchmark) *corev1.PersistentVolumeClaim {
	n := NamesOf(b)
	none := "" // no storage class: nothing may be provisioned in its place
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: meta(b, n.Claim, ComponentVolume),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: &none,
			VolumeName:       n.Volume,
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(nominalSize)},
			},
		},
	}
}
