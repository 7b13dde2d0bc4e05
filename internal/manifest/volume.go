package manifest

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/nfsbench/nfsbench/api/v1alpha1"
	"github.com/nfsbench/nfsbench/internal/plan"
	"github.com/nfsbench/nfsbench/internal/trident"
)

// nominalSize is the size of the PV and PVC of an export: NFS volumes have no size of their own, but Kubernetes
// requires one.
const nominalSize = "1Gi"

// Volume and Claim make an export available to the pods of a kernel mount. They name each other, so that no other claim
// gets the volume.
//
// The volume is cluster-scoped and cannot have a namespaced owner; the
// finalizer of the benchmark removes it.
func Volume(b *v1alpha1.NFSBenchmark, server, export string) *corev1.PersistentVolume {
	return volume(b, NamesOf(b).Volume, NamesOf(b).Claim, server, export)
}

// Claim returns the claim of Volume.
func Claim(b *v1alpha1.NFSBenchmark) *corev1.PersistentVolumeClaim {
	return claim(b, NamesOf(b).Volume, NamesOf(b).Claim)
}

// RedoVolume and RedoClaim do the same for the export of redo logs, with the same options.
func RedoVolume(b *v1alpha1.NFSBenchmark, server string) *corev1.PersistentVolume {
	return volume(b, NamesOf(b).RedoVolume, NamesOf(b).RedoClaim, server, plan.RedoExport(b))
}

// RedoClaim returns the claim of RedoVolume.
func RedoClaim(b *v1alpha1.NFSBenchmark) *corev1.PersistentVolumeClaim {
	return claim(b, NamesOf(b).RedoVolume, NamesOf(b).RedoClaim)
}

func volume(b *v1alpha1.NFSBenchmark, name, claim, server, export string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: Labels(b, ComponentVolume)},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(nominalSize)},
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			MountOptions:                  plan.MountOptionsOf(b, server),
			ClaimRef: &corev1.ObjectReference{
				APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: b.Namespace, Name: claim,
			},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: server, Path: export},
			},
		},
	}
}

func claim(b *v1alpha1.NFSBenchmark, volume, name string) *corev1.PersistentVolumeClaim {
	c := newClaim(meta(b, name, ComponentVolume), new(""), resource.MustParse(nominalSize)) // provision nothing
	c.Spec.VolumeName = volume
	return c
}

// TridentName returns the name of the TridentBackendConfig and of the StorageClass that the operator makes. Neither is
// in the benchmark's namespace, so the name contains that namespace and the benchmark's identity.
func TridentName(b *v1alpha1.NFSBenchmark) string { return NamesOf(b).Volume }

// TridentBackendConfig returns the configuration of the backend that the benchmark names, and TridentClass its class,
// with the protocol as mount options. The benchmark cannot own them, because they are not in its namespace: its
// finalizer removes them.
func TridentBackendConfig(
	b *v1alpha1.NFSBenchmark, namespace string, backend trident.BackendSpec,
) *unstructured.Unstructured {
	return trident.NewBackendConfig(namespace, TridentName(b), Labels(b, ComponentVolume), backend)
}

// TridentClass is described at TridentBackendConfig.
func TridentClass(b *v1alpha1.NFSBenchmark, backend trident.BackendSpec) *storagev1.StorageClass {
	name := TridentName(b)
	return trident.NewClass(name, Labels(b, ComponentVolume), name, backend.DriverName(),
		b.Spec.Storage.Trident.StoragePools, plan.MountOptionsOf(b, backend.DataLIF))
}

// connectSeconds bounds an attempt to connect, with the start of its pod.
const connectSeconds = 120

// ProbeJob returns the Job that tries once to connect to the management LIF of a backend, because Trident takes minutes
// to give up. The pod has no credentials and sends nothing.
func ProbeJob(b *v1alpha1.NFSBenchmark, managementLIF string, images Images) *batchv1.Job {
	c := container(ContainerProbe, images, "survey", "--connect", trident.Endpoint(managementLIF))
	c.Resources = modest("20m", "32Mi")
	spec := podSpec(b, images)
	spec.Containers = []corev1.Container{c}
	return newJob(b, NamesOf(b).Probe, ComponentProbe, connectSeconds, spec, images)
}

// ContainerProbe is the container of ProbeJob.
const ContainerProbe = "probe"

// NoConnection is the text of ProbeJob's program before an address that refuses a connection or does not answer.
const NoConnection = "no connection to "

// TridentClaim returns the claim for a volume of Trident. ReadWriteMany means NFS and lets several clients mount the
// volume. The snapshot directory is hidden unless the user asks for it: it holds no data of the run, and tools that
// walk a tree find it.
func TridentClaim(b *v1alpha1.NFSBenchmark) *corev1.PersistentVolumeClaim {
	t := b.Spec.Storage.Trident
	class := t.StorageClassName
	if t.BackendName != "" {
		class = TridentName(b)
	}
	m := meta(b, NamesOf(b).Claim, ComponentVolume)
	m.Annotations = map[string]string{trident.AnnotationPrefix + "snapshotDirectory": "false"}
	for key, value := range t.PVCAnnotations {
		m.Annotations[key] = string(value)
	}
	return newClaim(m, &class, t.Size)
}

// ClassClaim returns the claim for a volume of a StorageClass.
func ClassClaim(b *v1alpha1.NFSBenchmark) *corev1.PersistentVolumeClaim {
	c := b.Spec.Storage.StorageClass
	return newClaim(meta(b, NamesOf(b).Claim, ComponentVolume), &c.Name, c.Size)
}

func newClaim(m metav1.ObjectMeta, class *string, size resource.Quantity) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: m,
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: class,
			VolumeMode:       new(corev1.PersistentVolumeFilesystem),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
}

// mountSeconds bounds a pod that waits for the volume of its claim.
const mountSeconds = 600

// MountJob returns the Job that mounts a claim and writes the export into its termination message. Its pod is also the
// consumer that a class with late binding waits for. It does no I/O on the volume.
func MountJob(b *v1alpha1.NFSBenchmark, claim string, images Images) *batchv1.Job {
	c := container(ComponentMount, images, "survey", "--mounted", dataDir, "--out", corev1.TerminationMessagePathDefault)
	c.Resources = modest("20m", "32Mi")
	c.VolumeMounts = []corev1.VolumeMount{{Name: dataVolume, MountPath: dataDir, ReadOnly: true}}
	spec := podSpec(b, images)
	spec.Containers = []corev1.Container{c}
	spec.Volumes = []corev1.Volume{claimVolume(dataVolume, claim, false)}
	return newJob(b, NamesOf(b).Mount, ComponentMount, mountSeconds, spec, images)
}

// TridentChildren returns the objects of a Trident volume that the operator makes, in the order of their removal, as
// keys for reads.
func TridentChildren(b *v1alpha1.NFSBenchmark, namespace string) (
	claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, config *unstructured.Unstructured,
) {
	claim = &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: b.Namespace, Name: NamesOf(b).Claim}}
	class = &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: TridentName(b)}}
	config = &unstructured.Unstructured{}
	config.SetGroupVersionKind(trident.Kind(trident.KindBackendConfig))
	config.SetNamespace(namespace)
	config.SetName(TridentName(b))
	return claim, class, config
}
